"""How an answer looks on each wire: its message, its body, its usage and its errors.

Written down from the types of the `anthropic` SDK 2.14.0 and the `openai` SDK 3.57.0, read on 2026-11-30.
What is read back from such bodies belongs to `ctxkit.wire`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from ctxkit.errors import ConfigError
from ctxkit.messages import Wire
from ctxkit.testing.answers import Reply
from ctxkit.usage import Usage
from ctxkit.wire import wire_named

CREATED = 1_767_225_600
CREATED_TEXT = "2026-01-01T00:00:00Z"


class Shape(Protocol):
    """One provider's answers."""

    @property
    def wire(self) -> Wire:
        """The wire that these answers are in."""
        ...

    def message(self, reply: Reply, call: int) -> dict[str, Any]:
        """What the model says as a native assistant message."""
        ...

    def body(self, message: Mapping[str, Any], call: int, model: str | None) -> dict[str, Any]:
        """The response body around an assistant message, without usage."""
        ...

    def usage(self, usage: Usage) -> dict[str, Any]:
        """The native usage object."""
        ...

    def error(self, status: int, message: str) -> dict[str, Any]:
        """The response body for an error."""
        ...


class AnthropicShape:
    """Answers of Anthropic's Messages API."""

    wire = wire_named("anthropic_messages")
    _error_types: Mapping[int, str] = {
        400: "invalid_request_error",
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        529: "overloaded_error",
    }

    def message(self, reply: Reply, call: int) -> dict[str, Any]:
        """Thinking, text and tool calls as content blocks, in this order."""
        content: list[dict[str, Any]] = []
        if reply.thinking:
            content.append({"type": "thinking", "thinking": reply.thinking, "signature": f"signature_{call}"})
        if reply.text:
            content.append({"type": "text", "text": reply.text})
        content.extend(
            {"type": "tool_use", "id": f"toolu_{call}_{index}", "name": name, "input": dict(arguments)}
            for index, (name, arguments) in enumerate(reply.tool_calls)
        )
        return {"role": "assistant", "content": content}

    def body(self, message: Mapping[str, Any], call: int, model: str | None) -> dict[str, Any]:
        """A `message` object; it ends with `tool_use` where a tool is called."""
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        calls_tool = any(block["type"] == "tool_use" for block in blocks)
        return {
            "id": f"msg_{call}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [
                {key: value for key, value in block.items() if key != "cache_control"} for block in blocks
            ],
            "stop_reason": "tool_use" if calls_tool else "end_turn",
            "stop_sequence": None,
        }

    def usage(self, usage: Usage) -> dict[str, Any]:
        """Anthropic's buckets: `input_tokens` is what was neither read from the cache nor written to it."""
        native: dict[str, Any] = {
            "input_tokens": usage.uncached_tokens,
            "cache_creation_input_tokens": usage.cache_write_tokens,
            "cache_read_input_tokens": usage.cache_read_tokens,
            "cache_creation": {
                "ephemeral_5m_input_tokens": usage.cache_write_tokens - usage.cache_write_1h_tokens,
                "ephemeral_1h_input_tokens": usage.cache_write_1h_tokens,
            },
            "output_tokens": usage.output_tokens,
            "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens},
            "service_tier": usage.service_tier or "standard",
        }
        if usage.web_search_requests:
            native["server_tool_use"] = {"web_search_requests": usage.web_search_requests}
        return native

    def error(self, status: int, message: str) -> dict[str, Any]:
        """An `error` object of the status's own type."""
        kind = self._error_types.get(status, "invalid_request_error" if status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}}


class OpenAIShape:
    """Answers of OpenAI's Chat Completions API."""

    wire = wire_named("openai_chat")

    def message(self, reply: Reply, call: int) -> dict[str, Any]:
        """An assistant message; thinking goes to `reasoning_content`, as servers kin to OpenAI's send it."""
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        if reply.tool_calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{call}_{index}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for index, (name, arguments) in enumerate(reply.tool_calls)
            ]
        return message

    def body(self, message: Mapping[str, Any], call: int, model: str | None) -> dict[str, Any]:
        """A `chat.completion` with one choice; it ends with `tool_calls` where a tool is called."""
        finish_reason = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": None}
        return {
            "id": f"chatcmpl-{call}",
            "object": "chat.completion",
            "created": CREATED,
            "model": model,
            "choices": [choice],
        }

    def usage(self, usage: Usage) -> dict[str, Any]:
        """OpenAI's buckets: `prompt_tokens` include the cached ones."""
        return {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": (usage.input_tokens or 0) + (usage.output_tokens or 0),
            "prompt_tokens_details": {
                "cached_tokens": usage.cache_read_tokens,
                "cache_write_tokens": usage.cache_write_tokens,
            },
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        }

    def error(self, status: int, message: str) -> dict[str, Any]:
        """An `error` object."""
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}


SHAPES: Mapping[str, Shape] = {shape.wire.name: shape for shape in (AnthropicShape(), OpenAIShape())}


def shape_named(name: str) -> Shape:
    """The shape of the answers on the wire of that name.

    Raises:
        ConfigError: Answers can't be scripted for that wire.
    """
    if name not in SHAPES:
        raise ConfigError(f"no answers for wire {name!r}; known wires: {', '.join(SHAPES)}", option="wire")
    return SHAPES[name]
