"""Inspect's logs in JSON: a transcript for each sample, with the usage of its calls."""

from __future__ import annotations

from typing import Any

from ctxkit.usage import Usage

CALL = {"id": "c1", "function": "find", "arguments": {"what": "fox"}, "type": "function"}
TOOL = {"name": "find", "description": "Finds.", "parameters": {"type": "object"}}
LONG = "the quick brown fox " * 20
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Where is the fox?", "source": "input"},
    {"role": "assistant", "content": "", "tool_calls": [CALL], "source": "generate"},
    {"role": "tool", "content": "attachment://abc", "tool_call_id": "c1", "function": "find"},
    {"role": "assistant", "content": "Over the dog.", "source": "generate"},
]


def event(sent: int, tokens: int) -> dict[str, Any]:
    choice = {"message": MESSAGES[-1], "stop_reason": "stop"}
    usage = {"input_tokens": tokens, "output_tokens": 5, "input_tokens_cache_read": 1}
    return {
        "event": "model",
        "model": "openai/gpt-4o",
        "timestamp": "2026-11-30T12:00:00+00:00",
        "input": MESSAGES[:sent],
        "tools": [TOOL] if sent > 1 else [],
        "output": {"model": "gpt-4o-2024-08-06", "choices": [choice], "usage": usage},
    }


def log(*samples: dict[str, Any]) -> dict[str, Any]:
    return {"version": 2, "status": "success", "eval": {"model": "openai/gpt-4o"}, "samples": list(samples)}


def sample(**more: Any) -> dict[str, Any]:
    events = [{"event": "sample_init"}, event(1, 100), event(3, 200)]
    known = {"id": 7, "epoch": 1, "messages": MESSAGES, "events": events, "attachments": {"abc": LONG}}
    return {**known, **more}


def test_a_sample_becomes_a_transcript_with_the_usage_of_its_calls(read: Any) -> None:
    (transcript,), skipped = read(log(sample()))
    assert skipped == []
    assert [message["role"] for message in transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert transcript.messages[2]["content"] == LONG
    assert transcript.tools == [{"type": "function", "function": TOOL}]
    first, second = transcript.requests
    assert (first.input_messages, second.input_messages) == (1, 3)
    assert second.usage == Usage(200, 5, cache_read_tokens=1)
    assert (second.model, second.stop_reason) == ("gpt-4o-2024-08-06", "stop")
    assert second.timestamp is not None
    assert (transcript.id, transcript.format, transcript.provider) == ("7", "inspect", "openai")
    assert (transcript.model, transcript.incomplete) == ("openai/gpt-4o", None)


def test_calls_that_left_no_message_are_placed_by_what_they_sent(read: Any) -> None:
    bare = {"event": "model", "input": MESSAGES * 2, "output": {}}
    (transcript,), _ = read(log(sample(events=[event(1, 100), event(3, 200), bare], epoch=2)))
    assert transcript.id == "7~2"
    assert [request.input_messages for request in transcript.requests] == [1, 3, 4]
    assert transcript.requests[2].usage is None
    assert transcript.requests[2].stop_reason is None


def test_what_came_from_inspects_own_cache_is_no_request(read: Any) -> None:
    (transcript,), _ = read(log(sample(events=[{**event(1, 100), "cache": "read"}, event(3, 200)])))
    assert [request.input_messages for request in transcript.requests] == [3]


def test_a_sample_without_events_has_unmeasured_requests(read: Any) -> None:
    (transcript,), _ = read(log(sample(events=None, attachments=None)))
    assert [(request.input_messages, request.usage) for request in transcript.requests] == [
        (1, None),
        (3, None),
    ]
    assert transcript.incomplete == "the tool definitions are not in this log"
    assert transcript.messages[2]["content"] == "attachment://abc"


def test_a_sample_without_messages_is_reported_and_the_rest_is_read(read: Any) -> None:
    transcripts, (skipped,) = read(log({"id": 1}, sample()))
    assert len(transcripts) == 1
    assert skipped.reason == "sample 1 has no messages"
