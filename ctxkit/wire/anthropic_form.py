"""One form for what Anthropic's Messages API reads as the same, so that equal prompts are equal bytes.

Of a text and the block that stands for it, the block, as only a block can carry a mark for the prompt cache;
of the orders of tools, that of their names; of the orders of parallel results, that of their calls. The form
of a message depends on it and on the message before it, so a history that grows keeps the form of its
beginning. Marks stay where they stand: what is up to a mark stays up to it.

Source: the guide to the Messages API and its types in the `anthropic` SDK 2.14.0, read on 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxkit.blocks import Block, Turn

MARK = "cache_control"


def formed_text(content: Any) -> Any:
    """A text as the list of its one block; anything else, and an empty text, as it is."""
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else content


def formed_message(turn: Turn, *, reorder: bool = True) -> Mapping[str, Any]:
    """A message in its one form, the native one where it has it.

    Args:
        turn: The message, and what stands before it.
        reorder: Whether its results are put in the order of their calls.
    """
    native: Mapping[str, Any] = turn.native
    content = native.get("content")
    if turn.role != "user":
        return native
    formed = _results_in_order(turn) if reorder and isinstance(content, list) else formed_text(content)
    return native if formed is content else {**native, "content": formed}


def formed_tools(definitions: Sequence[Block]) -> list[Any]:
    """Tool definitions in the order of their names."""
    return _in_order([block.native for block in definitions], [block.tool or "" for block in definitions])


def _results_in_order(turn: Turn) -> list[Any]:
    """The content of a message, its results in the order of their calls, where these stand in front of it."""
    content: list[Any] = turn.native["content"]
    results = [block for block in turn.blocks if block.kind == "tool_result"]
    before = () if turn.parent is None else turn.parent.blocks
    ranks = {block.call_id: rank for rank, block in enumerate(before) if block.kind == "tool_call"}
    natives = [block.native for block in results]
    if any(block.call_id not in ranks for block in results) or _inside_marked(natives):
        return content
    ordered = _in_order(natives, [ranks[block.call_id] for block in results])
    if ordered == natives:
        return content
    formed = list(content)
    for block, native in zip(results, ordered, strict=True):
        formed[int(block.where[-1])] = native
    return formed


def _in_order(natives: Sequence[Any], ranks: Sequence[Any]) -> list[Any]:
    """Natives by their ranks, but none past a mark; the marks stay at their places."""
    ordered: list[Any] = []
    for end, native in enumerate(natives, start=1):
        if MARK in native or end == len(natives):
            places = sorted(range(len(ordered), end), key=lambda place: ranks[place])
            ordered.extend(natives[place] for place in places)
    return [_marked_like(native, place) for native, place in zip(ordered, natives, strict=True)]


def _marked_like(native: Mapping[str, Any], place: Mapping[str, Any]) -> Mapping[str, Any]:
    if native.get(MARK) == place.get(MARK):
        return native
    bare = {key: value for key, value in native.items() if key != MARK}
    return {**bare, MARK: place[MARK]} if MARK in place else bare


def _inside_marked(natives: Sequence[Mapping[str, Any]]) -> bool:
    """Whether something within one of them carries a mark, which then can't be moved."""
    inner = (native.get("content") for native in natives)
    parts = (part for content in inner if isinstance(content, list) for part in content)
    return any(isinstance(part, Mapping) and MARK in part for part in parts)
