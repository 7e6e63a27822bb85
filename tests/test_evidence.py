"""`evidence`: what a run took from its tool results, and could know from nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.evidence import holds, needs, strings
from support.bodies import ANTHROPIC, WIRES, calls, request_of, results, user


def taken(wire: str, messages: list[Any], **body: Any) -> list[tuple[str, str, int]]:
    """What each turn took, from which call, in which turn."""
    request = request_of(wire, messages, **body)
    return [(need.string, str(need.source.call_id), need.turn) for need in needs(request.head, request.turns)]


@pytest.mark.parametrize("wire", WIRES)
def test_what_the_model_says_and_only_a_result_held_is_needed(wire: str) -> None:
    messages = [
        user("Who wrote order A-17?"),
        *(calls(wire, "a"), *results(wire, {"a": "order A-17 by user_4711, see src/app/orders.py"})),
        calls(wire, "b", inputs={"path": "src/app/orders.py", "user": "user_4711", "order": "A-17"}),
        *results(wire, {"b": "def load_order(): ..."}),
        {"role": "assistant", "content": "It is load_order, in src/app/orders.py."},
    ]
    found = taken(wire, messages)
    assert ("user_4711", "a", 3) in found
    assert [need for need in found if need[0] == "src/app/orders.py"] == [
        ("src/app/orders.py", "a", 3),
        ("src/app/orders.py", "a", len(messages) - 1),
    ]
    assert ("load_order", "b", len(messages) - 1) in found
    assert not [need for need in found if need[0] == "A-17"]


def test_the_first_result_that_holds_it_is_the_source() -> None:
    messages = [
        *(calls(ANTHROPIC, "a"), *results(ANTHROPIC, {"a": "id 99812"})),
        *(calls(ANTHROPIC, "b"), *results(ANTHROPIC, {"b": "again id 99812"})),
        calls(ANTHROPIC, "c", inputs={"id": 99812}),
    ]
    assert taken(ANTHROPIC, messages) == [("99812", "a", 4)]


def test_what_tools_or_the_system_prompt_name_is_not_needed() -> None:
    messages = [
        *(calls(ANTHROPIC, "a"), *results(ANTHROPIC, {"a": "use find_user with us_east_1"})),
        calls(ANTHROPIC, "b", inputs={"region": "us_east_1"}),
    ]
    tools = [{"name": "find_user", "input_schema": {"type": "object"}}]
    assert taken(ANTHROPIC, messages) == [("us_east_1", "a", 2)]
    assert taken(ANTHROPIC, messages, system="We run in us_east_1.", tools=tools) == []


def test_line_ends_in_arguments_are_no_part_of_a_word() -> None:
    messages = [
        *(calls(ANTHROPIC, "a"), *results(ANTHROPIC, {"a": "call see_you and then4"})),
        calls(ANTHROPIC, "b", inputs={"text": "x\nsee_you\tthen4"}),
    ]
    assert [string for string, *_ in taken(ANTHROPIC, messages)] == ["see_you", "then4"]


def test_words_of_a_language_are_no_evidence_and_quoted_ones_are() -> None:
    said = 'He said "no fault found here" of pending getUser HTTP 404 and 12.'
    assert strings(said) == {"no fault found here", "getUser", "404"}
    assert strings('{"a": "alone", "path": "src/a.py"}') == {"src/a.py"}


def test_a_part_of_a_longer_word_does_not_hold_it() -> None:
    assert holds("id=99812;", "99812")
    assert not holds("id=998123", "99812")
    assert not holds("nothing", "99812")


def test_a_word_that_stands_alone_is_found_behind_one_that_it_is_a_part_of() -> None:
    assert holds("item_42a, then item_42", "item_42")
