"""`TrimHistory`: clears old tool results in batches, so that a long history stays small."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import takewhile

from ctxkit.edits import edited, left
from ctxkit.errors import ConfigError
from ctxkit.flow import Flow, Middleware, ModelNext
from ctxkit.messages import Block, ModelRequest, ModelResponse, Turn
from ctxkit.tokens import block_counter_for, counted, counter_for, turn_tokens
from ctxkit.wire.thinking import begins_user_turn, binds_thinking, can_lose_thinking


class TrimHistory(Middleware):
    """Clears old tool results in batches between two thresholds.

    When a history passes `start_tokens`, its oldest results are replaced by a short note until it has
    `target_tokens`; then nothing changes until it passes `start_tokens` again. Calls and results stay
    paired, messages stay where they are, and only the text of a result is replaced. What is cleared is a
    pure fold over the history: the caller sends the whole of it every time, and gets the same bytes every
    time, also in a new process.

    Where the model binds its thinking to the history (see `ctxkit.wire.thinking`), results in front of a
    thinking block are cleared only when the user speaks again, and the thinking behind them is left out from
    then on; until then a batch takes what stands behind the thinking, or nothing. What was decided is in
    `task.decisions`.

    Args:
        start_tokens: Clear when a request would have more than this.
        target_tokens: Clear down to this.
        keep_steps: How many of the last rounds of tool calls are never cleared.
        min_batch_tokens: Clear only where at least this much can go at once, as every batch makes the
            provider write what stands behind it to the prompt cache again; at most the distance of the two
            thresholds, and a quarter of it where left out.
        exempt: Tools whose results are never cleared; `*` and `?` match as in file names.

    Raises:
        ConfigError: The thresholds are not in order, or a number is below zero.
    """

    def __init__(
        self,
        *,
        start_tokens: int = 60_000,
        target_tokens: int = 30_000,
        keep_steps: int = 3,
        min_batch_tokens: int | None = None,
        exempt: Collection[str] = (),
    ) -> None:
        if not 0 <= target_tokens < start_tokens:
            raise ConfigError(
                f"target_tokens ({target_tokens}) must be below start_tokens ({start_tokens})",
                option="target_tokens",
            )
        if keep_steps < 0:
            raise ConfigError(f"keep_steps must not be below zero, it is {keep_steps}", option="keep_steps")
        distance = start_tokens - target_tokens
        batch = distance // 4 if min_batch_tokens is None else min_batch_tokens
        if not 0 <= batch <= distance:
            raise ConfigError(
                f"min_batch_tokens must be between 0 and {distance}, the distance of the two thresholds; "
                f"it is {batch}",
                option="min_batch_tokens",
            )
        self.start_tokens = start_tokens
        self.target_tokens = target_tokens
        self.keep_steps = keep_steps
        self.min_batch_tokens = batch
        self.exempt = (exempt,) if isinstance(exempt, str) else tuple(exempt)

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Clear what the fold over the history says."""
        yield from counted(request)
        by = type(self).__name__
        state = self._state(request)
        if state.barred is not None:
            left(request, state.barred, by=by, reason="the model binds the thinking behind it to the history")
        made = edited(
            request,
            _notes(state),
            by=by,
            reason=f"the history passed {self.start_tokens:,} tokens",
            lost_thinking=[index for batch in state.batches for index in batch.lost_thinking],
        )
        return (yield from call_next(made))

    def _state(self, request: ModelRequest) -> _State:
        wire = request.wire.name
        fold = _Fold(self, request.model, wire, binds=binds_thinking(wire, request.model))
        return request.fold(fold.key, fold.start, fold.step)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A result that may be cleared, what stands for it then, and how many tokens that saves."""

    block: Block
    note: str
    saves: int
    step: int


@dataclass(frozen=True, slots=True)
class _Batch:
    """Results that are cleared together, and the messages that lose their thinking for it."""

    taken: tuple[_Candidate, ...]
    lost_thinking: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _State:
    """The fold's state after a turn. The candidates stay with the turns that they were found in.

    Attributes:
        tokens: What a request that ends here has.
        index: The place of the turn; -1 for the head.
        steps: The rounds of tool calls so far.
        found: The candidates of this turn.
        open: The place of the first turn that may still have a candidate.
        thinking: The place of the last turn whose thinking is bound and still sent; -1 where there is none.
        barred: A result that would be cleared here, were the thinking behind it not bound.
        batches: What is cleared.
    """

    tokens: int
    index: int = -1
    steps: int = 0
    found: tuple[_Candidate, ...] = ()
    open: int = 0
    thinking: int = -1
    barred: Block | None = None
    batches: tuple[_Batch, ...] = ()


class _Fold:
    """The pure fold: what is cleared after each turn depends on the turns up to it and on nothing else."""

    def __init__(self, settings: TrimHistory, model: str | None, wire: str, *, binds: bool) -> None:
        self._settings = settings
        self._text_counter = counter_for(model)
        self._counter = block_counter_for(model, wire)
        self._binds = binds
        self.key = (
            TrimHistory.__name__,
            settings.start_tokens,
            settings.target_tokens,
            settings.keep_steps,
            settings.min_batch_tokens,
            settings.exempt,
            self._counter.name,
            binds,
        )

    def start(self, head: Turn) -> _State:
        return _State(tokens=turn_tokens(head, self._counter))

    def step(self, state: _State, turn: Turn) -> _State:
        steps = state.steps + (_calls(turn) and not (turn.parent is not None and _calls(turn.parent)))
        index = state.index + 1
        state = replace(
            state,
            tokens=state.tokens + turn_tokens(turn, self._counter),
            index=index,
            steps=steps,
            found=tuple(one for block in turn.blocks if (one := self._candidate(block, steps))),
            thinking=index if self._binds and _thinks(turn) else state.thinking,
            barred=None,
        )
        return self._clear(state, turn) if state.tokens > self._settings.start_tokens else state

    def _candidate(self, block: Block, step: int) -> _Candidate | None:
        if block.kind != "tool_result" or not block.client or not block.text:
            return None
        if any(fnmatchcase(block.tool or "", pattern) for pattern in self._settings.exempt):
            return None
        tokens = self._counter.count_said(block)
        note = _note(block, tokens)
        note_tokens = self._text_counter.count(note)
        # What is hardly longer than its note stays; so a note is never cleared itself.
        return _Candidate(block, note, tokens - note_tokens, step) if tokens >= 2 * note_tokens else None

    def _clear(self, state: _State, turn: Turn) -> _State:
        """Clear the oldest results down to the target, or nothing where too little can go."""
        turns = self._open_turns(state, turn)
        waiting = self._waiting(state, turns)
        taken = self._enough(state, waiting)
        lost = self._lost_thinking(state, taken, turns)
        floor = _last_kept_thinking(state, turn, turns)
        if lost and lost[0] <= floor:
            state = replace(state, barred=taken[0].block)
            taken = self._enough(state, [one for one in waiting if _place(one) > floor])
            lost = self._lost_thinking(state, taken, turns)
        if not taken:
            return state
        freed = sum(candidate.saves for candidate in taken)
        thought = sum(
            self._counter.count(block) for one in lost for block in turns[one].blocks if _is_thought(block)
        )
        return replace(
            state,
            tokens=state.tokens - freed - thought,
            open=_place(taken[-1]) if taken[0] is waiting[0] else state.open,
            thinking=min(state.thinking, _place(taken[0])),
            batches=(*state.batches, _Batch(taken, lost)),
        )

    def _open_turns(self, state: _State, turn: Turn) -> dict[int, Turn]:
        """The turns that may still have candidates, by their places, oldest first."""
        places = range(state.index - 1, state.open - 1, -1)
        earlier = dict(zip(places, turn.ancestors(), strict=False))
        return {**dict(reversed(earlier.items())), state.index: turn}

    def _waiting(self, state: _State, turns: Mapping[int, Turn]) -> list[_Candidate]:
        """The candidates that are old enough and were not cleared yet, oldest first."""
        cleared = {candidate.block for batch in state.batches for candidate in batch.taken}
        last_step = state.steps - self._settings.keep_steps
        found = (
            candidate
            for index, turn in turns.items()
            for candidate in (state.found if index == state.index else turn.memo[self.key].found)
        )
        old = takewhile(lambda candidate: candidate.step <= last_step, found)
        return [candidate for candidate in old if candidate.block not in cleared]

    def _enough(self, state: _State, waiting: Iterable[_Candidate]) -> tuple[_Candidate, ...]:
        """The first of them that bring the request down to the target; none where that is too little."""
        excess = state.tokens - self._settings.target_tokens
        taken: list[_Candidate] = []
        freed = 0
        for candidate in waiting:
            if freed >= excess:
                break
            taken.append(candidate)
            freed += candidate.saves
        return tuple(taken) if freed >= self._settings.min_batch_tokens else ()

    def _lost_thinking(
        self, state: _State, taken: Sequence[_Candidate], turns: Mapping[int, Turn]
    ) -> tuple[int, ...]:
        """The places of the messages whose thinking an edit would make invalid."""
        if not taken:
            return ()
        return tuple(one for one in turns if _place(taken[0]) < one <= state.thinking and _thinks(turns[one]))


def _last_kept_thinking(state: _State, turn: Turn, turns: Mapping[int, Turn]) -> int:
    """The place of the last message that must keep its thinking, -1 where none must.

    In a running tool loop they all must; when the user speaks again, only what is nothing but thinking.
    """
    if not begins_user_turn(turn):
        return state.thinking
    kept = (place for place, one in turns.items() if _thinks(one) and not can_lose_thinking(one))
    return max((place for place in kept if place <= state.thinking), default=-1)


def _place(candidate: _Candidate) -> int:
    return int(candidate.block.where[1])


def _calls(turn: Turn) -> bool:
    """Whether a turn calls tools of the client; calls in turns that follow each other are one round."""
    return any(block.kind == "tool_call" and block.client for block in turn.blocks)


def _thinks(turn: Turn) -> bool:
    return any(map(_is_thought, turn.blocks))


def _is_thought(block: Block) -> bool:
    return block.kind == "thinking"


def _notes(state: _State) -> dict[Block, str]:
    return {candidate.block: candidate.note for batch in state.batches for candidate in batch.taken}


def _note(block: Block, tokens: int) -> str:
    outcome = "This failed call's result" if block.is_error else "This result"
    return (
        f"[{outcome} of about {tokens:,} tokens was cleared to save space, as it is old; "
        f"call {block.tool or 'the tool'} again if it is needed.]"
    )
