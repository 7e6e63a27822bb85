"""`TrimHistory`: clears old tool results in batches, so that a long history stays small."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from ctxkit.errors import ConfigError
from ctxkit.flow import Flow, Middleware, ModelNext
from ctxkit.messages import Block, ModelRequest, ModelResponse, Turn
from ctxkit.tokens import IMAGE_TOKENS, block_counter_for, counter_for, turn_tokens
from ctxkit.wire.thinking import binds_thinking


class TrimHistory(Middleware):
    """Clears old tool results in batches between two thresholds.

    When a history passes `start_tokens`, its oldest results are replaced by a short note until it has
    `target_tokens`; then nothing changes until it passes `start_tokens` again. Calls and results stay
    paired, messages stay where they are, and only the text of a result is replaced. What is cleared is a
    pure fold over the history: the caller sends the whole of it every time, and gets the same bytes every
    time, also in a new process.

    Where the model binds its thinking to the history (see `ctxkit.wire.thinking`), results in front of a
    thinking block are left alone.

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
        return call_next(request.with_result_texts(self.cleared(request)))

    def cleared(self, request: ModelRequest) -> dict[Block, str]:
        """The results that are cleared in a request, and the notes that stand for them."""
        fold = _Fold(self, request.model, binds=binds_thinking(request.wire.name, request.model))
        state = request.fold(fold.key, fold.start, fold.step)
        return {candidate.block: candidate.note for batch in state.batches for candidate in batch}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A result that may be cleared, what stands for it then, and how many tokens that saves."""

    block: Block
    note: str
    saves: int
    step: int


@dataclass(frozen=True, slots=True)
class _State:
    """The fold's state after a turn.

    Candidates are taken oldest first, so two counts say which of them still wait; the candidates
    themselves stay with their turns.
    """

    tokens: int
    steps: int = 0
    found: tuple[_Candidate, ...] = ()
    seen: int = 0
    passed: int = 0
    batches: tuple[tuple[_Candidate, ...], ...] = ()


class _Fold:
    """The pure fold: what is cleared after each turn depends on the turns up to it and on nothing else."""

    def __init__(self, settings: TrimHistory, model: str | None, *, binds: bool) -> None:
        self._settings = settings
        self._text_counter = counter_for(model)
        self._counter = block_counter_for(model)
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
        calls = any(block.kind == "tool_call" and block.client for block in turn.blocks)
        steps = state.steps + calls
        found = tuple(one for block in turn.blocks if (one := self._candidate(block, steps)))
        bound = self._binds and any(block.kind == "thinking" for block in turn.blocks)
        state = _State(
            tokens=state.tokens + turn_tokens(turn, self._counter),
            steps=steps,
            found=found,
            seen=state.seen + len(found),
            passed=state.seen if bound else state.passed,
            batches=state.batches,
        )
        return self._clear(state, turn) if state.tokens > self._settings.start_tokens else state

    def _candidate(self, block: Block, step: int) -> _Candidate | None:
        if block.kind != "tool_result" or not block.client or not block.text:
            return None
        if any(fnmatchcase(block.tool or "", pattern) for pattern in self._settings.exempt):
            return None
        tokens = self._counter.count(block) - IMAGE_TOKENS * block.images
        note = _note(block, tokens)
        note_tokens = self._text_counter.count(note)
        # What is hardly longer than its note stays; so a note is never cleared itself.
        return _Candidate(block, note, tokens - note_tokens, step) if tokens >= 2 * note_tokens else None

    def _clear(self, state: _State, turn: Turn) -> _State:
        """Clear the oldest results down to the target, or nothing where too little can go."""
        excess = state.tokens - self._settings.target_tokens
        last_step = state.steps - self._settings.keep_steps
        taken: list[_Candidate] = []
        freed = 0
        for candidate in self._waiting(state, turn):
            if freed >= excess or candidate.step > last_step:
                break
            taken.append(candidate)
            freed += candidate.saves
        if not taken or freed < self._settings.min_batch_tokens:
            return state
        return replace(
            state,
            tokens=state.tokens - freed,
            passed=state.passed + len(taken),
            batches=(*state.batches, tuple(taken)),
        )

    def _waiting(self, state: _State, turn: Turn) -> list[_Candidate]:
        """The candidates that were not passed yet, oldest first."""
        found = list(reversed(state.found))
        ancestors = turn.ancestors()
        while len(found) < state.seen - state.passed:
            earlier: _State = next(ancestors).memo[self.key]
            found.extend(reversed(earlier.found))
        return found[: state.seen - state.passed][::-1]


def _note(block: Block, tokens: int) -> str:
    outcome = "This failed call's result" if block.is_error else "This result"
    return (
        f"[{outcome} of about {tokens:,} tokens was cleared to save space, as it is old; "
        f"call {block.tool or 'the tool'} again if it is needed.]"
    )
