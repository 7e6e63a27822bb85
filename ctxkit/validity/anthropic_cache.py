"""What Anthropic's Messages API refuses about `cache_control`; its words are second hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import dropwhile
from typing import Any, NamedTuple

from ctxkit.messages import ModelRequest, Turn, Where
from ctxkit.validity.problems import Finding
from ctxkit.wire.native import path

MOST_MARKS = 4


class Mark(NamedTuple):
    """A `cache_control` in a body.

    Attributes:
        where: The path to the block that carries it.
        ttl: How long what it marks is kept, as the provider writes it.
    """

    where: Where
    ttl: str


def at_most_four_blocks_are_marked(request: ModelRequest) -> Iterator[Finding]:
    """At most four blocks of tools, system and messages carry a `cache_control`.

    One at the top level of the body counts as well, unless the last block has one anyway.

    Source: docs "Prompt caching", Wei-Shaw/sub2api#176; read on 2026-11-30.
    """
    marks = marks_of(request)
    found = len(marks) + marks_by_itself(request, marks)
    if found > MOST_MARKS:
        where = marks[MOST_MARKS].where if len(marks) > MOST_MARKS else ()
        said = f"A maximum of 4 blocks with cache_control may be provided. Found {found}."
        yield Finding((*where, "cache_control"), said)


def longer_lived_marks_come_first(request: ModelRequest) -> Iterator[Finding]:
    """What is kept for an hour stands in front of what is kept for five minutes.

    Source: docs "Prompt caching" and the error text in public bug reports; read on 2026-11-30.
    """
    behind = dropwhile(lambda mark: mark.ttl != "5m", marks_of(request))
    for where, ttl in behind:
        if ttl == "1h":
            yield Finding(
                (*where, "cache_control", "ttl"),
                f"{path(where)}.cache_control.ttl: a ttl='1h' cache_control block must not come after a "
                f"ttl='5m' cache_control block. Note that blocks are processed in the following order: "
                f"`tools`, `system`, `messages`.",
            )


def marks_of(request: ModelRequest) -> tuple[Mark, ...]:
    """Every `cache_control` on a block, in the order in which the provider reads them."""
    return request.fold(_marks, _marks, lambda marks, turn: marks + _marks(turn))


def _marks(turn: Turn) -> tuple[Mark, ...]:
    marks: list[Mark] = []
    for block in turn.blocks:
        inner = block.native.get("content") if block.kind == "tool_result" else None
        for position, part in enumerate(inner if isinstance(inner, list) else []):
            marks.extend(_mark(part, (*block.where, "content", position)))
        marks.extend(_mark(block.native, block.where))
    return tuple(marks)


def _mark(native: Any, where: Where) -> tuple[Mark, ...]:
    control = native.get("cache_control") if isinstance(native, Mapping) else None
    return (Mark(where, control.get("ttl") or "5m"),) if isinstance(control, Mapping) else ()


def marks_by_itself(request: ModelRequest, marks: tuple[Mark, ...]) -> bool:
    """Whether the provider marks the last block because the body's top level says so."""
    if not isinstance(request.body.get("cache_control"), Mapping):
        return False
    blocks = [block for turn in request.turns[-1:] for block in turn.blocks]
    return not (marks and blocks and marks[-1].where == blocks[-1].where)
