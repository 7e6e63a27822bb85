"""Tool functions with a flow around every call. The function stays what it was: its signature, its colour."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

from ctxkit.drive import run, run_async
from ctxkit.errors import AttachError
from ctxkit.flow import Flow
from ctxkit.messages import ModelRequest, ModelResponse, ToolCall, ToolResult

P = ParamSpec("P")
R = TypeVar("R")
_NAMES = frozenset({"name", "tool", "tool_name", "function_name"})
_INPUTS = frozenset({"input", "tool_input", "args", "arguments", "tool_args", "params", "parameters", "kwargs"})


class ToolStack(Protocol):
    """What can put a flow around a tool call."""

    def tool_flow(self, call: ToolCall) -> Flow[ToolResult]:
        """The flow of one call, for a driver."""
        ...


def is_async(function: Callable[..., object]) -> bool:
    """Whether calling the function gives something to await."""
    call = getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def wrap_function(
    function: Callable[P, R], stack: ToolStack, *, name: str | None = None, dispatches: bool | None = None
) -> Callable[P, R]:
    """The function with the stack around every call, its name, signature and annotations kept.

    Args:
        function: One tool, or a dispatcher that takes a tool's name and its input; blocking or async.
        stack: What wraps the call.
        name: What the tool is called; the function's own name where left out.
        dispatches: Whether it is a dispatcher; told from its first two parameters where left out.

    Raises:
        AttachError: The function's signature can't be read.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise AttachError(f"{function!r} has no readable signature; wrap it in a `def` of your own") from error
    parameters = list(signature.parameters)
    dispatcher = _looks_like_dispatcher(parameters) if dispatches is None else dispatches
    tool_name = name if name is not None else getattr(function, "__name__", type(function).__name__)

    def call_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolCall:
        bound = signature.bind(*args, **kwargs).arguments
        if dispatcher:
            given = bound.get(parameters[1])
            return ToolCall(str(bound[parameters[0]]), given if isinstance(given, Mapping) else {})
        return ToolCall(tool_name, _flat(signature, bound))

    if is_async(function):

        @wraps(function)
        async def wrapped_async(*args: P.args, **kwargs: P.kwargs) -> Any:
            edge = _AsyncEdge(lambda: function(*args, **kwargs))  # type: ignore[arg-type, return-value]
            return (await run_async(stack.tool_flow(call_of(args, kwargs)), edge)).content

        return wrapped_async  # type: ignore[return-value]

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        edge = _Edge(lambda: function(*args, **kwargs))
        return run(stack.tool_flow(call_of(args, kwargs)), edge).content  # type: ignore[no-any-return]

    return wrapped


def _looks_like_dispatcher(parameters: list[str]) -> bool:
    return len(parameters) == 2 and parameters[0] in _NAMES and parameters[1] in _INPUTS


def _flat(signature: inspect.Signature, bound: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name, those of a `**kwargs` among the others."""
    arguments: dict[str, Any] = {}
    for name, value in bound.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            arguments.update(value)
        else:
            arguments[name] = value
    return arguments


class _Edge:
    """Runs one function, blocking."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function

    def tool(self, call: ToolCall) -> ToolResult:
        return ToolResult(self._function())

    def model(self, request: ModelRequest) -> ModelResponse:
        raise AttachError("a tool call has no model at hand: a middleware asked for one")


class _AsyncEdge:
    """Runs one function, awaiting."""

    def __init__(self, function: Callable[[], Awaitable[Any]]) -> None:
        self._function = function

    async def tool(self, call: ToolCall) -> ToolResult:
        return ToolResult(await self._function())

    async def model(self, request: ModelRequest) -> ModelResponse:
        raise AttachError("a tool call has no model at hand: a middleware asked for one")
