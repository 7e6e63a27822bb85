"""`SummarizeHistory`: lets the model summarise the old part of a long history, when that pays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeVar
from uuid import uuid4

from ctxkit.compaction import (
    INSTRUCTIONS,
    Compaction,
    Places,
    Proposal,
    compacted,
    exact_facts,
    first_block,
    instruction,
    is_models,
    output_multiple,
    proposal,
    size,
    summary_call,
    summary_in,
    summary_text,
    weigh_summary,
)
from ctxkit.condense import MIN_TOKENS
from ctxkit.edits import cleared, left
from ctxkit.errors import ConfigError
from ctxkit.flow import Flow, Middleware, ModelNext, compute
from ctxkit.ledger import Decision, EditDecision
from ctxkit.ledger.decisions import Action
from ctxkit.messages import Block, ModelRequest, ModelResponse, Turn
from ctxkit.money.break_even import RemainingTurns, Weighed
from ctxkit.stores.base import Store
from ctxkit.stores.memory import MemoryStore
from ctxkit.tasks import current_task, note_fault
from ctxkit.tokens import block_counter_for, counted, counter_for
from ctxkit.trimming import Costs, Fold, Schedule, Settings
from ctxkit.trimming.candidates import Finder, stub
from ctxkit.trimming.edge import with_edge_marked
from ctxkit.wire.native import digest
from ctxkit.wire.thinking import binds_thinking

T = TypeVar("T")
# A summary that did not pay is weighed again once the history has grown by such a part.
AGAIN_PART = 50
# Where no summary can be had of a history that passed the size the user named, it is cleared down to such a
# part of that.
TRIMMED_PART = 2
# The model is asked for so many words, so that with the exact facts they keep within `max_tokens`.
WORDS_PART = 3
FACTS_PART = 4


@dataclass(frozen=True, slots=True)
class _Standing:
    """What is known of a history: what stands for its old part, and when another is weighed again."""

    compaction: Compaction = Compaction()
    weigh_at: int = 0


class SummarizeHistory(Middleware):
    """Replaces the old part of a long history by a summary that the model writes, when that pays.

    The model is asked by a side call of the purpose `summary`: the request as it stands with one instruction
    behind it, so that all of it is read from the prompt cache. From then on the request has the head, the
    messages up to the user's first, those that are pinned, one message with the summary, and the last rounds
    of calls and results as they are. Beside the summary stands what must be exact, drawn from the history
    without a model: open to-dos, what the user said, decisions, paths, ids and numbers. A later summary is
    added to the earlier ones, which are carried word for word.

    A summary is stored under a digest of the history that it was made for, and stands in every later request
    that begins with it, to the same byte, in a new process too where the store outlives it. The caller sends
    the whole raw history every time.

    It is made where the call and the edit pay for themselves within the turns to come; each one considered
    is in `task.edit_decisions`. Where the call fails, is refused, or gives nothing smaller, old results are
    cleared instead, as `TrimHistory` does. Calls stay with their results. Where the model binds its thinking
    to the history, and has thought behind the cut, a summary is made only when the user speaks again, and
    that thinking is left out.

    Args:
        start_tokens: Summarise when a request would have more than this; a summary at a size that you name
            need not pay. Worked out where left out.
        keep_steps: How many of the model's last answers stay as they are, with their calls and results.
        max_tokens: About how many tokens a summary and its exact facts may have together.
        every_requests: So many requests lie at least between two side calls. After a summary, the history
            must also have grown again by as much as was saved.
        min_net_saving_usd: What a summary must be expected to save over the turns to come, in US dollars; 0
            where left out.
        remaining: How many turns are expected to come: a number, or learned from recorded runs.
        pinned: Says of a block that its message stays, with the calls and results that belong to it. It must
            always say the same of the same.
        instructions: What the model is told to keep, in place of ctxkit's own words.
        store: Where summaries are kept; a store in memory of its own where left out.

    Raises:
        ConfigError: A number is out of range.
    """

    def __init__(
        self,
        *,
        start_tokens: int | None = None,
        keep_steps: int = 3,
        max_tokens: int = 4_000,
        every_requests: int = 10,
        min_net_saving_usd: Decimal | float | None = None,
        remaining: RemainingTurns | int | None = None,
        pinned: Callable[[Block], bool] | None = None,
        instructions: str | None = None,
        store: Store | None = None,
    ) -> None:
        for option, given, least in (
            ("start_tokens", start_tokens, TRIMMED_PART),
            ("max_tokens", max_tokens, MIN_TOKENS),
            ("every_requests", every_requests, 1),
        ):
            if given is not None and given < least:
                raise ConfigError(f"{option} must be at least {least}, it is {given}", option=option)
        expected = RemainingTurns(fixed=remaining) if isinstance(remaining, int) else remaining
        self.max_tokens = max_tokens
        self.every_requests = every_requests
        self.instructions = instructions or INSTRUCTIONS
        self.store: Store = MemoryStore() if store is None else store
        self.settings = Settings(
            start_tokens=start_tokens,
            target_tokens=None if start_tokens is None else start_tokens // TRIMMED_PART,
            keep_steps=keep_steps,
            min_net_saving_usd=None if min_net_saving_usd is None else Decimal(str(min_net_saving_usd)),
            pinned=pinned,
            remaining=expected or RemainingTurns(),
        )
        self._known_costs: dict[tuple[str | None, str | None], Costs] = {}

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Put what stands for the old part of the history in its place; have it written where it is time."""
        if not request.editable or request.wire.has_server_state(request.body) or not request.turns:
            return (yield from call_next(request))
        yield from counted(request)
        places = Places.of(request, block_counter_for(request.model, request.wire.name))
        standing = yield from self._standing(request, places)
        made = self._applied(request, standing.compaction)
        proposed = self._proposed(request, places, standing)
        if proposed is not None:
            compaction = yield from self._led(
                self._key(request, places, len(request.turns)),
                lambda: self._made(request, made, standing.compaction, proposed, call_next),
            )
            request.turns[-1].memo[self] = _Standing(compaction)
            made = self._applied(request, compaction)
        return (yield from call_next(made))

    def _standing(self, request: ModelRequest, places: Places) -> Flow[_Standing]:
        """What is known of the history: of the longest beginning of it for which something was decided."""
        new: list[Turn] = []
        standing: _Standing | None = None
        for length in range(len(places.turns), 0, -1):
            turn = places.turns[length - 1]
            standing = turn.memo.get(self)
            if standing is not None:
                break
            new.append(turn)
            # A summary is made where the model is to answer, and never of less than it may have itself.
            if is_models(turn) or places.up_to(length).tokens <= self.max_tokens:
                continue
            kept = yield from self._kept(self._key(request, places, length))
            if kept is not None:
                standing = _Standing(kept)
                break
        standing = standing or _Standing()
        for turn in new:
            turn.memo[self] = standing
        return standing

    def _key(self, request: ModelRequest, places: Places, length: int) -> str:
        said = [self.instructions, self.max_tokens, self.settings.keep_steps, request.wire.name]
        return f"history summary {digest([*said, places.up_to(length).digest.hex()]).hex()}"

    def _kept(self, key: str) -> Flow[Compaction | None]:
        return (yield from _guarded(lambda: self._read(key), otherwise=None))

    def _read(self, key: str) -> Flow[Compaction | None]:
        value = yield from self.store.get(key)
        return Compaction.loaded(value) if isinstance(value, bytes) else None

    def _proposed(self, request: ModelRequest, places: Places, standing: _Standing) -> Proposal | None:
        """What is to be done now; `None` where nothing is."""
        current, tokens = standing.compaction, size(places, standing.compaction)
        tried = current.tokens and places.last.answers - current.answers < self.every_requests
        soon = tried or tokens < max(current.tokens, standing.weigh_at)
        if request.purpose != "main" or soon or tokens <= (self.settings.start_tokens or 0):
            return None
        proposed = proposal(
            request,
            places,
            current,
            keep_steps=self.settings.keep_steps,
            pinned=self.settings.pinned,
            text_tokens=self.max_tokens,
        )
        if proposed is None:
            return None
        weighed = self._weighed(request, places, proposed)
        current_task().weigh(EditDecision.of(weighed, by=type(self).__name__))
        if weighed.taken:
            return proposed
        request.turns[-1].memo[self] = replace(standing, weigh_at=tokens + tokens // AGAIN_PART)
        return None

    def _weighed(self, request: ModelRequest, places: Places, proposed: Proposal) -> Weighed:
        weighed = weigh_summary(
            proposed.edit,
            self._costs(request),
            written_tokens=self.max_tokens,
            output=output_multiple(request.model, request.provider),
            expected_turns=self.settings.remaining.after(places.last.answers),
            min_net_saving_usd=self.settings.min_net_saving_usd or Decimal(0),
        )
        if weighed.taken or self.settings.weighs:
            return weighed
        reason = f"the history passed {self.settings.start_tokens:,} tokens"
        return replace(weighed, taken=True, reason=reason)

    def _made(
        self,
        request: ModelRequest,
        asked: ModelRequest,
        current: Compaction,
        proposed: Proposal,
        call_next: ModelNext,
    ) -> Flow[Compaction]:
        """What is done from now on: a summary stands for the old part, or old results are cleared."""
        gone = proposed.compaction.gone(request.turns, since=current.cut)
        said = yield from self._asked(asked, call_next, again=bool(current.text))
        if said is not None:
            text = said
            made = yield from compute(
                lambda: self._written(request, proposed.compaction, gone, text),
                size=sum(len(block.text) for turn in gone for block in turn.blocks),
            )
            if made.text_tokens < proposed.edit.removed_tokens:
                return made
        reason = "no summary that is smaller could be had"
        left(request, first_block(gone), by=type(self).__name__, reason=reason)
        return replace(
            current, trims=True, tokens=proposed.compaction.tokens, answers=proposed.compaction.answers
        )

    def _asked(self, asked: ModelRequest, call_next: ModelNext, *, again: bool) -> Flow[str | None]:
        """What the model writes; `None` where it fails or does not come to an end."""
        words = self.max_tokens // WORDS_PART
        said = instruction(self.instructions, words=words, again=again)
        try:
            side = summary_call(asked, said, summary_tokens=self.max_tokens)
            return None if side is None else summary_in((yield from call_next(side)))
        except Exception as error:
            note_fault(f"{type(self).__name__}: {type(error).__name__}", error, so="old results are cleared")
            return None

    def _written(self, request: ModelRequest, made: Compaction, gone: list[Turn], said: str) -> Compaction:
        """What stands for the old part, the earlier summaries in front."""
        counter = counter_for(request.model)
        facts = exact_facts(
            gone,
            request.wire.call_input,
            summary=said,
            counter=counter,
            max_tokens=max(self.max_tokens // FACTS_PART, self.max_tokens - counter.count(said)),
        )
        text = summary_text(said, facts, earlier=made.text)
        return replace(made, text=text, text_tokens=counter.count(text))

    def _applied(self, request: ModelRequest, compaction: Compaction) -> ModelRequest:
        """The request with what was decided about its history."""
        made = request
        if compaction.text:
            _note(request, compaction, type(self).__name__)
            made = with_edge_marked(compacted(request, compaction), compaction.first_changed)
        return self._trimmed(made) if compaction.trims else made

    def _trimmed(self, request: ModelRequest) -> ModelRequest:
        """The request without old results, as a fold over its history says."""
        wire, model, costs = request.wire, request.model, self._costs(request)
        counter, binds = block_counter_for(model, wire.name), binds_thinking(wire.name, model)
        fold = Fold(
            key=(type(self).__name__, self.settings, costs, counter.name, binds),
            finder=Finder(self.settings, wire, counter, counter_for(model), stub),
            schedule=Schedule(self.settings, costs),
            counter=counter,
            binds=binds,
        )
        state = request.fold(fold.key, fold.start, fold.step)
        by = type(self).__name__
        for weighed in state.weighed:
            current_task().weigh(EditDecision.of(weighed, by=by))
        made = cleared(request, state.batches, by=by)
        if not state.batches:
            return made
        return with_edge_marked(made, min(int(block.where[1]) for block in state.batches[-1].natives))

    def _costs(self, request: ModelRequest) -> Costs:
        """What the model's prompts cost; the same for the whole run."""
        asked = request.model, request.provider
        if asked not in self._known_costs:
            self._known_costs[asked] = Costs.of(*asked)
        return self._known_costs[asked]

    def _led(self, key: str, make: Callable[[], Flow[Compaction]]) -> Flow[Compaction]:
        """What is worked out here, or by a call for the same history that is under way."""
        token = uuid4().hex
        try:
            yield from _guarded(lambda: self._lead(key, token), otherwise=None)
            # An equal call may have ended since the store was asked.
            made = yield from self._kept(key)
            if made is None:
                made = yield from make()
                value = made.dumped()
                yield from _guarded(lambda: self.store.put(key, value, token=token), otherwise=False)
        except GeneratorExit:
            # A flow that is dropped can ask for nothing more: its lease runs out.
            raise
        except BaseException:
            yield from _guarded(lambda: self.store.land(key, token), otherwise=None)
            raise
        yield from _guarded(lambda: self.store.land(key, token), otherwise=None)
        return made

    def _lead(self, key: str, token: str) -> Flow[None]:
        while not (yield from self.store.lead(key, token)):
            yield from self.store.wait(key)


def _note(request: ModelRequest, compaction: Compaction, by: str) -> None:
    """Note once a task what is gone, at its first block, and the thinking that is left out."""
    memo, key, task = request.turns[compaction.cut - 1].memo, ("compaction.noted", by), current_task()
    if memo.get(key) is task:
        return
    memo[key] = task
    gone = compaction.gone(request.turns)
    reason = f"a summary stands for {len(gone)} messages from here on"
    task.decide(_decision(by, "replaced", first_block(gone), reason))
    for place in compaction.lost_thinking:
        for block in request.turns[place].blocks:
            if block.kind == "thinking":
                task.decide(_decision(by, "dropped", block, "it is bound to a history that was edited"))


def _decision(by: str, action: Action, block: Block, reason: str) -> Decision:
    return Decision(by, action, block.kind, block.where, block.tool, block.call_id, reason)


def _guarded(ask: Callable[[], Flow[T]], *, otherwise: T) -> Flow[T]:
    """What a store gives; where it fails, the fault is noted."""
    try:
        return (yield from ask())
    except Exception as error:
        note_fault(f"SummarizeHistory: {type(error).__name__}", error, so="a summary is not kept for later")
        return otherwise
