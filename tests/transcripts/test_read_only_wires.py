"""The wire that is read only: every part of a body is a block of the right kind, where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ctxkit.errors import BodyError
from ctxkit.messages import Block, Prompt, Turn
from ctxkit.usage import Usage
from ctxkit.wire import READERS
from ctxkit.wire.bedrock_converse import BEDROCK_CONVERSE


def blocks_of(body: Mapping[str, Any]) -> list[Block]:
    return list(Prompt(READERS["bedrock_converse"], body).blocks())


def seen(blocks: list[Block] | tuple[Block, ...]) -> list[tuple[str, str, str | None]]:
    return [(block.kind, block.text, block.tool) for block in blocks]


def standing_at(body: Any, block: Block) -> Any:
    for step in block.where:
        body = body[step]
    return body


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


def test_bedrock_parts_are_blocks() -> None:
    blocks = blocks_of(BEDROCK_BODY)
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


def test_a_block_stands_where_it_says() -> None:
    for block in blocks_of(BEDROCK_BODY):
        assert standing_at(BEDROCK_BODY, block) is block.native


def test_equal_blocks_have_equal_digests() -> None:
    first, second = blocks_of(BEDROCK_BODY), blocks_of(dict(BEDROCK_BODY))
    assert [block.digest for block in first] == [block.digest for block in second]
    assert len({block.digest for block in first}) >= len(first) - 1


def test_the_head_key_tells_heads_apart() -> None:
    assert BEDROCK_CONVERSE.head_key(BEDROCK_BODY) == BEDROCK_CONVERSE.head_key(dict(BEDROCK_BODY))
    assert BEDROCK_CONVERSE.head_key(BEDROCK_BODY) != BEDROCK_CONVERSE.head_key({})


def test_a_malformed_body_is_an_error_that_says_where() -> None:
    with pytest.raises(BodyError, match="missing"):
        BEDROCK_CONVERSE.messages({})
    with pytest.raises(BodyError, match="must be a JSON object"):
        BEDROCK_CONVERSE.turn(7, 0, Turn("head", None, (), None))
