"""How providers are asked to keep a long history small themselves, and what their answers say they did.

When it pays to ask is decided elsewhere. What it costs stands in the usage of the answer.

Source: types of the `anthropic` SDK 2.14.0 and the `openai` SDK 3.57.0; the guides to context editing and to
compaction of both providers, second hand, read on 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxkit.wire.usage_fields import known, mapping

ANTHROPIC = "anthropic_messages"
RESPONSES = "openai_responses"
# Anthropic compacts no shorter prompt.
LEAST_COMPACTED_TOKENS = 50_000

COMPACT = "compact_20260112"
CLEAR = "clear_tool_uses_20250919"


def compacting(wire: str, *, start_tokens: int) -> Any:
    """What asks for a summary of a history that is longer than this; `None` where a wire has no way to."""
    if wire == ANTHROPIC:
        return {"edits": [{"type": COMPACT, "trigger": _tokens(start_tokens)}]}
    return [{"type": "compaction", "compact_threshold": start_tokens}] if wire == RESPONSES else None


def clearing(
    wire: str,
    *,
    start_tokens: int,
    keep_tool_uses: int,
    min_batch_tokens: int | None = None,
    exempt: Sequence[str] = (),
) -> Any:
    """What asks to clear old results of tools; `None` where a wire has no way to.

    Args:
        wire: The wire's name.
        start_tokens: Clear where the prompt has more than this.
        keep_tool_uses: So many of the last calls keep their results.
        min_batch_tokens: Clear only where at least this much goes.
        exempt: Tools whose results stay.
    """
    if wire != ANTHROPIC:
        return None
    edit: dict[str, Any] = {
        "type": CLEAR,
        "trigger": _tokens(start_tokens),
        "keep": {"type": "tool_uses", "value": keep_tool_uses},
    }
    if min_batch_tokens is not None:
        edit["clear_at_least"] = _tokens(min_batch_tokens)
    if exempt:
        edit["exclude_tools"] = list(exempt)
    return {"edits": [edit]}


def effects(body: Mapping[str, Any]) -> Iterator[str]:
    """What an answer says that the provider did to the history, each in one sentence."""
    applied = mapping(body.get("context_management")).get("applied_edits")
    for edit in applied if isinstance(applied, list) else ():
        cleared = known(mapping(edit).get("cleared_tool_uses"))
        tokens = known(mapping(edit).get("cleared_input_tokens"))
        if cleared:
            yield f"the provider cleared {cleared:,} tool uses of {tokens or 0:,} tokens"
    for key in ("content", "output"):
        parts = body.get(key)
        if any(
            mapping(part).get("type") == "compaction" for part in (parts if isinstance(parts, list) else ())
        ):
            yield "the provider put a summary in the place of what came before"


def _tokens(value: int) -> dict[str, Any]:
    return {"type": "input_tokens", "value": value}
