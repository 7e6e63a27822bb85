"""Google's Gemini API: every part is a block of the right kind, and edits change no more than asked."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from ctxkit.errors import BodyError
from ctxkit.messages import Block, ModelRequest, ToolCall
from ctxkit.usage import Usage
from ctxkit.wire import wire_named
from support.bodies import GEMINI, answer_body, answer_to, of_body, request_of

WIRE = wire_named(GEMINI)
LS = {"name": "ls", "description": "Lists."}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}


def blocks_of(*contents: Any, **body: Any) -> list[Block]:
    return list(request_of(GEMINI, contents, **body).blocks())


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def call(name: str = "ls", **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"path": "."}, **more}}


def response(content: Any, name: str = "ls", **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": content, **more}}


def test_the_head_is_a_definition_for_each_function_and_then_the_system_instruction() -> None:
    tools = [{"functionDeclarations": [LS, {"name": "grep"}], "googleSearch": {}}, {"codeExecution": {}}]
    request = request_of(GEMINI, [], tools=tools, systemInstruction={"parts": [{"text": "Be brief."}]})
    assert [(block.tool, block.text) for block in request.tools] == [
        ("ls", '{"name":"ls","description":"Lists."}'),
        ("grep", '{"name":"grep"}'),
        ("googleSearch", '{"googleSearch":{}}'),
        ("codeExecution", '{"codeExecution":{}}'),
    ]
    assert [(block.text, block.where) for block in request.system] == [
        ("Be brief.", ("systemInstruction", "parts", 0))
    ]


def test_texts_are_told_apart_by_role_and_nobody_is_the_user() -> None:
    said = [{"role": role, "parts": [{"text": role}]} for role in ("user", "model", "function")]
    found = blocks_of(*said, {"parts": [{"text": "nobody"}]})
    assert [(block.kind, block.text) for block in found] == [
        ("user_text", "user"),
        ("assistant_text", "model"),
        ("other", "function"),
        ("user_text", "nobody"),
    ]


def test_thoughts_are_thinking_and_a_signature_alone_is_one_without_text() -> None:
    found = blocks_of(
        model({"text": "Hm.", "thought": True}, {"text": "Yes.", "thoughtSignature": "c2ln"}),
        model({"thoughtSignature": "c2ln"}, {"thought": True, "thought_signature": "c2ln"}),
    )
    assert [(block.kind, block.text) for block in found] == [
        ("thinking", "Hm."),
        ("assistant_text", "Yes."),
        ("thinking", ""),
        ("thinking", ""),
    ]


def test_images_and_files_are_counted() -> None:
    pdf = {"file_data": {"mime_type": "application/pdf", "file_uri": "gs://a"}}
    found = blocks_of(user(IMAGE, pdf, {"videoMetadata": {}}, {}))
    assert [(block.kind, block.images) for block in found] == [
        ("image", 1),
        ("document", 1),
        ("other", 0),
        ("other", 0),
    ]


def test_parallel_calls_and_their_responses_know_their_tool() -> None:
    found = blocks_of(
        model(call(id="a"), call("grep")), user(response({"output": "a.py"}, id="a"), response({}, "grep"))
    )
    assert [(block.kind, block.tool, block.call_id, block.text) for block in found] == [
        ("tool_call", "ls", "a", 'ls {"path":"."}'),
        ("tool_call", "grep", None, 'grep {"path":"."}'),
        ("tool_result", "ls", "a", "a.py"),
        ("tool_result", "grep", None, "{}"),
    ]
    assert all(block.client for block in found)


def test_what_the_provider_ran_is_not_the_clients() -> None:
    ran = [
        {"executableCode": {"language": "PYTHON", "code": "1+1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
        {"toolCall": {"id": "t", "toolType": "URL_CONTEXT", "args": {"urls": []}}},
        {"tool_response": {"id": "t", "tool_type": "URL_CONTEXT", "response": {"a": 1}}},
    ]
    found = blocks_of(model(*ran))
    assert [(block.kind, block.tool, block.text) for block in found] == [
        ("tool_call", "codeExecution", "codeExecution 1+1"),
        ("tool_result", "codeExecution", "2"),
        ("tool_call", "URL_CONTEXT", 'URL_CONTEXT {"urls":[]}'),
        ("tool_result", "URL_CONTEXT", '{"a":1}'),
    ]
    assert not any(block.client for block in found)
    candidates = [{"content": model(*ran)}]
    assert answer_to(request_of(GEMINI, []), candidates=candidates).tool_calls == ()


@pytest.mark.parametrize(
    ("content", "text", "failed"),
    [
        ({"output": "a.py"}, "a.py", False),
        ({"said": "a.py"}, "a.py", False),
        ({"error": "no such file"}, "no such file", True),
        ({"files": 2}, '{"files":2}', False),
        ({"a": "1", "b": "2"}, '{"a":"1","b":"2"}', False),
        ({"error": {"code": 1}, "output": ""}, '{"error":{"code":1},"output":""}', True),
        ({"error": None, "output": "x"}, '{"error":null,"output":"x"}', False),
        ({}, "{}", False),
        (None, "", False),
    ],
)
def test_a_response_is_its_only_text_or_else_its_json(content: Any, text: str, failed: bool) -> None:
    (result,) = blocks_of(user(response(content)))
    assert (result.text, result.is_error) == (text, failed)


def test_a_response_may_hold_images() -> None:
    (result,) = blocks_of(user(response({"output": "see"}, parts=[IMAGE, {"fileData": {}}, "?"])))
    assert (result.text, result.images) == ("see", 2)


def test_keys_may_be_in_snake_case() -> None:
    found = blocks_of(
        model({"function_call": {"name": "ls", "args": {"a": 1}}, "thought_signature": "c2ln"}),
        user({"function_response": {"name": "ls", "response": {"output": "x"}}}),
        user({"inline_data": {"mime_type": "image/png"}}),
        system_instruction="Be brief.",
        tools=[{"function_declarations": [LS]}, {"google_search": {}}],
    )
    assert [(block.kind, block.tool) for block in found] == [
        ("tool_definition", "ls"),
        ("tool_definition", "googleSearch"),
        ("system", None),
        ("tool_call", "ls"),
        ("tool_result", "ls"),
        ("image", None),
    ]
    assert WIRE.call_input(found[3].native) == {"a": 1}


@pytest.mark.parametrize("key", ["cachedContent", "cached_content"])
def test_cached_content_is_a_part_of_the_prompt_that_the_provider_keeps(key: str) -> None:
    assert WIRE.has_server_state({"contents": [], key: "cachedContents/1"})
    assert not WIRE.has_server_state({"contents": [], key: None})


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, ("contents",)),
        ({"contents": {}}, ("contents",)),
        ({"contents": [], "tools": "ls"}, ("tools",)),
        ({"contents": [], "tools": [{"functionDeclarations": {}}]}, ("tools", 0, "functionDeclarations")),
        ({"contents": [{"parts": "hi"}]}, ("contents", 0, "parts")),
    ],
)
def test_a_malformed_body_is_refused_with_the_place(body: dict[str, Any], where: tuple[Any, ...]) -> None:
    with pytest.raises(BodyError) as raised:
        list(of_body(GEMINI, body).blocks())
    assert raised.value.where == where


@pytest.mark.parametrize("content", ["hi", {"parts": ["hi"]}])
def test_a_content_or_a_part_that_is_no_object_is_refused(content: Any) -> None:
    with pytest.raises(BodyError, match=r"contents\.0.* must be a JSON object"):
        blocks_of(content)


def test_every_block_says_where_it_stands() -> None:
    contents = [user({"text": "hi"}, IMAGE), model(call()), user(response({"output": "x"}))]
    tools = [{"functionDeclarations": [LS]}, {"googleSearch": {}}]
    request = request_of(GEMINI, contents, tools=tools, systemInstruction={"parts": [{"text": "s"}]})
    for block in request.blocks():
        part: Any = request.body
        for step in block.where:
            part = part[step]
        assert part is block.native


def test_other_texts_replace_only_the_texts_of_their_responses() -> None:
    """Google's docs: a thought signature is sent back "exactly as it was received"."""
    signed = {**call(id="a"), "thoughtSignature": "c2lnbmF0dXJl"}
    responses = [
        response({"said": "long"}, id="a", parts=[IMAGE]),
        response({"files": ["long"], "more": 1}),
        response({"error": {"code": 1}, "output": ""}),
        {"function_response": {"name": "ls", "response": {"result": "long"}}, "partMetadata": {"x": 1}},
    ]
    contents = [model(signed, call(), call(), call()), {**user(*responses), "x": 1}, user({"text": "and?"})]
    request = request_of(GEMINI, contents, generationConfig={"temperature": 0})
    before = deepcopy(request.body)
    edited = request.with_result_texts(dict(zip(request.tool_results(), "ABCD", strict=True)))
    assert request.body == before
    assert edited.body["generationConfig"] == {"temperature": 0}
    assert edited.body["contents"][1] == {
        **user(
            response({"said": "A"}, id="a", parts=[IMAGE]),
            response({"output": "B"}),
            response({"error": "C"}),
            {"function_response": {"name": "ls", "response": {"result": "D"}}, "partMetadata": {"x": 1}},
        ),
        "x": 1,
    }
    assert [edited.body["contents"][place] is contents[place] for place in (0, 2)] == [True] * 2


