"""A tool function with a stack around it stays what it was: its name, its signature, its colour."""

from __future__ import annotations

import asyncio
import functools
import inspect
import typing
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anthropic
import pytest
from pydantic import BaseModel

from ctxkit.errors import AttachError
from ctxkit.flow import Flow, Middleware, ToolNext
from ctxkit.messages import ToolCall, ToolResult
from ctxkit.stack import Stack
from ctxkit.tool_functions import is_async, wrap_function
from support.bodies import ANTHROPIC, request_of


class Watching(Middleware):
    """Writes down the calls, and changes what it is told to."""

    def __init__(self, **changes: Any) -> None:
        self.calls: list[ToolCall] = []
        self.changes = changes

    def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Flow[ToolResult]:
        self.calls.append(call)
        return call_next(replace(call, **self.changes) if self.changes else call)


class Shout(Middleware):
    """Changes every result."""

    def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Flow[ToolResult]:
        result = yield from call_next(call)
        return replace(result, content=str(result.content).upper())


class Options(BaseModel):
    """A parameter that pydantic derives a schema for."""

    depth: int = 1


def search(query: str, limit: int = 5, *, options: Options | None = None) -> str:
    """Search the files.

    Args:
        query: What to look for.
        limit: The most hits.
        options: How.
    """
    return f"{query} {limit} {options}"


async def search_async(query: str, limit: int = 5, *, options: Options | None = None) -> str:
    """Search the files."""
    await asyncio.sleep(0)
    return search(query, limit, options=options)


