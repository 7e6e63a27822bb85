"""OpenAI's Chat Completions API: every part is a block of the right kind, and edits change no more."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from ctxkit.errors import BodyError
from ctxkit.messages import Block, ToolCall
from ctxkit.usage import Usage
from ctxkit.wire import wire_named
from support.bodies import IMAGE_URL, OPENAI, answer_to, calls, of_body, request_of, results, user

WIRE = wire_named(OPENAI)
LS = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}


def blocks_of(*messages: Any, **body: Any) -> list[Block]:
    return list(request_of(OPENAI, messages, **body).blocks())


def seen(*messages: Any) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in blocks_of(*messages)]


def answer_with(message: Any, **body: Any) -> Any:
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return answer_to(request_of(OPENAI, []), choices=choices, **body)


def test_the_head_is_the_tool_definitions_of_every_generation() -> None:
    tools = [
        LS,
        {"type": "custom", "custom": {"name": "shell"}},
        {"type": "web_search"},
        "ls",
        {"function": 7},
    ]
    request = request_of(OPENAI, [user("hi")], tools=tools, functions=[{"name": "old"}])
    assert [block.tool for block in request.tools] == ["ls", "shell", "web_search", None, None, "old"]
    assert request.tools[-1].where == ("functions", 0)


def test_texts_are_told_apart_by_role() -> None:
    roles = ("system", "developer", "user", "assistant", "narrator")
    assert seen(*({"role": role, "content": role} for role in roles), {"content": "nobody"}, user("")) == [
        ("system", "system"),
        ("system", "developer"),
        ("user_text", "user"),
        ("assistant_text", "assistant"),
        ("other", "narrator"),
        ("other", "nobody"),
    ]


def test_content_may_be_parts() -> None:
    audio = {"type": "input_audio", "input_audio": {"data": "UklGRg=="}}
    parts = [
        {"type": "text", "text": "see"},
        IMAGE_URL,
        {"type": "file", "file": {"file_id": "f"}},
        audio,
        {"type": "hologram", "beam": 1},
    ]
    found = blocks_of({"role": "user", "content": parts})
    assert [(block.kind, block.images) for block in found] == [
        ("user_text", 0),
        ("image", 1),
        ("document", 1),
        ("document", 1),
        ("other", 0),
    ]
    assert found[-1].text == '{"type":"hologram","beam":1}'


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_of_other_providers_is_thinking(key: str) -> None:
    assert seen({"role": "assistant", key: "Hm.", "content": "Yes."}) == [
        ("thinking", "Hm."),
        ("assistant_text", "Yes."),
    ]


def test_reasoning_that_is_said_twice_is_counted_once() -> None:
    said = {"role": "assistant", "reasoning_content": "Hm.", "reasoning": "Hm."}
    assert seen(said) == [("thinking", "Hm.")]


def test_a_refusal_is_text_of_the_assistant() -> None:
    assert seen({"role": "assistant", "content": None, "refusal": "No."}) == [("assistant_text", "No.")]
    assert seen({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}) == [
        ("assistant_text", "No.")
    ]


def test_parallel_calls_and_their_results_know_their_tool() -> None:
    both = calls(OPENAI, "a", "b", tool="grep", inputs={"pattern": "x"})
    both["tool_calls"][1]["function"] = {"name": "ls", "arguments": ""}
    parts = [{"type": "text", "text": "1"}, {"type": "text", "text": "2"}]
    found = blocks_of(user("go"), both, *results(OPENAI, {"b": "a.py", "a": parts}))[1:]
    assert [(block.kind, block.tool, block.call_id, block.text) for block in found] == [
        ("tool_call", "grep", "a", 'grep {"pattern": "x"}'),
        ("tool_call", "ls", "b", "ls "),
        ("tool_result", "ls", "b", "a.py"),
        ("tool_result", "grep", "a", "1\n2"),
    ]
    assert all(block.client for block in found)


def test_functions_of_the_first_generation_are_tools() -> None:
    called = {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}}
    found = blocks_of(called, {"role": "function", "name": "ls", "content": "a.py"})
    assert [(block.kind, block.tool, block.text) for block in found] == [
        ("tool_call", "ls", "ls {}"),
        ("tool_result", "ls", "a.py"),
    ]


def test_a_custom_tool_is_called_with_a_text() -> None:
    custom = {"id": "a", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}
    (call,) = blocks_of({"role": "assistant", "tool_calls": [custom]})
    assert (call.tool, call.text) == ("shell", "shell ls -l")
    assert answer_with({"tool_calls": [custom]}).tool_calls == (ToolCall("shell", {"input": "ls -l"}, "a"),)


def test_a_call_that_says_nothing_is_a_call_all_the_same() -> None:
    (call,) = blocks_of({"role": "assistant", "tool_calls": [{"function": 7}]})
    assert (call.kind, call.tool, call.text, call.call_id) == ("tool_call", None, " ", None)


@pytest.mark.parametrize(
    ("content", "text", "images"),
    [
        ([{"type": "text", "text": "see"}, IMAGE_URL], "see", 1),
        ([], "", 0),
        (None, "", 0),
        ({"a": 1}, '{"a":1}', 0),
    ],
)
def test_a_result_may_be_anything(content: Any, text: str, images: int) -> None:
    (result,) = blocks_of(*results(OPENAI, {"a": content}))
    assert (result.kind, result.text, result.images, result.tool) == ("tool_result", text, images, None)


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, ("messages",)),
        ({"messages": {}}, ("messages",)),
        ({"messages": [], "tools": "ls"}, ("tools",)),
        ({"messages": [{"role": "user", "content": 7}]}, ("messages", 0, "content")),
        ({"messages": [{"role": "assistant", "tool_calls": {}}]}, ("messages", 0, "tool_calls")),
    ],
)
def test_a_malformed_body_is_refused_with_the_place(body: dict[str, Any], where: tuple[Any, ...]) -> None:
    with pytest.raises(BodyError) as raised:
        list(of_body(OPENAI, body).blocks())
    assert raised.value.where == where


@pytest.mark.parametrize("message", ["hi", {"role": "user", "content": ["hi"]}, {"tool_calls": ["ls"]}])
def test_a_message_or_a_part_that_is_no_object_is_refused(message: Any) -> None:
    with pytest.raises(BodyError, match=r"messages\.0.* must be a JSON object"):
        blocks_of(message)


def test_other_texts_replace_only_the_texts_of_their_results() -> None:
    messages = [calls(OPENAI, "a", "b"), *results(OPENAI, {"a": "long", "b": [IMAGE_URL]}), user("and?")]
    messages[1]["x"] = 1
    request = request_of(OPENAI, messages, user="u")
    before = deepcopy(request.body)
    first, _ = request.tool_results()
    edited = request.with_result_texts({first: "A"})
    assert request.body == before
    assert edited.body["user"] == "u"
    assert edited.body["messages"][1] == {"role": "tool", "tool_call_id": "a", "content": "A", "x": 1}
    assert [edited.body["messages"][place] is messages[place] for place in (0, 2, 3)] == [True] * 3


def test_a_failed_result_says_so_in_its_text_as_the_wire_has_no_flag() -> None:
    call = ToolCall("ls", {}, "a")
    made = {"role": "tool", "tool_call_id": "a"}
    assert WIRE.result(call, "x", is_error=False) == {**made, "content": "x"}
    assert WIRE.result(call, "x", is_error=True) == {**made, "content": "Error: x"}
    assert WIRE.result(call, [IMAGE_URL], is_error=True) == {**made, "content": [IMAGE_URL]}


def test_an_answer_has_its_text_its_calls_its_usage_and_its_end() -> None:
    message = calls(OPENAI, "a", tool="ls", inputs={"path": "."})
    usage = {"prompt_tokens": 95, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 90}}
    answer = answer_with({**message, "content": "Let me look."}, usage=usage, service_tier="flex")
    assert answer.text == "Let me look."
    assert answer.tool_calls == (ToolCall("ls", {"path": "."}, "a"),)
    assert answer.stop_reason == "stop"
    assert answer.usage == Usage(95, 7, cache_read_tokens=90, service_tier="flex")
    assert answer.blocks[1].where == ("choices", 0, "message", "tool_calls", 0)


@pytest.mark.parametrize("function", [{"name": "ls", "arguments": '{"path": '}, {"name": "ls"}, "ls"])
def test_arguments_that_cannot_be_read_are_empty(function: Any) -> None:
    assert WIRE.call_input({"function": function}) == {}


@pytest.mark.parametrize("choices", [None, [], ["a"], [{"index": 0, "message": None}]])
def test_an_answer_that_says_nothing_is_empty(choices: Any) -> None:
    answer = answer_to(request_of(OPENAI, []), choices=choices, usage=None)
    assert (answer.blocks, answer.text, answer.usage, answer.stop_reason) == ((), "", None, None)