def test_a_result_names_its_function_its_call_and_its_failure() -> None:
    plain, tied = ToolCall("ls", {}), ToolCall("ls", {}, "a")
    assert WIRE.result(plain, "x", is_error=False) == response({"output": "x"})
    assert WIRE.result(tied, "x", is_error=True) == response({"error": "x"}, id="a")
    parts = [{"text": "see"}, IMAGE, {"text": "there"}]
    assert WIRE.result(plain, parts, is_error=False) == response({"output": "see\nthere"}, parts=[IMAGE])


def test_an_answer_has_its_text_its_calls_its_usage_and_its_end() -> None:
    parts = [{"text": "Hm.", "thought": True}, {"text": "Let me "}, {"text": "look."}, call(id="a")]
    usage = {"promptTokenCount": 95, "cachedContentTokenCount": 90, "candidatesTokenCount": 3}
    answer = answer_to(
        request_of(GEMINI, []),
        candidates=[{"content": model(*parts), "finishReason": "STOP"}],
        usageMetadata={**usage, "thoughtsTokenCount": 4},
    )
    assert answer.text == "Let me look."
    assert answer.tool_calls == (ToolCall("ls", {"path": "."}, "a"),)
    assert (answer.stop_reason, answer.model) == ("STOP", "gemini-2.5-flash")
    assert answer.usage == Usage(95, 7, cache_read_tokens=90, reasoning_tokens=4)
    assert answer.blocks[3].where == ("candidates", 0, "content", "parts", 3)


def test_a_prompt_that_was_blocked_says_why() -> None:
    body = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}}
    assert (WIRE.stop_reason(body), WIRE.answer(body)) == ("SAFETY", ())


@pytest.mark.parametrize("candidates", [None, [], ["?"], [{}], [{"content": {}}]])
def test_an_answer_that_says_nothing_is_empty(candidates: Any) -> None:
    body = answer_body(GEMINI, candidates=candidates, usageMetadata=None)
    assert (WIRE.answer(body), WIRE.usage(body), WIRE.stop_reason(body)) == ((), None, None)


def test_the_model_of_a_request_is_named_by_its_address() -> None:
    request = ModelRequest(WIRE, {"contents": []}, url_model="gemini-2.5-pro", url_stream="sse")
    assert (request.model, request.stream) == ("gemini-2.5-pro", True)
    aside = request.side_call("summary", model="gemini-2.5-flash")
    assert (aside.model, aside.stream, aside.body) == ("gemini-2.5-flash", False, {"contents": []})
    assert request.edit(contents=[1]).model == "gemini-2.5-pro"
    azure = ModelRequest(WIRE, {"model": "mine"}, url_model="mine").edit(model="other")
    assert (azure.url_model, azure.body) == ("other", {"model": "other"})
