"""`condense_log`: what happened, not how often it went well."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ctxkit.condense.base import Budget
from ctxkit.condense.log import condense_log
from ctxkit.tokens import counter_for

COUNTER = counter_for(None)
OUTPUTS = Path(__file__).parents[3] / "shared" / "data" / "tool_outputs"


def log(**special: str) -> str:
    """A log of a healthy service, with a line of its own at some places: `line_7="..."`."""
    lines = [
        f"ts=2025-05-22T06:{number // 60:02}:{number % 60:02}Z method=Health result=2 took=4{number % 10}µs"
        for number in range(3_600)
    ]
    for place, text in special.items():
        lines[int(place.removeprefix("line_"))] = text
    return "\n".join(lines)


def shown(text: str, max_tokens: int = 500, *terms: str) -> list[str]:
    """The lines of the condensed text."""
    made = condense_log(text, Budget(max_tokens, COUNTER, frozenset(terms)))
    assert COUNTER.count(made.text) <= max_tokens
    return made.text.split("\n")


@pytest.mark.parametrize(
    "line",
    [
        "ts=2025-05-22T06:40:00Z level=ERROR connection refused by db-7",
        "ts=2025-05-22T06:40:00Z method=Health result=2 took=51234µs",
        "ts=2025-05-22T06:40:00Z method=List result=2 took=43µs",
        "panic: runtime error: index out of range",
        '{"level":50,"time":1743577959399,"msg":"it went wrong"}',
        '{"reqId":"req-2l","res":{"statusCode":503},"msg":"request completed"}',
        '10.0.0.1 - - [22/May/2025] "GET /a HTTP/1.1" 500 17',
        "WARNING: deprecated option",
    ],
)
def test_a_line_unlike_the_others_is_shown(line: str) -> None:
    assert line in shown(log(line_2345=line))


def test_the_first_and_the_last_lines_are_shown() -> None:
    lines = log(line_0="server started", line_3599="server stopped").split("\n")
    made = shown("\n".join(lines))
    assert made[:3] == lines[:3]
    assert made[-4:-1] == lines[-3:]
    assert made[-1].startswith("[ctxkit: ")


def test_of_errors_of_one_form_the_first_and_the_last_are_shown() -> None:
    failed = {f"line_{number}": f"ERROR: no answer from node-{number}" for number in range(500, 3_400)}
    made = shown(log(**failed))
    assert {"ERROR: no answer from node-500", "ERROR: no answer from node-3399"} <= set(made)


def test_a_rare_error_is_shown_among_many_of_another_form() -> None:
    failed = {f"line_{number}": f"ERROR: no answer from node-{number}" for number in range(500, 3_400)}
    assert "ERROR: disk full" in shown(log(**{**failed, "line_2000": "ERROR: disk full"}))


def test_rare_words_of_the_question_come_before_common_ones() -> None:
    text = log(line_1234="ts=2025-05-22T06:40:00Z method=Health result=2 took=43µs user=ann")
    assert any("user=ann" in line for line in shown(text, 500, "health", "user=ann"))


def test_hidden_lines_are_counted_where_they_stood() -> None:
    made = shown(log())
    hidden = sum(int(line.split()[1].replace(",", "")) for line in made if line.startswith("[... "))
    kept = sum(line.startswith("ts=") for line in made)
    assert hidden + kept == 3_600
    assert f"[ctxkit: {kept} of 3,600 lines shown; {hidden:,} lines (about " in made[-1]


@pytest.mark.skipif(not OUTPUTS.exists(), reason="the shared data are not here")
def test_of_each_recorded_log_every_kind_of_error_is_shown() -> None:
    kinds = {
        "holmes-26f50c47": ["certificate expired", "syntax error", "duplicate key", "sessions from redis"],
        "holmes-845c3a30": ["connection tests"],
    }
    for name, expected in kinds.items():
        with gzip.open(OUTPUTS / f"{name}.txt.gz", "rt") as file:
            made = "\n".join(shown(file.read(), 2_000))
        assert [words for words in expected if words not in made] == []
