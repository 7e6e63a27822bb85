"""Native bodies of the wires, written down by hand rather than by the code under test."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ctxkit.messages import Histories, ModelRequest, ModelResponse
from ctxkit.wire import wire_named

ANTHROPIC = "anthropic_messages"
OPENAI = "openai_chat"
RESPONSES = "openai_responses"
GEMINI = "gemini"
WIRES = (ANTHROPIC, OPENAI)
ALL_WIRES = (*WIRES, RESPONSES, GEMINI)

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
IMAGE_URL = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def request_of(
    wire: str, messages: Sequence[Any], *, histories: Histories | None = None, **body: Any
) -> ModelRequest:
    """A request with these messages, in a process of its own unless histories are given."""
    named = wire_named(wire)
    native = {"model": "m", named.messages_key: list(messages), **body}
    return ModelRequest(named, native, histories=histories or Histories())


def of_body(wire: str, body: Mapping[str, Any]) -> ModelRequest:
    """A request with exactly this body."""
    return ModelRequest(wire_named(wire), body)


def user(text: str) -> dict[str, Any]:
    """A user's message."""
    return {"role": "user", "content": text}


def calls(
    wire: str, *ids: str, tool: str = "search", inputs: Mapping[str, Any] | None = None, thinking: str = ""
) -> dict[str, Any]:
    """An assistant's message that calls one tool once for each id."""
    given = dict(inputs or {})
    if wire == ANTHROPIC:
        uses = [{"type": "tool_use", "id": one, "name": tool, "input": given} for one in ids]
        thought = [{"type": "thinking", "thinking": thinking, "signature": "s"}] if thinking else []
        return {"role": "assistant", "content": [*thought, *uses]}
    function = {"name": tool, "arguments": json.dumps(given)}
    made = [{"id": one, "type": "function", "function": function} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def results(wire: str, contents: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages that answer calls, by id: one for Anthropic, one a call for OpenAI."""
    if wire == ANTHROPIC:
        blocks = [
            {"type": "tool_result", "tool_use_id": one, "content": content}
            for one, content in contents.items()
        ]
        return [{"role": "user", "content": blocks}]
    return [{"role": "tool", "tool_call_id": one, "content": text} for one, text in contents.items()]


def rounds(wire: str, texts: Sequence[str], *, tool: str = "search") -> list[dict[str, Any]]:
    """A question, and a call with its result for each text."""
    messages = [user("Find the bug.")]
    for number, text in enumerate(texts):
        messages += [calls(wire, f"call_{number}", tool=tool), *results(wire, {f"call_{number}": text})]
    return messages


def result_texts(wire: str, messages: Sequence[Any]) -> list[Any]:
    """The contents of all tool results in messages, in order."""
    if wire == OPENAI:
        return [message["content"] for message in messages if message["role"] == "tool"]
    return [
        block["content"]
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


def answer_body(wire: str, text: str = "Done.", **more: Any) -> dict[str, Any]:
    """A response body that says a text; `more` replaces its keys."""
    return {**ANSWERS[wire](text), **more}


def _anthropic_answer(text: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }


def _openai_answer(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


def _responses_answer(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"id": "m1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "gpt-4o",
        "output": [message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 110,
        },
    }


def _gemini_answer(text: str) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": text}]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110},
        "modelVersion": "gemini-2.5-flash",
        "responseId": "r1",
    }


ANSWERS = {
    ANTHROPIC: _anthropic_answer,
    OPENAI: _openai_answer,
    RESPONSES: _responses_answer,
    GEMINI: _gemini_answer,
}


def answer_to(request: ModelRequest, text: str = "Done.", **more: Any) -> ModelResponse:
    """A response that says a text."""
    return ModelResponse(request.wire, answer_body(request.wire.name, text, **more), request)
