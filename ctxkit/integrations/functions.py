"""For loops that call plain functions: `wrap_tool` for a tool, `run_tools` for all calls of one answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, ParamSpec, TypeVar

from ctxkit.drive import run, run_async
from ctxkit.errors import BodyError, FlowError, UnknownToolError
from ctxkit.flow import Middleware
from ctxkit.messages import Block, Histories, ModelRequest, ModelResponse, ToolCall, ToolResult, Wire
from ctxkit.stack import Stack, attached_to_tools
from ctxkit.tool_functions import AsyncToolEdge, ToolEdge, is_async, name_of, wrap_function
from ctxkit.wire import wire_of_answer
from ctxkit.wire.native import dumps

P = ParamSpec("P")
R = TypeVar("R")
Tools = Mapping[str, Callable[..., Any]] | Iterable[Callable[..., Any]]
MAX_THREADS = 16
# The types of content parts that a result may have, each with the key that holds what it is.
PART_KEYS: Mapping[str, str] = {
    "text": "text",
    "image": "source",
    "document": "source",
    "search_result": "content",
    "tool_reference": "tool_name",
    "image_url": "image_url",
    "input_audio": "input_audio",
    "file": "file",
    "input_text": "text",
    "input_image": "image_url",
    "input_file": "file_id",
    "computer_screenshot": "image_url",
}


def wrap_tool(
    function: Callable[P, R],
    stack: Middleware,
    *,
    name: str | None = None,
    dispatches: bool | None = None,
) -> Callable[P, R]:
    """A tool function with a stack around every call.

    Args:
        function: One tool (`read_file(path=...)`), or a dispatcher that takes a tool's name and its input
            (`run_tool(name, input)`); blocking or async.
        stack: A middleware or a `Stack` of them.
        name: What the tool is called; the function's own name where left out.
        dispatches: Whether it is a dispatcher; told from the names of its two parameters where left out.

    Returns:
        A function of the same name, signature and colour.

    Raises:
        AttachError: Nothing of the stack wraps tool calls, or the signature can't be read.
    """
    return wrap_function(function, attached_to_tools(stack), name=name, dispatches=dispatches)


def run_tools(answer: Any, tools: Tools, stack: Middleware | None = None) -> Any:
    """Run all tool calls of one answer side by side and give their results in the order of the calls.

    Args:
        answer: The SDK's answer object, its body as a `dict`, or a `ModelResponse`.
        tools: The functions by name, or functions that go by their own names. Each gets the call's
            arguments as keywords.
        stack: A middleware or a `Stack` put around every call.

    Returns:
        What goes into the history: for Anthropic a list of `tool_result` blocks (the content of the next
        user message), for OpenAI a list of `tool` messages or of output items, for Gemini a list of
        `functionResponse` parts. Where one of the tools is async, an awaitable of that list: blocking tools
        then run in threads. An unknown tool, or one that raises, gives an error result.

    Raises:
        BodyError: It is not an answer of a known wire.
    """
    named = _named(tools)
    if any(is_async(function) for function in named.values()):
        return run_tools_async(answer, named, stack)
    response = _response(answer)
    runner = _Runner(named, stack, response)
    calls = response.tool_calls
    if len(calls) < 2:
        return [runner.run(call) for call in calls]
    with ThreadPoolExecutor(min(len(calls), MAX_THREADS), thread_name_prefix="ctxkit-tool") as pool:
        futures = [pool.submit(copy_context().run, runner.run, call) for call in calls]
        return [future.result() for future in futures]


async def run_tools_async(answer: Any, tools: Tools, stack: Middleware | None = None) -> list[Any]:
    """Like `run_tools`, awaiting: async tools by `asyncio.gather`, blocking ones in threads."""
    response = _response(answer)
    runner = _Runner(_named(tools), stack, response)
    return list(await asyncio.gather(*map(runner.run_async, response.tool_calls)))


class _Runner:
    """Runs the calls of one answer, each with the stack around it."""

    def __init__(
        self, tools: Mapping[str, Callable[..., Any]], stack: Middleware | None, response: ModelResponse
    ) -> None:
        self._tools = tools
        self._stack = Stack() if stack is None else attached_to_tools(stack)
        self._raises = (*self._stack.raises, FlowError)
        self._wire = response.wire
        self._unreadable = {
            id(block.native) for block in response.blocks if _is_unreadable(block, response.wire)
        }

    def run(self, call: ToolCall) -> Any:
        try:
            self._check(call)
            return self._native(call, run(self._stack.tool_flow(call), ToolEdge(self._invoke)))
        except Exception as error:
            return self._failure(call, error)

    async def run_async(self, call: ToolCall) -> Any:
        try:
            self._check(call)
            edge = AsyncToolEdge(self._invoke_async)
            return self._native(call, await run_async(self._stack.tool_flow(call), edge))
        except Exception as error:
            return self._failure(call, error)

    def _check(self, call: ToolCall) -> None:
        if not call.input and id(call.native) in self._unreadable:
            raise BodyError(f"the arguments of {call.name} are no JSON object; the tool was not run")

    def _invoke(self, call: ToolCall) -> Any:
        return self._function(call)(**call.input)

    async def _invoke_async(self, call: ToolCall) -> Any:
        function = self._function(call)
        if is_async(function):
            return await function(**call.input)
        return await asyncio.to_thread(function, **call.input)

    def _function(self, call: ToolCall) -> Callable[..., Any]:
        if call.name not in self._tools:
            raise UnknownToolError(call.name, known=list(self._tools))
        return self._tools[call.name]

    def _native(self, call: ToolCall, result: ToolResult) -> Any:
        content = result.content
        if not isinstance(content, str) and not _is_parts(content):
            content = _as_json(content)
        return self._wire.result(call, content, is_error=result.is_error)

    def _failure(self, call: ToolCall, error: Exception) -> Any:
        if isinstance(error, self._raises):
            raise error
        return self._wire.result(call, f"{type(error).__name__}: {error}", is_error=True)


def _is_unreadable(block: Block, wire: Wire) -> bool:
    """Whether a call's arguments can't be read, as where the answer ended in the middle of them."""
    if block.kind != "tool_call" or not block.client or wire.call_input(block.native):
        return False
    return block.text.removeprefix(block.tool or "").strip() not in ("", "{}")


def _named(tools: Tools) -> dict[str, Callable[..., Any]]:
    if isinstance(tools, Mapping):
        return dict(tools)
    return {name_of(function): function for function in tools}


def _response(answer: Any) -> ModelResponse:
    if isinstance(answer, ModelResponse):
        return answer
    body = answer if isinstance(answer, Mapping) else _dumped(answer)
    wire = wire_of_answer(body)
    if wire is None:
        raise BodyError("not an answer of any wire that is known here")
    return ModelResponse(
        wire=wire, body=body, request=ModelRequest(wire=wire, body={}, histories=Histories())
    )


def _dumped(answer: Any) -> Mapping[str, Any]:
    dump = getattr(answer, "model_dump", None)
    if not callable(dump):
        raise BodyError(f"a {type(answer).__name__} is no answer: pass the SDK's answer object or its body")
    body: Mapping[str, Any] = dump(mode="json", by_alias=True, exclude_none=True)
    return body


def _is_parts(content: Any) -> bool:
    """Whether a list is content in the provider's own parts, and no list of a tool's own records."""
    return (
        bool(content)
        and isinstance(content, list)
        and all(
            isinstance(part, Mapping)
            and PART_KEYS.get(str(part.get("type")), "type") in part.keys() - {"type"}
            for part in content
        )
    )


def _as_json(content: Any) -> str:
    try:
        return dumps(content).decode()
    except BodyError:
        return str(content)
