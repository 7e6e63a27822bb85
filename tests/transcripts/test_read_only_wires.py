"""The wires that are read only: every part of a body is a block of the right kind, where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import pytest

from ctxkit.errors import BodyError
from ctxkit.messages import Block, Turn
from ctxkit.usage import Usage
from ctxkit.wire.bedrock_converse import BEDROCK_CONVERSE
from ctxkit.wire.gemini import GEMINI
from ctxkit.wire.openai_responses import OPENAI_RESPONSES


class ReadOnly(Protocol):
    """What these wires have in common so far."""

    name: str

    def messages(self, body: Mapping[str, Any]) -> Any: ...
    def head_key(self, body: Mapping[str, Any]) -> Any: ...
    def head(self, body: Mapping[str, Any]) -> tuple[Block, ...]: ...
    def turn(self, message: Any, index: int, parent: Turn) -> Turn: ...
    def answer(self, body: Mapping[str, Any]) -> tuple[Block, ...]: ...
    def call_input(self, native: Any) -> Mapping[str, Any]: ...
    def usage(self, body: Mapping[str, Any]) -> Usage | None: ...
    def stop_reason(self, body: Mapping[str, Any]) -> str | None: ...


def blocks_of(wire: ReadOnly, body: Mapping[str, Any]) -> list[Block]:
    turn = Turn("head", None, wire.head(body), None)
    blocks = list(turn.blocks)
    for index, message in enumerate(wire.messages(body)):
        turn = wire.turn(message, index, turn)
        blocks.extend(turn.blocks)
    return blocks


def seen(blocks: list[Block] | tuple[Block, ...]) -> list[tuple[str, str, str | None]]:
    return [(block.kind, block.text, block.tool) for block in blocks]


def standing_at(body: Any, block: Block) -> Any:
    for step in block.where:
        body = body[step]
    return body


GEMINI_BODY = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "tools": [{"functionDeclarations": [{"name": "ls"}], "googleSearch": {}}],
    "contents": [
        {"parts": [{"text": "hello"}, {"inlineData": {"mimeType": "image/png", "data": "AA=="}}]},
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True},
                {"functionCall": {"name": "ls", "args": {"path": "."}, "id": "c1"}},
                {"executableCode": {"language": "PYTHON", "code": "1+1"}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "ls", "response": {"files": 2}, "id": "c1"}},
                {"codeExecutionResult": {"outcome": "OK", "output": "2"}},
                {"file_data": {"mime_type": "application/pdf", "file_uri": "x"}},
                {"thoughtSignature": "sig"},
            ],
        },
        {"role": "model", "parts": [{"text": "done"}]},
        {"role": "narrator", "parts": [{"text": "later"}]},
    ],
}
BEDROCK_BODY = {
    "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
    "toolConfig": {
        "tools": [
            {"toolSpec": {"name": "ls"}},
            {"systemTool": {"name": "search"}},
            {"cachePoint": {"type": "default"}},
        ]
    },
    "messages": [
        {"role": "user", "content": [{"text": "hello"}, {"image": {"format": "png"}}, {"document": {}}]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm"}}},
                {"reasoningContent": {"redactedContent": "AA=="}},
                {"toolUse": {"toolUseId": "c1", "name": "ls", "input": {"path": "."}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "c1",
                        "status": "error",
                        "content": [{"text": "no"}, {"json": {"a": 1}}, {"image": {}}, {"searchResult": {}}],
                    }
                },
                {"guardContent": {}},
            ],
        },
    ],
}
RESPONSES_BODY = {
    "instructions": "Be brief.",
    "tools": [{"type": "function", "name": "ls"}, {"type": "web_search"}],
    "input": [
        {"role": "user", "content": "hello"},
        {"role": "developer", "content": [{"type": "input_text", "text": "Be kind."}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x"},
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm hm"}]},
        {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": '{"path":"."}'},
        {"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
        {"type": "web_search_call", "action": {"query": "x"}},
        {
            "type": "function_call_output",
            "call_id": "c9",
            "output": [{"type": "input_text", "text": "seen"}, {"type": "input_image", "image_url": "x"}],
        },
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        {"role": "user", "content": [{"type": "input_file", "file_id": "x"}, {"type": "mystery"}]},
        {"role": "assistant", "content": ""},
        {"type": "compaction", "encrypted_content": "x"},
    ],
}


def test_gemini_parts_are_blocks() -> None:
    blocks = blocks_of(GEMINI, GEMINI_BODY)
    assert seen(blocks) == [
        ("tool_definition", '{"name":"ls"}', "ls"),
        ("tool_definition", '{"googleSearch":{}}', "googleSearch"),
        ("system", "Be brief.", None),
        ("user_text", "hello", None),
        ("image", "", None),
        ("thinking", "hm", None),
        ("tool_call", 'ls {"path":"."}', "ls"),
        ("tool_call", "executableCode 1+1", "executableCode"),
        ("tool_result", '{"files":2}', "ls"),
        ("tool_result", "2", "codeExecutionResult"),
        ("document", "", None),
        ("other", '{"thoughtSignature":"sig"}', None),
        ("assistant_text", "done", None),
        ("other", "later", None),
    ]
    assert [block.call_id for block in blocks if block.tool == "ls"] == [None, "c1", "c1"]
    assert [block.images for block in blocks if block.kind in ("image", "document")] == [1, 1]
    assert GEMINI.call_input(blocks[6].native) == {"path": "."}
    assert GEMINI.call_input(blocks[7].native) == {}


def test_gemini_takes_both_spellings_of_its_keys() -> None:
    body = {
        "system_instruction": "Be brief.",
        "tools": [{"function_declarations": [{"name": "ls"}]}],
        "contents": [{"role": "model", "parts": [{"function_call": {"name": "ls", "args": {"a": 1}}}]}],
    }
    definition, system, call = blocks_of(GEMINI, body)
    assert (definition.tool, system.kind, call.kind) == ("ls", "system", "tool_call")
    assert GEMINI.call_input(call.native) == {"a": 1}


def test_gemini_answers_are_read() -> None:
    content = {"parts": [{"text": "hi"}]}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5}
    body = {"candidates": [{"content": content, "finishReason": "STOP"}, {}, "?"], "usageMetadata": usage}
    assert seen(GEMINI.answer(body)) == [("assistant_text", "hi", None)]
    assert (GEMINI.usage(body), GEMINI.stop_reason(body)) == (Usage(10, 5), "STOP")
    assert (GEMINI.answer({}), GEMINI.usage({}), GEMINI.stop_reason({})) == ((), None, None)


def test_bedrock_parts_are_blocks() -> None:
    blocks = blocks_of(BEDROCK_CONVERSE, BEDROCK_BODY)
    assert seen(blocks) == [
        ("tool_definition", '{"toolSpec":{"name":"ls"}}', "ls"),
        ("tool_definition", '{"systemTool":{"name":"search"}}', "search"),
        ("other", "", None),
        ("system", "Be brief.", None),
        ("other", "", None),
        ("user_text", "hello", None),
        ("image", "", None),
        ("document", "", None),
        ("thinking", "hm", None),
        ("thinking", "AA==", None),
        ("tool_call", 'ls {"path":"."}', "ls"),
        ("tool_result", 'no\n{"a":1}\n{"searchResult":{}}', "ls"),
        ("other", '{"guardContent":{}}', None),
    ]
    call, result = blocks[10], blocks[11]
    assert (call.call_id, result.call_id, result.images, result.is_error) == ("c1", "c1", 1, True)
    assert BEDROCK_CONVERSE.call_input(call.native) == {"path": "."}


def test_bedrock_answers_are_read() -> None:
    message = {"role": "assistant", "content": [{"text": "hi"}]}
    usage = {"inputTokens": 10, "outputTokens": 5}
    body = {"output": {"message": message}, "stopReason": "end_turn", "usage": usage}
    assert seen(BEDROCK_CONVERSE.answer(body)) == [("assistant_text", "hi", None)]
    assert (BEDROCK_CONVERSE.usage(body), BEDROCK_CONVERSE.stop_reason(body)) == (Usage(10, 5), "end_turn")
    assert BEDROCK_CONVERSE.answer({}) == ()


def test_items_of_responses_are_blocks() -> None:
    blocks = blocks_of(OPENAI_RESPONSES, RESPONSES_BODY)
    assert seen(blocks) == [
        ("tool_definition", '{"type":"function","name":"ls"}', "ls"),
        ("tool_definition", '{"type":"web_search"}', "web_search"),
        ("system", "Be brief.", None),
        ("user_text", "hello", None),
        ("system", "Be kind.", None),
        ("thinking", "hm", None),
        ("thinking", "hm hm", None),
        ("tool_call", 'ls {"path":"."}', "ls"),
        ("tool_result", "a.txt", "ls"),
        ("tool_call", 'web_search_call {"query":"x"}', "web_search_call"),
        ("tool_result", "seen", None),
        ("assistant_text", "no", None),
        ("document", "", None),
        ("other", '{"type":"mystery"}', None),
        ("other", '{"type":"compaction","encrypted_content":"x"}', None),
    ]
    assert [block.images for block in blocks if block.kind in ("tool_result", "document")] == [0, 1, 1]
    assert OPENAI_RESPONSES.call_input(blocks[7].native) == {"path": "."}
    assert OPENAI_RESPONSES.call_input({}) == {}


def test_a_prompt_given_as_a_string_is_one_item() -> None:
    assert seen(blocks_of(OPENAI_RESPONSES, {"input": "hello"})) == [("user_text", "hello", None)]


def test_answers_of_responses_are_read() -> None:
    body = {
        "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}
        ],
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "usage": {"input_tokens": 10, "output_tokens": 5},
        "tool_usage": {"web_search": {"num_requests": 1}},
        "service_tier": "flex",
    }
    assert seen(OPENAI_RESPONSES.answer(body)) == [("assistant_text", "hi", None)]
    assert OPENAI_RESPONSES.usage(body) == Usage(10, 5, web_search_requests=1, service_tier="flex")
    assert OPENAI_RESPONSES.stop_reason(body) == "max_output_tokens"
    assert OPENAI_RESPONSES.stop_reason({"status": "completed", "incomplete_details": None}) == "completed"


@pytest.mark.parametrize(
    ("wire", "body"),
    [(GEMINI, GEMINI_BODY), (BEDROCK_CONVERSE, BEDROCK_BODY), (OPENAI_RESPONSES, RESPONSES_BODY)],
    ids=lambda value: getattr(value, "name", ""),
)
class TestEveryWire:
    def test_a_block_stands_where_it_says(self, wire: ReadOnly, body: Mapping[str, Any]) -> None:
        for block in blocks_of(wire, body):
            assert standing_at(body, block) is block.native

    def test_equal_blocks_have_equal_digests(self, wire: ReadOnly, body: Mapping[str, Any]) -> None:
        first, second = blocks_of(wire, body), blocks_of(wire, dict(body))
        assert [block.digest for block in first] == [block.digest for block in second]
        assert len({block.digest for block in first}) >= len(first) - 1

    def test_the_head_key_tells_heads_apart(self, wire: ReadOnly, body: Mapping[str, Any]) -> None:
        assert wire.head_key(body) == wire.head_key(dict(body))
        assert wire.head_key(body) != wire.head_key({})

    def test_a_malformed_body_is_an_error_that_says_where(
        self, wire: ReadOnly, body: Mapping[str, Any]
    ) -> None:
        with pytest.raises(BodyError, match="missing"):
            wire.messages({})
        with pytest.raises(BodyError, match="must be a JSON object"):
            wire.turn(7, 0, Turn("head", None, (), None))
