"""Streams of OpenAI's Responses API: events to a finished answer, and a finished answer to events.

The event that ends an answer holds the whole of it, so what is put together here from deltas is only the
answer that broke off. Read from the types of the `openai` SDK 3.57.0 on 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ctxkit.errors import BodyError
from ctxkit.wire.native import body_object, items, string, text
from ctxkit.wire.sse import encode

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
# The lists of an item that arrive part by part, and how an event says which part it means.
_INDEX: Mapping[str, str] = {"summary": "summary_index", "content": "content_index"}
# The events that make the parts of a list, by what their names begin with.
_PARTS: Mapping[str, str] = {
    "response.content_part": "content",
    "response.reasoning_part": "content",
    "response.reasoning_summary_part": "summary",
}
# The events that make a part's text: the list it stands in, its type, and its field.
_TEXTS: Mapping[str, tuple[str, str, str]] = {
    "response.output_text": ("content", "output_text", "text"),
    "response.refusal": ("content", "refusal", "refusal"),
    "response.reasoning_text": ("content", "reasoning_text", "text"),
    "response.reasoning_summary_text": ("summary", "summary_text", "text"),
}
# The events that make a text of an item's own: the item's type, and its field.
_FIELDS: Mapping[str, tuple[str, str]] = {
    "response.function_call_arguments": ("function_call", "arguments"),
    "response.mcp_call_arguments": ("mcp_call", "arguments"),
    "response.custom_tool_call_input": ("custom_tool_call", "input"),
    "response.code_interpreter_call_code": ("code_interpreter_call", "code"),
}
_PART_TEXTS = {(key, kind): (stem, field) for stem, (key, kind, field) in _TEXTS.items()}
_ITEM_TEXTS = {kind: (stem, field) for stem, (kind, field) in _FIELDS.items()}
# What is only known when an answer ends.
_ENDING = ("completed_at", "error", "incomplete_details", "tool_usage", "usage")


class OpenAIResponsesAccumulator:
    """Builds a `response` from its events."""

    def __init__(self) -> None:
        self._response: Mapping[str, Any] = {}
        self._items: dict[int, dict[str, Any]] = {}
        self._parts: dict[int, dict[str, dict[int, dict[str, Any]]]] = {}
        self.complete = False

    def feed(self, event: Any) -> None:
        """Take the next event's JSON; events that are not known are passed over.

        Raises:
            BodyError: The event is malformed; what came before it is kept.
        """
        if not isinstance(event, Mapping):
            return
        kind = string(event.get("type")) or ""
        stem, _, step = kind.rpartition(".")
        if isinstance(event.get("response"), Mapping):
            self._response = event["response"]
            self.complete = kind in _ENDS
        elif stem == "response.output_item" and isinstance(event.get("item"), Mapping):
            index = _index(event, "output_index")
            self._items[index] = dict(event["item"])
            self._parts.pop(index, None)
        elif stem in _PARTS and isinstance(event.get("part"), Mapping):
            self._part(event, _PARTS[stem]).update(event["part"])
        elif stem in _TEXTS:
            key, part_type, field = _TEXTS[stem]
            part = self._part(event, key)
            part.setdefault("type", part_type)
            _grow(part, field, event, step)
        elif stem in _FIELDS:
            item_type, field = _FIELDS[stem]
            item = self._items.setdefault(_index(event, "output_index"), {"type": item_type})
            _grow(item, field, event, step)

    def _part(self, event: Mapping[str, Any], key: str) -> dict[str, Any]:
        """The part that an event adds to."""
        parts = self._parts.setdefault(_index(event, "output_index"), {}).setdefault(key, {})
        return parts.setdefault(_index(event, _INDEX[key]), {})

    def finish(self) -> dict[str, Any] | None:
        """The answer's body from what arrived so far."""
        if not self._response and not self._items and not self._parts:
            return None
        output = [self._item(index) for index in sorted({*self._items, *self._parts})]
        return {**self._response, "output": self._response.get("output") or output}

    def _item(self, index: int) -> dict[str, Any]:
        streamed = self._parts.get(index, {})
        lists = {key: [parts[place] for place in sorted(parts)] for key, parts in streamed.items()}
        return {**self._items.get(index, {}), **lists}


def _grow(target: dict[str, Any], field: str, event: Mapping[str, Any], step: str) -> None:
    """Add a delta to a text, or replace it by the whole that comes when it is done."""
    if step == "delta":
        target[field] = text(target.get(field)) + text(event.get("delta"))
    elif isinstance(event.get(field), str):
        target[field] = event[field]


def _index(event: Mapping[str, Any], key: str) -> int:
    index = event.get(key)
    if not isinstance(index, int):
        raise BodyError(f"an event's {key} must be a number, not {type(index).__name__}", where=(key,))
    return index


def events(body: Mapping[str, Any]) -> Iterator[bytes]:
    """A finished answer as the events that would have streamed it.

    Raises:
        BodyError: The answer is malformed.
    """
    for number, event in enumerate(_events(body)):
        yield encode({**event, "sequence_number": number}, name=event["type"])


def _events(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    output = items(body.get("output"), ("output",))
    unknown = {key: None for key in _ENDING if key in body}
    opened = {**body, **unknown, "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": opened}
    yield {"type": "response.in_progress", "response": opened}
    for index, item in enumerate(output):
        yield from _item_events(body_object(item, what=f"output.{index}"), index)
    end = f"response.{body.get('status')}"
    ended = {**body, "output": output}
    yield {"type": end if end in _ENDS else "response.completed", "response": ended}


def _item_events(item: Mapping[str, Any], index: int) -> Iterator[dict[str, Any]]:
    at = {"item_id": text(item.get("id")), "output_index": index}
    opened = dict(item)
    if "status" in item:
        opened["status"] = "in_progress"
    lists = [key for key in _INDEX if isinstance(item.get(key), list)]
    for key in lists:
        opened[key] = []
    stem, field = _ITEM_TEXTS.get(string(item.get("type")) or "", ("", ""))
    streamed = item.get(field)
    if isinstance(streamed, str):
        opened[field] = ""
    yield {"type": "response.output_item.added", "output_index": index, "item": opened}
    for key in lists:
        for position, part in enumerate(item[key]):
            place = {**at, _INDEX[key]: position}
            yield from _part_events(body_object(part, what=f"output.{index}.{key}.{position}"), key, place)
    if isinstance(streamed, str):
        yield {"type": f"{stem}.delta", **at, "delta": streamed}
        yield {"type": f"{stem}.done", **at, field: streamed}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _part_events(part: Mapping[str, Any], key: str, at: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    frame = "response.reasoning_summary_part" if key == "summary" else "response.content_part"
    stem, field = _PART_TEXTS.get((key, string(part.get("type")) or ""), ("", ""))
    streamed = part.get(field)
    annotations = items(part.get("annotations"), ("annotations",))
    if not isinstance(streamed, str):
        yield {"type": f"{frame}.added", **at, "part": part}
        yield {"type": f"{frame}.done", **at, "part": part}
        return
    if stem == "response.output_text":
        at = {**at, "logprobs": []}
    opened = {**part, field: ""}
    if annotations:
        opened["annotations"] = []
    yield {"type": f"{frame}.added", **at, "part": opened}
    yield {"type": f"{stem}.delta", **at, "delta": streamed}
    for number, annotation in enumerate(annotations):
        noted = {"annotation_index": number, "annotation": annotation}
        yield {"type": "response.output_text.annotation.added", **at, **noted}
    yield {"type": f"{stem}.done", **at, field: streamed}
    yield {"type": f"{frame}.done", **at, "part": part}
