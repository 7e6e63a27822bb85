"""What holds for every history, however broken: told the same in one go and bit by bit, and mended once."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.errors import BodyError
from ctxkit.messages import Histories, ModelRequest
from ctxkit.validity import problems_of, repair, validate
from ctxkit.wire import wire_named
from support.histories import BODIES, MESSAGE_KEYS

WIRES = list(BODIES)
ANY = st.sampled_from(WIRES).flatmap(lambda wire: st.tuples(st.just(wire), BODIES[wire]))


@given(ANY)
def test_a_repair_is_made_once_and_says_what_is_left(given_body: tuple[str, dict[str, Any]]) -> None:
    wire, body = given_body
    before = deepcopy(body)
    repaired = repair(body, wire=wire)
    assert body == before
    assert [
        (problem.rule, problem.where, problem.message) for problem in validate(repaired.body, wire=wire)
    ] == [(problem.rule, problem.where, problem.message) for problem in repaired.unresolved]
    again = repair(repaired.body, wire=wire)
    assert again.body is repaired.body
    assert again.edits == ()


@given(ANY)
def test_only_a_broken_body_is_edited(given_body: tuple[str, dict[str, Any]]) -> None:
    wire, body = given_body
    repaired = repair(body, wire=wire)
    assert (repaired.body is body) == (not repaired.edits)
    if not validate(body, wire=wire):
        assert repaired.edits == ()


@given(ANY)
def test_a_growing_history_is_judged_as_if_it_were_new(given_body: tuple[str, dict[str, Any]]) -> None:
    wire, body = given_body
    key, histories = MESSAGE_KEYS[wire], Histories()
    for length in range(len(body[key]) + 1):
        shorter = {**body, key: body[key][:length]}
        request = ModelRequest(wire_named(wire), shorter, histories=histories)
        assert list(problems_of(request)) == validate(shorter, wire=wire)


@given(BODIES["anthropic_messages"])
def test_a_repair_never_touches_thinking_and_keeps_every_call(body: dict[str, Any]) -> None:
    repaired = repair(body, wire="anthropic_messages").body
    for kind in ("thinking", "tool_use"):
        assert _blocks(repaired, kind) == _blocks(body, kind)


@given(BODIES["openai_chat"])
def test_a_repair_answers_every_call_with_its_own_result_where_it_stands_right(body: dict[str, Any]) -> None:
    repaired = repair(body, wire="openai_chat").body["messages"]
    kept = [message for message in body["messages"] if message["role"] != "tool"]
    assert [message for message in repaired if message["role"] != "tool"] == kept
    for message in repaired:
        if message["role"] == "tool" and message["content"].endswith("!"):
            assert message in body["messages"]


def _blocks(body: dict[str, Any], kind: str) -> list[Any]:
    return [
        block
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == kind
    ]


WORDS = st.sampled_from(
    [
        *(
            "role",
            "content",
            "type",
            "text",
            "id",
            "name",
            "input",
            "parts",
            "call_id",
            "output",
            "tool_calls",
        ),
        *(
            "tool_use",
            "tool_result",
            "tool_use_id",
            "thinking",
            "signature",
            "cache_control",
            "function",
            "ttl",
        ),
        *(
            "functionCall",
            "functionResponse",
            "function_call",
            "function_call_output",
            "reasoning",
            "compaction",
        ),
        *("user", "assistant", "system", "tool", "model", "server_tool_use", "tool_call_id", "arguments"),
    ]
)
SCALARS = WORDS | st.sampled_from([None, True, 7, -1.5, "\ud83d", ""])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize("wire", WIRES)
@given(
    st.lists(st.dictionaries(WORDS, JSON, max_size=5), max_size=4), st.dictionaries(WORDS, JSON, max_size=2)
)
def test_junk_raises_a_body_error_or_nothing(wire: str, junk: list[Any], more: dict[str, Any]) -> None:
    try:
        repaired = repair({**more, MESSAGE_KEYS[wire]: junk}, wire=wire)
    except BodyError:
        return
    assert repair(repaired.body, wire=wire).body is repaired.body
