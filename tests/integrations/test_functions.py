"""`wrap_tool`, and what may stand around a tool function."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import replace
from typing import Any

import pytest

import ctxkit
from ctxkit.errors import AttachError
from ctxkit.flow import Flow, Middleware, ToolNext
from ctxkit.integrations.functions import wrap_tool
from ctxkit.messages import ToolCall, ToolResult


class Shout(Middleware):
    """Changes every result."""

    def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Flow[ToolResult]:
        result = yield from call_next(call)
        return replace(result, content=result.content.upper())


def read_file(path: str) -> str:
    """Reads."""
    return f"content of {path}"


async def read_file_async(path: str) -> str:
    return read_file(path)


def run_tool(name: str, tool_input: dict[str, Any]) -> str:
    return f"{name} {tool_input}"


@pytest.mark.parametrize(
    "stack", [Shout(), ctxkit.Stack(Shout()), ctxkit.Stack(ctxkit.TokenMeter(), Shout())]
)
def test_a_tool_is_wrapped_by_one_middleware_or_a_stack(stack: Middleware) -> None:
    tool = wrap_tool(read_file, stack)
    assert tool(path="a.py") == "CONTENT OF A.PY"
    assert inspect.signature(tool) == inspect.signature(read_file)


def test_an_async_tool_stays_async() -> None:
    assert asyncio.run(wrap_tool(read_file_async, Shout())("a.py")) == "CONTENT OF A.PY"  # type: ignore[arg-type]


def test_a_dispatcher_is_wrapped_once_for_all_its_tools() -> None:
    ran: list[str] = []

    def run_tool(name: str, tool_input: str) -> str:
        ran.append(f"{name} {tool_input}")
        return f"{name} {tool_input}"

    tool = wrap_tool(run_tool, ctxkit.Stack(Shout(), ctxkit.CacheToolResults(["read"])))
    said = [tool(name, path) for name in ("read", "write") for path in ('{"path":"a"}', '{"path":"b"}') * 2]
    assert (
        said
        == ['READ {"PATH":"A"}', 'READ {"PATH":"B"}'] * 2 + ['WRITE {"PATH":"A"}', 'WRITE {"PATH":"B"}'] * 2
    )
    assert len(ran) == 6


def test_a_name_can_be_given() -> None:
    class Tags(Middleware):
        def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Flow[ToolResult]:
            result = yield from call_next(call)
            return replace(result, content=f"{call.name}: {result.content}")

    assert wrap_tool(read_file, Tags(), name="read")("a") == "read: content of a"
    assert wrap_tool(run_tool, Tags(), dispatches=False)("ls", {}) == "run_tool: ls {}"


def test_what_only_wraps_model_calls_is_refused_with_the_way_that_works() -> None:
    with pytest.raises(AttachError, match=r"TokenMeter, TrimHistory wraps model calls.*ctxkit\.wrap"):
        wrap_tool(read_file, ctxkit.Stack(ctxkit.TokenMeter(), ctxkit.TrimHistory()))


def test_an_empty_stack_is_no_mistake() -> None:
    assert wrap_tool(read_file, ctxkit.Stack())("a") == "content of a"
