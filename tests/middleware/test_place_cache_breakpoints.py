"""`PlaceCacheBreakpoints`: what is marked, and that nothing but marks changes from turn to turn.

What that saves is in `test_place_cache_breakpoints_saves`.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ctxkit
from ctxkit.errors import ModelCallFailed
from ctxkit.flow import ask_model
from ctxkit.messages import Histories, ModelRequest, Where
from ctxkit.testing import ScriptedModel, both, checked, reply
from ctxkit.validity.anthropic_cache import MOST_MARKS, marks_by_itself, marks_of
from support.bodies import ALL_WIRES, ANTHROPIC, OPENAI, calls, request_of, results, rounds, user
from support.caching import Clock
from support.flows import first_request
from support.marks import HEAD, LAST_TOOL, MARK, MODEL, SYSTEM, TOOLS, Loop, bare, block, place, places, sent
from support.valid_histories import VALID_HISTORIES, History


@pytest.mark.parametrize("wire", ALL_WIRES)
@pytest.mark.parametrize("model", ["gpt-6-sol", "gemini-3.1-pro", "house", MODEL])
def test_what_caches_by_itself_or_in_an_unknown_way_passes_as_it_is(wire: str, model: str) -> None:
    request = request_of(wire, rounds(OPENAI if wire == OPENAI else ANTHROPIC, ["Found."]), model=model)
    assert (sent(request) is request) == ((wire, model) != (ANTHROPIC, MODEL))


def test_the_first_request_of_a_loop_has_its_tools_its_system_prompt_and_its_end_marked() -> None:
    made = sent(request_of(ANTHROPIC, [user("Find the bug.")], **HEAD))
    assert places(made) == [LAST_TOOL, SYSTEM, block(0)]
    assert made.body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Find the bug.", **MARK}]}
    ]
    assert made.body["system"] == [{"type": "text", "text": "You find foxes.", **MARK}]
    assert made.body["tools"] == [TOOLS[0], {**TOOLS[1], **MARK}]


def test_later_requests_have_the_end_of_the_one_before_marked_as_well() -> None:
    loop, history = Loop(), rounds(ANTHROPIC, ["Found."] * 3)
    assert places(loop.send(history[:1])) == [LAST_TOOL, SYSTEM, block(0)]
    assert places(loop.send(history[:3])) == [LAST_TOOL, SYSTEM, block(0), block(2)]
    assert places(loop.send(history[:7])) == [LAST_TOOL, SYSTEM, block(2), block(6)]


def test_a_new_process_marks_the_place_before_the_last_answer() -> None:
    made = sent(request_of(ANTHROPIC, rounds(ANTHROPIC, ["Found."] * 3), **HEAD))
    assert places(made) == [LAST_TOOL, SYSTEM, block(4), block(6)]


def test_a_history_that_begins_with_an_answer_has_no_place_before_it() -> None:
    made = sent(request_of(ANTHROPIC, [calls(ANTHROPIC, "a"), *results(ANTHROPIC, {"a": "Found."})], **HEAD))
    assert places(made) == [LAST_TOOL, SYSTEM, block(1)]


def test_a_request_that_is_sent_again_is_marked_at_its_end_only() -> None:
    loop = Loop()
    for _ in range(2):
        assert places(loop.send([user("Find the bug.")])) == [LAST_TOOL, SYSTEM, block(0)]


def test_after_an_edit_the_last_place_in_front_of_it_is_marked() -> None:
    """A clear is cheap only where a mark stands at the last unchanged place: economics.md, section 2.4."""
    loop, history = Loop(), rounds(ANTHROPIC, ["Found."] * 4)
    for end in (1, 3, 5, 7):
        loop.send(history[:end])
    (edited,) = results(ANTHROPIC, {"call_1": "[cleared]"})
    assert places(loop.send([*history[:4], edited, *history[5:]])) == [LAST_TOOL, SYSTEM, block(2), block(8)]


def test_a_request_that_failed_is_no_place_to_read_from() -> None:
    loop, history = Loop(), rounds(ANTHROPIC, ["Found."] * 2)
    loop.send(history[:1])
    flow = loop.middleware.wrap_model_call(loop.request(history[:3]), ask_model)
    first_request(flow)
    with pytest.raises(ModelCallFailed):
        flow.throw(ModelCallFailed(529, None))
    assert places(loop.send(history)) == [LAST_TOOL, SYSTEM, block(0), block(4)]


def test_a_side_call_reads_what_was_written_and_does_not_write_its_end() -> None:
    loop, history = Loop(), rounds(ANTHROPIC, ["Found."] * 2)
    loop.send(history[:3])
    side = loop.request([*history, user("Sum up.")]).side_call("summary")
    assert places(sent(side, loop.middleware)) == [LAST_TOOL, SYSTEM, block(2)]
    assert places(loop.send(history)) == [LAST_TOOL, SYSTEM, block(2), block(4)]


def test_the_end_of_a_side_call_is_no_place_to_read_from() -> None:
    loop, history = Loop(), rounds(ANTHROPIC, ["Found."] * 3)
    loop.send(history[:3])
    sent(loop.request(history[:5]).side_call("summary"), loop.middleware)
    assert places(loop.send(history)) == [LAST_TOOL, SYSTEM, block(2), block(6)]


def test_a_side_call_to_another_model_writes_nothing_that_nobody_would_read() -> None:
    loop, history = Loop(), rounds(ANTHROPIC, ["Found."] * 2)
    loop.send(history[:3])
    side = loop.request([*history, user("Sum up.")]).side_call("summary", model="claude-haiku-4-5")
    assert places(sent(side, loop.middleware)) == []


@pytest.mark.parametrize(
    "head",
    [
        {"tools": None},
        {"tool_choice": {"type": "tool", "name": "edit"}},
        {"tool_choice": {"type": "none"}},
    ],
)
def test_a_single_request_has_its_head_marked_once_it_comes_again_soon(head: dict[str, Any]) -> None:
    clock = Clock()
    loop = Loop(place(clock=clock), **head)
    first = loop.send([user("Is this a fox?")])
    assert places(first) == []
    clock.now += 300
    assert places(loop.send([user("And this?")]))[-1:] == [SYSTEM]
    clock.now += 301
    assert places(loop.send([user("And that?")])) == []


def test_a_chat_without_tools_is_marked_from_its_first_answer_on() -> None:
    loop, answer = Loop(tools=[]), {"role": "assistant", "content": "Hello."}
    first, second = loop.send([user("Hi.")]), loop.send([user("Hi."), answer, user("A fox?")])
    assert places(first) == []
    assert places(second) == [SYSTEM, block(0), block(2)]
    assert second.body["messages"][0]["content"] == [{**first.body["messages"][0]["content"][0], **MARK}]


def test_thinking_empty_texts_and_tools_that_are_searched_for_are_never_marked() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    text, empty = {"type": "text", "text": "Go on."}, {"type": "text", "text": " "}
    found = {"type": "tool_result", "tool_use_id": "call_0", "content": ""}
    history = [
        user("Hi."),
        {"role": "assistant", "content": [text, thought]},
        {"role": "user", "content": [empty]},
    ]
    searched = {"name": "zebra", "input_schema": {"type": "object"}, "defer_loading": True}
    made = sent(request_of(ANTHROPIC, history, model=MODEL, tools=[*TOOLS, searched], system=[empty]))
    assert places(made) == [LAST_TOOL, block(0), block(1)]
    nothing = [user(""), calls(ANTHROPIC, "call_0"), {"role": "user", "content": [found]}]
    assert places(sent(request_of(ANTHROPIC, nothing, model=MODEL))) == [block(1)]
    silent = sent(request_of(ANTHROPIC, [user("")], model=MODEL, tools=TOOLS))
    assert (places(silent), silent.body["messages"]) == ([LAST_TOOL], [user("")])
    assert sent(request_of(ANTHROPIC, [], **HEAD)).origin is None


def test_what_the_caller_marked_is_not_joined_by_other_marks_in_its_part() -> None:
    marked_system = [{"type": "text", "text": "You find foxes.", **MARK}]
    history = rounds(ANTHROPIC, ["Found."] * 2)
    assert places(sent(request_of(ANTHROPIC, history, **{**HEAD, "system": marked_system}))) == [
        SYSTEM,
        block(2),
        block(4),
    ]
    history[0] = {"role": "user", "content": [{"type": "text", "text": "Find the bug.", **MARK}]}
    assert places(sent(request_of(ANTHROPIC, history, **HEAD))) == [LAST_TOOL, SYSTEM, block(0)]
    everything = request_of(ANTHROPIC, history, **{**HEAD, "system": marked_system})
    assert sent(everything) is everything


def test_where_the_provider_marks_the_end_by_itself_the_other_places_are_marked() -> None:
    made = sent(request_of(ANTHROPIC, rounds(ANTHROPIC, ["Found."] * 2), **HEAD, **MARK))
    assert places(made) == [LAST_TOOL, SYSTEM, block(2)]


@pytest.mark.parametrize(
    ("rules", "more", "added"),
    [(2, {}, [block(2), block(4)]), (3, {}, [block(4)]), (2, MARK, [block(2)]), (3, MARK, []), (5, {}, [])],
)
def test_the_callers_marks_leave_room_for_no_more_than_four(
    rules: int, more: dict[str, Any], added: list[Where]
) -> None:
    system = [{"type": "text", "text": f"Rule {rule}.", **MARK} for rule in range(rules)]
    history = rounds(ANTHROPIC, ["Found."] * 2)
    made = sent(request_of(ANTHROPIC, history, **{**HEAD, "system": system}, **more))
    assert places(made) == [*(("system", rule) for rule in range(rules)), *added]


def test_parallel_results_and_tools_are_sent_in_one_order() -> None:
    made = [
        sent(
            request_of(
                ANTHROPIC,
                [
                    user("Hi."),
                    calls(ANTHROPIC, "b", "a", "c"),
                    *results(ANTHROPIC, dict.fromkeys(order, "Found.")),
                ],
                **{**HEAD, "tools": tools},
            )
        ).body
        for order, tools in (("abc", TOOLS), ("cab", TOOLS[::-1]), ("bac", TOOLS))
    ]
    assert made[0] == made[1] == made[2]
    assert [one["tool_use_id"] for one in made[0]["messages"][2]["content"]] == ["b", "a", "c"]
    assert [tool["name"] for tool in made[0]["tools"]] == ["edit", "search"]


def test_orders_stay_where_the_user_says_so() -> None:
    history = [user("Hi."), calls(ANTHROPIC, "a", "b"), *results(ANTHROPIC, {"b": "Found.", "a": "Found."})]
    request = request_of(ANTHROPIC, history, **{**HEAD, "tools": TOOLS[::-1]})
    made = sent(request, place(reorder=False)).body
    assert bare(made["messages"][1:]) == history[1:]
    assert bare(made["tools"]) == TOOLS[::-1]


@given(st.data())
def test_no_request_has_more_than_four_marks_and_the_callers_stay_at_their_places(
    data: st.DataObject,
) -> None:
    history: History = data.draw(VALID_HISTORIES[ANTHROPIC])
    stack = checked(ctxkit.Stack(place(ttl=data.draw(st.sampled_from(["auto", "5m", "1h"])))))
    process = Histories()
    for end in history.ends:
        request = history.request(end, process)
        before = deepcopy(request.body)
        made = first_request(stack.model_flow(request))
        marks = marks_of(made)
        assert set(marks_of(request)) <= set(marks)
        assert len(marks) + marks_by_itself(made, marks) <= MOST_MARKS
        assert request.body == before


@given(st.data())
def test_later_requests_send_the_same_bytes_apart_from_the_marks(data: st.DataObject) -> None:
    """Moving `cache_control` makes nothing invalid: guide to prompt caching, economics.md, section 2.1."""
    history: History = data.draw(VALID_HISTORIES[ANTHROPIC])
    middleware, process = place(), Histories()
    before: list[Any] = []
    for end in history.ends:
        messages = bare(sent(history.request(end, process), middleware).body["messages"])
        assert messages[: len(before)] == before
        assert bare(sent(history.request(end)).body["messages"]) == messages
        before = messages


@given(st.data())
def test_what_was_marked_once_is_left_as_it_is(data: st.DataObject) -> None:
    history: History = data.draw(VALID_HISTORIES[ANTHROPIC])
    once = sent(history.request(history.ends[-1]))
    again = sent(ModelRequest(once.wire, once.body))
    assert again.body == once.body


def test_a_request_that_is_to_be_left_alone_passes_as_it_is() -> None:
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, ["Found."]), **HEAD).as_it_is()
    assert sent(request) is request


def test_it_answers_like_any_other_call_blocking_and_awaiting() -> None:
    model = ScriptedModel([reply(text="Done.")])
    request = request_of(ANTHROPIC, [user("Hi.")], **HEAD)
    response = both(lambda: ctxkit.Stack(place()).model_flow(request), model)
    assert response.text == "Done."
    assert len(places(response.request)) == 3
