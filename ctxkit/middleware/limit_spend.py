"""`LimitSpend`: stops a task before the request that would pass its limit, or has it finish."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from threading import Lock
from typing import Literal, get_args

from ctxkit.errors import BodyError, ConfigError, SpendLimitReached
from ctxkit.flow import Flow, Middleware, ModelNext
from ctxkit.ledger import outcome_of
from ctxkit.ledger.budget import NOTHING, Budget, Unit, Use
from ctxkit.ledger.foreseen import cached_tokens, dearest, foreseen_usd, note_cached
from ctxkit.messages import Block, ModelRequest, ModelResponse
from ctxkit.money import price
from ctxkit.safety import broken_by_edit
from ctxkit.tasks import Task, current_task
from ctxkit.tokens import CALIBRATION, block_counter_for, counted
from ctxkit.usage import Usage
from ctxkit.wire.last_request import last_request, most_output_tokens

Scope = Literal["task", "shared"]
OnLimit = Literal["raise", "finish"]
Reserve = Literal["worst", "expected"]

# The most that an answer is taken to have where its request does not say.
ASSUMED_OUTPUT_TOKENS = 16_384
INSTRUCTION = (
    "This is the last request of this task: no tool can be called any more. Give your final answer now, as "
    "well as you can from what is known so far, and say what is missing."
)
NOT_FREE = "are reserved for other requests in flight, for last requests, or may have been used by lost ones."
ONE = Use(requests=1)
NO_USAGE = Usage(0, 0)
_log = logging.getLogger("ctxkit")


class LimitSpend(Middleware):
    """Stops a task before the request that would pass its limit, or has it finish within the limit.

    A request is sent where three things fit the limit together: what was spent, what is reserved for other
    requests in flight, and what this one is expected to use at the least, its input. While it is in flight,
    its worst case is reserved: its input at the upper edge of the count, and the longest answer that it
    allows (16,384 tokens where it does not say). So requests side by side pass a limit by no more than what
    one answer has, as far as counts and prices are right, and a request alone is never refused for an answer
    that it will hardly give.

    Args:
        max_requests: Billed requests a task may make.
        max_tokens: Input and output tokens a task may use.
        max_cost_usd: Dollars a task may cost; requests without a known price count as nothing.
        scope: `task` gives each task a budget of its own, and what nested tasks use counts in every task
            around them; `shared` is one budget for all that passes through this object, in any task or none.
        on_limit: `raise` refuses the request that would pass the limit. `finish` makes it the last one of
            its task: tools may not be called any more, and the user asks for an answer from what is known.
        reserve: `worst` reserves the worst case of requests in flight; `expected` only what they are
            expected to use at the least, so that more of them fit side by side, and each may pass the limit
            by its answer.
        finish_tokens: With `finish`, the room that is held back for the last request, in tokens of its answer
            besides the input of the present one. What tools return before it has to fit in, too.

    Raises:
        ConfigError: No limit is given, or an option is out of range.
    """

    raises = (SpendLimitReached,)

    def __init__(
        self,
        *,
        max_requests: int | None = None,
        max_tokens: int | None = None,
        max_cost_usd: Decimal | float | str | None = None,
        scope: Scope = "task",
        on_limit: OnLimit = "raise",
        reserve: Reserve = "worst",
        finish_tokens: int = 4_096,
    ) -> None:
        self.max_requests = max_requests
        self.max_tokens = max_tokens
        self.max_cost_usd = None if max_cost_usd is None else _dollars(max_cost_usd)
        self.scope = scope
        self.on_limit = on_limit
        self.reserve = reserve
        self.finish_tokens = finish_tokens
        given = {"max_requests": max_requests, "max_tokens": max_tokens, "max_cost_usd": self.max_cost_usd}
        if all(limit is None for limit in given.values()):
            raise ConfigError(f"LimitSpend needs one of {', '.join(given)}", option="max_requests")
        for option, limit in {**given, "finish_tokens": finish_tokens}.items():
            if limit is not None and limit < 0:
                raise ConfigError(f"{option} must not be below zero, it is {limit}", option=option)
        for option, chosen, choices in (
            ("scope", scope, get_args(Scope)),
            ("on_limit", on_limit, get_args(OnLimit)),
            ("reserve", reserve, get_args(Reserve)),
        ):
            if chosen not in choices:
                raise ConfigError(f"{option} must be one of {choices}, it is {chosen!r}", option=option)
        self._shared = Budget()
        self._lock = Lock()
        # A flow may end in the garbage collector, in the middle of anything: it only leaves word here.
        self._ended: deque[_Ended] = deque()

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Refuse the request, or reserve what it may use until it is known what it used."""
        yield from counted(request)
        sent = self._admit(request)
        try:
            response = yield from call_next(sent.request)
        except BaseException as error:
            used = NOTHING if outcome_of(error) == "not_billed" else None
            self._ended.append(_Ended(sent, used, answered=False, goes_on=False))
            raise
        used, goes_on = self._used(sent, response), _calls_tools(response)
        self._ended.append(_Ended(sent, used, answered=response.complete, goes_on=goes_on))
        return response

    def _admit(self, request: ModelRequest) -> _Sent:
        """Reserve what a request may use, as it is or as the last one of its task."""
        finishes = self.on_limit == "finish" and request.editable and request.purpose == "main"
        sent = _Sent(request, current_task(), self._foreseen(request), leaves_room=finishes)
        refusal = self._reserve(sent)
        if refusal is not None and finishes:
            made = last_request(request, INSTRUCTION)
            made = request if broken_by_edit(made) else made
            foreseen = self._foreseen(made, cached=False)
            sent = replace(sent, request=made, foreseen=foreseen, leaves_room=False, ends=refusal)
            refusal = self._reserve(sent)
        if refusal is not None:
            raise refusal.error
        if sent.ends is not None:
            _log.warning("LimitSpend asks task %r to finish: its %s run out", sent.task.path, sent.ends.unit)
        return sent

    def _reserve(self, sent: _Sent) -> _Refusal | None:
        """Set aside what a request may use in all of its budgets, or in none where it does not fit."""
        with self._lock:
            self._settle()
            budgets = self._budgets(sent.task)
            refusals = (self._refusal(sent, name, budget) for name, budget in budgets)
            refusal = next(filter(None, refusals), None)
            if refusal is not None:
                return refusal
            for _, budget in budgets:
                budget.reserved += self._reserved(sent)
                if sent.leaves_room:
                    budget.held_back[sent.task] = sent.foreseen.last
            if sent.ends is not None:
                sent.ends.budget.finished[sent.task] = sent.ends.unit
        return None

    def _refusal(self, sent: _Sent, name: str, budget: Budget) -> _Refusal | None:
        """Why a budget has no room for a request; `None` where it has."""
        own = sent.task if sent.request.purpose == "main" else None
        committed = budget.committed(except_for=own)
        room_left = sent.foreseen.last if sent.leaves_room else NOTHING
        needed = budget.spent + committed + sent.foreseen.expected + room_left
        ended = budget.finished.get(sent.task)
        for unit, limit in self._limits.items():
            if unit == ended or needed.in_unit(unit) > limit:
                error = SpendLimitReached(spent=budget.spent.in_unit(unit), limit=limit, unit=unit, task=name)
                if committed.in_unit(unit):
                    error.add_note(f"{committed.in_unit(unit)} {unit} {NOT_FREE}")
                return _Refusal(budget, unit, error)
        return None

    def _settle(self) -> None:
        """Count what requests used that ended, the worst where that is unknown, instead of their reserves."""
        while self._ended:
            ended = self._ended.popleft()
            sent = ended.sent
            for _, budget in self._budgets(sent.task):
                budget.reserved -= self._reserved(sent)
                budget.spent += ONE if ended.used is None else ended.used
                budget.unknown += sent.foreseen.worst - ONE if ended.used is None else NOTHING
                if sent.request.purpose == "main" and not ended.goes_on:
                    budget.held_back.pop(sent.task, None)
            if sent.ends is not None and not ended.answered:
                del sent.ends.budget.finished[sent.task]

    def _budgets(self, task: Task) -> list[tuple[str, Budget]]:
        """The budgets that a request of a task counts in, innermost first, each with the name of its task."""
        if self.scope == "shared":
            return [(task.name, self._shared)]
        return [(one.name, one.memory(self, Budget)) for one in _with_parents(task)]

    def _reserved(self, sent: _Sent) -> Use:
        return sent.foreseen.worst if self.reserve == "worst" else sent.foreseen.expected

    def _foreseen(self, request: ModelRequest, *, cached: bool = True) -> _Foreseen:
        """What a request will use, and what the last one after it would.

        Whether tools may be called changes what the provider reads from its cache, so of a last request
        nothing is taken to be cached.
        """
        if self._counts_requests_only:
            return _Foreseen(NO_USAGE, ONE, ONE, ONE)
        count = CALIBRATION.count(request)
        read = min(cached_tokens(request), count.total) if cached else 0
        longest = most_output_tokens(request.body)
        longest = ASSUMED_OUTPUT_TOKENS if longest is None else longest
        usage = Usage(count.total, 0, cache_read_tokens=read)
        worst = dearest(request, Usage(count.high, longest, cache_read_tokens=read))
        last = dearest(request, Usage(count.high, min(longest, self.finish_tokens)))
        return _Foreseen(
            usage, self._use(request, usage), self._use(request, worst), self._use(request, last)
        )

    def _use(self, request: ModelRequest, usage: Usage) -> Use:
        usd = Decimal(0) if self.max_cost_usd is None else foreseen_usd(request, usage)
        return Use(1, _tokens(usage), usd)

    def _used(self, sent: _Sent, response: ModelResponse) -> Use | None:
        """What an answer used, as counted here where it does not say; `None` where it broke off."""
        if response.local:
            return NOTHING
        if not response.complete:
            return None
        if self._counts_requests_only:
            return ONE
        usage = response.usage
        if usage is None or usage.input_tokens is None or usage.output_tokens is None:
            counted = replace(sent.foreseen.usage, output_tokens=_answered_tokens(response))
            return self._use(sent.request, counted)
        note_cached(sent.request, usage)
        if self.max_cost_usd is None:
            return Use(1, _tokens(usage))
        charge = price(
            usage,
            model=response.model,
            provider=response.request.provider,
            stop_reason=response.stop_reason,
        )
        return Use(1, _tokens(usage), Decimal(0) if charge is None else charge.total_usd)

    @property
    def _counts_requests_only(self) -> bool:
        return self.max_tokens is None and self.max_cost_usd is None

    @property
    def _limits(self) -> dict[Unit, int | Decimal]:
        limits: dict[Unit, int | Decimal | None] = {
            "requests": self.max_requests,
            "tokens": self.max_tokens,
            "usd": self.max_cost_usd,
        }
        return {unit: limit for unit, limit in limits.items() if limit is not None}


