"""Thinking that is bound to its history, and which edits leave it valid.

A model that binds its thinking counts a replayed thinking block only if the system prompt, the tools and all
earlier content are what they were when it was made. So an edit in front of a thinking block is safe only
where that block is left out from then on, and thinking may be left out only when the tool loop that it
belongs to is over: at a new turn of the user. This is the one place that knows it.

Source: Anthropic's "preserved thinking" pages, second hand, read on 2026-11-30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ctxkit.blocks import Turn
from ctxkit.wire.native import string

THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class Binding:
    """What is known of some models.

    Attributes:
        models: Matches their names, wherever a router or a cloud puts it.
        enforced: Whether they refuse or drop thinking once something before it changed.
        read_on: The day this was read.
    """

    models: re.Pattern[str]
    enforced: bool
    read_on: str


# The exact list is not published: what is not known to leave history free is taken as bound.
BINDINGS = (
    Binding(re.compile(r"claude-(?:[12]\b|instant|3)"), False, "2026-11-30"),
    Binding(re.compile(r"claude-(?:opus|sonnet|haiku)-4(?:\b|-)"), False, "2026-11-30"),
    Binding(re.compile(r"claude-(?:opus|sonnet|haiku|fable|mythos)-5(?:$|[-@]\d{8})"), False, "2026-11-30"),
    Binding(re.compile(r"claude-(?:fable|mythos|opus|sonnet|haiku)-5-\d(?:\b|-)"), True, "2026-11-30"),
)


def binds_thinking(wire: str, model: str | None) -> bool:
    """Whether a model refuses its own thinking once something before it was changed.

    Args:
        wire: The wire's name; only Anthropic signs its thinking.
        model: The model asked; an unknown one is taken as bound.
    """
    if wire != "anthropic_messages":
        return False
    known = (binding.enforced for binding in BINDINGS if binding.models.search(model or ""))
    return next(known, True)


def begins_user_turn(turn: Turn) -> bool:
    """Whether the user speaks again, so that no tool loop is running; results of tools are no speech."""
    kinds = {block.kind for block in turn.blocks}
    return turn.role == "user" and "user_text" in kinds and "tool_result" not in kinds


def can_lose_thinking(turn: Turn) -> bool:
    """Whether something is left of a message without its thinking."""
    return any(block.kind != "thinking" for block in turn.blocks)


def without_thinking(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message of Anthropic's wire without its thinking."""
    content = [part for part in message["content"] if string(part.get("type")) not in THINKING_TYPES]
    return {**message, "content": content}
