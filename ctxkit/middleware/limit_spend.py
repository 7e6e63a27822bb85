"""`LimitSpend`: stops a task before the request that would pass its limit."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
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
    one. Requests and tokens of nested tasks count in every task around them.

    Args:
        max_requests: Billed requests a task may make.
        max_tokens: Input and output tokens a task may use.
        max_cost_usd: Dollars a task may cost; requests without a known price count as nothing.

    Raises:
        ConfigError: No limit is given, or one is below zero.
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
        self.max_cost_usd = None if max_cost_usd is None else Decimal(str(max_cost_usd))
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
        """Refuse the request, or note what it used."""
        tasks = _with_parents(current_task())
        for task in tasks:
            self._check(task, request)
        try:
            response = yield from call_next(request)
        except StreamAborted as aborted:
            self._note(tasks, aborted.partial)
            raise
        except BaseException as error:
            if outcome_of(error) != "not_billed":
                self._note(tasks, None)
            raise
        if not response.local:
            self._note(tasks, response)
        return response

    def _check(self, task: Task, request: ModelRequest) -> None:
        spent = task.memory(self, _Spent)
        if self.max_requests is not None and spent.requests >= self.max_requests:
            raise SpendLimitReached(
                spent=spent.requests, limit=self.max_requests, unit="requests", task=task.name
            )
        if self.max_tokens is None and self.max_cost_usd is None:
            return
        size = shape_of(request, block_counter_for(request.model)).total
        if self.max_tokens is not None and spent.tokens + size > self.max_tokens:
            raise SpendLimitReached(spent=spent.tokens, limit=self.max_tokens, unit="tokens", task=task.name)
        cost = spent.cost_usd + spent.foreseen_usd(request, size)
        if self.max_cost_usd is not None and cost > self.max_cost_usd:
            raise SpendLimitReached(spent=spent.cost_usd, limit=self.max_cost_usd, unit="usd", task=task.name)

    def _note(self, tasks: list[Task], response: ModelResponse | None) -> None:
        for task in tasks:
            task.memory(self, _Spent).add(response)


@dataclass(slots=True)
class _Spent:
    """What one task has used under one limit."""

    requests: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    last: Usage | None = None
    _lock: Lock = field(default_factory=Lock, repr=False)

    def add(self, response: ModelResponse | None) -> None:
        usage = None if response is None else response.usage
        with self._lock:
            self.requests += 1
            if response is None or usage is None:
                return
            self.last = usage
            self.tokens += (usage.input_tokens or 0) + (usage.output_tokens or 0)
            charge = price(
                usage,
                model=response.model,
                provider=response.request.provider,
                stop_reason=response.stop_reason,
            )
            self.cost_usd += Decimal(0) if charge is None else charge.total_usd

    def foreseen_usd(self, request: ModelRequest, size: int) -> Decimal:
        """What the input of a request of this size will cost at the least."""
        last = self.last
        cached = last is not None and (last.cache_read_tokens or last.cache_write_tokens)
        read = min(size, last.input_tokens or 0) if last is not None and cached else 0
        usage = Usage(input_tokens=size, output_tokens=0, cache_read_tokens=read)
        charge = price(usage, model=request.model, provider=request.provider)
        return Decimal(0) if charge is None else charge.total_usd


def _with_parents(task: Task) -> list[Task]:
    tasks = [task]
    while tasks[-1].parent is not None:
        tasks.append(tasks[-1].parent)
    return tasks
