"""Recorded reads beside simulated ones: every difference gets a class by a check on its numbers."""

from __future__ import annotations

import importlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import ctxkit
from ctxkit.transcripts import RecordedRequest, Transcript
from ctxkit.usage import Usage

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SESSIONS = BENCHMARKS.parent.parent / "shared" / "data" / "raw" / "claude_code"
AT = datetime(2026, 11, 30, tzinfo=UTC)

if not BENCHMARKS.exists():
    pytest.skip("the benchmarks are not here", allow_module_level=True)


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("prompt_cache_truth")


def session(*requests: tuple[int, int, int, float | None], model: str = "claude-sonnet-5") -> Transcript:
    """A run whose requests are messages, whole prompt, read tokens and minute; the rest was written."""
    turns = max(sent for sent, _, _, _ in requests)
    messages = [
        {"role": "assistant" if at % 2 else "user", "content": f"message {at} " * 50} for at in range(turns)
    ]
    recorded = tuple(
        RecordedRequest(
            sent,
            usage=Usage(total, 5, cache_read_tokens=read, cache_write_tokens=total - read),
            timestamp=None if minute is None else AT + timedelta(minutes=minute),
        )
        for sent, total, read, minute in requests
    )
    return Transcript(
        id="run",
        format="claude_code",
        wire="anthropic_messages",
        provider="anthropic",
        model=model,
        system=None,
        tools=(),
        messages=messages,
        requests=recorded,
        incomplete="the system prompt is not in this log",
        path="transcripts/some.jsonl.gz",
    )


FIRST = (1, 40_000, 0, 0.0)


@pytest.mark.parametrize(
    ("later", "classes"),
    [
        ([(3, 42_000, 40_000, 1.0), (5, 45_000, 42_000, 2.0)], ["", ""]),
        ([(3, 42_000, 0, 6.0)], [""]),
        ([(3, 42_000, 40_000, 6.0)], ["longer"]),
        ([(3, 42_000, 0, 1.0)], ["head, in time"]),
        ([(3, 42_000, 0, None)], ["head, no times"]),
        ([(3, 60_000, 50_000, 1.0)], ["elsewhere"]),
        ([(3, 50_000, 40_000, 1.0), (5, 60_000, 50_000, 1.0), (7, 70_000, 50_000, 1.0)], ["", "", "earlier"]),
        ([(3, 50_000, 40_000, 1.0), (5, 60_000, 45_000, 1.0)], ["", "between"]),
        ([(3, 20_000, 0, 1.0), (5, 22_000, 20_000, 2.0)], ["not shown", ""]),
        ([(1, 50_000, 0, 1.0)], ["not shown"]),
    ],
)
def test_a_difference_is_put_into_a_class_by_its_numbers(
    benchmark: Any, later: list[tuple[int, int, int, float | None]], classes: list[str]
) -> None:
    assert [one.miss for one in benchmark.Session(session(FIRST, *later)).scored()] == classes


def test_after_a_compaction_what_stands_in_front_is_still_read(benchmark: Any) -> None:
    warm = session((1, 40_000, 30_000, 0.0), (3, 42_000, 40_000, 1.0))
    compacted = replace(warm, meta={"marks": [{"at": 1}]})
    assert [one.simulated.cache_read_tokens for one in benchmark.Session(compacted).scored()] == [
        pytest.approx(40_000, rel=0.01)
    ]


def test_a_family_has_its_errors_and_a_session_without_rules_its_reason(benchmark: Any) -> None:
    known = session(FIRST, (3, 42_000, 40_000, 1.0), (5, 44_000, 0, 2.0), (7, 9_000, 0, 3.0))
    unknown = session(FIRST, (3, 42_000, 40_000, 1.0), model="grok-4")
    unused = session((1, 40_000, 40_000, 0.0))
    rows, unexplained = benchmark.compare([known, unknown, unused])
    assert [(row["sessions"], row["scored"], row["not_shown"], row["explained"]) for row in rows] == [
        (3, 2, 1, 0.5)
    ]
    assert rows[0]["median"] == pytest.approx(42_000 / 44_000 / 2)
    assert rows[0]["usd_error_explained"] == pytest.approx(0, abs=1e-3)
    assert [one["why"] for one in unexplained] == ["head, in time 1, not shown 1", "no rules known"]


@pytest.mark.skipif(not SESSIONS.exists(), reason="the shared data is not here")
def test_recorded_sessions_with_times_are_read_as_simulated(benchmark: Any) -> None:
    (row,), _ = benchmark.compare(ctxkit.load(SESSIONS))
    assert row["scored"] > 100
    assert row["median"] < 0.001
    assert row["p90"] < 0.01
    assert abs(row["usd_error"]) < 0.02
