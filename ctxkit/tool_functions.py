"""Tool functions with a flow around every call. The function stays what it was: its signature, its colour."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

from ctxkit.drive import run, run_async
from ctxkit.errors import AttachError
from ctxkit.flow import Flow
from ctxkit.messages import ModelRequest, ModelResponse, ToolCall, ToolResult
from ctxkit.wire.native import dumps, parsed_input

P = ParamSpec("P")
R = TypeVar("R")
_NAMES = frozenset({"name", "tool", "tool_name", "function_name"})
_INPUTS = frozenset(
    {"input", "tool_input", "args", "arguments", "tool_args", "params", "parameters", "kwargs"}
)
_NO_MODEL = "a tool call has no model at hand: a middleware asked for one"


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
        AttachError: The function's signature can't be read, or a dispatcher lacks its two parameters.
    """
    calls = _Calls(function, name=name, dispatches=dispatches)

    if is_async(function):

        @wraps(function)
        async def wrapped_async(*args: P.args, **kwargs: P.kwargs) -> Any:
            call, invoke = calls.made(args, kwargs)
            return (await run_async(stack.tool_flow(call), AsyncToolEdge(invoke))).content

        return wrapped_async  # type: ignore[return-value]

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        call, invoke = calls.made(args, kwargs)
        return run(stack.tool_flow(call), ToolEdge(invoke)).content  # type: ignore[no-any-return]

    return wrapped


class _Calls:
    """Turns a function's arguments into a call, and a call that a middleware changed into arguments."""

    def __init__(self, function: Callable[..., Any], *, name: str | None, dispatches: bool | None) -> None:
        try:
            self._signature = inspect.signature(function)
        except (TypeError, ValueError) as error:
            raise AttachError(
                f"{function!r} has no readable signature; wrap it in a `def` of your own"
            ) from error
        names = list(self._signature.parameters)
        self._function = function
        self._name = name if name is not None else name_of(function)
        self._dispatches = _looks_like_dispatcher(names) if dispatches is None else dispatches
        if self._dispatches and len(names) < 2:
            raise AttachError(f"{function!r} is no dispatcher: it takes no tool name and input")
        self._first_names = names[:2]

    def made(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[ToolCall, Callable[[ToolCall], Any]]:
        """The call that these arguments make, and what runs it, changed or not."""
        given = self._signature.bind(*args, **kwargs).arguments
        call = self._dispatched(given) if self._dispatches else ToolCall(self._name, self._flat(given))

        def invoke(asked: ToolCall) -> Any:
            if asked is call:
                return self._function(*args, **kwargs)
            return self._invoke_changed(asked, given)

        return call, invoke

    def _dispatched(self, given: Mapping[str, Any]) -> ToolCall:
        tool, key = self._first_names
        read = parsed_input(given.get(key))
        return ToolCall(str(given[tool]), read if read or not given.get(key) else {key: given[key]})

    def _flat(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name, those of a `**kwargs` among the others."""
        flat: dict[str, Any] = {}
        for name, value in given.items():
            if self._signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                flat.update(value)
            else:
                flat[name] = value
        return flat

    def _invoke_changed(self, call: ToolCall, given: Mapping[str, Any]) -> Any:
        changed = call.input
        if self._dispatches:
            tool, key = self._first_names
            as_text = isinstance(given.get(key), str)
            changed = {**given, tool: call.name, key: dumps(call.input).decode() if as_text else call.input}
        known = {name: value for name, value in changed.items() if name in self._signature.parameters}
        more = {name: value for name, value in changed.items() if name not in known}
        bound = inspect.BoundArguments(self._signature, OrderedDict(known))
        return self._function(*bound.args, **bound.kwargs, **more)


def name_of(function: Callable[..., Any]) -> str:
    """What a function is called; the name of its class where it has none."""
    return str(getattr(function, "__name__", type(function).__name__))


def _looks_like_dispatcher(parameters: list[str]) -> bool:
    return len(parameters) == 2 and parameters[0] in _NAMES and parameters[1] in _INPUTS


class ToolEdge:
    """Runs tools, blocking.

    Args:
        invoke: Runs the tool of a call and gives back what it gave.
    """

    def __init__(self, invoke: Callable[[ToolCall], Any]) -> None:
        self._invoke = invoke

    def tool(self, call: ToolCall) -> ToolResult:
        """Run one tool."""
        return ToolResult(self._invoke(call))

    def model(self, request: ModelRequest) -> ModelResponse:
        """Refuse."""
        raise AttachError(_NO_MODEL)


class AsyncToolEdge:
    """Runs tools, awaiting.

    Args:
        invoke: Runs the tool of a call and gives back what it gave.
    """

    def __init__(self, invoke: Callable[[ToolCall], Awaitable[Any]]) -> None:
        self._invoke = invoke

    async def tool(self, call: ToolCall) -> ToolResult:
        """Run one tool."""
        return ToolResult(await self._invoke(call))

    async def model(self, request: ModelRequest) -> ModelResponse:
        """Refuse."""
        raise AttachError(_NO_MODEL)
