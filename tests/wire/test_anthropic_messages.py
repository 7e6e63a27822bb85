"""Anthropic's Messages API: every part is a block of the right kind, and edits change no more than asked."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from ctxkit.errors import BodyError
from ctxkit.messages import Block, ToolCall
from ctxkit.usage import Usage
from ctxkit.wire import wire_named
from support.bodies import ANTHROPIC, IMAGE, answer_body, answer_to, calls, of_body, request_of, results, user

WIRE = wire_named(ANTHROPIC)
READ_FILE = {"name": "read_file", "description": "Reads.", "input_schema": {"type": "object"}}


def blocks_of(*messages: Any, **body: Any) -> list[Block]:
    return list(request_of(ANTHROPIC, messages, **body).blocks())


def seen(*messages: Any, **body: Any) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in blocks_of(*messages, **body)]


def assistant(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(parts)}


def test_the_head_is_the_tool_definitions_and_then_the_system_prompt() -> None:
    request = request_of(
        ANTHROPIC, [user("hi")], system="Be brief.", tools=[READ_FILE, {"type": "web_search_1"}]
    )
    assert [block.tool for block in request.tools] == ["read_file", "web_search_1"]
    assert [block.text for block in request.system] == ["Be brief."]
    assert [block.where for block in request.head.blocks] == [("tools", 0), ("tools", 1), ("system",)]


def test_a_system_prompt_may_be_a_list_of_texts() -> None:
    parts = [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}]
    assert seen(user("hi"), system=parts)[:2] == [("system", "Be brief."), ("system", "Be kind.")]


def test_texts_are_told_apart_by_role() -> None:
    said = [
        {"role": role, "content": [{"type": "text", "text": role}]}
        for role in ("user", "assistant", "system")
    ]
    assert seen(*said, {"role": "narrator", "content": "once"}, user("")) == [
        ("user_text", "user"),
        ("assistant_text", "assistant"),
        ("system", "system"),
        ("other", "once"),
    ]


def test_thinking_is_a_block_also_where_it_is_redacted() -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    assert seen(assistant(thinking, {"type": "redacted_thinking", "data": "Eqk="})) == [
        ("thinking", "Hm."),
        ("thinking", "Eqk="),
    ]


def test_parallel_calls_and_their_results_know_their_tool() -> None:
    both = [
        {"type": "tool_use", "id": "a", "name": "grep", "input": {"pattern": "x"}},
        {"type": "tool_use", "id": "b", "name": "ls", "input": {}},
    ]
    answered = results(
        ANTHROPIC, {"b": "a.py", "a": [{"type": "text", "text": "1"}, {"type": "text", "text": "2"}]}
    )
    found = blocks_of(user("go"), assistant(*both), *answered)[1:]
    assert [(block.kind, block.tool, block.call_id, block.text) for block in found] == [
        ("tool_call", "grep", "a", 'grep {"pattern":"x"}'),
        ("tool_call", "ls", "b", "ls {}"),
        ("tool_result", "ls", "b", "a.py"),
        ("tool_result", "grep", "a", "1\n2"),
    ]
    assert all(block.client for block in found)


def test_a_result_finds_the_tool_of_a_call_many_turns_back() -> None:
    messages = [
        calls(ANTHROPIC, "a", tool="late"),
        user("wait"),
        user("more"),
        *results(ANTHROPIC, {"a": "x"}),
    ]
    assert blocks_of(*messages)[-1].tool == "late"


@pytest.mark.parametrize("call_id", ["nobody", None])
def test_a_result_without_a_call_has_no_tool(call_id: Any) -> None:
    (result,) = blocks_of(*results(ANTHROPIC, {call_id: "x"}))
    assert (result.kind, result.tool) == ("tool_result", None)


def test_what_the_provider_ran_is_no_call_of_the_clients() -> None:
    searched = [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "cats"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "web_search_result"}]},
        {"type": "mcp_tool_use", "id": "m", "name": "echo", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "m", "content": [{"type": "text", "text": "cats"}]},
    ]
    found = blocks_of(assistant(*searched))
    assert [block.kind for block in found] == ["tool_call", "tool_result", "tool_call", "tool_result"]
    assert [block.tool for block in found] == ["web_search", "web_search", "echo", "echo"]
    assert not any(block.client for block in found)
    assert answer_to(request_of(ANTHROPIC, []), content=searched).tool_calls == ()


@pytest.mark.parametrize(
    ("content", "text", "images"),
    [
        ([{"type": "text", "text": "see"}, IMAGE, IMAGE], "see", 2),
        ([IMAGE], "", 1),
        ([], "", 0),
        (None, "", 0),
        ("", "", 0),
        (["not a part"], "", 0),
        ({"not": "a list"}, '{"not":"a list"}', 0),
    ],
)
def test_a_result_may_be_anything(content: Any, text: str, images: int) -> None:
    (result,) = blocks_of(*results(ANTHROPIC, {"a": content}))
    assert (result.kind, result.text, result.images, result.is_error) == ("tool_result", text, images, False)


def test_a_failed_result_says_so() -> None:
    failed = {"type": "tool_result", "tool_use_id": "a", "content": "no such file", "is_error": True}
    assert blocks_of({"role": "user", "content": [failed]})[0].is_error


def test_images_and_documents_are_counted_and_a_document_of_text_is_read() -> None:
    pdf = {"type": "document", "source": {"type": "base64", "data": "JVBERi0="}}
    plain = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "chapter one"},
    }
    found = blocks_of({"role": "user", "content": [IMAGE, pdf, plain]})
    assert [(block.kind, block.text, block.images) for block in found] == [
        ("image", "", 1),
        ("document", "", 1),
        ("document", "chapter one", 0),
    ]


def test_a_block_of_an_unknown_type_is_kept_as_what_it_is() -> None:
    hologram = {"type": "hologram", "beam": [1, 2]}
    (found,) = blocks_of({"role": "user", "content": [hologram]})
    assert (found.kind, found.text) == ("other", '{"type":"hologram","beam":[1,2]}')
    assert found.native is hologram


def test_every_block_says_where_it_stands() -> None:
    body = {"system": [{"type": "text", "text": "s"}], "tools": [READ_FILE]}
    messages = [user("hi"), calls(ANTHROPIC, "a", "b"), *results(ANTHROPIC, {"a": "1", "b": "2"})]
    request = request_of(ANTHROPIC, messages, **body)
    for block in request.blocks():
        part: Any = request.body
        for step in block.where:
            part = part[step]
        assert part == block.native


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, ("messages",)),
        ({"messages": {}}, ("messages",)),
        ({"messages": [], "tools": "ls"}, ("tools",)),
        ({"messages": [], "system": 7}, ("system",)),
        ({"messages": [{"role": "user", "content": 7}]}, ("messages", 0, "content")),
    ],
)
def test_a_malformed_body_is_refused_with_the_place(body: dict[str, Any], where: tuple[Any, ...]) -> None:
    with pytest.raises(BodyError) as raised:
        list(of_body(ANTHROPIC, body).blocks())
    assert raised.value.where == where


@pytest.mark.parametrize("message", ["hi", None, {"role": "user", "content": ["hi"]}])
def test_a_message_or_a_part_that_is_no_object_is_refused(message: Any) -> None:
    with pytest.raises(BodyError, match=r"messages\.0.* must be a JSON object"):
        blocks_of(message)


def test_other_texts_replace_only_the_texts_of_their_results() -> None:
    """An edit leaves images, cache markers, unknown keys and everything else as they were."""
    marked = {"type": "text", "text": "long", "cache_control": {"type": "ephemeral"}}
    message = results(ANTHROPIC, {"a": "long", "b": [IMAGE, marked], "c": "kept"})[0]
    message["content"].append({"type": "text", "text": "and?"})
    request = request_of(
        ANTHROPIC, [calls(ANTHROPIC, "a", "b", "c"), {**message, "x": 1}], metadata={"user_id": "u"}
    )
    before = deepcopy(request.body)
    first, second, _ = request.tool_results()
    edited = request.with_result_texts({first: "A", second: "B"})
    assert request.body == before
    assert edited.body["metadata"] == {"user_id": "u"}
    assert edited.body["messages"][0] is request.body["messages"][0]
    assert edited.body["messages"][1] == {
        "role": "user",
        "x": 1,
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "A"},
            {"type": "tool_result", "tool_use_id": "b", "content": [IMAGE, {**marked, "text": "B"}]},
            {"type": "tool_result", "tool_use_id": "c", "content": "kept"},
            {"type": "text", "text": "and?"},
        ],
    }


def test_a_result_for_the_history_names_its_call_and_its_failure() -> None:
    call = ToolCall("ls", {}, "a")
    made = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    assert WIRE.result(call, "x", is_error=False) == made
    assert WIRE.result(call, "x", is_error=True) == {**made, "is_error": True}


def test_an_answer_has_its_text_its_calls_its_usage_and_its_end() -> None:
    content = [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "Let me "},
        {"type": "text", "text": "look."},
        {"type": "tool_use", "id": "a", "name": "ls", "input": {"path": "."}},
    ]
    usage = {"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 7}
    answer = answer_to(request_of(ANTHROPIC, []), content=content, usage=usage, stop_reason="tool_use")
    assert answer.text == "Let me look."
    assert answer.tool_calls == (ToolCall("ls", {"path": "."}, "a"),)
    assert answer.stop_reason == "tool_use"
    assert answer.usage == Usage(input_tokens=95, output_tokens=7, cache_read_tokens=90)
    assert answer.blocks[3].where == ("content", 3)


def test_an_answer_that_says_nothing_is_empty() -> None:
    answer = answer_to(request_of(ANTHROPIC, []), content=None, usage=None, stop_reason=None)
    assert (answer.blocks, answer.text, answer.usage, answer.stop_reason) == ((), "", None, None)


def test_an_unknown_stop_reason_passes_as_it_is() -> None:
    assert WIRE.stop_reason(answer_body(ANTHROPIC, stop_reason="bored")) == "bored"
