"""Several middlewares as one, the outermost first, each guarded so that its faults stay its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from inspect import GEN_CREATED, getgeneratorstate
from types import GeneratorType
from typing import Any, ParamSpec, TypeVar

from ctxkit.errors import AttachError, FlowError
from ctxkit.flow import Flow, Middleware, ModelNext, Step, ToolNext, ask_tool
from ctxkit.messages import ModelRequest, ModelResponse, ToolCall, ToolResult
from ctxkit.safety import ask_safely, with_second_chance
from ctxkit.tasks import note_fault
from ctxkit.tool_functions import wrap_function

P = ParamSpec("P")
R = TypeVar("R")
Q = TypeVar("Q")
A = TypeVar("A")


class Stack(Middleware):
    """Several middlewares as one.

    A middleware's own exception never breaks the call: it is logged once a task and counted in the task's
    report, and the call goes on with the request as that middleware got it. What a middleware declares in
    `raises`, and whatever came from further in, passes through.

    Args:
        middlewares: The outermost first. Stacks among them are taken apart.

    Raises:
        AttachError: One of them is no `Middleware`.
    """

    def __init__(self, *middlewares: Middleware) -> None:
        flat: list[Middleware] = []
        for middleware in middlewares:
            if isinstance(middleware, type) or not isinstance(middleware, Middleware):
                raise AttachError(
                    f"{middleware!r} is no middleware: a Stack takes instances of ctxkit.Middleware, "
                    f"such as Stack(TokenMeter())"
                )
            flat.extend(middleware.middlewares if isinstance(middleware, Stack) else [middleware])
        self.middlewares: tuple[Middleware, ...] = tuple(flat)
        self.raises = tuple(kind for middleware in flat for kind in middleware.raises)
        self.buffers_stream = any(middleware.buffers_stream for middleware in flat)

    @classmethod
    def from_policy(cls, source: str | os.PathLike[str] | Mapping[str, Any]) -> Stack:
        """The stack that a policy describes: a TOML file, or a mapping with what such a file holds.

        Raises:
            ConfigError: The file can't be read, or the policy is wrong; the message names the place.
        """
        from ctxkit.policy import read_policy

        return read_policy(source).stack()

    def __repr__(self) -> str:
        return f"Stack({', '.join(map(repr, self.middlewares))})"

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Around one request to a model: every middleware in turn."""
        for middleware in reversed(self.middlewares):
            if overrides(middleware, "wrap_model_call"):
                call_next = _guarded(middleware, middleware.wrap_model_call, call_next)
        return call_next(request)

    def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Flow[ToolResult]:
        """Around one call of a tool: every middleware in turn."""
        for middleware in reversed(self.middlewares):
            if overrides(middleware, "wrap_tool_call"):
                call_next = _guarded(middleware, middleware.wrap_tool_call, call_next)
        return call_next(call)

    def tool(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorate a tool function, blocking or async; its name, signature and annotations are kept.

        ```python
        @stack.tool
        def read_file(path: str) -> str: ...
        ```

        Raises:
            AttachError: Nothing of the stack wraps tool calls.
        """
        return wrap_function(function, attached_to_tools(self))

    def model_flow(self, request: ModelRequest) -> Flow[ModelResponse]:
        """The whole flow of a model call, for a driver.

        A request that an edit made invalid goes out as the caller made it, and one that the provider refuses
        for its history is sent again without edits; both are counted as faults.
        """
        return with_second_chance(request, lambda asked: self.wrap_model_call(asked, ask_safely))

    def tool_flow(self, call: ToolCall) -> Flow[ToolResult]:
        """The whole flow of a tool call, for a driver."""
        return self.wrap_tool_call(call, ask_tool)


def attached_to_model(middleware: Middleware) -> Stack:
    """What is attached where a model is called, as a stack.

    Raises:
        AttachError: Nothing of it wraps model calls, or it is no middleware.
    """
    return _attached(
        middleware,
        "wrap_model_call",
        "{} wraps tool calls, and an HTTP transport sees none: attach it with ctxkit.integrations.functions",
    )


def attached_to_tools(middleware: Middleware) -> Stack:
    """What is attached where tools are run, as a stack.

    Raises:
        AttachError: Nothing of it wraps tool calls, or it is no middleware.
    """
    return _attached(
        middleware,
        "wrap_tool_call",
        "{} wraps model calls, and a tool function makes none: attach it with ctxkit.wrap",
    )


def _attached(middleware: Middleware, hook: str, refusal: str) -> Stack:
    stack = middleware if isinstance(middleware, Stack) else Stack(middleware)
    if stack.middlewares and not any(overrides(one, hook) for one in stack.middlewares):
        raise AttachError(refusal.format(", ".join(type(one).__name__ for one in stack.middlewares)))
    return stack


def overrides(middleware: Middleware, hook: str) -> bool:
    """Whether a middleware has a hook of its own."""
    return getattr(type(middleware), hook) is not getattr(Middleware, hook) or hook in vars(middleware)


def _guarded(
    middleware: Middleware,
    hook: Callable[[Q, Callable[[Q], Flow[A]]], Flow[A]],
    call_next: Callable[[Q], Flow[A]],
) -> Callable[[Q], Flow[A]]:
    """The hook as a `call_next` of its own, its faults caught."""

    def guarded(request: Q) -> Flow[A]:
        inside = _Inside(call_next, request)
        try:
            flow = hook(request, inside.call_next)
            if not isinstance(flow, Generator):
                raise FlowError(
                    f"{_name(middleware)} returned {type(flow).__name__} instead of a flow: end the hook "
                    f"with `return call_next(request)`, or answer with `return ctxkit.done(response)`"
                )
            answer: A = yield from flow
            inside.check_started(middleware, flow)
            inside.check_answer(middleware, answer)
        except FlowError:
            raise
        except Exception as error:
            inside.check_started(middleware, None)
            if error is inside.error or isinstance(error, middleware.raises):
                raise
            note_fault(f"{_name(middleware)}: {type(error).__name__}", error)
        else:
            return answer
        if inside.answered:
            return inside.answer  # type: ignore[no-any-return]
        if inside.error is not None:
            raise inside.error
        return (yield from call_next(request))

    return guarded


class _Inside:
    """What a hook did with its `call_next`."""

    def __init__(self, call_next: Callable[[Any], Flow[Any]], request: Any) -> None:
        self._call_next = call_next
        self._purpose = getattr(request, "purpose", None)
        self._due = ModelResponse if isinstance(request, ModelRequest) else ToolResult
        self._flows: list[Flow[Any]] = []
        self.answer: Any = None
        self.answered = False
        self.error: BaseException | None = None

    def call_next(self, request: Any) -> Flow[Any]:
        flow = self._watched(request)
        self._flows.append(flow)
        return flow

    def _watched(self, request: Any) -> Generator[Step, Any, Any]:
        side = getattr(request, "purpose", None) != self._purpose
        try:
            answer = yield from self._call_next(request)
        except BaseException as error:
            if not side:
                self.error = error
            raise
        if not side:
            self.answer, self.answered = answer, True
        return answer

    def check_started(self, middleware: Middleware, returned: object) -> None:
        """Refuse a hook that called `call_next` and forgot to run what it gave."""
        for flow in self._flows:
            if flow is returned or not isinstance(flow, GeneratorType):
                continue
            if getgeneratorstate(flow) == GEN_CREATED:
                flow.close()
                raise FlowError(
                    f"{_name(middleware)} called call_next() but never ran it: "
                    f"write `response = yield from call_next(request)`"
                )

    def check_answer(self, middleware: Middleware, answer: object) -> None:
        """Refuse a hook that ended without an answer."""
        if isinstance(answer, self._due):
            return
        fix = "`return (yield from ...)`" if isinstance(answer, GeneratorType) else "`return response`"
        raise FlowError(
            f"{_name(middleware)} gave back a {type(answer).__name__}, not a {self._due.__name__}: "
            f"end the hook with {fix}"
        )


def _name(middleware: Middleware) -> str:
    return type(middleware).__name__
