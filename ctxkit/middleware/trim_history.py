"""`TrimHistory`: clears what is old of a long history, in batches that pay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from decimal import Decimal

from ctxkit.condense.base import NOTE
from ctxkit.edits import cleared, left
from ctxkit.flow import Flow, Middleware, ModelNext
from ctxkit.ledger import EditDecision
from ctxkit.messages import Block, ModelRequest, ModelResponse
from ctxkit.money.break_even import RemainingTurns
from ctxkit.originals import Originals
from ctxkit.tasks import current_task
from ctxkit.tokens import block_counter_for, counted, counter_for
from ctxkit.trimming import Costs, Fold, FoldKey, Schedule, Settings, State
from ctxkit.trimming.candidates import Finder, Stub, stub
from ctxkit.trimming.edge import with_edge_marked
from ctxkit.wire.thinking import binds_thinking


class TrimHistory(Middleware):
    """Clears old tool results and large call arguments, in batches, when that is expected to pay.

    Every edit in the middle of a history makes the provider write what stands behind it to the prompt cache
    again. So nothing is cleared until the history has grown so far that clearing costs less than carrying it
    on; then a batch goes at once, what is large and old first, and nothing changes until the next one pays.
    The sizes follow from the model's prices, from how fast the history grows and from what of it is stable.
    Each batch that was considered is in `task.edit_decisions` with its numbers.

    Where the caller marks its prompts for Anthropic's cache and has a mark left, one is put in front of what
    was cleared last, so that all before it is read and not written again.

    Calls and results stay paired, and messages stay where they are. What is cleared is a pure fold over the
    history: the caller sends the whole of it every time, and gets the same bytes every time, also in a new
    process.

    Where the model binds its thinking to the history (see `ctxkit.wire.thinking`), results in front of a
    thinking block are cleared only when the user speaks again, and the thinking behind them is left out from
    then on; until then a batch takes what stands behind the thinking, or nothing. What was decided is in
    `task.decisions`.

    Args:
        start_tokens: Clear when a request would have more than this; worked out where left out. A batch at a
            size that you name need not pay.
        target_tokens: Clear down to this; needed with `start_tokens`, else 20,000 tokens more than what
            stands in front of the first result.
        keep_steps: How many of the last rounds of tool calls are never cleared.
        min_batch_tokens: Clear only where at least this much can go at once; a quarter of the way down where
            left out.
        min_net_saving_usd: What a batch must be expected to save over the turns to come, in US dollars; 0
            where left out, so that none is expected to lose.
        remaining: How many turns are expected to come: a number, or learned from recorded runs.
        exempt: Tools whose calls and results are never cleared; `*` and `?` match as in file names.
        pinned: Says of a call or a result that it is never cleared. It must always say the same of the same.
        clear_arguments: Whether long texts in the arguments of old calls are cleared, too.
        originals: Where cleared results are kept, for the model to read again (`RecallToolResults`).

    Raises:
        ConfigError: The thresholds are not in order, or a number is below zero.
    """

    def __init__(
        self,
        *,
        start_tokens: int | None = None,
        target_tokens: int | None = None,
        keep_steps: int = 3,
        min_batch_tokens: int | None = None,
        min_net_saving_usd: Decimal | float | None = None,
        remaining: RemainingTurns | int | None = None,
        exempt: Collection[str] = (),
        pinned: Callable[[Block], bool] | None = None,
        clear_arguments: bool = True,
        originals: Originals | None = None,
    ) -> None:
        saving = None if min_net_saving_usd is None else Decimal(str(min_net_saving_usd))
        expected = RemainingTurns(fixed=remaining) if isinstance(remaining, int) else remaining
        self.settings = Settings(
            start_tokens=start_tokens,
            target_tokens=target_tokens,
            keep_steps=keep_steps,
            min_batch_tokens=min_batch_tokens,
            min_net_saving_usd=saving,
            exempt=(exempt,) if isinstance(exempt, str) else tuple(exempt),
            pinned=pinned,
            clear_arguments=clear_arguments,
            remaining=expected or RemainingTurns(),
        )
        self.originals = originals
        self._folds: dict[Hashable, Fold] = {}

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Clear what the fold over the history says."""
        yield from counted(request)
        by = type(self).__name__
        originals = self.originals if self.originals and self.originals.readable_in(request) else None
        state = self._state(request, originals)
        if state.barred is not None:
            left(request, state.barred, by=by, reason="the model binds the thinking behind it to the history")
        if self._is_new(request, state):
            for weighed in state.weighed:
                current_task().weigh(EditDecision.of(weighed, by=by))
            for block in state.cleared if originals else ():
                if originals and block.kind == "tool_result":
                    yield from originals.keep(block.text)
        made = cleared(request, state.batches, by=by)
        if state.batches:
            made = with_edge_marked(made, min(int(block.where[1]) for block in state.batches[-1].natives))
        return (yield from call_next(made))

    def _state(self, request: ModelRequest, originals: Originals | None) -> State:
        asked = request.model, request.provider, request.wire, originals
        if asked not in self._folds:
            self._folds[asked] = self._fold(request, originals)
        fold = self._folds[asked]
        return request.fold(fold.key, fold.start, fold.step)

    def _fold(self, request: ModelRequest, originals: Originals | None) -> Fold:
        """What clears the histories of a model; its prices are the same for the whole run."""
        wire, model = request.wire, request.model
        counter, texts = block_counter_for(model, wire.name), counter_for(model)
        binds = binds_thinking(wire.name, model)
        costs = Costs.of(model, request.provider)
        return Fold(
            key=FoldKey((type(self).__name__, self.settings, originals, costs, counter.name, binds)),
            finder=Finder(self.settings, wire, counter, texts, _recalled(originals) if originals else stub),
            schedule=Schedule(self.settings, costs),
            counter=counter,
            binds=binds,
        )

    def _is_new(self, request: ModelRequest, state: State) -> bool:
        """Whether something was weighed that the running task does not know of yet."""
        memo, key = request.head.memo, (type(self).__name__, "weighed", self.settings)
        known, task = memo.get(key, ((), None)), current_task()
        memo[key] = state.weighed, task
        return bool(state.weighed) and not (known[0] is state.weighed and known[1] is task)


def _recalled(originals: Originals) -> Stub:
    """A stub that says how to read the result again."""

    def said(block: Block, tokens: int) -> str:
        how = originals.how(originals.handle(block.text))
        what = "failed result" if block.is_error else "result"
        return f"{NOTE}{what} of {tokens:,} tokens cleared; {how}]"

    return said
