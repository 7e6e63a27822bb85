"""`TokenMeter`: books every request to the running task, and to a ledger."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING
from uuid import uuid4

from ctxkit.errors import BodyError, ModelCallFailed, StreamAborted
from ctxkit.flow import Flow, Middleware, ModelNext
from ctxkit.ledger import (
    Attempt,
    Before,
    Outcome,
    Sent,
    attribute,
    closest,
    compare,
    miss_reason_of,
    outcome_of,
    placed,
    standing_of,
)
from ctxkit.messages import Block, ModelRequest, ModelResponse
from ctxkit.money import Share, price, split
from ctxkit.tasks import Task, current_task, note_fault
from ctxkit.tokens import CALIBRATION, BlockCounter, block_counter_for, counted, shape_of
from ctxkit.usage import Charge, Usage

if TYPE_CHECKING:
    from ctxkit.keeping import Ledger

# Loops that run side by side in one task, each of which finds its own last prompt again.
KEPT_PROMPTS = 4


class TokenMeter(Middleware):
    """Books every request to the running task: its outcome, its tokens, its cost, and what they went into.

    What answers report is also learned from, so that later counts of the same model are nearer to it.

    Put it innermost to book what is really sent, side calls of other middlewares included. Outermost it
    books the user's own requests only.

    Args:
        ledger: Keeps what is booked beyond the task. A fault of it costs its entry, and never the call.
        clock: Gives the time in seconds since the epoch.
    """

    def __init__(self, *, ledger: Ledger | None = None, clock: Callable[[], float] = time.time) -> None:
        self._ledger = ledger
        self._clock = clock

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Book the attempt, however it ends, and learn from what its answer reports."""
        started = self._clock()
        try:
            response = yield from call_next(request)
        except StreamAborted as aborted:
            self._book(request, aborted.partial, started, "unknown", error=aborted)
            raise
        except BaseException as error:
            self._book(request, None, started, outcome_of(error), error=error)
            raise
        if not response.local:
            yield from counted(response.request)
            self._book(request, response, started, "billed" if response.complete else "unknown")
            with suppress(BodyError):
                CALIBRATION.observe(response.request, response.usage)
        return response

    def _book(
        self,
        request: ModelRequest,
        response: ModelResponse | None,
        started: float,
        outcome: Outcome,
        *,
        error: BaseException | None = None,
    ) -> None:
        asked = request if response is None else response.request
        counter = block_counter_for(asked.model, asked.wire.name)
        answer = _Answer() if response is None else _answer(response, counter)
        task, attempt_id = current_task(), uuid4().hex
        with task.memory((self, asked.purpose), _Recent) as recent:
            turn, sent = recent.sent(attempt_id, asked, counter, task, remember=outcome != "not_billed")
            attempt = Attempt(
                task=task.path,
                purpose=asked.purpose,
                model=answer.model or asked.model,
                wire=asked.wire.name,
                outcome=outcome,
                status=error.status if isinstance(error, ModelCallFailed) else answer.status,
                error=None if error is None else type(error).__name__,
                usage=answer.usage,
                charge=answer.charge,
                shares=answer.shares,
                tool_calls=tuple(block.tool or "" for block in answer.blocks if block.kind == "tool_call"),
                retry=asked.retry,
                cut_tokens=cut_tokens(asked) if outcome == "billed" else 0,
                started=started,
                seconds=self._clock() - started,
                id=attempt_id,
                turn=turn,
                provider=asked.provider,
                sent=sent,
                answered=tuple(placed(block, counter.count(block)) for block in answer.blocks),
                miss_reason=answer.miss_reason,
            )
            task.book(attempt)
        self._keep(attempt)

    def _keep(self, attempt: Attempt) -> None:
        if self._ledger is None:
            return
        try:
            self._ledger.book(attempt)
        except Exception as error:
            note_fault(
                f"the ledger: {type(error).__name__}", error, so="the attempt stands in its task alone"
            )


@dataclass(frozen=True, slots=True)
class _Answer:
    """What came back, as it is booked; nothing did where all is empty."""

    model: str | None = None
    status: int | None = None
    usage: Usage | None = None
    charge: Charge | None = None
    shares: tuple[Share, ...] = ()
    blocks: tuple[Block, ...] = ()
    miss_reason: str | None = None


def _answer(response: ModelResponse, counter: BlockCounter) -> _Answer:
    usage, blocks = _known(response), _blocks(response)
    charge, shares = (None, ()) if usage is None else _priced(response, usage, blocks, counter)
    reason = miss_reason_of(response.body)
    return _Answer(response.model, response.status, usage, charge, shares, blocks, reason)


class _Recent:
    """The last prompts of one task for one purpose; one is compared and booked at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: list[Before] = []

    def __enter__(self) -> _Recent:
        self._lock.acquire()
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def sent(
        self, attempt_id: str, request: ModelRequest, counter: BlockCounter, task: Task, *, remember: bool
    ) -> tuple[int | None, Sent | None]:
        """The turn that a request is for and what it sends; `None` where that can't be read."""
        try:
            before = closest(self._known, request)
            sent = compare(before, request, counter, decisions=lambda: task.decisions)
        except BodyError:
            return None, None
        if remember:
            if before is not None and sent.change is None:
                self._known.remove(before)
            self._known = [*self._known, Before.of(attempt_id, request)][-KEPT_PROMPTS:]
        return standing_of(request, counter).answers + 1, sent


def cut_tokens(request: ModelRequest) -> int:
    """How many tokens of the caller's request a sent one leaves out, as counted here; never below zero."""
    if request.origin is None:
        return 0
    counter = block_counter_for(request.model, request.wire.name)
    with suppress(BodyError):
        return max(0, shape_of(request.origin, counter).total - shape_of(request, counter).total)
    return 0


def _blocks(response: ModelResponse) -> tuple[Block, ...]:
    """The answer's blocks; none where it is malformed, as it was billed all the same."""
    with suppress(BodyError):
        return response.blocks
    return ()


def _known(response: ModelResponse) -> Usage | None:
    """What the answer reported, as far as it can be trusted.

    A stream that broke off shows its prompt's size, but its output count is a placeholder.
    """
    usage = response.usage
    if usage is None or response.complete:
        return usage
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=None,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        cache_write_1h_tokens=usage.cache_write_1h_tokens,
        native=usage.native,
    )


def _priced(
    response: ModelResponse, usage: Usage, blocks: tuple[Block, ...], counter: BlockCounter
) -> tuple[Charge | None, tuple[Share, ...]]:
    request = response.request
    charge = price(usage, model=response.model, provider=request.provider, stop_reason=response.stop_reason)
    try:
        shares = attribute(request, blocks, usage, charge, counter=counter)
    except BodyError:
        shares = split(usage=usage, charge=charge, total=0, prefix=lambda _: {}, output={})
    return charge, shares
