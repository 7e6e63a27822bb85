"""Inspect's own messages, turned into the chat messages of `openai_chat`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxkit.transcripts._fields import objects
from ctxkit.usage import Usage
from ctxkit.wire.native import dumps, text
from ctxkit.wire.usage_fields import count, inclusive, known, mapping


def inspect_usage(native: Any) -> Usage | None:
    """Inspect's usage, whose `input_tokens` holds the cached ones too."""
    usage = mapping(native)
    return inclusive(
        usage,
        input_tokens=known(usage.get("input_tokens")),
        output_tokens=known(usage.get("output_tokens")),
        cache_read_tokens=count(usage, "input_tokens_cache_read"),
        cache_write_tokens=count(usage, "input_tokens_cache_write"),
        reasoning_tokens=count(usage, "reasoning_tokens"),
    )


def tools(definitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The tool definitions as functions."""
    return [{"type": "function", "function": dict(definition)} for definition in definitions]


def messages(native: Sequence[Any]) -> list[dict[str, Any]]:
    """The messages as chat messages, with nothing that Inspect added for itself."""
    return [_message(mapping(message)) for message in native]


def _message(native: Mapping[str, Any]) -> dict[str, Any]:
    role = str(native.get("role", "user"))
    content = native.get("content")
    message: dict[str, Any] = {"role": role, "content": content}
    if isinstance(content, list):
        message["content"] = [_part(part) for part in objects(content) if "reasoning" not in part]
        reasoning = [text(part["reasoning"]) for part in objects(content) if "reasoning" in part]
        if reasoning:
            message["reasoning_content"] = "\n".join(reasoning)
    if role == "tool":
        message |= {"tool_call_id": native.get("tool_call_id"), "name": native.get("function")}
    calls = [_call(call) for call in objects(native.get("tool_calls"))]
    return {**message, "tool_calls": calls} if calls else message


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part.get("type") == "image":
        return {"type": "image_url", "image_url": {"url": part.get("image")}}
    return dict(part)


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    arguments = call.get("arguments")
    function = {"name": call.get("function"), "arguments": dumps(arguments or {}).decode()}
    return {"id": call.get("id"), "type": "function", "function": function}