def outcome(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function gives, awaited where it has to be."""
    value = function(*args, **kwargs)
    return asyncio.run(value) if inspect.iscoroutine(value) else value


@pytest.mark.parametrize("function", [search, search_async])
def test_a_decorated_tool_keeps_its_face(function: Callable[..., Any]) -> None:
    tool = Stack(Shout()).tool(function)
    assert inspect.signature(tool) == inspect.signature(function)
    assert typing.get_type_hints(tool) == typing.get_type_hints(function)
    assert (tool.__name__, tool.__doc__, tool.__module__) == (function.__name__, function.__doc__, __name__)
    assert inspect.iscoroutinefunction(tool) == inspect.iscoroutinefunction(function)


@pytest.mark.parametrize("function", [search, search_async])
def test_a_decorated_tool_does_what_it_did_with_the_stack_around_it(function: Callable[..., Any]) -> None:
    watching = Watching()
    tool = Stack(Shout(), watching).tool(function)
    assert outcome(tool, "cats", limit=2) == "CATS 2 NONE"
    assert watching.calls == [ToolCall(function.__name__, {"query": "cats", "limit": 2})]


def test_a_schema_is_derived_from_a_decorated_tool_as_from_the_function_itself() -> None:
    plain, wrapped = (anthropic.beta_tool(one) for one in (search, Stack(Shout()).tool(search)))
    assert wrapped.to_dict() == plain.to_dict()
    assert wrapped.call({"query": "cats", "limit": 2}) == "CATS 2 NONE"


def test_a_schema_is_derived_from_an_async_tool_too() -> None:
    wrapped = anthropic.beta_async_tool(Stack(Shout()).tool(search_async))
    assert (
        wrapped.to_dict()["input_schema"] == anthropic.beta_async_tool(search_async).to_dict()["input_schema"]
    )
    assert asyncio.run(wrapped.call({"query": "cats"})) == "CATS 5 NONE"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "seen"),
    [
        (lambda path, depth=1: path, ("a",), {}, {"path": "a"}),
        (lambda *paths: paths, ("a", "b"), {}, {"paths": ("a", "b")}),
        (lambda path, **more: path, ("a",), {"depth": 2}, {"path": "a", "depth": 2}),
        (lambda: "x", (), {}, {}),
    ],
)
def test_a_call_has_the_arguments_by_name(function: Any, args: Any, kwargs: Any, seen: Any) -> None:
    watching = Watching()
    wrap_function(function, Stack(watching), name="read")(*args, **kwargs)
    assert watching.calls == [ToolCall("read", seen)]


def test_wrong_arguments_are_refused_as_the_function_would() -> None:
    watching = Watching()
    with pytest.raises(TypeError, match="query"):
        Stack(watching).tool(search)()  # type: ignore[call-arg]
    assert watching.calls == []


def test_what_a_tool_raises_passes_through_as_it_is() -> None:
    error = LookupError("no such file")

    def read() -> str:
        raise error

    with pytest.raises(LookupError) as raised:
        Stack(Shout()).tool(read)()
    assert raised.value is error


def positional(path: str, /, *more: str, depth: int = 1, **rest: Any) -> Any:
    return path, more, depth, rest


@pytest.mark.parametrize(
    ("function", "changed", "result"),
    [
        (search, {"query": "dogs"}, "dogs 5 None"),
        (search_async, {"query": "dogs", "limit": 9}, "dogs 9 None"),
        (positional, {"path": "b", "more": ("c",), "depth": 2, "extra": 3}, ("b", ("c",), 2, {"extra": 3})),
    ],
)
def test_arguments_that_a_middleware_changed_are_what_the_tool_gets(
    function: Any, changed: Any, result: Any
) -> None:
    assert outcome(Stack(Watching(input=changed)).tool(function), "cats") == result


def test_a_changed_argument_that_the_tool_does_not_know_is_refused() -> None:
    with pytest.raises(TypeError, match="nonsense"):
        Stack(Watching(input={"query": "cats", "nonsense": 1})).tool(search)("cats")


def run_tool(name: str, tool_input: Any) -> str:
    return f"{name}: {tool_input}"


async def run_tool_async(name: str, tool_input: Any) -> str:
    return run_tool(name, tool_input)


@pytest.mark.parametrize("function", [run_tool, run_tool_async])
def test_a_dispatcher_is_told_from_its_parameters_and_called_by_the_tools_own_names(function: Any) -> None:
    watching = Watching()
    tool = Stack(watching, Shout()).tool(function)
    assert outcome(tool, "ls", {"path": "a"}) == "LS: {'PATH': 'A'}"
    assert watching.calls == [ToolCall("ls", {"path": "a"})]


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ('{"path": "a"}', {"path": "a"}),
        ("", {}),
        (None, {}),
        ("{broken", {"tool_input": "{broken"}),
        (["a"], {"tool_input": ["a"]}),
    ],
)
def test_a_dispatchers_input_may_be_json_text_as_openai_gives_it(given: Any, seen: Any) -> None:
    """Calls with different inputs must look different: a cache goes by them."""
    watching = Watching()
    assert Stack(watching).tool(run_tool)("ls", given) == f"ls: {given}"
    assert watching.calls == [ToolCall("ls", seen)]


@pytest.mark.parametrize(
    ("given", "gets"), [({"path": "a"}, "{'path': 'b'}"), ('{"path": "a"}', '{"path":"b"}')]
)
def test_a_dispatcher_gets_the_changed_call_in_the_form_it_was_given(given: Any, gets: str) -> None:
    tool = Stack(Watching(name="cat", input={"path": "b"})).tool(run_tool)
    assert tool("ls", given) == f"cat: {gets}"


def test_whether_a_function_dispatches_can_be_said() -> None:
    def copy(name: str, args: str) -> str:
        return f"{name} {args}"

    def route(what: str, how: Any, where: str) -> str:
        return f"{what} {how} {where}"

    watching = Watching()
    wrap_function(copy, Stack(watching), dispatches=False)("a", "b")
    wrap_function(route, Stack(watching), dispatches=True)("ls", {"path": "a"}, where="here")
    assert watching.calls == [ToolCall("copy", {"name": "a", "args": "b"}), ToolCall("ls", {"path": "a"})]
    assert (
        wrap_function(route, Stack(Watching(name="cat")), dispatches=True)("ls", {}, "here") == "cat {} here"
    )


def test_what_takes_no_tool_name_and_input_is_no_dispatcher() -> None:
    with pytest.raises(AttachError, match="takes no tool name and input"):
        wrap_function(lambda name: name, Stack(), dispatches=True)


def test_a_function_without_a_signature_is_refused_with_the_way_that_works() -> None:
    with pytest.raises(AttachError, match="wrap it in a `def` of your own"):
        wrap_function(type, Stack())


class Reader:
    """A tool that is an object."""

    def __call__(self, path: str) -> str:
        return path


class AsyncReader:
    async def __call__(self, path: str) -> str:
        return path


@pytest.mark.parametrize(
    ("function", "awaited"),
    [
        (search, False),
        (search_async, True),
        (Reader(), False),
        (AsyncReader(), True),
        (functools.partial(search_async, "cats"), True),
        (Reader().__call__, False),
    ],
)
def test_every_kind_of_callable_keeps_its_colour(function: Any, awaited: bool) -> None:
    tool = wrap_function(function, Stack())
    assert is_async(function) == is_async(tool) == awaited
    assert tool.__wrapped__ is function  # type: ignore[attr-defined]


def test_an_object_is_called_by_its_class_unless_a_name_is_given() -> None:
    watching = Watching()
    wrap_function(Reader(), Stack(watching))("a")
    wrap_function(Reader(), Stack(watching), name="read")("a")
    assert [call.name for call in watching.calls] == ["Reader", "read"]


@pytest.mark.parametrize("function", [search, search_async])
def test_a_middleware_cannot_ask_a_model_around_a_tool_call(function: Any) -> None:
    class Asks(Middleware):
        raises = (AttachError,)

        def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Any:
            yield request_of(ANTHROPIC, [])

    with pytest.raises(AttachError, match="a tool call has no model at hand"):
        outcome(Stack(Asks()).tool(function), "cats")
