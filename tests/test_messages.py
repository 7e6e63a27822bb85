"""Requests and responses are frozen views of the provider's JSON; every edit makes a new one."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.blocks import Turn
from ctxkit.messages import ModelRequest, ModelResponse, Prompt, ToolCall
from ctxkit.wire import wire_named
from support.bodies import (
    ANTHROPIC,
    OPENAI,
    WIRES,
    answer_to,
    calls,
    of_body,
    request_of,
    results,
    rounds,
    user,
)


def turns_of(request: ModelRequest) -> list[Any]:
    return [turn.native for turn in request.turns]


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_is_its_head_and_then_its_messages(wire: str) -> None:
    messages = rounds(wire, ["one", "two"])
    request = request_of(wire, messages)
    assert turns_of(request) == messages
    assert request.head.native is None
    assert [turn.parent for turn in request.turns] == [request.head, *request.turns[:-1]]
    assert list(request.turns[-1].ancestors()) == [*request.turns[-2::-1], request.head]
    assert [block.text for block in request.tool_results()] == ["one", "two"]
    assert [block.kind for block in request.blocks()][:3] == ["user_text", "tool_call", "tool_result"]


@pytest.mark.parametrize(
    ("body", "model", "stream"),
    [
        ({"model": "m", "stream": True}, "m", True),
        ({"model": "m"}, "m", False),
        ({"model": 7, "stream": "yes"}, None, False),
        ({}, None, False),
    ],
)
def test_a_request_says_which_model_and_whether_it_streams(
    body: Any, model: str | None, stream: bool
) -> None:
    request = of_body(ANTHROPIC, body)
    assert (request.model, request.stream) == (model, stream)


def test_an_edit_makes_a_new_request_and_shares_what_it_does_not_change() -> None:
    request = ModelRequest(
        wire_named(ANTHROPIC), {"model": "m", "messages": [user("hi")], "top_k": 5}, raw=b"{}"
    )
    before = deepcopy(request.body)
    edited = request.edit(remove=["top_k"], model="other", metadata={"user_id": "u"})
    assert request.body == before
    assert edited.body == {"model": "other", "messages": [user("hi")], "metadata": {"user_id": "u"}}
    assert edited.body["messages"] is request.body["messages"]
    assert (edited.raw, edited.origin) == (None, request)
    assert edited.edit(model="third").origin is request


def test_an_edit_keeps_the_keys_in_their_order() -> None:
    """A prompt cache is lost where the bytes of a request come in another order."""
    request = of_body(ANTHROPIC, {"system": "s", "messages": [], "model": "m"})
    assert list(request.edit(model="other", messages=[user("hi")]).body) == ["system", "messages", "model"]
    assert list(request.with_messages([user("hi")]).body) == ["system", "messages", "model"]


@pytest.mark.parametrize("wire", WIRES)
def test_results_that_say_something_else_leave_the_rest_alone(wire: str) -> None:
    request = request_of(wire, rounds(wire, ["one", "two", "three"]))
    before = deepcopy(request.body)
    first, _, third = request.tool_results()
    edited = request.with_result_texts({first: "1", third: "3"})
    assert request.body == before
    assert [block.text for block in edited.tool_results()] == ["1", "two", "3"]
    same = [
        one is other for one, other in zip(edited.body["messages"], request.body["messages"], strict=True)
    ]
    assert same == [True, True, False, True, True, True, False]


def test_a_request_in_which_nothing_is_said_differently_is_itself() -> None:
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, ["one"]))
    assert request.with_result_texts({}) is request


def test_the_same_edit_of_the_same_turn_gives_the_same_message() -> None:
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, ["one"]))
    longer = request_of(ANTHROPIC, [*rounds(ANTHROPIC, ["one"]), user("and?")], histories=request.histories)
    edits = [one.with_result_texts({next(one.tool_results()): "1"}) for one in (request, longer)]
    assert edits[0].body["messages"][2] is edits[1].body["messages"][2]


@pytest.mark.parametrize("wire", WIRES)
def test_messages_that_only_python_takes_for_equal_are_sent_as_the_caller_wrote_them(wire: str) -> None:
    """`1 == True == 1.0` in Python, and no two of them are the same JSON."""
    first = request_of(wire, [calls(wire, "a", inputs={"n": 1}), *results(wire, {"a": "one"})])
    list(first.blocks())
    mine = [calls(wire, "a", inputs={"n": True}), *results(wire, {"a": "one"})]
    request = request_of(wire, mine, histories=first.histories)
    edited = request.with_result_texts({next(request.tool_results()): "1"})
    assert edited.body["messages"][0] is mine[0]


def test_a_side_call_is_a_request_of_its_own_that_is_never_streamed() -> None:
    body = {"model": "m", "messages": [], "stream": True, "stream_options": {"include_usage": True}}
    request = ModelRequest(wire_named(OPENAI), body, raw=b"{}", provider="openai", retry=2)
    side = request.edit(top_p=1).side_call("summary", model="cheap")
    assert side.body == {"model": "cheap", "messages": [], "top_p": 1}
    assert (side.purpose, side.provider, side.retry, side.origin, side.raw) == (
        "summary",
        "openai",
        0,
        None,
        None,
    )


def counted(request: ModelRequest) -> tuple[int, list[int]]:
    """How many turns there are, as a fold, and which of them were looked at for it."""
    seen: list[int] = []

    def step(before: int, turn: Turn) -> int:
        seen.append(before + 1)
        return before + 1

    return request.fold("count", lambda head: 0, step), seen


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_a_fold_looks_at_every_turn_once_however_a_history_grows_and_branches(branches: list[bool]) -> None:
    messages: list[Any] = []
    histories = request_of(ANTHROPIC, []).histories
    keep = []
    for number, branch in enumerate(branches):
        messages = (
            [*messages[: len(messages) // 2], user(f"branch {number}")]
            if branch
            else [*messages, user(f"{number}")]
        )
        request = request_of(ANTHROPIC, messages, histories=histories)
        keep.append(request)
        total, seen = counted(request)
        assert total == len(messages)
        assert seen == [len(messages)]
        assert counted(request) == (total, [])


def test_a_fold_over_nothing_is_where_it_begins() -> None:
    assert counted(request_of(ANTHROPIC, [])) == (0, [])


def test_an_answer_names_the_model_that_answered_or_else_the_one_that_was_asked() -> None:
    request = request_of(ANTHROPIC, [])
    assert answer_to(request, model="claude-haiku-5").model == "claude-haiku-5"
    assert answer_to(request, model=None).model == "m"


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_gives_the_calls_for_the_client_in_its_order(wire: str) -> None:
    message = calls(wire, "a", "b", tool="ls", inputs={"path": "."})
    body: dict[str, Any] = message if wire == ANTHROPIC else {"choices": [{"index": 0, "message": message}]}
    response = ModelResponse(wire_named(wire), body, request_of(wire, []))
    assert response.tool_calls == (ToolCall("ls", {"path": "."}, "a"), ToolCall("ls", {"path": "."}, "b"))


def test_where_the_address_names_the_model_an_edit_changes_it_there() -> None:
    request = ModelRequest(wire_named(ANTHROPIC), {"messages": []}, url_model="claude-sonnet-5")
    edited = request.edit(model="claude-haiku-5", top_k=5)
    assert (request.model, edited.model) == ("claude-sonnet-5", "claude-haiku-5")
    assert edited.body == {"messages": [], "top_k": 5}
    assert edited.edit(top_k=6).model == "claude-haiku-5"
    both_places = ModelRequest(wire_named(ANTHROPIC), {"model": "a", "messages": []}, url_model="a").edit(
        model="b"
    )
    assert (both_places.body["model"], both_places.url_model) == ("b", "b")


@pytest.mark.parametrize("wire", WIRES)
def test_a_prompt_of_a_recorded_run_is_read_like_a_request(wire: str) -> None:
    body = {"model": "m", "messages": rounds(wire, ["one"])}
    prompt, request = Prompt(wire_named(wire), body), of_body(wire, body)
    assert prompt.model == "m"
    assert [block.digest for block in prompt.blocks()] == [block.digest for block in request.blocks()]
