"""A replay is the dry run of `PlaceCacheBreakpoints`: what marks would have saved, by the simulated cache."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import ctxkit
from ctxkit.replay import replay
from ctxkit.transcripts import Transcript
from support.bodies import ANTHROPIC, calls, results, user
from support.runs import run, used

START = datetime(2026, 11, 30, 12, tzinfo=UTC)
RESULT = "alpha beta gamma delta epsilon " * 200


def unmarked(rounds: int, *, apart: timedelta) -> Transcript:
    """A run whose caller marked nothing, so that nothing was cached."""
    messages = [user("Find the bug.")]
    requests = [used(1, 400, 30, timestamp=START)]
    for number in range(rounds):
        messages += [
            calls(ANTHROPIC, f"c{number}"),
            *results(ANTHROPIC, {f"c{number}": f"{number} {RESULT}"}),
        ]
        at = START + apart * (number + 1)
        requests.append(used(len(messages), 400 + 1_300 * (number + 1), 30, timestamp=at))
    return run(*requests, messages=messages, model="claude-sonnet-4-5")


def saved_share(transcript: Transcript) -> Decimal:
    report = replay([transcript], ctxkit.Stack(ctxkit.PlaceCacheBreakpoints()))
    assert report.invalid_requests == 0
    assert report.saved_usd is not None
    assert report.baseline.cost_usd
    return report.saved_usd / report.baseline.cost_usd


def test_marks_save_most_of_the_input_of_a_loop_that_marked_nothing() -> None:
    assert saved_share(unmarked(30, apart=timedelta(seconds=20))) > Decimal("0.6")


def test_marks_that_are_never_read_cost_what_writing_them_takes() -> None:
    assert Decimal("-0.3") < saved_share(unmarked(5, apart=timedelta(hours=3))) < 0
