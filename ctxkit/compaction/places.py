"""Where a history may be cut: a pure fold over its turns, and the cuts that it allows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from ctxkit.blocks import Block, Turn
from ctxkit.messages import ModelRequest
from ctxkit.money.prompt_cache.prefix import Prefix, extend
from ctxkit.tokens import BlockCounter, pieces, turn_tokens
from ctxkit.wire.thinking import begins_user_turn

GENERATED = frozenset({"assistant_text", "thinking", "tool_call"})
MODEL_ROLES = frozenset({"assistant", "model"})
# Instructions, definitions, and what only the provider can read are never summarised.
ALWAYS_KEPT = frozenset({"system", "tool_definition", "other"})


@dataclass(frozen=True, slots=True)
class Place:
    """A history up to one of its turns.

    Attributes:
        tokens: What it has, the head included.
        digest: Stands for its messages, marks for the prompt cache aside; not for its head.
        answers: How often the model has answered.
        open_calls: How many calls of the client's tools have no result yet.
        thought: Whether the model has thought since the user spoke last.
    """

    tokens: int
    digest: bytes = b""
    answers: int = 0
    open_calls: int = 0
    thought: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Places:
    """The places of a request's history.

    Attributes:
        turns: Its turns, behind the head.
        last: The whole of it.
    """

    turns: tuple[Turn, ...]
    last: Place
    _head: Turn
    _key: Hashable

    @classmethod
    def of(cls, request: ModelRequest, counter: BlockCounter) -> Places:
        """Those of a request; only turns that no earlier request had cost anything."""
        key = "compaction.places", counter.name

        def start(head: Turn) -> Place:
            return Place(turn_tokens(head, counter))

        def step(place: Place, turn: Turn) -> Place:
            return _after(place, turn, counter)

        return cls(request.turns, request.fold(key, start, step), request.head, key)

    @property
    def opening(self) -> int | None:
        """How many messages it begins with up to the user's first; `None` where others come before that."""
        for index, turn in enumerate(self.turns):
            if any(block.kind != "system" for block in turn.blocks):
                return index + 1 if turn.role == "user" else None
        return None

    def up_to(self, length: int) -> Place:
        """The history up to so many messages."""
        place: Place = (self.turns[length - 1] if length else self._head).memo[self._key]
        return place

    def tokens(self, index: int) -> int:
        """What one message has."""
        return self.up_to(index + 1).tokens - self.up_to(index).tokens

    def thinking(self, indexes: Iterable[int]) -> tuple[int, ...]:
        """Those of some messages that have thinking in them."""
        return tuple(index for index in indexes if _thinks(self.turns[index]))

    def cuts(self, keep_steps: int) -> Iterator[int]:
        """How many messages may go at most so that the last rounds of answers and results stay, most first.

        At a cut no call is open, no answer is taken apart, and an answer that follows it in a loop in which
        the model thought begins with thinking.
        """
        for length in range(len(self.turns) - 1, 0, -1):
            kept = self.last.answers - self.up_to(length).answers
            if kept >= keep_steps and self.is_cut(length):
                yield length

    def is_cut(self, length: int) -> bool:
        """Whether a history may be cut behind so many messages."""
        before, place, turn = self.turns[length - 1], self.up_to(length), self.turns[length]
        if place.open_calls or any(map(_is_client_result, turn.blocks)):
            return False
        if not is_models(turn):
            return True
        if is_models(before):
            return False
        return not place.thought or turn.blocks[0].kind == "thinking"

    def kept(self, start: int, cut: int, pinned: Callable[[Block], bool] | None) -> tuple[int, ...]:
        """The messages between two cuts that stay: those with something pinned, calls with their results."""
        kept: list[int] = []
        begins = [length for length in range(start + 1, cut) if self.is_cut(length)]
        for first, end in zip([start, *begins], [*begins, cut], strict=True):
            blocks = (block for turn in self.turns[first:end] for block in turn.blocks)
            if any(block.kind in ALWAYS_KEPT or (pinned and pinned(block)) for block in blocks):
                kept.extend(range(first, end))
        return tuple(kept)


def _after(place: Place, turn: Turn, counter: BlockCounter) -> Place:
    prefix = extend(Prefix(place.digest, place.tokens), turn, partial(pieces, counter=counter))
    calls = sum(block.kind == "tool_call" and block.client for block in turn.blocks)
    results = sum(map(_is_client_result, turn.blocks))
    answers = is_models(turn) and not (turn.parent is not None and is_models(turn.parent))
    return Place(
        tokens=prefix.tokens,
        digest=prefix.digest,
        answers=place.answers + answers,
        open_calls=max(0, place.open_calls + calls - results),
        thought=_thinks(turn) or (place.thought and not begins_user_turn(turn)),
    )


def is_models(turn: Turn) -> bool:
    """Whether the model wrote a turn, or a part of it."""
    return turn.role in MODEL_ROLES or any(block.kind in GENERATED for block in turn.blocks)


def _is_client_result(block: Block) -> bool:
    return block.kind == "tool_result" and block.client


def _thinks(turn: Turn) -> bool:
    return any(block.kind == "thinking" for block in turn.blocks)