@dataclass(frozen=True, slots=True)
class _Foreseen:
    """What a request is foreseen to use.

    Attributes:
        usage: Its input as counted, of which as much is read from the cache as the last answer proves.
        expected: The same as a use: what it uses at the least.
        worst: What it uses at the most.
        last: What is held back for the last request of its task.
    """

    usage: Usage
    expected: Use
    worst: Use
    last: Use


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a request does not fit, and into which budget."""

    budget: Budget
    unit: Unit
    error: SpendLimitReached


@dataclass(frozen=True, slots=True)
class _Sent:
    """A request on its way.

    Attributes:
        request: As it is sent.
        task: The task it belongs to.
        foreseen: What it may use.
        leaves_room: Whether a last request of its task has to fit behind it.
        ends: Why it is the last one of its task; `None` where it is not.
    """

    request: ModelRequest
    task: Task
    foreseen: _Foreseen
    leaves_room: bool
    ends: _Refusal | None = None


@dataclass(frozen=True, slots=True)
class _Ended:
    """A request that is no longer in flight.

    Attributes:
        sent: What was sent.
        used: What it used; `None` where nobody knows.
        answered: Whether it has a whole answer.
        goes_on: Whether that answer calls tools, so that its loop goes on.
    """

    sent: _Sent
    used: Use | None
    answered: bool
    goes_on: bool


def _answered_tokens(response: ModelResponse) -> int:
    counter = block_counter_for(response.model, response.wire.name)
    return sum(map(counter.count, _blocks(response)))


def _calls_tools(response: ModelResponse) -> bool:
    return any(block.kind == "tool_call" and block.client for block in _blocks(response))


def _blocks(response: ModelResponse) -> tuple[Block, ...]:
    """The answer's blocks; none where it is malformed, as it was billed all the same."""
    with suppress(BodyError):
        return response.blocks
    return ()


def _tokens(usage: Usage) -> int:
    return (usage.input_tokens or 0) + (usage.output_tokens or 0)


def _dollars(amount: Decimal | float | str) -> Decimal:
    try:
        dollars = Decimal(str(amount))
    except InvalidOperation:
        dollars = Decimal("NaN")
    if dollars.is_nan():
        raise ConfigError(f"max_cost_usd must be a number, it is {amount!r}", option="max_cost_usd")
    return dollars


def _with_parents(task: Task | None) -> Iterator[Task]:
    while task is not None:
        yield task
        task = task.parent
