"""Request bodies, chat lists, and pairs of a request and what came back."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from ctxkit.usage import Usage

USER = {"role": "user", "content": "hello"}
ASSISTANT = {"role": "assistant", "content": "hi"}
CONTENTS = [{"role": "user", "parts": [{"text": "hello"}]}]
UNTYPED = [{"role": "user", "content": [{"text": "hello"}]}]


@pytest.mark.parametrize(
    ("body", "wire", "provider"),
    [
        ({"model": "claude-opus-5", "messages": [USER]}, "anthropic_messages", "anthropic"),
        ({"model": "gpt-4.1", "messages": [USER]}, "openai_chat", "openai"),
        ({"messages": [{"role": "system", "content": "x"}, USER]}, "openai_chat", None),
        ({"model": "gpt-4.1", "input": "hello"}, "openai_responses", "openai"),
        ({"model": "gpt-4.1", "input": [USER]}, "openai_responses", "openai"),
        ({"messages": [USER, {"type": "reasoning", "summary": []}]}, "openai_responses", None),
        ({"contents": CONTENTS}, "gemini", "google"),
        ({"messages": CONTENTS}, "gemini", "google"),
        ({"messages": [USER], "inferenceConfig": {}}, "bedrock_converse", "aws"),
        ({"messages": UNTYPED}, "bedrock_converse", "aws"),
    ],
)
def test_the_wire_of_a_body_is_told_from_its_keys(
    read: Any, body: dict[str, Any], wire: str, provider: str | None
) -> None:
    (transcript,), skipped = read(body)
    assert (transcript.format, transcript.wire, transcript.provider) == ("body", wire, provider)
    assert len(transcript.messages) >= 1
    assert skipped == []


@pytest.mark.parametrize(
    ("body", "system", "tools"),
    [
        ({"model": "claude", "system": "x", "tools": [{"name": "ls"}], "messages": [USER]}, "x", 1),
        ({"model": "m", "instructions": "x", "tools": [{"type": "function"}], "input": "hello"}, "x", 1),
        ({"systemInstruction": {"parts": []}, "tools": [{}], "contents": CONTENTS}, {"parts": []}, 1),
        ({"system_instruction": {"parts": []}, "contents": CONTENTS}, {"parts": []}, 0),
        (
            {"system": [{"text": "x"}], "toolConfig": {"tools": [{}, {}]}, "messages": [USER]},
            [{"text": "x"}],
            2,
        ),
        ({"functions": [{"name": "ls"}], "model": "gpt-4", "messages": [USER]}, None, 1),
    ],
)
def test_system_and_tools_are_found_where_the_wire_keeps_them(
    read: Any, body: dict[str, Any], system: Any, tools: int
) -> None:
    (transcript,), _ = read(body)
    assert (transcript.system, len(transcript.tools)) == (system, tools)


def test_a_body_is_one_request_that_sends_everything(read: Any) -> None:
    (transcript,), _ = read({"model": "gpt-4.1", "messages": [USER, ASSISTANT, USER]})
    (request,) = transcript.requests
    assert (request.input_messages, request.usage) == (3, None)


def test_a_chat_list_that_ends_with_an_answer_is_all_the_requests_that_led_to_it(read: Any) -> None:
    chat = [USER, ASSISTANT, USER, ASSISTANT]
    (transcript,), _ = read(json.dumps(chat, indent=1).encode())
    assert transcript.messages == chat
    assert [request.input_messages for request in transcript.requests] == [1, 3]


def test_each_line_may_be_a_chat_list(read: Any) -> None:
    transcripts, _ = read([USER, ASSISTANT], [USER])
    assert [(t.id, len(t.messages), t.line) for t in transcripts] == [("1", 2, 1), ("2", 1, 2)]


def test_a_foreign_line_between_bodies_is_reported(read: Any) -> None:
    body = {"model": "gpt-4.1", "messages": [USER]}
    transcripts, skipped = read(body, {"messages": [{"content": "?"}]}, body)
    assert len(transcripts) == 2
    assert [(skip.line, skip.reason) for skip in skipped] == [(2, "not a request body")]


def test_a_pair_is_one_request_with_its_answer(read: Any) -> None:
    pair = {
        "id": "p1",
        "provider": "azure-openai",
        "api": "chat",
        "model": "gpt-4.1",
        "response_model": "gpt-4.1-2025-04-14",
        "request": {"messages": [USER], "tools": [{"type": "function"}]},
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        "stop_reason": "stop",
        "response_output": [ASSISTANT, {**ASSISTANT, "content": "a second choice"}],
        "timestamp": "2026-11-30T12:00:00",
    }
    (transcript,), skipped = read(pair)
    assert skipped == []
    assert (transcript.id, transcript.format, transcript.wire) == ("p1", "pair", "openai_chat")
    assert (transcript.provider, transcript.model) == ("azure", "gpt-4.1")
    assert (transcript.messages, len(transcript.tools)) == ([USER, ASSISTANT], 1)
    (request,) = transcript.requests
    assert (request.input_messages, request.model) == (1, "gpt-4.1-2025-04-14")
    assert (request.usage, request.stop_reason) == (Usage(input_tokens=10, output_tokens=5), "stop")
    assert request.timestamp == datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("request_body", "response", "answer", "stop_reason"),
    [
        (
            {"model": "claude-opus-5", "messages": [USER]},
            {
                "content": [{"type": "text", "text": "hi"}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 10, "output_tokens": 5},
            },
            {"role": "assistant", "content": [{"type": "text", "text": "hi"}]},
            "end_turn",
        ),
        (
            {"model": "gpt-4.1", "messages": [USER]},
            {
                "choices": [{"message": ASSISTANT, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5},
            },
            ASSISTANT,
            "stop",
        ),
        (
            {"model": "gpt-4.1", "input": "hello"},
            {
                "output": [{"type": "message", **ASSISTANT}],
                "status": "completed",
                "usage": {"input_tokens": 10, "output_tokens": 5},
            },
            {"type": "message", **ASSISTANT},
            "completed",
        ),
        (
            {"contents": CONTENTS},
            {
                "candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5},
            },
            {"role": "model", "parts": [{"text": "hi"}]},
            "STOP",
        ),
        (
            {"messages": UNTYPED},
            {
                "output": {"message": {"role": "assistant", "content": [{"text": "hi"}]}},
                "stopReason": "end_turn",
                "usage": {"inputTokens": 10, "outputTokens": 5},
            },
            {"role": "assistant", "content": [{"text": "hi"}]},
            "end_turn",
        ),
    ],
)
def test_a_response_body_tells_answer_usage_and_stop_reason_in_every_wire(
    read: Any, request_body: dict[str, Any], response: dict[str, Any], answer: Any, stop_reason: str
) -> None:
    (transcript,), skipped = read({"request": request_body, "response": response})
    assert skipped == []
    assert transcript.messages[1:] == [answer]
    (request,) = transcript.requests
    assert (request.usage, request.stop_reason) == (Usage(input_tokens=10, output_tokens=5), stop_reason)


@pytest.mark.parametrize(
    ("api", "request_body", "wire"),
    [
        ("messages", {"messages": [USER]}, "anthropic_messages"),
        ("responses", {"input": "hello"}, "openai_responses"),
        ("generateContent", {"contents": CONTENTS}, "gemini"),
        ("converse", {"messages": [USER]}, "bedrock_converse"),
    ],
)
def test_an_answer_that_was_not_recorded_adds_no_message(
    read: Any, api: str, request_body: dict[str, Any], wire: str
) -> None:
    (transcript,), _ = read({"api": api, "request": request_body, "usage": {}, "response": {"status": 1}})
    assert (transcript.wire, len(transcript.messages)) == (wire, 1)
    assert (transcript.requests[0].usage, transcript.requests[0].stop_reason) == (None, None)


def test_what_is_no_model_call_is_reported(read: Any) -> None:
    transcripts, skipped = read(
        {"api": "count_tokens", "request": {"messages": [USER]}, "usage": {"input_tokens": 10}},
        {"api": "countTokens", "request": {"contents": CONTENTS}, "usage": {"totalTokens": 10}},
        {"request": {"query": "x"}, "response": {}},
        {"api": "chat"},
        {"note": "x"},
    )
    assert transcripts == []
    assert [skip.line for skip in skipped] == [1, 2, 3, 4, 5]
    assert {skip.reason for skip in skipped} == {"not a model call with what came back"}


def test_an_api_of_another_name_is_told_from_its_request(read: Any) -> None:
    pair = {"api": "chat.completions", "request": {"model": "gpt-4.1", "messages": [USER]}, "response": {}}
    (transcript,), _ = read(pair)
    assert transcript.wire == "openai_chat"
