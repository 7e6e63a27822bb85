"""`LimitSpend`: stops a task before the request that would pass its limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from threading import Lock

from ctxkit.errors import ConfigError, SpendLimitReached, StreamAborted
from ctxkit.flow import Flow, Middleware, ModelNext
from ctxkit.ledger import outcome_of
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.money import price
from ctxkit.tasks import Task, current_task
from ctxkit.tokens import block_counter_for, shape_of
from ctxkit.usage import Usage


class LimitSpend(Middleware):
    """Stops a task before the request that would pass its limit; nothing is sent then.

    What the next request will use is foreseen from its size: its tokens as counted here, its cost as if
    what the last request sent were read from the prompt cache, where the last answer shows that there is
    one. Until its answer is there a request counts as foreseen, so that requests side by side don't pass a
    limit together. What nested tasks use counts in every task around them.

    Args:
        max_requests: Billed requests a task may make.
        max_tokens: Input and output tokens a task may use.
        max_cost_usd: Dollars a task may cost; requests without a known price count as nothing.

    Raises:
        ConfigError: No limit is given, or one is below zero or no number.
    """

    raises = (SpendLimitReached,)

    def __init__(
        self,
        *,
        max_requests: int | None = None,
        max_tokens: int | None = None,
        max_cost_usd: Decimal | float | str | None = None,
    ) -> None:
        self.max_requests = max_requests
        self.max_tokens = max_tokens
        self.max_cost_usd = None if max_cost_usd is None else _dollars(max_cost_usd)
        given = {
            "max_requests": max_requests,
            "max_tokens": max_tokens,
            "max_cost_usd": self.max_cost_usd,
        }
        if all(limit is None for limit in given.values()):
            raise ConfigError(f"LimitSpend needs one of {', '.join(given)}", option="max_requests")
        for option, limit in given.items():
            if limit is not None and limit < 0:
                raise ConfigError(f"{option} must not be below zero, it is {limit}", option=option)

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Refuse the request, or count what it uses."""
        held = self._hold(request)
        try:
            response = yield from call_next(request)
        except StreamAborted as aborted:
            _settle(held, aborted.partial)
            raise
        except BaseException as error:
            _settle(held, None, billed=outcome_of(error) != "not_billed")
            raise
        _settle(held, response, billed=not response.local)
        return response

    def _hold(self, request: ModelRequest) -> list[_Held]:
        """Count the request as foreseen in each of its tasks, or in none where one is at its limit."""
        measured = self.max_tokens is not None or self.max_cost_usd is not None
        size = shape_of(request, block_counter_for(request.model)).total if measured else 0
        held: list[_Held] = []
        for task in _with_parents(current_task()):
            try:
                held.append(self._hold_in(task, request, size))
            except SpendLimitReached:
                _settle(held, None, billed=False)
                raise
        return held

    def _hold_in(self, task: Task, request: ModelRequest, size: int) -> _Held:
        spent = task.memory(self, _Spent)
        with spent.lock:
            cost_usd = Decimal(0) if self.max_cost_usd is None else spent.foreseen_usd(request, size)
            foreseen = _Use(1, size, cost_usd)
            for unit, used, more, limit in (
                ("requests", spent.requests, foreseen.requests, self.max_requests),
                ("tokens", spent.tokens, foreseen.tokens, self.max_tokens),
                ("usd", spent.cost_usd, foreseen.cost_usd, self.max_cost_usd),
            ):
                if limit is not None and used + more > limit:
                    raise SpendLimitReached(spent=used, limit=limit, unit=unit, task=task.name)
            spent.replace(NOTHING, foreseen)
        return spent, foreseen


@dataclass(frozen=True, slots=True)
class _Use:
    """What a request used, or is foreseen to use."""

    requests: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)


NOTHING = _Use()


@dataclass(slots=True)
class _Spent:
    """What one task has used under one limit; hold the lock to look at it or to change it."""

    requests: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    last: Usage | None = None
    lock: Lock = field(default_factory=Lock, repr=False)

    def replace(self, old: _Use, new: _Use) -> None:
        self.requests += new.requests - old.requests
        self.tokens += new.tokens - old.tokens
        self.cost_usd += new.cost_usd - old.cost_usd

    def foreseen_usd(self, request: ModelRequest, size: int) -> Decimal:
        """What the input of a request of this size will cost at the least."""
        last = self.last
        cached = last is not None and (last.cache_read_tokens or last.cache_write_tokens)
        read = min(size, last.input_tokens or 0) if last is not None and cached else 0
        usage = Usage(input_tokens=size, output_tokens=0, cache_read_tokens=read)
        charge = price(usage, model=request.model, provider=request.provider)
        return Decimal(0) if charge is None else charge.total_usd


_Held = tuple[_Spent, _Use]


def _settle(held: list[_Held], response: ModelResponse | None, *, billed: bool = True) -> None:
    """Count what a request used instead of what was foreseen of it."""
    usage = response.usage if billed and response is not None else None
    used = _use(response, usage) if billed else NOTHING
    for spent, foreseen in held:
        with spent.lock:
            spent.replace(foreseen, used)
            spent.last = usage or spent.last


def _use(response: ModelResponse | None, usage: Usage | None) -> _Use:
    if response is None or usage is None:
        return _Use(requests=1)
    charge = price(
        usage,
        model=response.model,
        provider=response.request.provider,
        stop_reason=response.stop_reason,
    )
    tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    return _Use(1, tokens, Decimal(0) if charge is None else charge.total_usd)


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
