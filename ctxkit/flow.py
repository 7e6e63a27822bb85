"""Flows: hooks written once as generators, run blocking or awaiting by the drivers.

A flow yields what it wants done and is resumed with the outcome; `yield from` is its `await`.
Nothing here waits, reads a clock or knows a provider.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from ctxkit.messages import ModelRequest, ModelResponse, ToolCall, ToolResult

T = TypeVar("T")

# What tokenizes in about 10 ms, an event loop may wait for.
SMALL_CHARS = 100_000


@dataclass(frozen=True, slots=True)
class Perform:
    """Any other input or output that a flow asks for, in both colours.

    Attributes:
        blocking: Does it and returns the outcome.
        awaitable: Does the same without blocking the event loop; without one, `blocking` runs in a thread.
    """

    blocking: Callable[[], Any]
    awaitable: Callable[[], Awaitable[Any]] | None = None


Step = ModelRequest | ToolCall | Perform
Flow = Generator[Step, Any, T]
ModelNext = Callable[[ModelRequest], Flow[ModelResponse]]
ToolNext = Callable[[ToolCall], Flow[ToolResult]]


class Middleware:
    """Wraps the two calls of a tool-use loop. Override one hook, or both.

    A hook either passes on (`return call_next(changed)`) or is a generator that says
    `response = yield from call_next(request)` and returns a response. It may answer without asking
    (return before `call_next`), or ask for something of its own
    (`yield from call_next(request.side_call("purpose"))`). Errors from inside arrive at the `yield from`.

    An exception that a hook raises by itself is a fault: it is logged and counted, and the call goes on
    as if the middleware were not there. What the user wants raised is declared in `raises`.

    Attributes:
        raises: The exceptions that are meant to reach the caller.
        buffers_stream: Whether it may replace a streamed answer; the caller then gets its events only
            when the answer is finished.
    """

    raises: tuple[type[BaseException], ...] = ()
    buffers_stream: bool = False

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Around one request to a model."""
        return call_next(request)

    def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Flow[ToolResult]:
        """Around one call of a tool."""
        return call_next(call)


def ask_model(request: ModelRequest) -> Flow[ModelResponse]:
    """The innermost flow of a model call: asks the driver for it."""
    response: ModelResponse = yield request
    return response


def ask_tool(call: ToolCall) -> Flow[ToolResult]:
    """The innermost flow of a tool call: asks the driver for it."""
    result: ToolResult = yield call
    return result


def perform(blocking: Callable[[], T], awaitable: Callable[[], Awaitable[T]] | None = None) -> Flow[T]:
    """Do any other input or output: `value = yield from perform(read, read_async)`.

    Without an async form, the blocking one runs in a thread where the flow is awaited.
    """
    value: T = yield Perform(blocking, awaitable)
    return value


def compute(function: Callable[[], T], *, size: int) -> Flow[T]:
    """Do pure work: on the spot where it is small, and away from the event loop where it is large.

    Args:
        function: The work. It must be free to run in another thread.
        size: How many characters it goes through.
    """
    if size <= SMALL_CHARS:
        return function()
    return (yield from perform(function))


def done(value: T) -> Flow[T]:
    """A flow that asks for nothing: what a hook without any `yield` returns to answer by itself."""
    return value
    yield  # makes this function a generator
