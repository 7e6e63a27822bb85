"""`TokenMeter`: books every request to the running task."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from ctxkit.errors import BodyError, ModelCallFailed, StreamAborted
from ctxkit.flow import Flow, Middleware, ModelNext
from ctxkit.ledger import Attempt, Outcome, attribute, outcome_of
from ctxkit.messages import Block, ModelRequest, ModelResponse
from ctxkit.money import Share, price, split
from ctxkit.tasks import current_task
from ctxkit.tokens import block_counter_for, shape_of
from ctxkit.usage import Charge, Usage


class TokenMeter(Middleware):
    """Books every request to the running task: its outcome, its tokens, its cost, and what they went into.

    Put it innermost to book what is really sent, side calls of other middlewares included. Outermost it
    books the user's own requests only.

    Args:
        clock: Gives the time in seconds since the epoch.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Book the attempt, however it ends."""
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
            self._book(request, response, started, "billed" if response.complete else "unknown")
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
        sent = request if response is None else response.request
        usage = None if response is None else _known(response)
        blocks = () if response is None else _blocks(response)
        charge, shares = (None, ()) if response is None or usage is None else _priced(response, usage, blocks)
        status = error.status if isinstance(error, ModelCallFailed) else response.status if response else None
        current_task().book(
            Attempt(
                task=current_task().path,
                purpose=sent.purpose,
                model=sent.model if response is None else response.model,
                wire=sent.wire.name,
                outcome=outcome,
                status=status,
                error=None if error is None else type(error).__name__,
                usage=usage,
                charge=charge,
                shares=shares,
                tool_calls=tuple(block.tool or "" for block in blocks if block.kind == "tool_call"),
                retry=sent.retry,
                cut_tokens=cut_tokens(sent) if outcome == "billed" else 0,
                started=started,
                seconds=self._clock() - started,
            )
        )


def cut_tokens(request: ModelRequest) -> int:
    """How many tokens of the caller's request a sent one leaves out, as counted here; never below zero."""
    if request.origin is None:
        return 0
    counter = block_counter_for(request.model)
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
    response: ModelResponse, usage: Usage, blocks: tuple[Block, ...]
) -> tuple[Charge | None, tuple[Share, ...]]:
    request = response.request
    charge = price(usage, model=response.model, provider=request.provider, stop_reason=response.stop_reason)
    try:
        shares = attribute(request, blocks, usage, charge, counter=block_counter_for(request.model))
    except BodyError:
        shares = split(usage=usage, charge=charge, total=0, prefix=lambda _: {}, output={})
    return charge, shares
