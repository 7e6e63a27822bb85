"""The bodies of recorded requests, put together from a log."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.transcripts.requests import request_body
from support.runs import ANTHROPIC, RUNS, run, used

MESSAGES = {"openai_responses": "input", "gemini": "contents"}


@pytest.mark.parametrize("wire", RUNS)
def test_a_body_has_the_shape_of_its_wire(wire: str) -> None:
    recorded = RUNS[wire]
    first, second = (request_body(recorded, request) for request in recorded.requests)
    key = MESSAGES.get(wire, "messages")
    assert first[key] == recorded.messages[: recorded.requests[0].input_messages]
    assert second[key] == recorded.messages[: recorded.requests[1].input_messages]
    assert {**first, key: second[key]} == second
    assert first["model"] == recorded.model
    assert recorded.tools == (first["toolConfig"]["tools"] if "toolConfig" in first else first["tools"])


def test_what_a_log_does_not_show_is_not_in_the_body() -> None:
    recorded = run(used(1, 100, 5))
    assert request_body(recorded, recorded.requests[0]).keys() == {"model", "messages"}


@pytest.mark.parametrize("marks", [[{"at": 2}], [{"at": 2}, {"at": "later"}, 7]])
def test_a_body_starts_where_the_history_was_compacted_before_it(marks: list[Any]) -> None:
    recorded = run(used(1, 100, 5), used(3, 100, 5), meta={"marks": marks})
    bodies = [request_body(recorded, request)["messages"] for request in recorded.requests]
    assert bodies == [ANTHROPIC[:1], ANTHROPIC[2:3]]
