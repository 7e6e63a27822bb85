"""Fakes for flows: a scripted edge, blocking and awaiting, and a runner that compares the two. No HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from ctxkit.drive import run, run_async
from ctxkit.errors import ModelCallFailed, UnknownToolError
from ctxkit.flow import Flow
from ctxkit.messages import ModelRequest, ModelResponse, ToolCall, ToolResult
from ctxkit.testing.answers import Script
from ctxkit.testing.playback import Content, Playback
from ctxkit.testing.prompt_cache import CacheRule
from ctxkit.testing.shapes import shape_named

T = TypeVar("T")


class ScriptedModel:
    """An edge that answers from a script: for `ctxkit.drive.run`, and with `awaiting` for `run_async`.

    A scripted failure arrives as `ModelCallFailed`, a scripted hang-up as `ConnectionError`. It never
    waits.

    Args:
        script: The answers, as for `ModelServer`.
        tools: The functions that run the tools, by name.
        price_cache: The rule of its `PromptCache`.

    Attributes:
        calls: Every model request and tool call that arrived, in order.
    """

    def __init__(
        self,
        script: Script,
        *,
        tools: Mapping[str, Callable[..., Any]] | None = None,
        price_cache: CacheRule = True,
    ) -> None:
        self.calls: list[ModelRequest | ToolCall] = []
        self._script = script
        self._tools = tools or {}
        self._price_cache = price_cache
        self._playback = Playback(script, price_cache=price_cache)

    @property
    def awaiting(self) -> AsyncScriptedModel:
        """The same edge, awaited."""
        return AsyncScriptedModel(self)

    def rewound(self) -> ScriptedModel:
        """The same edge as it was before its first call."""
        return ScriptedModel(self._script, tools=self._tools, price_cache=self._price_cache)

    def model(self, request: ModelRequest) -> ModelResponse:
        """The script's next answer.

        Raises:
            AssertionError: The script has run out.
            ConnectionError: The script hangs up.
            ModelCallFailed: The script answers with an error, or with something that is not JSON.
        """
        self.calls.append(request)
        answer, content = self._playback.play(request.body, shape_named(request.wire.name))
        if answer.after_bytes is not None:
            raise ConnectionError("the scripted model hung up")
        body = _parsed(content)
        if answer.status >= 400 or body is None:
            raise ModelCallFailed(answer.status, body, request=request)
        return ModelResponse(request.wire, body, request, status=answer.status)

    def tool(self, call: ToolCall) -> ToolResult:
        """What the tool's function gives back; what it raises passes through.

        Raises:
            UnknownToolError: There is no function of that name.
        """
        self.calls.append(call)
        if call.name not in self._tools:
            raise UnknownToolError(call.name, known=list(self._tools))
        result = self._tools[call.name](**call.input)
        return result if isinstance(result, ToolResult) else ToolResult(result)


class AsyncScriptedModel:
    """A `ScriptedModel` that is awaited, and gives way to the event loop once a call."""

    def __init__(self, scripted: ScriptedModel) -> None:
        self._scripted = scripted

    async def model(self, request: ModelRequest) -> ModelResponse:
        """The script's next answer."""
        await asyncio.sleep(0)
        return self._scripted.model(request)

    async def tool(self, call: ToolCall) -> ToolResult:
        """What the tool's function gives back."""
        await asyncio.sleep(0)
        return self._scripted.tool(call)


def both(flow: Callable[[], Flow[T]], edge: ScriptedModel) -> T:
    """Run a flow blocking and awaiting, and hold the two against each other.

    Args:
        flow: Makes the flow anew; called twice, so whatever remembers must be made inside.
        edge: Answers the blocking run; the awaiting one has the same edge, rewound.

    Returns:
        What the blocking run gave back; what it raised, it raises.

    Raises:
        AssertionError: The two differ in their outcome, or in what they asked the edge for.
    """
    twin = edge.rewound()
    awaited = _outcome(lambda: asyncio.run(run_async(flow(), twin.awaiting)))
    blocking = _outcome(lambda: run(flow(), edge))
    for name, one, other in (("outcome", blocking, awaited), ("calls", edge.calls, twin.calls)):
        if _comparable(one) != _comparable(other):
            raise AssertionError(f"{name}: blocking gave {one!r}, and awaiting {other!r}")
    value, error = blocking
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


def _outcome(finish: Callable[[], T]) -> tuple[T | None, Exception | None]:
    try:
        return finish(), None
    except Exception as error:
        return None, error


def _comparable(value: Any) -> Any:
    """A value in which requests, responses and errors are equal where what they hold is equal."""
    if isinstance(value, (list, tuple)):
        return [_comparable(item) for item in value]
    if isinstance(value, ModelResponse):
        return value.body, value.complete, value.status, _comparable(value.request)
    if isinstance(value, ModelRequest):
        return value.wire.name, value.body, value.purpose
    if isinstance(value, Exception):
        return type(value), str(value)
    return value


def _parsed(content: Content) -> Mapping[str, Any] | None:
    """The JSON object of an answer; `None` where it is none."""
    if not isinstance(content, bytes):
        return content
    with suppress(ValueError):
        parsed = json.loads(content)
        return parsed if isinstance(parsed, dict) else None
    return None
