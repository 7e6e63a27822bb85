"""What a replay takes a provider to do that is asked to keep the history small itself."""

from __future__ import annotations

from typing import Any

import pytest

import ctxkit
from ctxkit.replay import ReplayReport, replay
from ctxkit.replay.provider import CLEARED, ProviderEdits
from ctxkit.transcripts import Transcript
from support.bodies import ANTHROPIC, RESPONSES, calls, request_of, result_texts, results, user
from support.runs import run, used

RESULT = "alpha beta gamma delta epsilon zeta eta theta iota kappa " * 100
MODEL = "claude-sonnet-4-5"


def loop(rounds: int) -> Transcript:
    messages = [user("Find the bug.")]
    requests = [used(1, 20, 30)]
    for number in range(rounds):
        call_id = f"c{number}"
        messages += [calls(ANTHROPIC, call_id), *results(ANTHROPIC, {call_id: f"{number} {RESULT}"})]
        requests.append(used(len(messages), 1_200 * (number + 1), 30))
    return run(*requests, messages=messages, model=MODEL)


def replayed(rounds: int, **options: Any) -> ReplayReport:
    return replay([loop(rounds)], ctxkit.Stack(ctxkit.UseProviderContext(**options)))


def asked(edit: dict[str, Any], messages: list[Any]) -> list[Any]:
    """The messages as the model reads them."""
    request = request_of(ANTHROPIC, messages, model=MODEL, context_management={"edits": [edit]})
    made = ProviderEdits().read(request)
    return list(made.body["messages"])


def tokens(value: int) -> dict[str, Any]:
    return {"type": "input_tokens", "value": value}


def test_clearing_leaves_out_all_but_the_last_results_from_the_trigger_on() -> None:
    messages = list(loop(6).messages)
    edit = {"type": "clear_tool_uses_20250919", "trigger": tokens(2_000)}
    shown = result_texts(ANTHROPIC, asked(edit, messages))
    assert [text == CLEARED for text in shown] == [True] * 3 + [False] * 3
    kept = {**edit, "keep": {"type": "tool_uses", "value": 1}}
    assert result_texts(ANTHROPIC, asked(kept, messages)).count(CLEARED) == 5
    assert asked({**edit, "trigger": tokens(100_000)}, messages) == messages
    assert asked({**edit, "exclude_tools": ["search"]}, messages) == messages
    assert asked({**edit, "clear_at_least": tokens(50_000)}, messages) == messages
    assert asked({**edit, "clear_at_least": tokens(500)}, messages) != messages
    assert asked({"type": "clear_tool_uses_20250919"}, messages) == messages


def test_what_is_not_known_changes_nothing() -> None:
    messages = list(loop(2).messages)
    assert asked({"type": "clear_thinking_20251015"}, messages) == messages
    request = request_of(ANTHROPIC, messages, model=MODEL)
    assert ProviderEdits().read(request) is request


def test_a_replay_bills_what_is_left_when_the_provider_cleared() -> None:
    report = replayed(60, way="clear", start_tokens=20_000)
    assert report.replayed.input_tokens < report.baseline.input_tokens / 2
    assert report.invalid_requests == 0


@pytest.mark.parametrize("rounds", [20, 120])
def test_after_a_compaction_a_filler_stands_for_what_came_before(rounds: int) -> None:
    report = replayed(rounds, way="compact", start_tokens=50_000)
    if rounds == 20:
        assert report.replayed.input_tokens == report.baseline.input_tokens
    else:
        assert report.replayed.input_tokens < report.baseline.input_tokens * 0.7
    assert report.runs[0].peak_tokens < 80_000


def test_the_compaction_of_responses_is_known_and_a_new_context_begins_anew() -> None:
    items = [{"role": "user", "content": RESULT}, {"role": "assistant", "content": RESULT}]
    provider = ProviderEdits()
    asked_for = [{"type": "compaction", "compact_threshold": 1_000}]

    def read(length: int) -> list[Any]:
        request = request_of(RESPONSES, items * length, model="gpt-5.2", context_management=asked_for)
        return list(provider.read(request).body["input"])

    assert len(read(1)) == 2
    assert len(read(3)) == 5
    provider.enter(1)
    assert len(read(1)) == 2
