"""Streams of Anthropic's Messages API: events to a finished answer, and a finished answer to events.

Usage in `message_delta` is cumulative and overwrites; only `message_stop` ends an answer. Read from the
`anthropic` SDK 2.14.0 on 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ctxkit.wire.native import dumps, parsed_input
from ctxkit.wire.sse import encode

# A delta appends to one field of its block: the delta's type, its own key, the block's key.
_APPENDED = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "compaction_delta": ("content", "content"),
}


class AnthropicAccumulator:
    """Builds the answer from `message_start` to `message_stop`."""

    def __init__(self) -> None:
        self._message: dict[str, Any] | None = None
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}
        self.complete = False

    def feed(self, event: Any) -> None:
        """Take the next event's JSON; events and deltas that are not known are passed over."""
        kind = event.get("type") if isinstance(event, Mapping) else None
        if kind == "message_start" and isinstance(event.get("message"), Mapping):
            self._message = dict(event["message"])
        elif kind == "content_block_start" and isinstance(event.get("content_block"), Mapping):
            self._blocks[event.get("index", len(self._blocks))] = dict(event["content_block"])
        elif kind == "content_block_delta" and isinstance(event.get("delta"), Mapping):
            self._delta(event.get("index", 0), event["delta"])
        elif kind == "message_delta":
            self._message_delta(event)
        elif kind == "message_stop":
            self.complete = True

    def _delta(self, index: int, delta: Mapping[str, Any]) -> None:
        target = self._blocks.setdefault(index, {})
        kind = delta.get("type")
        if kind == "input_json_delta":
            self._inputs[index] = self._inputs.get(index, "") + str(delta.get("partial_json", ""))
        elif kind == "citations_delta":
            target["citations"] = [*(target.get("citations") or []), delta.get("citation")]
        elif kind in _APPENDED:
            source, field = _APPENDED[kind]
            target[field] = (target.get(field) or "") + str(delta.get(source) or "")

    def _message_delta(self, event: Mapping[str, Any]) -> None:
        message = self._message = {} if self._message is None else self._message
        delta, usage = event.get("delta"), event.get("usage")
        if isinstance(delta, Mapping):
            message.update(delta)
        if isinstance(usage, Mapping):
            known = {key: value for key, value in usage.items() if value is not None}
            message["usage"] = {**(message.get("usage") or {}), **known}
        for key, value in event.items():
            if key not in ("type", "delta", "usage"):
                message[key] = value

    def finish(self) -> dict[str, Any] | None:
        """The answer's body from what arrived so far."""
        if self._message is None and not self._blocks:
            return None
        content = []
        for index in sorted(self._blocks):
            made = self._blocks[index]
            if index in self._inputs:
                made = {**made, "input": parsed_input(self._inputs[index])}
            content.append(made)
        return {**(self._message or {}), "content": content}


def events(body: Mapping[str, Any]) -> Iterator[bytes]:
    """A finished answer as the events that would have streamed it."""
    usage = dict(body.get("usage") or {})
    opening = {**usage, "output_tokens": min(1, usage.get("output_tokens") or 0)} if usage else usage
    start = {**body, "content": [], "stop_reason": None, "stop_sequence": None, "usage": opening}
    yield _event({"type": "message_start", "message": start})
    for index, made in enumerate(body.get("content") or []):
        opened, deltas = _opened(made)
        yield _event({"type": "content_block_start", "index": index, "content_block": opened})
        for delta in deltas:
            yield _event({"type": "content_block_delta", "index": index, "delta": delta})
        yield _event({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": body.get("stop_reason"), "stop_sequence": body.get("stop_sequence")}
    yield _event({"type": "message_delta", "delta": delta, "usage": usage})
    yield _event({"type": "message_stop"})


def _opened(made: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it starts in a stream, and the deltas that complete it."""
    kind = made.get("type")
    if kind == "text":
        deltas = [{"type": "citations_delta", "citation": one} for one in made.get("citations") or []]
        return {**made, "text": ""}, [*deltas, {"type": "text_delta", "text": made.get("text") or ""}]
    if kind == "thinking":
        return {**made, "thinking": "", "signature": ""}, [
            {"type": "thinking_delta", "thinking": made.get("thinking") or ""},
            {"type": "signature_delta", "signature": made.get("signature") or ""},
        ]
    if isinstance(made.get("input"), Mapping):
        partial = dumps(made["input"]).decode()
        return {**made, "input": {}}, [{"type": "input_json_delta", "partial_json": partial}]
    return dict(made), []


def _event(data: Mapping[str, Any]) -> bytes:
    return encode(data, name=str(data["type"]))
