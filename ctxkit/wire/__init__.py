"""The wires: how each provider's bodies are read and rebuilt without converting them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxkit.errors import ConfigError
from ctxkit.histories import TurnReader
from ctxkit.messages import Wire
from ctxkit.wire.anthropic_messages import ANTHROPIC_MESSAGES
from ctxkit.wire.bedrock_converse import BEDROCK_CONVERSE
from ctxkit.wire.gemini import GEMINI
from ctxkit.wire.native import string
from ctxkit.wire.openai_chat import OPENAI_CHAT
from ctxkit.wire.openai_responses import OPENAI_RESPONSES
from ctxkit.wire.paths import wire_for_path

__all__ = ["READERS", "WIRES", "wire_for_path", "wire_named", "wire_of", "wire_of_answer"]

WIRES: Mapping[str, Wire] = {
    wire.name: wire for wire in (ANTHROPIC_MESSAGES, OPENAI_CHAT, OPENAI_RESPONSES, GEMINI)
}
READERS: Mapping[str, TurnReader] = {**WIRES, BEDROCK_CONVERSE.name: BEDROCK_CONVERSE}
"""The wires whose requests can be read, also where they can't be edited."""
# The list that every answer of a wire has.
ANSWER_KEYS: Mapping[str, Wire] = {
    "content": ANTHROPIC_MESSAGES,
    "choices": OPENAI_CHAT,
    "output": OPENAI_RESPONSES,
    "candidates": GEMINI,
}


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


def wire_of(body: Mapping[str, Any]) -> Wire | None:
    """The wire that a request body is in, told from its keys; `None` where it is none of them."""
    if _are_objects(body.get("contents")):
        return GEMINI
    if isinstance(body.get("input"), str) or _are_objects(body.get("input")):
        return OPENAI_RESPONSES
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
    if "anthropic_version" in body:
        return ANTHROPIC_MESSAGES
    if isinstance(tools, list) and tools:
        return OPENAI_CHAT
    return ANTHROPIC_MESSAGES if (string(body.get("model")) or "").startswith("claude") else OPENAI_CHAT


def wire_of_answer(body: Mapping[str, Any]) -> Wire | None:
    """The wire that a response body is in, told from its keys; `None` where it is none of them."""
    return next((wire for key, wire in ANSWER_KEYS.items() if isinstance(body.get(key), list)), None)


def _are_objects(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(value, Mapping) for value in values)


def _any_has(values: Any, key: str) -> bool:
    return isinstance(values, list) and any(isinstance(value, Mapping) and key in value for value in values)


def _has_anthropic_block(content: Any) -> bool:
    kinds = ("tool_use", "tool_result", "thinking", "image", "document", "server_tool_use")
    return isinstance(content, list) and any(
        isinstance(part, Mapping) and part.get("type") in kinds for part in content
    )
