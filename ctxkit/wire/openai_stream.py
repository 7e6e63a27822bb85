"""Streams of OpenAI's Chat Completions API: chunks to a finished answer, and a finished answer to chunks.

A chunk with `choices: []` carries usage, and only where `stream_options.include_usage` asks for it. Read
from the `openai` SDK 3.57.0 on 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ctxkit.errors import BodyError
from ctxkit.wire.native import body_object, items
from ctxkit.wire.sse import encode
from ctxkit.wire.usage_fields import mapping

_APPENDED = ("content", "refusal", "reasoning_content", "reasoning")
# Texts that arrive piece by piece, wherever in a message they stand; any other value replaces the earlier.
_GROWING = frozenset({*_APPENDED, "arguments", "input", "text", "summary"})
_NOT_KEPT = ("choices", "object", "usage", "obfuscation")


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
        """Take the next chunk's JSON, or the text `[DONE]`; of an error, only the usage it reports.

        Raises:
            BodyError: The chunk is malformed; what came before it is kept.
        """
        if event == "[DONE]":
            self._over = bool(self._choices)
        if not isinstance(event, Mapping):
            return
        if isinstance(event.get("usage"), Mapping):
            self._body["usage"] = event["usage"]
        if "error" in event:
            return
        for key, value in event.items():
            if key not in _NOT_KEPT and value is not None:
                self._body[key] = value
        for part in items(event.get("choices"), ("choices",)):
            if isinstance(part, Mapping):
                try:
                    self._choice(part)
                except RecursionError:
                    raise BodyError("choices are nested too deeply", where=("choices",)) from None

    def _choice(self, part: Mapping[str, Any]) -> None:
        given = part.get("index")
        index = given if isinstance(given, int) else 0
        empty = {"index": index, "message": {"role": "assistant", "content": None}, "finish_reason": None}
        rest = {key: value for key, value in part.items() if key not in ("index", "delta")}
        change = {**rest, "message": mapping(part.get("delta"))}
        self._choices[index] = _merged(self._choices.get(index, empty), change)

    def finish(self) -> dict[str, Any] | None:
        """The answer's body from what arrived so far."""
        if not self._body and not self._choices:
            return None
        choices = [_closed(self._choices[index]) for index in sorted(self._choices)]
        return {**self._body, "object": "chat.completion", "choices": choices}


def _merged(before: Any, more: Any) -> Any:
    """A part of a message with what a delta says of it."""
    if isinstance(more, list):
        return _entries(before if isinstance(before, list) else [], more)
    if not isinstance(more, Mapping):
        return more
    made = dict(mapping(before))
    for key, value in more.items():
        if value is not None:
            made[key] = (_joined if key in _GROWING else _merged)(made.get(key), value)
    return made


def _joined(before: Any, more: Any) -> Any:
    """A text with more of it; a list of parts where one of the two is."""
    if isinstance(before, list) or (before and isinstance(more, list)):
        return [*_parts(before), *_parts(more)]
    return before + more if isinstance(before, str) and isinstance(more, str) else more


def _parts(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def _entries(before: list[Any], more: list[Any]) -> list[Any]:
    """A list with more of it: entries of one `index` and one `type` are one entry."""
    made = list(before)
    for entry in more:
        place = _place(made, mapping(entry))
        if place is None:
            made.append(entry)
        else:
            made[place] = _merged(made[place], entry)
    return made


def _place(entries: list[Any], more: Mapping[str, Any]) -> int | None:
    """Where the entry stands that another one goes on with, which need not repeat its type."""
    kind = more.get("type")
    if isinstance(more.get("index"), int):
        for place, entry in enumerate(map(mapping, entries)):
            if entry.get("index") == more["index"] and (kind is None or entry.get("type") in (None, kind)):
                return place
    return None


def _closed(choice: Mapping[str, Any]) -> dict[str, Any]:
    message = dict(choice["message"])
    if isinstance(message.get("tool_calls"), list):
        message["tool_calls"] = [
            {key: value for key, value in mapping(call).items() if key != "index"}
            for call in message["tool_calls"]
        ]
    return {**choice, "message": message}


def chunks(body: Mapping[str, Any], *, include_usage: bool) -> Iterator[bytes]:
    """A finished answer as the chunks that would have streamed it, `[DONE]` last.

    Raises:
        BodyError: The answer is malformed.
    """
    shared = {key: value for key, value in body.items() if key not in _NOT_KEPT}
    shared["object"] = "chat.completion.chunk"
    if include_usage:
        shared["usage"] = None
    for place, choice in enumerate(items(body.get("choices"), ("choices",))):
        last = {"index": place, "delta": {}, **body_object(choice, what=f"choices.{place}")}
        message = mapping(last.pop("message", None))
        for delta in _deltas(message):
            part = {"index": last["index"], "delta": delta, "finish_reason": None}
            yield encode({**shared, "choices": [part]})
        yield encode({**shared, "choices": [last]})
    if include_usage:
        yield encode({**shared, "choices": [], "usage": body.get("usage")})
    yield encode("[DONE]")


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    calls = items(message.get("tool_calls"), ("tool_calls",))
    later = (*_APPENDED, "tool_calls") if calls else _APPENDED
    yield {key: value for key, value in message.items() if key not in later}
    for key in _APPENDED:
        if message.get(key) is not None:
            yield {key: message[key]}
    for index, call in enumerate(calls):
        yield {"tool_calls": [{**body_object(call, what=f"tool_calls.{index}"), "index": index}]}
