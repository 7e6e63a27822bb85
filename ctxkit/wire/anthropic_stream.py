"""Streams of Anthropic's Messages API: events to a finished answer, and a finished answer to events.

Usage in `message_delta` is cumulative and overwrites; only `message_stop` ends an answer. Read from the
`anthropic` SDK 2.14.0 on 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ctxkit.errors import BodyError
from ctxkit.wire.native import body_object, dumps, items, parsed_input, string, text
from ctxkit.wire.sse import encode
from ctxkit.wire.usage_fields import known, mapping

# Which fields of a block arrive piece by piece; each has a delta of its own name.
_STREAMED: Mapping[str, tuple[str, ...]] = {"text": ("text",), "thinking": ("thinking", "signature")}
_APPENDED = {f"{field}_delta": field for fields in _STREAMED.values() for field in fields}
# What is only known when the answer ends, beside its usage.
_ENDING = ("stop_reason", "stop_sequence", "stop_details", "container")


class AnthropicAccumulator:
    """Builds the answer from `message_start` to `message_stop`."""

    def __init__(self) -> None:
        self._message: dict[str, Any] | None = None
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}
        self.complete = False

    def feed(self, event: Any) -> None:
        """Take the next event's JSON; events and deltas that are not known are passed over.

        Raises:
            BodyError: The event is malformed; what came before it is kept.
        """
        kind = event.get("type") if isinstance(event, Mapping) else None
        if kind == "message_start" and isinstance(event.get("message"), Mapping):
            self._message, self._blocks, self._inputs = dict(event["message"]), {}, {}
        elif kind == "content_block_start" and isinstance(event.get("content_block"), Mapping):
            self._start(_index(event), event["content_block"])
        elif kind == "content_block_delta" and isinstance(event.get("delta"), Mapping):
            self._delta(_index(event), event["delta"])
        elif kind == "message_delta":
            self._message_delta(event)
        elif kind == "message_stop":
            self.complete = True

    def _start(self, index: int, block: Mapping[str, Any]) -> None:
        self._blocks[index] = dict(block)
        model = mapping(block.get("to")).get("model")
        if block.get("type") == "fallback" and model:
            self._message = {**(self._message or {}), "model": model}

    def _delta(self, index: int, delta: Mapping[str, Any]) -> None:
        target = self._blocks.setdefault(index, {})
        kind = string(delta.get("type"))
        if kind == "input_json_delta":
            self._inputs[index] = self._inputs.get(index, "") + text(delta.get("partial_json"))
        elif kind == "citations_delta":
            target["citations"] = [*items(target.get("citations"), ("citations",)), delta.get("citation")]
        elif kind == "compaction_delta":
            target.update({key: value for key, value in delta.items() if key != "type"})
        elif kind in _APPENDED:
            field = _APPENDED[kind]
            target[field] = text(target.get(field)) + text(delta.get(field))

    def _message_delta(self, event: Mapping[str, Any]) -> None:
        message = self._message = {} if self._message is None else self._message
        delta, usage = event.get("delta"), event.get("usage")
        if isinstance(delta, Mapping):
            message.update(delta)
        if isinstance(usage, Mapping):
            reported = {key: value for key, value in usage.items() if value is not None}
            message["usage"] = {**mapping(message.get("usage")), **reported}
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
    """A finished answer as the events that would have streamed it.

    Raises:
        BodyError: The answer is malformed.
    """
    usage = mapping(body.get("usage"))
    opening = {**usage, "output_tokens": min(1, known(usage.get("output_tokens")) or 0)} if usage else usage
    unknown = {key: None for key in _ENDING if key in body}
    yield _event({"type": "message_start", "message": {**body, **unknown, "content": [], "usage": opening}})
    for index, made in enumerate(items(body.get("content"), ("content",))):
        opened, deltas = _opened(body_object(made, what=f"content.{index}"))
        yield _event({"type": "content_block_start", "index": index, "content_block": opened})
        for delta in deltas:
            yield _event({"type": "content_block_delta", "index": index, "delta": delta})
        yield _event({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": None, **{key: body[key] for key in _ENDING if key in body}}
    yield _event({"type": "message_delta", "delta": ending, "usage": {"output_tokens": 0, **usage}})
    yield _event({"type": "message_stop"})


def _opened(made: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it starts in a stream, and the deltas that complete it."""
    opened = dict(made)
    deltas: list[dict[str, Any]] = []
    if made.get("citations") and made.get("type") == "text":
        opened["citations"] = []
        cited = items(made["citations"], ("citations",))
        deltas += [{"type": "citations_delta", "citation": one} for one in cited]
    for field in _STREAMED.get(text(made.get("type")), ()):
        if made.get(field):
            opened[field] = ""
            deltas.append({"type": f"{field}_delta", field: text(made[field])})
    if isinstance(made.get("input"), Mapping):
        opened["input"] = {}
        deltas.append({"type": "input_json_delta", "partial_json": dumps(made["input"]).decode()})
    return opened, deltas


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("index")
    if not isinstance(index, int):
        raise BodyError(f"an event's index must be a number, not {type(index).__name__}", where=("index",))
    return index


def _event(data: Mapping[str, Any]) -> bytes:
    return encode(data, name=str(data["type"]))
