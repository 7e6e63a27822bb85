"""The wires: how each provider's bodies are read and rebuilt without converting them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxkit.errors import ConfigError
from ctxkit.messages import Wire
from ctxkit.wire.anthropic_messages import ANTHROPIC_MESSAGES
from ctxkit.wire.openai_chat import OPENAI_CHAT

WIRES: Mapping[str, Wire] = {wire.name: wire for wire in (ANTHROPIC_MESSAGES, OPENAI_CHAT)}


def wire_named(name: str) -> Wire:
    """The wire of that name.

    Raises:
        ConfigError: There is no such wire.
    """
    try:
        return WIRES[name]
    except KeyError:
        known = ", ".join(WIRES)
        raise ConfigError(f"unknown wire {name!r}; known wires: {known}", option="wire") from None


def wire_for_path(path: str) -> Wire | None:
    """The wire of a URL path, `None` where a POST to it is no model call.

    Any prefix is allowed, as gateways add their own: `/v1/messages`, `/proxy/v1/chat/completions`. What is
    added to a thread of OpenAI's Assistants is a message, too, but no model call.
    """
    if path.endswith("/messages") and "/threads/" not in path:
        return ANTHROPIC_MESSAGES
    if path.endswith("/chat/completions"):
        return OPENAI_CHAT
    return None


def wire_of(body: Mapping[str, Any]) -> Wire | None:
    """The wire that a request body is in, told from its keys; `None` where it is none of them."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        return None
    tools = body.get("tools")
    if "system" in body or _any_has(tools, "input_schema"):
        return ANTHROPIC_MESSAGES
    for message in messages:
        if not isinstance(message, Mapping):
            return None
        if message.get("role") in ("system", "developer", "tool", "function") or "tool_calls" in message:
            return OPENAI_CHAT
        if _has_anthropic_block(message.get("content")):
            return ANTHROPIC_MESSAGES
    if isinstance(tools, list) and tools:
        return OPENAI_CHAT
    return ANTHROPIC_MESSAGES if str(body.get("model", "")).startswith("claude") else OPENAI_CHAT


def _any_has(values: Any, key: str) -> bool:
    return isinstance(values, list) and any(isinstance(value, Mapping) and key in value for value in values)


def _has_anthropic_block(content: Any) -> bool:
    kinds = ("tool_use", "tool_result", "thinking", "image", "document", "server_tool_use")
    return isinstance(content, list) and any(
        isinstance(part, Mapping) and part.get("type") in kinds for part in content
    )
