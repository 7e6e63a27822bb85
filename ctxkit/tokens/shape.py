"""What a request is made of, in tokens by kind and tool, worked out once for every turn."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

from ctxkit.messages import Prompt, Turn
from ctxkit.tokens.blocks import BlockCounter

Key = tuple[str, str | None]

# What a message costs besides its blocks, counted to the first of them.
TURN_TOKENS = 4


@dataclass(frozen=True, slots=True)
class Shape:
    """The tokens of a request up to the end of one of its turns.

    Attributes:
        total: All of them.
        by_key: The same by kind and tool of the blocks.
        numbers: How many blocks of each kind there are, and how many turns, the head aside, as `turn`.
    """

    total: int
    by_key: Mapping[Key, int]
    numbers: Mapping[str, int]


NOTHING = Shape(0, {}, {})


def shape_of(prompt: Prompt, counter: BlockCounter) -> Shape:
    """The shape of a whole prompt; only turns that no earlier prompt had are counted."""

    def step(before: Shape, turn: Turn) -> Shape:
        total = before.total
        by_key = dict(before.by_key)
        numbers = dict(before.numbers)
        if turn.parent is not None:
            numbers["turn"] = numbers.get("turn", 0) + 1
        for key, tokens in _parts(turn, counter):
            total += tokens
            by_key[key] = by_key.get(key, 0) + tokens
            numbers[key[0]] = numbers.get(key[0], 0) + 1
        return Shape(total, by_key, numbers)

    return prompt.fold(_memo_key(counter), lambda head: step(NOTHING, head), step)


def prefix(prompt: Prompt, counter: BlockCounter, tokens: float) -> dict[Key, float]:
    """The first tokens of a prompt, by kind and tool of the blocks they stand in.

    Args:
        prompt: Any prompt.
        counter: Counts its blocks.
        tokens: How many, as the counter counts; a block that reaches beyond is counted in part.

    Returns:
        Tokens by key. They add up to `tokens`, or to the whole prompt where that is less.
    """
    tokens = min(tokens, shape_of(prompt, counter).total)
    turns = (prompt.head, *prompt.turns)
    shapes = _memo_key(counter)
    crossed = bisect_left(turns, tokens, key=lambda turn: turn.memo[shapes].total)
    before: Shape = turns[crossed - 1].memo[shapes] if crossed else NOTHING
    by_key: dict[Key, float] = dict(before.by_key)
    rest = tokens - before.total
    for key, size in _parts(turns[crossed], counter):
        if rest <= 0:
            break
        by_key[key] = by_key.get(key, 0) + min(rest, size)
        rest -= size
    return by_key


def turn_tokens(turn: Turn, counter: BlockCounter) -> int:
    """The tokens that one turn adds to a request."""
    return sum(tokens for _, tokens in _parts(turn, counter))


def _memo_key(counter: BlockCounter) -> Hashable:
    return "shape", counter.name


def _parts(turn: Turn, counter: BlockCounter) -> Iterator[tuple[Key, int]]:
    """The blocks of a turn as keys and tokens; the head is no message and costs only its blocks."""
    extra = 0 if turn.parent is None else TURN_TOKENS
    for block in turn.blocks:
        yield (block.kind, block.tool), counter.count(block) + extra
        extra = 0
