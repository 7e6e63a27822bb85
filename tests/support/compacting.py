"""Long tool loops on every wire, and what `SummarizeHistory` sends of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import ctxkit
from ctxkit.drive import run
from ctxkit.messages import Histories, ModelRequest
from ctxkit.wire import wire_named
from support.bodies import ANTHROPIC, GEMINI, OPENAI, RESPONSES, calls, request_of, results, user
from support.summaries import Edge

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa " * 12
TOOLS: dict[str, list[Any]] = {
    ANTHROPIC: [{"name": "search", "input_schema": {"type": "object"}}],
    OPENAI: [{"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}],
    RESPONSES: [{"type": "function", "name": "search", "parameters": {"type": "object"}, "strict": False}],
    GEMINI: [{"functionDeclarations": [{"name": "search", "parameters": {"type": "OBJECT"}}]}],
}
# Small sizes, so that a loop of a few steps is long.
SMALL = {"start_tokens": 1_000, "keep_steps": 2, "max_tokens": 300, "every_requests": 1}


def says(wire: str, text: str) -> dict[str, Any]:
    """A user's message."""
    return {"role": "user", "parts": [{"text": text}]} if wire == GEMINI else user(text)


def step(wire: str, name: str, text: str = WORDS) -> list[Any]:
    """A call and its result, which names itself."""
    asked, found = {"path": f"src/{name}.py"}, f"{name}: {text}"
    if wire == RESPONSES:
        call = {"type": "function_call", "call_id": name, "name": "search", "arguments": json.dumps(asked)}
        return [call, {"type": "function_call_output", "call_id": name, "output": found}]
    if wire == GEMINI:
        call = {"functionCall": {"name": "search", "args": asked}}
        response = {"functionResponse": {"name": "search", "response": {"result": found}}}
        return [{"role": "model", "parts": [call]}, {"role": "user", "parts": [response]}]
    return [calls(wire, name, inputs=asked), *results(wire, {name: found})]


def loop(wire: str, steps: int, *, first: int = 0) -> list[Any]:
    """A question and so many steps, called `step_0` and so on."""
    question = [] if first else [says(wire, "Find the bug.")]
    return [
        *question,
        *(message for number in range(first, steps) for message in step(wire, f"step_{number}")),
    ]


def request(wire: str, messages: Sequence[Any], **more: Any) -> ModelRequest:
    """A request with the tool."""
    return request_of(wire, json.loads(json.dumps(messages)), **{"tools": TOOLS[wire], **more})


def sent(
    middleware: ctxkit.Middleware, edge: Edge, messages: Sequence[Any], *, wire: str = ANTHROPIC, **more: Any
) -> list[Any]:
    """The messages of the main request as they arrive."""
    run(ctxkit.Stack(middleware).model_flow(request(wire, messages, **more)), edge)
    return native(edge.main[-1])


def grown(
    middleware: ctxkit.Middleware, edge: Edge, steps: int, *, wire: str = ANTHROPIC, **more: Any
) -> list[list[Any]]:
    """What arrives of each request of a loop that grows step by step."""
    histories = Histories()
    lengths = [len(loop(wire, number)) for number in range(steps + 1)]
    whole = loop(wire, steps)
    return [
        sent(middleware, edge, whole[:length], wire=wire, histories=histories, **more) for length in lengths
    ]


def native(made: ModelRequest) -> list[Any]:
    """The native messages of a request."""
    return list(wire_named(made.wire.name).messages(made.body))


def texts(messages: Sequence[Any]) -> str:
    """All that stands in messages."""
    return json.dumps(messages)
