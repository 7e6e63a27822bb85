"""Blocks, the pieces of a request or an answer, and turns, the messages they stand in.

A turn knows the turn before it, so whatever is worked out for a beginning of a history can be kept with its
last turn. How turns are found again from one request to the next is the work of `histories`.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal[
    "tool_definition",
    "system",
    "user_text",
    "assistant_text",
    "thinking",
    "tool_call",
    "tool_result",
    "image",
    "document",
    "other",
]
Where = tuple[str | int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """One piece of a request or an answer.

    Attributes:
        kind: What it is.
        text: What of it is text, as it would be counted; empty for a pure image.
        digest: 16 bytes that stand for its native bytes.
        where: The path to it in the body.
        native: The provider's JSON for it. Never edit it in place.
        tool: The tool's name, for a definition, a call or a result.
        call_id: What ties a result to its call.
        images: How many images and documents it holds.
        client: For a tool call or result: whether the client runs the tool. What a provider's own tools ran
            may be neither answered nor changed.
        is_error: For a tool result: whether the tool failed.
    """

    kind: Kind
    text: str
    digest: bytes
    where: Where
    native: Any
    tool: str | None = None
    call_id: str | None = None
    images: int = 0
    client: bool = False
    is_error: bool = False


def replaced(native: Any, where: Where, part: Any) -> Any:
    """A native value with another part at a path inside it; what it shares with the old one is not copied."""
    if not where:
        return part
    first, *rest = where
    inner = replaced(native[first], tuple(rest), part)
    if isinstance(first, int):
        return [*native[:first], inner, *native[first + 1 :]]
    return {**native, first: inner}


class Turn:
    """One native message where it stands in a history, or the head (tools and system) in front of all.

    Two requests that share a beginning share its turns, so `memo` is where anything that depends on a
    turn and on what stands before it can be kept. Turns are made by `Histories`.

    Attributes:
        role: The native role, or `head`.
        native: The provider's JSON. Never edit it in place.
        blocks: Its blocks, in order.
        parent: The turn before it; `None` for the head.
    """

    __slots__ = ("__weakref__", "_children", "blocks", "memo", "native", "parent", "role")

    def __init__(self, role: str, native: Any, blocks: tuple[Block, ...], parent: Turn | None) -> None:
        self.role = role
        self.native = native
        self.blocks = blocks
        self.parent = parent
        self.memo: dict[Hashable, Any] = {}
        self._children: list[weakref.ref[Turn]] = []

    def child(self, native: Any) -> Turn | None:
        """The turn that follows this one with this native message, where it is known."""
        for reference in reversed(self._children):
            turn = reference()
            if turn is not None and (turn.native is native or turn.native == native):
                return turn
        return None

    def adopt(self, turn: Turn) -> None:
        """Keep a turn findable as a child, for as long as something holds it."""
        self._children = [reference for reference in self._children if reference() is not None]
        self._children.append(weakref.ref(turn))

    def ancestors(self) -> Iterator[Turn]:
        """The turns before this one, nearest first, the head last."""
        turn = self.parent
        while turn is not None:
            yield turn
            turn = turn.parent
