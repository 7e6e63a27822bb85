"""An edge that writes summaries, and what goes out after them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import ctxkit
from ctxkit.drive import run
from ctxkit.messages import ModelRequest, ModelResponse, ToolCall, ToolResult
from support.bodies import answer_to

SHORT = "A short form."
Write = Callable[[ModelRequest], str]


class Edge:
    """Answers side calls with what `write` gives, and all others with `Done.`"""

    def __init__(self, write: Write = lambda request: SHORT, **more: Any) -> None:
        self.write, self.more = write, more
        self.side: list[ModelRequest] = []
        self.main: list[ModelRequest] = []

    def model(self, request: ModelRequest) -> ModelResponse:
        if request.purpose == "main":
            self.main.append(request)
            return answer_to(request)
        self.side.append(request)
        return answer_to(request, self.write(request), **self.more)

    def tool(self, call: ToolCall) -> ToolResult:
        raise AssertionError(call)


class AsyncEdge:
    def __init__(self, edge: Edge) -> None:
        self.edge = edge

    async def model(self, request: ModelRequest) -> ModelResponse:
        await asyncio.sleep(0.01)
        return self.edge.model(request)

    async def tool(self, call: ToolCall) -> ToolResult:
        raise AssertionError(call)


def ask(middleware: ctxkit.Middleware, request: ModelRequest, edge: Edge) -> ModelRequest:
    """The main request as it was sent."""
    return run(ctxkit.Stack(middleware).model_flow(request), edge).request


def shown(request: ModelRequest) -> list[str]:
    return [block.text for block in request.tool_results()]
