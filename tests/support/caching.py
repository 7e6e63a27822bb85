"""A cache around a tool, asked blocking or awaiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import ctxkit
from ctxkit.drive import run, run_async
from ctxkit.messages import ToolCall, ToolResult
from ctxkit.testing import ScriptedModel


class Clock:
    """Stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Tool:
    """A tool that numbers its runs."""

    def __init__(self, *, fails: int = 0) -> None:
        self.inputs: list[Any] = []
        self._fails = fails

    def __call__(self, **given: Any) -> Any:
        self.inputs.append(given)
        if len(self.inputs) <= self._fails:
            raise OSError("not now")
        return f"run {len(self.inputs)}"


def asking(
    cache: ctxkit.CacheToolResults, tool: Callable[..., Any], runner: asyncio.Runner | None = None
) -> Callable[..., ToolResult]:
    """Calls the tool by any name, with the cache around it."""

    def ask(name: str = "look", /, **given: Any) -> ToolResult:
        edge = ScriptedModel([], tools={name: tool})
        flow = ctxkit.Stack(cache).tool_flow(ToolCall(name, given))
        return run(flow, edge) if runner is None else runner.run(run_async(flow, edge.awaiting))

    return ask


def cached(tool: Callable[..., Any], *tools: str, **options: Any) -> Callable[..., ToolResult]:
    """Like `asking`, with a cache made for it."""
    return asking(ctxkit.CacheToolResults(tools or ["look"], **options), tool)
