"""The beginnings of a prompt, block by block, as a provider's cache tells them apart. No rule lives here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ctxkit.messages import Block, Turn
from ctxkit.wire.native import digest, string
from ctxkit.wire.usage_fields import mapping

# What a turn is made of: `pieces` of `ctxkit.tokens`, given a counter.
Pieces = Callable[[Turn], Iterable[tuple[Block | None, Any, int]]]

# What marks a place for the prompt cache and is no part of the prompt.
# Source: types of the `anthropic` SDK 2.14.0 and the `openai` SDK 3.57.0, read on 2026-11-30.
CACHE_MARKS = ("cache_control", "prompt_cache_breakpoint")
CACHE_POINT = "cachePoint"
TEXT_KINDS = frozenset({"system", "user_text", "assistant_text"})
LEVELS = {"frame": 0, "tool_definition": 0, "system": 1}
MESSAGES = 2
# Of these kinds, a run of blocks is one place for the look-back.
RUNS = frozenset({"tool_call", "tool_result"})


@dataclass(frozen=True, eq=False, slots=True)
class Prefix:
    """The beginning of a prompt, up to the end of one of its blocks. It knows the shorter ones.

    Attributes:
        digest: Stands for every block so far, marks for the cache aside.
        tokens: What it holds, all blocks included.
        kind: What its last block is; `frame` for what stands in front of all.
        level: 0 for the tools, 1 for the system prompt, 2 for the messages.
        place: The number of its last block as the look-back counts.
        images: How many images and documents it holds.
        mark: The lifetime that a mark at its end asks for, empty for the usual one; `None` without a mark.
        before: The prefix without the last block.
        marked: The longest prefix with a mark that it begins with, itself aside.
    """

    digest: bytes = b""
    tokens: int = 0
    kind: str = "frame"
    level: int = 0
    place: int = 0
    images: int = 0
    mark: str | None = None
    before: Prefix | None = field(default=None, repr=False)
    marked: Prefix | None = field(default=None, repr=False)

    def then(
        self, identity: bytes, tokens: int, *, kind: str, images: int = 0, mark: str | None = None
    ) -> Prefix:
        """The prefix with one block more.

        Args:
            identity: Stands for the block.
            tokens: Its size.
            kind: What it is, as in `Block`.
            images: How many images and documents it holds.
            mark: The lifetime that its mark asks for, empty for the usual one; `None` without a mark.
        """
        in_run = kind == "frame" or (kind == self.kind and kind in RUNS)
        return Prefix(
            digest=digest([self.digest.hex(), kind, identity.hex()]),
            tokens=self.tokens + tokens,
            kind=kind,
            level=max(self.level, LEVELS.get(kind, MESSAGES)),
            place=self.place + (not in_run),
            images=self.images + images,
            mark=mark,
            before=self,
            marked=self.marked if self.mark is None else self,
        )

    def backwards(self) -> Iterator[Prefix]:
        """It and every shorter one that holds a block, the longest first."""
        prefix: Prefix = self
        while prefix.before is not None:
            yield prefix
            prefix = prefix.before

    def marks(self) -> Iterator[Prefix]:
        """It and every shorter one, of those that end with a mark, the longest first."""
        prefix = self.marked if self.mark is None else self
        while prefix is not None:
            yield prefix
            prefix = prefix.marked


def extend(prefix: Prefix, turn: Turn, pieces: Pieces) -> Prefix:
    """The prefix with the blocks of one more turn, or with those of the head."""
    sizes: dict[Block | None, int] = {}
    for block, _, tokens in pieces(turn):
        sizes[block] = sizes.get(block, 0) + tokens
    for block, tokens in sizes.items():
        if block is None:
            prefix = prefix.then(b"", tokens, kind="frame")
        elif isinstance(block.native, Mapping) and CACHE_POINT in block.native:
            prefix = replace(prefix, mark=lifetime_of(block.native[CACHE_POINT]))
        else:
            identity, mark = _identity(block)
            prefix = prefix.then(identity, tokens, kind=block.kind, images=block.images, mark=mark)
    return prefix


def _identity(block: Block) -> tuple[bytes, str | None]:
    """What stands for a block in any request, and the lifetime that its mark asks for."""
    bare, marks = _unmarked(block.native)
    mark = marks[-1] if marks else None
    if block.kind in TEXT_KINDS and (isinstance(bare, str) or mapping(bare).keys() == {"type", "text"}):
        return digest(block.text), mark
    return block.digest if mark is None else digest(bare), mark


def _unmarked(native: Any) -> tuple[Any, list[str]]:
    """Native JSON without its marks for the cache, and the lifetimes they ask for, the outermost last."""
    marks: list[str] = []
    if isinstance(native, list):
        parts = [_unmarked(part) for part in native]
        return [bare for bare, _ in parts], [mark for _, found in parts for mark in found]
    if not isinstance(native, Mapping):
        return native, marks
    bare = {}
    for key, value in native.items():
        if key not in CACHE_MARKS:
            bare[key], found = _unmarked(value)
            marks = found + marks
    marks.extend(lifetime_of(native[key]) for key in CACHE_MARKS if isinstance(native.get(key), Mapping))
    return bare, marks


def lifetime_of(mark: Any) -> str:
    """The lifetime that a mark asks for; empty where it leaves that to the provider."""
    return string(mapping(mark).get("ttl")) or ""
