"""Whatever stands in a record: reading it raises nothing, and what makes no sense is not counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxkit.transcripts import Skipped, load

JUNK = [None, -1, "x", [], {}, True, [None, 7, {"type": 7}], {"a": [1]}]
USER = {"role": "user", "content": "hello"}
CLAUDE_ANSWER = {
    "id": "m1",
    "role": "assistant",
    "model": "claude-opus-4-5",
    "content": [{"type": "tool_use", "id": "c1", "name": "ls", "input": {}}],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 1, "output_tokens": 1, "cache_creation": {"ephemeral_5m_input_tokens": 0}},
}
CLAUDE_RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]}
TREE = {"sessionId": "s", "isSidechain": False, "parentUuid": "u1"}
FILES: dict[str, list[dict[str, Any]]] = {
    "corpus": [
        {
            "id": "1",
            "family": "f",
            "format": "inspect-messages",
            "model": "openai/gpt-4o",
            "messages": [{**USER, "content": [{"type": "text", "text": "hi"}], "tool_calls": [{"id": "c"}]}],
            "tools": [{"name": "ls"}],
            "usage": [{"message": 0, "usage": {"input_tokens": 1, "output_tokens": 1}, "cost": 0.5}],
            "meta": {"provider": "openai"},
        }
    ],
    "claude_code": [
        {**TREE, "type": "user", "uuid": "u1", "message": USER, "timestamp": "2026-11-30T12:00:00Z"},
        {**TREE, "type": "assistant", "uuid": "a1", "message": CLAUDE_ANSWER, "requestId": "r1"},
        {**TREE, "type": "user", "uuid": "u2", "message": CLAUDE_RESULT, "agentId": "g", "isSidechain": True},
        {**TREE, "type": "system", "subtype": "compact_boundary", "uuid": "b1", "compactMetadata": {}},
    ],
    "claude_stream": [
        {"type": "system", "subtype": "init", "session_id": "s"},
        {"type": "stream_event", "session_id": "s", "event": {"type": "message_start", "message": {}}},
        {"type": "assistant", "session_id": "s", "message": CLAUDE_ANSWER, "parent_tool_use_id": "p"},
        {
            "type": "stream_event",
            "session_id": "s",
            "event": {"type": "message_delta", "delta": {"stop_reason": "x"}, "usage": {"output_tokens": 1}},
        },
        {"type": "result", "session_id": "s", "total_cost_usd": 1},
    ],
    "codex": [
        {"type": "session_meta", "payload": {"id": "1", "base_instructions": {"text": "x"}}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": []}},
        {"type": "compacted", "payload": {"message": "x", "replacement_history": [{"type": "message"}]}},
        {
            "type": "event_msg",
            "payload": {
                "type": "token_count",
                "info": {"total_token_usage": {"a": 1}, "last_token_usage": {"input_tokens": 1}},
            },
        },
    ],
    "pi": [
        {"type": "session", "id": "1", "cwd": "/"},
        {"type": "message", "id": "e1", "message": {"role": "user", "content": [{"type": "image"}]}},
        {
            "type": "message",
            "message": {
                "role": "assistant",
                "content": [{"type": "toolCall", "id": "c", "arguments": {}}],
                "usage": {"input": 1, "output": 1, "cost": {"total": 1}},
            },
        },
        {"type": "message", "message": {"role": "toolResult", "toolCallId": "c", "content": "x"}},
        {"type": "compaction", "summary": "x", "firstKeptEntryIndex": 1},
    ],
    "pair": [
        {
            "api": "chat",
            "request": {"model": "m", "messages": [USER], "tools": [{"type": "function"}]},
            "response": {"choices": [{"message": USER, "finish_reason": "stop"}], "usage": {}},
        },
        {
            "request": {"contents": [{"role": "user", "parts": [{"text": "x"}]}]},
            "response": {"candidates": [{"content": {"parts": [{"text": "x"}]}}], "usageMetadata": {}},
        },
    ],
    "body": [
        {"model": "m", "messages": [USER], "tools": [{"name": "x"}], "system": "x"},
        {"messages": [{"role": "user", "content": [{"text": "x"}]}], "toolConfig": {"tools": [{}]}},
        {"model": "m", "input": [USER], "instructions": "x"},
    ],
}


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        yield from paths(child, (*path, key))


def with_junk(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    changed = value.copy()
    changed[path[0]] = with_junk(value[path[0]], path[1:], junk)
    return changed


@pytest.mark.parametrize("format", FILES)
def test_junk_anywhere_in_a_file_raises_nothing(tmp_path: Path, format: str) -> None:
    spoilt = [with_junk(FILES[format], path, junk) for path in paths(FILES[format]) if path for junk in JUNK]
    for number, records in enumerate([FILES[format], *spoilt]):
        (tmp_path / f"{number:05}.jsonl").write_text("\n".join(json.dumps(record) for record in records))
    skipped: list[Skipped] = []
    transcripts = list(load(tmp_path, on_skip=skipped.append))
    assert transcripts[0].format == format
    assert len(transcripts) + len(skipped) > len(spoilt)
    for transcript in transcripts:
        for request in transcript.requests:
            assert 0 <= request.input_messages <= len(transcript.messages)
