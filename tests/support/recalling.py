"""A tool-use loop on every wire whose model reads hidden results: what it says, and what its caller does."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from ctxkit.messages import Histories, ModelRequest, ModelResponse, ToolCall
from ctxkit.originals import RECALL_TOOL
from ctxkit.wire import wire_named
from support.bodies import ANTHROPIC, GEMINI, OPENAI, RESPONSES, answer_body

Call = tuple[str, str, Mapping[str, Any]]
SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}}
TOOLS: Mapping[str, list[Any]] = {
    ANTHROPIC: [{"name": "search", "input_schema": SCHEMA}],
    OPENAI: [{"type": "function", "function": {"name": "search", "parameters": SCHEMA}}],
    RESPONSES: [{"type": "function", "name": "search", "parameters": SCHEMA, "strict": False}],
    GEMINI: [{"functionDeclarations": [{"name": "search", "parameters": SCHEMA}]}],
}


def reading(number: int, handle: str, **part: Any) -> Call:
    """A call of the tool that reads."""
    return f"r{number}", RECALL_TOOL, {"handle": handle, **part}


def searching(number: int) -> Call:
    """A call of the caller's own tool."""
    return f"s{number}", "search", {"query": f"number {number}"}


def answer(wire: str, text: str = "", calls: Sequence[Call] = (), *, thinking: str = "") -> dict[str, Any]:
    """A response body in which the model thinks, speaks and calls tools."""
    return {**answer_body(wire, text), **_ANSWERS[wire](text, calls, thinking)}


def _anthropic(text: str, calls: Sequence[Call], thinking: str) -> dict[str, Any]:
    thought = [{"type": "thinking", "thinking": thinking, "signature": "s"}] if thinking else []
    said = [{"type": "text", "text": text}] if text else []
    uses = [{"type": "tool_use", "id": one, "name": name, "input": given} for one, name, given in calls]
    return {"content": [*thought, *said, *uses], "stop_reason": "tool_use" if calls else "end_turn"}


def _chat(text: str, calls: Sequence[Call], thinking: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": None}
    if thinking:
        message["reasoning_content"] = thinking
    if calls:
        message["tool_calls"] = [
            {"id": one, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for one, name, given in calls
        ]
    reason = "tool_calls" if calls else "stop"
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}


def _responses(text: str, calls: Sequence[Call], thinking: str) -> dict[str, Any]:
    items: list[Any] = []
    if thinking:
        items.append({"type": "reasoning", "id": f"rs_{thinking}", "summary": [], "encrypted_content": "e"})
    if text:
        items += [{**answer_body(RESPONSES, text)["output"][0], "id": f"msg_{text}"}]
    for one, name, given in calls:
        made = {"call_id": one, "name": name, "arguments": json.dumps(given), "status": "completed"}
        items.append({"type": "function_call", "id": f"fc_{one}", **made})
    return {"output": items}


def _gemini(text: str, calls: Sequence[Call], thinking: str) -> dict[str, Any]:
    parts: list[Any] = [{"text": thinking, "thought": True}] if thinking else []
    parts += [{"text": text}] if text else []
    parts += [{"functionCall": {"id": one, "name": name, "args": given}} for one, name, given in calls]
    content = {"role": "model", "parts": parts}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}


_ANSWERS: Mapping[str, Callable[[str, Sequence[Call], str], dict[str, Any]]] = {
    ANTHROPIC: _anthropic,
    OPENAI: _chat,
    RESPONSES: _responses,
    GEMINI: _gemini,
}


class Model:
    """An edge of both colours that gives one response body after the other, on any wire.

    Attributes:
        requests: What arrived, in order.
    """

    def __init__(self, *answers: Any) -> None:
        self.requests: list[ModelRequest] = []
        self._answers = iter(answers)

    def model(self, request: ModelRequest) -> ModelResponse:
        self.requests.append(request)
        body = next(self._answers)
        if isinstance(body, Exception):
            raise body
        return ModelResponse(request.wire, deepcopy(body), request)

    def tool(self, call: ToolCall) -> Any:
        raise AssertionError(call)

    @property
    def messages(self) -> list[list[Any]]:
        """The messages of the requests that arrived."""
        return [list(request.wire.messages(request.body)) for request in self.requests]


class Caller:
    """A caller's history: it takes over answers and adds results, as loops do, and knows of no recall."""

    def __init__(self, wire: str, *, question: str = "Find the bug.", **head: Any) -> None:
        self.wire = wire
        self.head = {"model": "m", "tools": TOOLS[wire], **head}
        self.messages: list[Any] = []
        self.ask(question)

    def ask(self, question: str) -> None:
        """The user speaks."""
        said = {"parts": [{"text": question}]} if self.wire == GEMINI else {"content": question}
        self.messages.append({"role": "user", **said})

    def take(self, response: ModelResponse, text: str) -> None:
        """Take over an answer, and give each of its calls a result with this text."""
        body = response.body
        if self.wire == ANTHROPIC:
            self.messages.append({"role": "assistant", "content": body["content"]})
        elif self.wire == OPENAI:
            self.messages.append(body["choices"][0]["message"])
        elif self.wire == RESPONSES:
            self.messages += body["output"]
        else:
            self.messages.append(body["candidates"][0]["content"])
        wire = wire_named(self.wire)
        results = [
            wire.result(call, f"{text} of {call.call_id}", is_error=False) for call in response.tool_calls
        ]
        if self.wire == ANTHROPIC:
            self.messages += [{"role": "user", "content": results}] if results else []
        elif self.wire == GEMINI:
            self.messages += [{"role": "user", "parts": results}] if results else []
        else:
            self.messages += results

    def request(self, histories: Histories | None = None) -> ModelRequest:
        """The next request."""
        wire = wire_named(self.wire)
        body = {**self.head, wire.messages_key: deepcopy(self.messages)}
        return ModelRequest(wire, body, histories=histories or Histories())


def read_texts(messages: Sequence[Any], wire: str) -> list[str]:
    """What the tool gave, in order."""
    request = ModelRequest(wire_named(wire), {wire_named(wire).messages_key: list(messages)})
    return [block.text for block in request.tool_results() if block.tool == RECALL_TOOL]
