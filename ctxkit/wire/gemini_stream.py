"""Streams of Google's Gemini API: chunks to a finished answer, and a finished answer to chunks.

A chunk is a response of its own: the parts of its candidates go on where those before ended, and its usage
counts all that came so far. Read from the types of `google-genai` 3.6.1 and recorded streams on 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ctxkit.wire.gemini_arguments import continued, goes_on
from ctxkit.wire.native import items, string
from ctxkit.wire.sse import encode
from ctxkit.wire.usage_fields import mapping

# Parts of nothing else are one text that arrives in pieces; a signature ends its part.
_TEXT = frozenset({"text", "thought"})


class GeminiAccumulator:
    """Builds a `GenerateContentResponse` from its chunks."""

    def __init__(self) -> None:
        self._body: dict[str, Any] = {}
        self._candidates: dict[int, dict[str, Any]] = {}

    @property
    def complete(self) -> bool:
        """Whether every candidate has its finish reason, or the prompt was blocked."""
        if not self._candidates:
            return _block_reason(self._body) is not None
        return all(candidate.get("finishReason") is not None for candidate in self._candidates.values())

    def feed(self, event: Any) -> None:
        """Take the next chunk's JSON; an error is passed over.

        Raises:
            BodyError: The chunk is malformed; what came before it is kept.
        """
        if not isinstance(event, Mapping) or "error" in event:
            return
        usage = {**mapping(self._body.get("usageMetadata")), **mapping(event.get("usageMetadata"))}
        self._body.update((key, value) for key, value in event.items() if key != "candidates")
        if usage:
            self._body["usageMetadata"] = usage
        for candidate in items(event.get("candidates"), ("candidates",)):
            if isinstance(candidate, Mapping):
                self._candidate(candidate)

    def _candidate(self, more: Mapping[str, Any]) -> None:
        given = more.get("index")
        index = given if isinstance(given, int) else 0
        before = self._candidates.get(index, {})
        content = {**mapping(before.get("content")), **mapping(more.get("content"))}
        parts = mapping(before.get("content")).get("parts", [])
        added = items(mapping(more.get("content")).get("parts"), ("candidates", index, "content", "parts"))
        made = {**before, **more}
        if content:
            made["content"] = {**content, "parts": _joined(parts, added)}
        self._candidates[index] = made

    def finish(self) -> dict[str, Any] | None:
        """The answer's body from what arrived so far."""
        if not self._body and not self._candidates:
            return None
        if not self._candidates:
            return self._body
        return {"candidates": [self._candidates[index] for index in sorted(self._candidates)], **self._body}


def _joined(parts: list[Any], added: list[Any]) -> list[Any]:
    """Parts with more of them; a text or a call that goes on is one part with what came of it before."""
    made = list(parts)
    for part in added:
        whole = _as_one(made[-1], part) if made else None
        if whole is not None:
            made[-1] = whole
        elif (call := _call(part)) is not None:
            made.append({**part, "functionCall": continued({}, call)})
        else:
            made.append(part)
    return made


def _as_one(part: Any, more: Any) -> dict[str, Any] | None:
    """A part with what goes on with it; `None` where `more` is a part of its own."""
    if _is_text(part) and _is_text(more) and bool(part.get("thought")) == bool(more.get("thought")):
        return {**part, "text": part["text"] + more["text"]}
    called, call = _call(part), _call(more)
    if called is not None and call is not None and goes_on(called):
        return {**part, **more, "functionCall": continued(called, call)}
    return None


def _is_text(part: Any) -> bool:
    return isinstance(part, Mapping) and _TEXT.issuperset(part) and isinstance(part.get("text"), str)


def _call(part: Any) -> Mapping[str, Any] | None:
    call = mapping(part).get("functionCall")
    return call if isinstance(call, Mapping) else None


def stop_reason(body: Mapping[str, Any]) -> str | None:
    """Why an answer ended, in the provider's own word."""
    candidates = body.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    return string(mapping(first).get("finishReason")) or _block_reason(body)


def _block_reason(body: Mapping[str, Any]) -> str | None:
    return string(mapping(body.get("promptFeedback")).get("blockReason"))


def chunks(body: Mapping[str, Any]) -> Iterator[bytes]:
    """A finished answer as a stream of one chunk."""
    yield encode(body)
