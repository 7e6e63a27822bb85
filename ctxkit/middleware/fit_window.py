"""`FitWindow`: brings a request that its model can't take under the model's window."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Any

from ctxkit.condense import MIN_TOKENS, condense
from ctxkit.condense.asked import asked_before
from ctxkit.edits import cleared, edited, left
from ctxkit.errors import ConfigError, ModelCallFailed
from ctxkit.fitting import Room, WindowFold, WindowSchedule, reserved, too_long
from ctxkit.flow import Flow, Middleware, ModelNext, compute
from ctxkit.ledger import EditDecision
from ctxkit.messages import Block, ModelRequest, ModelResponse, Turn
from ctxkit.money import prompt_sizes
from ctxkit.tasks import current_task
from ctxkit.tokens import CALIBRATION, Counter, block_counter_for, counted, counter_for, shape_of
from ctxkit.trimming import Costs, Settings, State
from ctxkit.trimming.candidates import Finder, stub
from ctxkit.trimming.edge import with_edge_marked
from ctxkit.wire.last_request import most_output_tokens
from ctxkit.wire.thinking import binds_thinking

CONDENSED = "the request did not fit the window of the model"


class FitWindow(Middleware):
    """Brings a request under its model's window before it is sent, and once more where it is refused for it.

    A request does not fit where the upper edge of its count and the longest answer that it allows have more
    tokens together than the window. Then old tool results are replaced by a line each, large and old ones
    first, then large arguments of old calls, and where asked, results that are left are condensed. What the
    user said, the system prompt, the tools and the last round of calls stay; calls and results stay paired.

    Where the provider says that a prompt is too long, what was cleared is made larger once, by the numbers
    that it gives, and the request is sent again; both attempts are seen by what stands further in. Where
    nothing more can go, the provider's own error reaches the caller.

    What was cleared stays cleared while the caller sends the whole history: what was decided is kept with the
    history's turns. A new process decides the same again from the history, the window and the counter, as
    long as it has learned the same of the model's counts (`ctxkit.tokens.CALIBRATION`) and no provider
    refused a request before.

    Where the model binds its thinking to the history, the rules of `TrimHistory` hold.

    Args:
        window_tokens: The most that prompt and answer may have together; that of the price list where left
            out. A model that it does not know is left alone until its provider says that a prompt is too
            long.
        keep_steps: How many of the last rounds of tool calls are never cleared; 1 at the least.
        condense_tokens: Where clearing is not enough, results with more tokens than this are condensed to
            it, those of the last rounds, too; never where left out.
        exempt: Tools whose calls and results are never touched; `*` and `?` match as in file names.
        pinned: Says of a call or a result that it is never touched. It must always say the same of the same.

    Raises:
        ConfigError: A number is out of range.
    """

    def __init__(
        self,
        *,
        window_tokens: int | None = None,
        keep_steps: int = 1,
        condense_tokens: int | None = None,
        exempt: Collection[str] = (),
        pinned: Callable[[Block], bool] | None = None,
    ) -> None:
        least = {
            "window_tokens": (window_tokens, 1),
            "keep_steps": (keep_steps, 1),
            "condense_tokens": (condense_tokens, MIN_TOKENS),
        }
        for option, (value, lowest) in least.items():
            if value is not None and value < lowest:
                raise ConfigError(f"{option} must be at least {lowest}, it is {value}", option=option)
        self.window_tokens = window_tokens
        self.condense_tokens = condense_tokens
        self.settings = Settings(
            keep_steps=keep_steps,
            exempt=(exempt,) if isinstance(exempt, str) else tuple(exempt),
            pinned=pinned,
        )
        self._known_costs: dict[tuple[str | None, str | None], Costs] = {}

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Make the request fit; where it is refused as too long, clear more and send it again."""
        if not request.editable or not request.turns:
            return (yield from call_next(request))
        yield from counted(request)
        fitted = yield from self._fitted(request)
        try:
            return (yield from call_next(fitted))
        except ModelCallFailed as error:
            refusal = too_long(error)
            if refusal is None:
                raise
            sent = _local_tokens(fitted)
            most = refusal.fitting_tokens(sent, answer_tokens=most_output_tokens(request.body))
            request.turns[-1].memo[self._key("learned", request)] = most
            smaller = yield from self._fitted(request)
            if _local_tokens(smaller) >= sent:
                raise
        return (yield from call_next(smaller))

    def _fitted(self, request: ModelRequest) -> Flow[ModelRequest]:
        """The request as it fits, as far as that can be."""
        room = self._room(request)
        if room.is_unknown:
            return request
        local, high = _local_tokens(request), CALIBRATION.count(request).high
        fits = room.excess(local, high) <= 0
        if fits and self._key("fold", request) not in request.turns[0].memo:
            return request
        fold = self._fold(request, room, room.most_tokens(local, high))
        state = request.fold(fold.key, fold.start, fold.step)
        made = self._cleared(request, state)
        # The count of an edited request has a band of its own: a batch may have to be larger for it.
        while (excess := _excess(room, made)) > 0:
            smaller = self._cleared_again(request, room, state.tokens - excess)
            if smaller.tokens >= state.tokens:
                break
            state, made = smaller, self._cleared(request, smaller)
        self._note(request, state)
        return (yield from self._condensed(request, made, state, room))

    def _room(self, request: ModelRequest) -> Room:
        """What the model takes, by the setting or the price list, and by what the provider said before."""
        window = self.window_tokens
        if window is None:
            window = prompt_sizes(request.model, provider=request.provider).window_tokens
        answer = 0 if window is None else reserved(most_output_tokens(request.body), window_tokens=window)
        return Room(window, answer, self._remembered(request, "learned"))

    def _cleared_again(self, request: ModelRequest, room: Room, most: int) -> State:
        """The state of the last turn with a larger batch, which is kept instead of the one before."""
        fold, last = self._fold(request, room, most), request.turns[-1]
        before = (request.head, *request.turns)[-2].memo[fold.key]
        state = last.memo[fold.key] = fold.step(before, last)
        return state

    def _fold(self, request: ModelRequest, room: Room, most: int) -> WindowFold:
        wire, model = request.wire, request.model
        counter = block_counter_for(model, wire.name)
        return WindowFold(
            key=self._key("fold", request),
            finder=Finder(self.settings, wire, counter, counter_for(model), stub),
            schedule=WindowSchedule(self.settings, self._costs(request), most, room.why),
            counter=counter,
            binds=binds_thinking(wire.name, model),
        )

    def _cleared(self, request: ModelRequest, state: State) -> ModelRequest:
        made = cleared(request, state.batches, by=type(self).__name__)
        if state.batches:
            made = with_edge_marked(made, min(int(block.where[1]) for block in state.batches[-1].natives))
        texts: Mapping[Block, str] = self._remembered(request, "condensed") or {}
        left_over = {block: text for block, text in texts.items() if block not in state.cleared}
        return edited(made, left_over, by=type(self).__name__, reason=CONDENSED)

    def _note(self, request: ModelRequest, state: State) -> None:
        """Tell the running task what was decided."""
        by = type(self).__name__
        if state.barred is not None:
            left(request, state.barred, by=by, reason="the model binds the thinking behind it to the history")
        for weighed in state.weighed:
            current_task().weigh(EditDecision.of(weighed, by=by))

    def _condensed(
        self, request: ModelRequest, made: ModelRequest, state: State, room: Room
    ) -> Flow[ModelRequest]:
        """The request with the results that are left made short, where it still does not fit."""
        limit, counter = self.condense_tokens, block_counter_for(request.model, request.wire.name)
        if limit is None or _excess(room, made) <= 0:
            return made
        known: Mapping[Block, str] = self._remembered(request, "condensed") or {}
        long = {
            block: query
            for block, query in asked_before(request.turns)
            if block not in state.cleared
            and block not in known
            and int(block.where[1]) > state.thinking
            and self.settings.may_clear(block)
            and counter.count_said(block) > limit
        }
        size = sum(len(block.text) for block in long)
        texts = yield from compute(lambda: _shortened(long, limit, counter_for(request.model)), size=size)
        request.turns[-1].memo[self._key("condensed", request)] = {**known, **texts}
        return self._cleared(request, state)

    def _key(self, name: str, request: ModelRequest) -> tuple[Hashable, ...]:
        """What is kept with the turns of a history, apart for each setting and counter."""
        counter = block_counter_for(request.model, request.wire.name).name
        settings = self.settings, self.window_tokens, self.condense_tokens
        return type(self).__name__, name, settings, request.model, counter

    def _remembered(self, request: ModelRequest, name: str) -> Any:
        """What was last kept with the turns of a history; `None` where nothing was."""
        key = self._key(name, request)

        def step(before: Any, turn: Turn) -> Any:
            return before if turn.parent is None else turn.parent.memo.get(key, before)

        before = request.fold((*key, "before"), lambda head: None, step)
        return request.turns[-1].memo.get(key, before)

    def _costs(self, request: ModelRequest) -> Costs:
        """What the model's prompts cost; the same for the whole run."""
        asked = request.model, request.provider
        if asked not in self._known_costs:
            self._known_costs[asked] = Costs.of(*asked)
        return self._known_costs[asked]


def _local_tokens(request: ModelRequest) -> int:
    return shape_of(request, block_counter_for(request.model, request.wire.name)).total


def _excess(room: Room, request: ModelRequest) -> int:
    return room.excess(_local_tokens(request), CALIBRATION.count(request).high)


def _shortened(queries: Mapping[Block, str], limit: int, counter: Counter) -> dict[Block, str]:
    """Short forms of results, by what each was called for."""
    return {
        block: condense(block.text, max_tokens=limit, query=query, counter=counter).text
        for block, query in queries.items()
    }
