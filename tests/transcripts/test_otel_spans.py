"""OpenTelemetry's spans: the calls of a conversation become a run, with as much as the spans hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit.transcripts import load
from ctxkit.usage import Usage

USER = {"role": "user", "parts": [{"type": "text", "content": "Where is the fox?"}]}
CALL = {"type": "tool_call", "id": "c1", "name": "find", "arguments": {"what": "fox"}}
THOUGHT = {"type": "reasoning", "content": "Look."}
ASKED = {"role": "assistant", "parts": [THOUGHT, CALL], "finish_reason": "tool_call"}
GIVEN = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "Over the dog."}]}
SAID = {"role": "assistant", "parts": [{"type": "text", "content": "Over the dog."}], "finish_reason": "stop"}
TOOL = {"type": "function", "name": "find", "parameters": {"type": "object"}}
FUNCTION = {"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}


def attributes(messages: list[Any], output: list[Any], **more: Any) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-sonnet-5",
        "gen_ai.response.model": "claude-sonnet-5-20261001",
        "gen_ai.response.id": f"msg_{len(messages)}",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.conversation.id": "talk",
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be brief."}]),
        "gen_ai.tool.definitions": json.dumps([TOOL]),
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.output.messages": json.dumps(output),
        "gen_ai.usage.input_tokens": 100 * len(messages),
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.cache_write.input_tokens": 20,
        **{name.replace("__", "."): value for name, value in more.items()},
    }


def otlp_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp_value(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": otlp_attributes(value)}}
    return {"stringValue": value} if isinstance(value, str) else {}


def otlp_attributes(named: dict[str, Any]) -> list[Any]:
    return [{"key": name, "value": otlp_value(value)} for name, value in named.items()]


def otlp(*spans: dict[str, Any]) -> list[Any]:
    """An export, as the collector writes it."""
    native = [
        {
            "traceId": "t1",
            "startTimeUnixNano": str((1_796_000_000 + number) * 10**9),
            "endTimeUnixNano": str((1_796_000_001 + number) * 10**9),
            "attributes": otlp_attributes(one),
        }
        for number, one in enumerate(spans)
    ]
    return [{"resourceSpans": [{"scopeSpans": [{"scope": {}, "spans": native[::-1]}]}]}]


def listed(*spans: dict[str, Any]) -> list[Any]:
    """A list of spans, their ids as numbers."""
    times = {"start_time": 1_796_000_000_000_000_000, "end_time": 1_796_000_001_000_000_000}
    return [{"spans": [{"context": {"trace_id": 7}, **times, "attributes": one} for one in spans]}]


def printed(*spans: dict[str, Any]) -> list[Any]:
    """Spans as the SDK of Python prints them, one a record."""
    times = {"start_time": "2026-11-30T12:00:00.000000Z", "end_time": "2026-11-30T12:00:01.000000Z"}
    return [{"name": "chat", "context": {"trace_id": "0x1"}, **times, "attributes": one} for one in spans]


LOOP = (attributes([USER], [ASKED]), attributes([USER, ASKED, GIVEN], [SAID]))


@pytest.mark.parametrize("export", [otlp, listed, printed])
def test_the_calls_of_a_conversation_are_one_run(read: Any, export: Any) -> None:
    (transcript,), skipped = read(*export(*LOOP))
    assert skipped == []
    called = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"what":"fox"}'}}
    assert transcript.messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where is the fox?"},
        {"role": "assistant", "content": "", "reasoning_content": "Look.", "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "c1", "content": "Over the dog."},
        {"role": "assistant", "content": "Over the dog."},
    ]
    first, second = transcript.requests
    assert (first.input_messages, second.input_messages) == (2, 4)
    assert second.usage == Usage(300, 10, cache_read_tokens=60, cache_write_tokens=20)
    assert (second.model, second.stop_reason) == ("claude-sonnet-5-20261001", "stop")
    assert second.answer_id == "msg_3"
    assert first.timestamp is not None
    assert first.timestamp.year == 2026
    assert (transcript.id, transcript.provider, transcript.tools) == ("talk", "anthropic", [FUNCTION])
    assert (transcript.format, transcript.incomplete) == ("otel", None)


def test_spans_without_content_keep_their_usage_and_say_so(read: Any) -> None:
    bare = {
        name: value
        for name, value in LOOP[0].items()
        if "messages" not in name and name not in ("gen_ai.system_instructions", "gen_ai.conversation.id")
    }
    (transcript,), _ = read(*otlp(bare, bare))
    assert (transcript.messages, len(transcript.requests)) == ([], 2)
    assert transcript.incomplete == "what was sent is not in these spans"
    assert transcript.id == "t1~without messages"
    assert transcript.requests[0].usage is not None


def test_chat_messages_and_definitions_that_are_some_already_stay_as_they_are(read: Any) -> None:
    chat = [{"role": "user", "content": "Hi."}]
    spoken = attributes(
        chat,
        [],
        gen_ai__tool__definitions=json.dumps([FUNCTION]),
        gen_ai__system_instructions="Be brief.",
        gen_ai__response__finish_reasons=None,
        gen_ai__conversation__id=None,
    )
    (transcript,), _ = read(*listed(spoken))
    assert transcript.messages == [{"role": "system", "content": "Be brief."}, *chat]
    assert (transcript.tools, transcript.requests[0].stop_reason) == ([FUNCTION], None)
    assert transcript.id == "7"


def test_missing_tool_definitions_are_said(read: Any) -> None:
    (transcript,), _ = read(*otlp(attributes([USER], [SAID], gen_ai__tool__definitions=None)))
    assert transcript.incomplete == "the tool definitions are not in these spans"


def test_values_of_every_type_are_read(read: Any) -> None:
    more = {"gen_ai.input.messages": [USER], "ok": True, "gen_ai.usage.output_tokens": None}
    spans = otlp({**LOOP[0], **more})
    native = spans[0]["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    native["attributes"].append({"key": "gen_ai.usage.input_tokens", "value": {"intValue": "many"}})
    del native["startTimeUnixNano"], native["endTimeUnixNano"]
    (transcript,), skipped = read(*spans)
    assert skipped == []
    assert transcript.messages[1] == {"role": "user", "content": "Where is the fox?"}
    assert (transcript.requests[0].usage, transcript.requests[0].timestamp) == (None, None)


def test_spans_without_a_model_call_are_reported(read: Any) -> None:
    transcripts, (skipped,) = read(*otlp({"gen_ai.operation.name": "execute_tool"}))
    assert (transcripts, skipped.reason) == ([], "spans without a model call")


def test_recorded_traces_are_read(shared_data: Path) -> None:
    transcripts = list(load(shared_data / "raw" / "otel_any_agent"))
    requests = [request for transcript in transcripts for request in transcript.requests]
    assert len(requests) == 14
    assert all(request.usage is not None for request in requests)
    assert len({transcript.id for transcript in transcripts}) == len(transcripts) == 8
    assert sum(len(transcript.messages) for transcript in transcripts) == 8
