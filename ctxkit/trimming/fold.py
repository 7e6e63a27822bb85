"""The pure fold: what is cleared after each turn depends on the turns up to it and on nothing else."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from ctxkit.blocks import Block, Turn
from ctxkit.edits import Clearing
from ctxkit.money.break_even import Edit, Weighed
from ctxkit.tokens import BlockCounter, turn_tokens
from ctxkit.trimming.candidates import Candidate, Finder
from ctxkit.trimming.schedule import Schedule, Sizes
from ctxkit.wire.thinking import begins_user_turn, can_lose_thinking


@dataclass(frozen=True, slots=True)
class State:
    """The fold's state after a turn. The candidates stay with the turns that they were found in.

    Attributes:
        tokens: What a request that ends here has.
        raw: What it would have if nothing had been cleared.
        stable: What stands in front of the first candidate.
        clearable: What all candidates that wait would save, the last rounds' included.
        index: The place of the turn; -1 for the head.
        steps: The rounds of tool calls so far.
        found: The candidates of this turn.
        open: The place of the first turn that may still have a candidate.
        thinking: The place of the last turn whose thinking is bound and still sent; -1 where there is none.
        barred: A block that would be cleared here, were the thinking behind it not bound.
        again_at: No batch is weighed below this size, as one did not pay.
        batches: What is cleared.
        cleared: How much each block saves that is.
        weighed: Every batch that was considered, taken or not.
    """

    tokens: int
    raw: int
    stable: int
    clearable: int = 0
    index: int = -1
    steps: int = 0
    found: tuple[Candidate, ...] = ()
    open: int | None = None
    thinking: int = -1
    barred: Block | None = None
    again_at: int = 0
    batches: tuple[Clearing, ...] = ()
    cleared: Mapping[Block, int] = field(default_factory=dict)
    weighed: tuple[Weighed, ...] = ()

    @property
    def sizes(self) -> Sizes:
        """What the history has."""
        return Sizes(self.tokens, self.stable, self.steps, self.raw)


class FoldKey:
    """Names a fold by all that its result depends on; it is hashed once, as it is looked up at every turn.

    Args:
        parts: All of that.
    """

    __slots__ = ("_hash", "parts")

    def __init__(self, parts: tuple[Hashable, ...]) -> None:
        self.parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, FoldKey) and self.parts == other.parts)


@dataclass(frozen=True, slots=True)
class Fold:
    """Folds a history.

    Attributes:
        key: Names the fold and all that its result depends on besides the turns.
        finder: Finds what may be cleared.
        schedule: Says when, and how much.
        counter: Counts turns.
        binds: Whether the model binds its thinking to the history.
    """

    key: Hashable
    finder: Finder
    schedule: Schedule
    counter: BlockCounter
    binds: bool

    def start(self, head: Turn) -> State:
        """The state after the head."""
        tokens = turn_tokens(head, self.counter)
        return State(tokens, tokens, tokens)

    def step(self, state: State, turn: Turn) -> State:
        """The state after one more turn."""
        steps = state.steps + (_calls(turn) and not (turn.parent is not None and _calls(turn.parent)))
        index = state.index + 1
        tokens = turn_tokens(turn, self.counter)
        found = tuple(self.finder.of(turn, steps))
        opened = index if state.open is None and found else state.open
        state = replace(
            state,
            tokens=state.tokens + tokens,
            raw=state.raw + tokens,
            stable=state.stable + (tokens if opened is None else 0),
            clearable=state.clearable + sum(one.saves for one in found),
            index=index,
            steps=steps,
            found=found,
            open=opened,
            thinking=index if self.binds and _thinks(turn) else state.thinking,
            barred=None,
        )
        return self._cleared(state, turn) if self._may_start(state, turn) else state

    def _may_start(self, state: State, turn: Turn) -> bool:
        """Whether it is worth a closer look: told without going through the turns."""
        if not state.clearable or (state.tokens < state.again_at and not begins_user_turn(turn)):
            return False
        return self._passes(state, state.clearable)

    def _passes(self, state: State, clearable: int) -> bool:
        start = self.schedule.start(state.sizes, clearable)
        return start is not None and state.tokens > start

    def _cleared(self, state: State, turn: Turn) -> State:
        """Clear down to the target, or nothing where too little can go or it does not pay."""
        turns = self._open_turns(state, turn)
        waiting = self._waiting(state, turns)
        if not self._passes(state, sum(one.saves for one in waiting)):
            return state
        taken = self._enough(state, waiting)
        lost = self._lost_thinking(state, taken, turns)
        floor = _last_kept_thinking(state, turn, turns)
        if lost and lost[0] <= floor:
            state = replace(state, barred=taken[0].block)
            taken = self._enough(state, [one for one in waiting if one.place > floor])
            lost = self._lost_thinking(state, taken, turns)
        if not taken:
            return state
        return self._taken(state, taken, lost, turns)

    def _taken(
        self, state: State, taken: tuple[Candidate, ...], lost: tuple[int, ...], turns: Mapping[int, Turn]
    ) -> State:
        """The state with a batch, where it is made."""
        freed = sum(one.saves for one in taken)
        thought = sum(
            self.counter.count(block) for one in lost for block in turns[one].blocks if _is_thought(block)
        )
        weighed = self.schedule.weighed(state.sizes, self._edit(state, taken, freed + thought, turns))
        if not self.schedule.settings.weighs:
            weighed = replace(weighed, taken=True, reason=f"the history passed {self._start(state):,} tokens")
        state = replace(state, weighed=(*state.weighed, weighed))
        if not weighed.taken:
            return replace(state, again_at=self.schedule.again_at(state.sizes))
        batch = Clearing({one.block: one.native for one in taken}, lost, weighed.reason)
        return replace(
            state,
            tokens=state.tokens - freed - thought,
            clearable=state.clearable - freed,
            thinking=min(state.thinking, taken[0].place),
            batches=(*state.batches, batch),
            cleared={**state.cleared, **{one.block: one.saves for one in taken}},
        )

    def _start(self, state: State) -> int:
        return self.schedule.settings.start_tokens or state.tokens

    def _edit(self, state: State, taken: Sequence[Candidate], freed: int, turns: Mapping[int, Turn]) -> Edit:
        """The history at the moment of the batch."""
        first = taken[0].place
        behind = sum(turn_tokens(turn, self.counter) for index, turn in turns.items() if index >= first)
        gone = sum(saves for block, saves in state.cleared.items() if int(block.where[1]) >= first)
        kept = max(0, state.tokens - (behind - gone))
        return Edit(kept, freed, state.tokens - kept - freed)

    def _open_turns(self, state: State, turn: Turn) -> dict[int, Turn]:
        """The turns that may still have candidates, by their places, oldest first."""
        places = range(state.index - 1, (state.open or 0) - 1, -1)
        earlier = dict(zip(places, turn.ancestors(), strict=False))
        return {**dict(reversed(earlier.items())), state.index: turn}

    def _waiting(self, state: State, turns: Mapping[int, Turn]) -> list[Candidate]:
        """The candidates that are old enough and were not cleared yet, oldest first."""
        last_step = state.steps - self.schedule.settings.keep_steps
        found = (
            candidate
            for index, turn in turns.items()
            for candidate in (state.found if index == state.index else turn.memo[self.key].found)
        )
        old = takewhile(lambda candidate: candidate.step <= last_step, found)
        return [candidate for candidate in old if candidate.block not in state.cleared]

    def _enough(self, state: State, waiting: Iterable[Candidate]) -> tuple[Candidate, ...]:
        """Those that bring the request down to the target, large and old ones first, in their old order.

        None where that is too little.
        """
        excess = state.tokens - self.schedule.target(state.sizes)
        taken: list[Candidate] = []
        freed = 0
        for candidate in sorted(waiting, key=lambda one: -one.worth(state.steps)):
            if freed >= excess:
                break
            taken.append(candidate)
            freed += candidate.saves
        if freed < self.schedule.least_batch(state.sizes):
            return ()
        return tuple(sorted(taken, key=lambda one: one.place))

    def _lost_thinking(
        self, state: State, taken: Sequence[Candidate], turns: Mapping[int, Turn]
    ) -> tuple[int, ...]:
        """The places of the messages whose thinking an edit would make invalid."""
        if not taken:
            return ()
        return tuple(one for one in turns if taken[0].place < one <= state.thinking and _thinks(turns[one]))


def _last_kept_thinking(state: State, turn: Turn, turns: Mapping[int, Turn]) -> int:
    """The place of the last message that must keep its thinking, -1 where none must.

    In a running tool loop they all must; when the user speaks again, only what is nothing but thinking.
    """
    if not begins_user_turn(turn):
        return state.thinking
    kept = (place for place, one in turns.items() if _thinks(one) and not can_lose_thinking(one))
    return max((place for place in kept if place <= state.thinking), default=-1)


def _calls(turn: Turn) -> bool:
    """Whether a turn calls tools of the client; calls in turns that follow each other are one round."""
    return any(block.kind == "tool_call" and block.client for block in turn.blocks)


def _thinks(turn: Turn) -> bool:
    return any(map(_is_thought, turn.blocks))


def _is_thought(block: Block) -> bool:
    return block.kind == "thinking"
