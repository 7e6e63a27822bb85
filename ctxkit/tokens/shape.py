"""What a request is made of, in tokens by kind and tool, worked out once for every turn.

What a message costs besides its blocks is counted to the first of them, thinking aside, as that may be left
out. What a request costs besides its messages stands in front of everything: `TOOLS` for what comes with
tools, `FRAME` for the rest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from ctxkit.messages import Block, Prompt, Turn
from ctxkit.tokens.blocks import BlockCounter
from ctxkit.tokens.structure import Key, is_deferred
from ctxkit.wire.native import digest
from ctxkit.wire.thinking import begins_user_turn
from ctxkit.wire.usage_fields import mapping

THINKING: Key = ("thinking", None)


@dataclass(frozen=True, slots=True)
class Shape:
    """The tokens of a request.

    Attributes:
        total: All of them.
        by_key: The same by kind and tool of the blocks.
        numbers: How many blocks of each kind there are, and how many turns, the head aside, as `turn`.
    """

    total: int
    by_key: Mapping[Key, int]
    numbers: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _State:
    """A request up to the end of one of its turns, whatever the settings around it.

    Attributes:
        shape: With all thinking.
        dropped: How much thinking the provider leaves out, all of it in front of anything that it keeps.
    """

    shape: Shape
    dropped: int

    def total(self, dropped: int) -> int:
        """The tokens without the first so many of thinking."""
        return self.shape.total - min(dropped, self.shape.by_key.get(THINKING, 0))

    def by_key(self, dropped: int) -> dict[Key, int]:
        """The tokens by key without the first so many of thinking."""
        by_key = dict(self.shape.by_key)
        if THINKING in by_key:
            by_key[THINKING] = max(0, by_key[THINKING] - dropped)
        return by_key


NOTHING = _State(Shape(0, {}, {}), 0)


def shape_of(prompt: Prompt, counter: BlockCounter) -> Shape:
    """The shape of a whole prompt; only turns that no earlier prompt had are counted."""
    state = _state(prompt, counter)
    by_key = state.by_key(state.dropped)
    total = state.total(state.dropped)
    for key, tokens in _settings(prompt, state, counter).items():
        by_key[key] = by_key.get(key, 0) + tokens
        total += tokens
    return Shape(total, by_key, state.shape.numbers)


def prefix(prompt: Prompt, counter: BlockCounter, tokens: float) -> dict[Key, float]:
    """The first tokens of a prompt, by kind and tool of the blocks they stand in.

    Args:
        prompt: Any prompt.
        counter: Counts its blocks.
        tokens: How many, as the counter counts; a block that reaches beyond is counted in part.

    Returns:
        Tokens by key. They add up to `tokens`, or to the whole prompt where that is less.
    """
    last = _state(prompt, counter)
    settings = _settings(prompt, last, counter)
    extra, dropped = sum(settings.values()), last.dropped
    tokens = min(tokens, last.total(dropped) + extra)
    turns = (prompt.head, *prompt.turns)
    states = _memo_key(counter)
    crossed = bisect_left(turns, tokens - extra, key=lambda turn: turn.memo[states].total(dropped))
    by_key: dict[Key, float] = {}
    rest, left_out = tokens, dropped
    if crossed:
        before: _State = turns[crossed - 1].memo[states]
        by_key.update(before.by_key(dropped))
        for key, size in settings.items():
            by_key[key] = by_key.get(key, 0) + size
        rest -= before.total(dropped) + extra
        left_out -= min(dropped, before.shape.by_key.get(THINKING, 0))
    for key, size in _sizes(turns[crossed], counter, {} if crossed else settings):
        if rest <= 0:
            break
        if key == THINKING:
            size, left_out = max(0, size - left_out), max(0, left_out - size)
        by_key[key] = by_key.get(key, 0) + min(rest, size)
        rest -= size
    return by_key


def uncounted_chars(prompt: Prompt, counter: BlockCounter) -> int:
    """How many characters of a prompt stand in turns that this counter has not counted yet."""
    return new_chars(prompt, _memo_key(counter))


def new_chars(prompt: Prompt, key: Hashable) -> int:
    """How many characters of a prompt stand in turns that the fold of this key has not gone over yet."""
    new = takewhile(lambda turn: key not in turn.memo, reversed((prompt.head, *prompt.turns)))
    return sum(len(block.text) for turn in new for block in turn.blocks)


def turn_tokens(turn: Turn, counter: BlockCounter) -> int:
    """The tokens that one turn adds to a request, before the provider leaves out any thinking."""
    return sum(tokens for _, _, tokens in pieces(turn, counter))


def pieces(turn: Turn, counter: BlockCounter) -> Iterator[tuple[Block | None, Key, int]]:
    """What a turn is made of, in the order in which the model reads it: the block, its key and its tokens.

    What stands in front of everything belongs to no block. A definition that a tool result loads is a piece
    of its own beside the result.
    """
    extra = 0
    if turn.parent is None:
        for key, tokens in counter.structure.head(turn):
            yield None, key, tokens
    else:
        extra = counter.structure.turn(turn, counter.count_text)
    framed = min(turn.blocks, key=lambda block: block.kind == THINKING[0], default=None)
    for block in turn.blocks:
        yield block, (block.kind, block.tool), counter.count(block) + (extra if block is framed else 0)
        for definition in _loaded(block, turn):
            yield block, (definition.kind, definition.tool), counter.count(definition)


def _state(prompt: Prompt, counter: BlockCounter) -> _State:
    def step(before: _State, turn: Turn) -> _State:
        total = before.shape.total
        by_key = dict(before.shape.by_key)
        numbers = dict(before.shape.numbers)
        dropped = before.dropped
        if turn.parent is not None:
            numbers["turn"] = numbers.get("turn", 0) + 1
            if counter.structure.drops_thinking and begins_user_turn(turn):
                dropped = by_key.get(THINKING, 0)
        for block in turn.blocks:
            numbers[block.kind] = numbers.get(block.kind, 0) + 1
        for _, key, tokens in pieces(turn, counter):
            total += tokens
            by_key[key] = by_key.get(key, 0) + tokens
        return _State(Shape(total, by_key, numbers), dropped)

    return prompt.fold(_memo_key(counter), lambda head: step(NOTHING, head), step)


def _memo_key(counter: BlockCounter) -> Hashable:
    return "shape", counter.name


def _settings(prompt: Prompt, state: _State, counter: BlockCounter) -> dict[Key, int]:
    """What the settings of a request add to its turns."""
    added: dict[Key, int] = {}
    for key, tokens in counter.structure.request(prompt.body, state.shape.numbers, counter.count_text):
        if tokens:
            added[key] = added.get(key, 0) + tokens
    return added


def _sizes(turn: Turn, counter: BlockCounter, settings: Mapping[Key, int]) -> Iterator[tuple[Key, int]]:
    """The pieces of a turn as keys and tokens, what settings add being counted to what stands in front."""
    front: dict[Key, int] = {}
    behind: list[tuple[Key, int]] = []
    for block, key, tokens in pieces(turn, counter):
        if block is None:
            front[key] = front.get(key, 0) + tokens
        else:
            behind.append((key, tokens))
    for key, tokens in settings.items():
        front[key] = front.get(key, 0) + tokens
    yield from front.items()
    yield from behind


def _loaded(block: Block, turn: Turn) -> Iterator[Block]:
    """The definitions that a block loads, where the head has them."""
    names = set(_references(block.native)) if block.kind in ("tool_result", "other") else set()
    if names:
        *_, head = turn.ancestors()
        for definition in head.blocks:
            if definition.tool in names and is_deferred(definition):
                native = {key: value for key, value in definition.native.items() if key != "defer_loading"}
                yield replace(definition, native=native, digest=digest(native))


def _references(native: Any) -> Iterator[str]:
    """The names of the tools that a result of a search refers to, or that a system message adds."""
    content = mapping(native).get("content")
    listed = content if isinstance(content, list) else mapping(content).get("tool_references")
    for part in (mapping(native).get("tool"), *(listed if isinstance(listed, list) else ())):
        if mapping(part).get("type") == "tool_reference":
            yield str(part.get("tool_name", part.get("name")))
