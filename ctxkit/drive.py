"""The drivers that take a flow to its end, blocking and awaiting.

With those in `streaming` they are the only code of ctxkit that waits while a flow runs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import GeneratorType
from typing import Any, Generic, Protocol, TypeVar

from ctxkit.errors import FlowError
from ctxkit.flow import Flow, Perform, Step
from ctxkit.messages import ModelRequest, ModelResponse, ToolCall, ToolResult

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Edge(Protocol):
    """What stands innermost and really calls, blocking."""

    def model(self, request: ModelRequest) -> ModelResponse:
        """Send one request."""
        ...

    def tool(self, call: ToolCall) -> ToolResult:
        """Run one tool."""
        ...


class AsyncEdge(Protocol):
    """What stands innermost and really calls, awaiting."""

    async def model(self, request: ModelRequest) -> ModelResponse:
        """Send one request."""
        ...

    async def tool(self, call: ToolCall) -> ToolResult:
        """Run one tool."""
        ...


@dataclass(frozen=True, slots=True)
class Done(Generic[T_co]):
    """The end of a flow, with what it ended with."""

    value: T_co


def advance(flow: Flow[T], value: Any = None, error: BaseException | None = None) -> Step | Done[T]:
    """Resume a flow with an outcome, up to its next step or its end."""
    try:
        step = flow.throw(error) if error is not None else flow.send(value)
    except StopIteration as stop:
        if isinstance(stop.value, GeneratorType):
            raise FlowError(
                "a hook returned a flow that never ran: write `return (yield from call_next(request))` "
                "in a hook that has a `yield`"
            ) from None
        return Done(stop.value)
    if not isinstance(step, (ModelRequest, ToolCall, Perform)):
        flow.close()
        raise FlowError(
            f"a hook yielded a {type(step).__name__}: write `yield from call_next(...)`, "
            f"not `yield call_next(...)`"
        )
    return step


def run(flow: Flow[T], edge: Edge) -> T:
    """Take a flow to its end, blocking."""
    state = advance(flow)
    while not isinstance(state, Done):
        try:
            value = perform_step(state, edge)
        except BaseException as error:
            state = advance(flow, error=error)
        else:
            state = advance(flow, value)
    return state.value


async def run_async(flow: Flow[T], edge: AsyncEdge) -> T:
    """Take a flow to its end, awaiting."""
    state = advance(flow)
    while not isinstance(state, Done):
        try:
            value = await perform_step_async(state, edge)
        except BaseException as error:
            state = advance(flow, error=error)
        else:
            state = advance(flow, value)
    return state.value


def perform_step(step: Step, edge: Edge) -> Any:
    """Do what a flow asked for, blocking."""
    if isinstance(step, ModelRequest):
        return edge.model(step)
    if isinstance(step, ToolCall):
        return edge.tool(step)
    return step.blocking()


def perform_step_async(step: Step, edge: AsyncEdge) -> Awaitable[Any]:
    """Do what a flow asked for, awaiting; what has no async form runs in a thread."""
    if isinstance(step, ModelRequest):
        return edge.model(step)
    if isinstance(step, ToolCall):
        return edge.tool(step)
    return step.awaitable() if step.awaitable else _in_thread(step.blocking)


def _in_thread(blocking: Callable[[], T]) -> Awaitable[T]:
    import asyncio

    return asyncio.to_thread(blocking)
