"""Where blocks stood in prompts, and what requests paid for it: a tree, each block below the one before it.

Pure sums. A request pays for a whole prompt, so nothing is added up block by block: it marks where each zone
of its prompt begins and ends, and one walk over the tree then gives every block what was marked for it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ctxkit.ledger.sent import Sent

B = TypeVar("B")

# How many prompts are kept whole at a time; an older one is put together again where it is asked for.
KEPT_PATHS = 8


def weights() -> list[float]:
    """What a block takes: billed tokens and dollars where it was new, then both where it was carried."""
    return [0.0] * 4


@dataclass(slots=True)
class Node(Generic[B]):
    """A block in one place: behind what stands in front of it there.

    Attributes:
        block: Which it is; `None` where that is not known.
        parent: What stands in front of it.
        end: The tokens of the prompt up to its end.
        tokens: Its own.
        requests: How many prompts end with it; once settled, how many hold it.
        rates: What each token takes, its own and those in front of it; once settled, its own alone.
        alone: What only it takes.
    """

    block: B | None
    parent: Node[B] | None
    end: float
    tokens: float
    requests: int = 0
    rates: list[float] = field(default_factory=weights)
    alone: list[float] = field(default_factory=weights)

    def taken(self) -> list[float]:
        """What it takes in all, once settled."""
        return [alone + rate * self.tokens for alone, rate in zip(self.alone, self.rates, strict=True)]


@dataclass(frozen=True, slots=True)
class Zone:
    """A stretch of a prompt whose tokens all cost the same.

    Attributes:
        start: The tokens in front of it, as counted here.
        end: The tokens up to its end.
        rates: What each of its tokens takes, by the place in `weights`.
    """

    start: float
    end: float
    rates: tuple[tuple[int, float], ...]


class BlockTree(Generic[B]):
    """Blocks of type `B` where they stood, and what requests paid for it."""

    def __init__(self) -> None:
        self._nodes: list[Node[B]] = []
        self._paths: dict[str, list[Node[B]]] = {}
        self._tips: dict[str, Node[B] | None] = {}

    def path(self, sent: Sent) -> list[Node[B]]:
        """The prompt that this one goes on from, to be cut and gone on with; its caller owns the list.

        Where that prompt was never kept, unknown blocks stand for what this one has in common with it.
        """
        if sent.after in self._paths:
            return self._paths.pop(sent.after)
        if sent.after in self._tips:
            return list(_upwards(self._tips[sent.after]))[::-1]
        path: list[Node[B]] = []
        for _ in range(sent.kept):
            self.place(None, path, sent.kept_tokens / sent.kept)
        return path

    def place(self, block: B | None, path: list[Node[B]], tokens: float) -> None:
        """Add a block at the end of a prompt."""
        parent = path[-1] if path else None
        node = Node(block, parent, tokens + (parent.end if parent else 0.0), tokens)
        self._nodes.append(node)
        path.append(node)

    def keep(self, attempt: str, path: list[Node[B]]) -> None:
        """Keep the prompt of an attempt for those that go on from it."""
        if path:
            path[-1].requests += 1
        self._paths[attempt] = path
        self._tips[attempt] = path[-1] if path else None
        if len(self._paths) > KEPT_PATHS:
            del self._paths[next(iter(self._paths))]

    def mark(self, path: Sequence[Node[B]], zone: Zone) -> None:
        """Mark what a request paid for a stretch of its prompt, for blocks at its ends in part.

        Where a stretch reaches beyond the blocks by what adding up rounded, that is left out.
        """
        first = min(bisect_right(path, zone.start, key=_end), len(path) - 1)
        last = min(bisect_left(path, zone.end, key=_end), len(path) - 1)
        for place in {first, last}:
            node = path[place]
            inside = max(0.0, min(node.end, zone.end) - max(node.end - node.tokens, zone.start))
            for column, rate in zone.rates:
                node.alone[column] += inside * rate
        if last - first > 1:
            for column, rate in zone.rates:
                path[last - 1].rates[column] += rate
                path[first].rates[column] -= rate

    def settled(self) -> Iterator[Node[B]]:
        """Every node, once what was marked behind it has reached it. May be asked for once."""
        for node in reversed(self._nodes):
            yield node
            if node.parent is not None:
                node.parent.requests += node.requests
                for column, rate in enumerate(node.rates):
                    node.parent.rates[column] += rate


def _upwards(node: Node[B] | None) -> Iterator[Node[B]]:
    while node is not None:
        yield node
        node = node.parent


def _end(node: Node[B]) -> float:
    return node.end
