"""Streams of OpenAI's Chat Completions API: chunks to a finished answer, and a finished answer to chunks.

A chunk with `choices: []` carries usage, and only where `stream_options.include_usage` asks for it. Read
from the `openai` SDK 3.57.0 on 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ctxkit.wire.sse import encode

_APPENDED = ("content", "refusal", "reasoning_content", "reasoning")
_NOT_KEPT = ("choices", "object", "usage")


class OpenAIChatAccumulator:
    """Builds a `chat.completion` from its chunks."""

    def __init__(self) -> None:
        self._body: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}
        self._over = False

    @property
    def complete(self) -> bool:
        """Whether every choice has its finish reason, or the stream said `[DONE]`."""
        finished = [choice.get("finish_reason") is not None for choice in self._choices.values()]
        return self._over or (bool(finished) and all(finished))

    def feed(self, event: Any) -> None:
        """Take the next chunk's JSON, or the text `[DONE]`."""
        if event == "[DONE]":
            self._over = bool(self._choices)
        if not isinstance(event, Mapping) or "error" in event:
            return
        for key, value in event.items():
            if key not in _NOT_KEPT and value is not None:
                self._body[key] = value
        if isinstance(event.get("usage"), Mapping):
            self._body["usage"] = event["usage"]
        for part in event.get("choices") or []:
            if isinstance(part, Mapping):
                self._choice(part)

    def _choice(self, part: Mapping[str, Any]) -> None:
        index = part.get("index") or 0
        choice = self._choices.setdefault(index, {"index": index, "message": {"role": "assistant", "content": None}})
        choice["finish_reason"] = part.get("finish_reason") or choice.get("finish_reason")
        delta = part.get("delta")
        if isinstance(delta, Mapping):
            _merge(choice["message"], delta)

    def finish(self) -> dict[str, Any] | None:
        """The answer's body from what arrived so far."""
        if not self._body and not self._choices:
            return None
        choices = [_closed(self._choices[index]) for index in sorted(self._choices)]
        return {**self._body, "object": "chat.completion", "choices": choices}


def _merge(message: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for key, value in delta.items():
        if value is None:
            continue
        if key in _APPENDED and isinstance(value, str):
            message[key] = (message.get(key) or "") + value
        elif key == "tool_calls" and isinstance(value, list):
            calls = message.setdefault("tool_calls", {})
            for part in value:
                if isinstance(part, Mapping):
                    _merge_call(calls.setdefault(part.get("index", len(calls)), {}), part)
        elif key == "function_call" and isinstance(value, Mapping):
            _merge_named(message.setdefault("function_call", {}), value)
        else:
            message[key] = value


def _merge_call(call: dict[str, Any], part: Mapping[str, Any]) -> None:
    for key, value in part.items():
        if key in ("function", "custom") and isinstance(value, Mapping):
            _merge_named(call.setdefault(key, {}), value)
        elif key != "index" and value is not None:
            call[key] = value


def _merge_named(target: dict[str, Any], part: Mapping[str, Any]) -> None:
    for key, value in part.items():
        if key in ("arguments", "input"):
            target[key] = target.get(key, "") + (value or "")
        elif value is not None:
            target[key] = value


def _closed(choice: Mapping[str, Any]) -> dict[str, Any]:
    message = dict(choice["message"])
    if "tool_calls" in message:
        message["tool_calls"] = list(message["tool_calls"].values())
    return {**choice, "message": message}


def chunks(body: Mapping[str, Any], *, include_usage: bool) -> Iterator[bytes]:
    """A finished answer as the chunks that would have streamed it, `[DONE]` last."""
    shared = {key: value for key, value in body.items() if key not in _NOT_KEPT}
    shared["object"] = "chat.completion.chunk"
    if include_usage:
        shared["usage"] = None
    for choice in body.get("choices") or []:
        index = choice.get("index", 0)
        for delta in _deltas(choice.get("message") or {}):
            part = {"index": index, "delta": delta, "finish_reason": None}
            yield encode({**shared, "choices": [part]})
        last = {"index": index, "delta": {}, "finish_reason": choice.get("finish_reason")}
        yield encode({**shared, "choices": [last]})
    if include_usage:
        yield encode({**shared, "choices": [], "usage": body.get("usage")})
    yield encode("[DONE]")


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    calls = message.get("tool_calls") or []
    yield {key: value for key, value in message.items() if key not in (*_APPENDED, "tool_calls")}
    for key in _APPENDED:
        if message.get(key):
            yield {key: message[key]}
    for index, call in enumerate(calls):
        yield {"tool_calls": [{**call, "index": index}]}
