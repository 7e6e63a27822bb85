"""Where a prompt of Anthropic's Messages API can carry a mark for the prompt cache, and how it is put there.

Which of these places should be marked is decided elsewhere.

Source: types of the `anthropic` SDK 2.14.0; guides to prompt caching and to tool search, second hand, read
on 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ctxkit.blocks import Where
from ctxkit.wire.anthropic_form import MARK
from ctxkit.wire.native import string

# Content that may be marked, and what of it must not be empty then. Thinking may not be marked.
CARRIERS: Mapping[str, str] = {
    "compaction": "content",
    "document": "source",
    "image": "source",
    "mcp_tool_result": "content",
    "mcp_tool_use": "id",
    "search_result": "content",
    "server_tool_use": "id",
    "text": "text",
    "tool_result": "content",
    "tool_use": "id",
    "web_fetch_tool_result": "content",
    "web_search_tool_result": "content",
}


def last_markable(parts: Any) -> int | None:
    """The place of the last block of a message or a system prompt that can be marked; `None` without one."""
    return _last(parts, _carries) if isinstance(parts, list) else None


def last_markable_tool(tools: Sequence[Mapping[str, Any]]) -> int | None:
    """The place of the last tool that can be marked; one that a search has to load can't."""
    return _last(tools, lambda tool: tool.get("defer_loading") is not True)


def marked(value: Any, where: Where, lifetime: str) -> Any:
    """A copy in which what stands at a path carries a mark of this lifetime, as the provider writes it."""
    if not where:
        usual = {"type": "ephemeral"}
        return {**value, MARK: usual if lifetime == "5m" else {**usual, "ttl": lifetime}}
    copy: Any = list(value) if isinstance(value, list) else dict(value)
    copy[where[0]] = marked(value[where[0]], where[1:], lifetime)
    return copy


def _last(parts: Sequence[Any], can_be_marked: Callable[[Any], bool]) -> int | None:
    return next((place for place in reversed(range(len(parts))) if can_be_marked(parts[place])), None)


def _carries(part: Mapping[str, Any]) -> bool:
    said = part.get(CARRIERS.get(string(part.get("type")) or "", ""))
    return bool(said.strip() if isinstance(said, str) else said)
