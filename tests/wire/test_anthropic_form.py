"""One form of equal prompts on Anthropic's wire, and the places that a mark can have there."""

from __future__ import annotations

from typing import Any

from anthropic.types.beta import BetaContentBlockParam

from ctxkit.wire.anthropic_form import formed_message, formed_tools
from ctxkit.wire.anthropic_marks import CARRIERS
from support.bodies import ANTHROPIC, calls, request_of, user
from support.sdk_types import fields, kinds, members
from support.validity import tool_result

MARK = {"cache_control": {"type": "ephemeral"}}


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "input_schema": {"type": "object"}, **more}


def tools_of(*tools: dict[str, Any]) -> list[Any]:
    return formed_tools(request_of(ANTHROPIC, [], tools=list(tools)).tools)


def formed(*results: dict[str, Any]) -> list[Any]:
    """The results of calls a, b and c as they are sent."""
    messages = [user("Hi."), calls(ANTHROPIC, "a", "b", "c"), {"role": "user", "content": list(results)}]
    turn = request_of(ANTHROPIC, messages).turns[-1]
    content: list[Any] = formed_message(turn)["content"]
    return content


def test_no_tool_is_moved_past_a_mark_and_marks_stay_at_their_places() -> None:
    made = tools_of(tool("z"), tool("m", **MARK), tool("b"), tool("a"))
    assert made == [tool("m"), tool("z", **MARK), tool("a"), tool("b")]


def test_results_stand_in_the_order_of_their_calls_and_what_follows_them_stays_behind() -> None:
    speech = {"type": "text", "text": "Go on."}
    assert formed(tool_result("c"), tool_result("a"), tool_result("b"), speech) == [
        *map(tool_result, "abc"),
        speech,
    ]


def test_a_mark_on_the_last_result_stays_on_the_last_result() -> None:
    made = formed(tool_result("c"), tool_result("b"), tool_result("a", **MARK))
    assert made == [tool_result("a"), tool_result("b"), tool_result("c", **MARK)]


def test_results_stay_as_they_came_where_a_call_is_not_known_or_a_mark_stands_inside_one() -> None:
    for odd in (tool_result("x"), tool_result("a", [{"type": "text", "text": "Found.", **MARK}])):
        assert formed(tool_result("b"), odd) == [tool_result("b"), odd]


def test_a_message_that_has_its_form_is_the_native_one() -> None:
    messages = [{"role": "user", "content": [tool_result("a")]}, {"role": "assistant", "content": "Hi."}]
    for turn in request_of(ANTHROPIC, messages).turns:
        assert formed_message(turn) is turn.native


def test_what_may_be_marked_may_be_marked_by_the_sdks_own_types() -> None:
    markable = {
        kind
        for member in members(BetaContentBlockParam)
        if "cache_control" in fields(member)
        for kind in kinds(member)
    }
    assert CARRIERS.keys() <= markable
    assert not {"thinking", "redacted_thinking"} & markable
