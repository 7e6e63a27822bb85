"""Where a history may be cut: never with a call open, never within an answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.compaction import Places
from ctxkit.messages import ModelRequest
from ctxkit.tokens import block_counter_for, shape_of
from support.bodies import ANTHROPIC, OPENAI, RESPONSES, calls, request_of, results, user
from support.valid_histories import VALID_HISTORIES, History

THINKS = {"type": "reasoning", "id": "r", "summary": []}
COUNTER = block_counter_for(None)


def cuts(wire: str, messages: list[Any], keep_steps: int = 0) -> list[int]:
    return list(Places.of(request_of(wire, messages), COUNTER).cuts(keep_steps))


def test_a_cut_stands_in_front_of_answers_and_of_what_the_user_says() -> None:
    raw = [user("a"), calls(OPENAI, "1", "2"), *results(OPENAI, {"1": "x", "2": "y"}), user("b"), user("c")]
    assert cuts(OPENAI, raw) == [5, 4, 1]


def test_results_that_came_in_two_messages_stay_together() -> None:
    raw = [
        user("a"),
        calls(ANTHROPIC, "1", "2"),
        *results(ANTHROPIC, {"1": "x"}),
        *results(ANTHROPIC, {"2": "y"}),
    ]
    assert cuts(ANTHROPIC, [*raw, user("b")]) == [4, 1]


def test_a_result_without_its_call_is_not_cut_from_what_stands_before_it() -> None:
    raw = [user("a"), *results(OPENAI, {"1": "x"}), user("b")]
    assert cuts(OPENAI, raw) == [2]


def test_items_of_one_answer_stay_together_and_a_loop_that_thinks_is_cut_in_front_of_thinking() -> None:
    call, other = (
        {"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"} for name in "ab"
    )
    output, more = ({"type": "function_call_output", "call_id": name, "output": "x"} for name in "ab")
    said = {"role": "assistant", "content": "Hm."}
    assert cuts(RESPONSES, [user("a"), said, call, output, other, more]) == [4, 1]
    assert cuts(RESPONSES, [user("a"), THINKS, call, output, other, more]) == [1]
    assert cuts(RESPONSES, [user("a"), THINKS, call, output, THINKS, other, more]) == [4, 1]
    assert cuts(RESPONSES, [user("a"), THINKS, said, user("b"), call, output]) == [4, 3, 1]


def test_the_last_answers_stay_with_what_belongs_to_them() -> None:
    raw = [user("a"), *(m for name in "123" for m in (calls(OPENAI, name), *results(OPENAI, {name: "x"})))]
    assert cuts(OPENAI, raw, 1) == [5, 3, 1]
    assert cuts(OPENAI, raw, 2) == [3, 1]
    assert cuts(OPENAI, raw, 9) == []


@pytest.mark.parametrize(
    ("wire", "messages", "length"),
    [
        (ANTHROPIC, [user("a")], 1),
        (OPENAI, [{"role": "system", "content": "s"}, user("a"), user("b")], 2),
        (OPENAI, [{"role": "system", "content": "s"}], None),
        (ANTHROPIC, [{"role": "assistant", "content": "a"}, user("b")], None),
    ],
)
def test_the_opening_ends_with_the_users_first_message(
    wire: str, messages: list[Any], length: int | None
) -> None:
    assert Places.of(request_of(wire, messages), COUNTER).opening == length


@pytest.mark.parametrize("wire", VALID_HISTORIES)
@given(data=st.data())
def test_the_tokens_of_a_history_are_those_of_its_messages_and_its_head(
    data: st.DataObject, wire: str
) -> None:
    history: History = data.draw(VALID_HISTORIES[wire])
    request: ModelRequest = history.request(history.ends[-1])
    counter = block_counter_for(request.model, wire)
    places = Places.of(request, counter)
    each = [places.tokens(index) for index in range(len(places.turns))]
    assert places.up_to(0).tokens + sum(each) == places.last.tokens
    assert places.last.tokens >= shape_of(request, counter).total - 1_000


@pytest.mark.parametrize("wire", VALID_HISTORIES)
@given(data=st.data())
def test_on_both_sides_of_a_cut_every_call_has_its_result(data: st.DataObject, wire: str) -> None:
    history: History = data.draw(VALID_HISTORIES[wire])
    request = history.request(history.ends[-1])
    places = Places.of(request, block_counter_for(request.model, wire))
    for cut in places.cuts(0):
        for turns in (places.turns[:cut], places.turns[cut:]):
            blocks = [block for turn in turns for block in turn.blocks if block.client]
            kinds = [block.kind for block in blocks]
            answered = kinds.count("tool_result") - kinds.count("tool_call")
            assert answered == (0 if not request.wire.has_server_state(request.body) else answered)
