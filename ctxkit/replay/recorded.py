"""A recorded run as the exchanges that it was made of: what the caller asked, and what the model answered."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from ctxkit.errors import BodyError, ConfigError
from ctxkit.messages import Histories, ModelRequest, Prompt
from ctxkit.transcripts import RecordedRequest, Transcript, is_generated
from ctxkit.transcripts.ctxkit_format import NOT_BILLED, RecordedAttempt
from ctxkit.transcripts.requests import context_starts, request_body
from ctxkit.wire import wire_named
from ctxkit.wire.usage_fields import mapping

NOTHING_SHOWN = "what was sent is not in this log"
SIDE_CALLS = "side calls of a middleware, which are a part of another run"


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of a recorded run, and its answer.

    Attributes:
        recorded: What the log says about it.
        request: As the caller made it.
        sent: As it was sent; the same object where nothing was edited, or where the log knows of no edits.
        answer: The response body, as far as the log shows it.
        context: The number of the context that it belongs to, from 0.
        said: The places of the answer's messages in that context.
    """

    recorded: RecordedRequest
    request: ModelRequest
    sent: ModelRequest
    answer: Mapping[str, Any]
    context: int
    said: range


class RecordedRun:
    """One recorded run, whose requests share their turns.

    Args:
        transcript: The run.

    Attributes:
        transcript: The run.
        malformed: Why requests can't be replayed, one sentence for each of them.

    Raises:
        ConfigError: Its requests can be read and not edited, or the log does not show them.
    """

    def __init__(self, transcript: Transcript) -> None:
        if mapping(transcript.meta).get("purpose", "main") != "main":
            raise ConfigError(SIDE_CALLS, option="transcripts")
        if not transcript.messages:
            raise ConfigError(NOTHING_SHOWN, option="transcripts")
        self.transcript = transcript
        self.malformed: list[str] = []
        self._wire = wire_named(transcript.wire)
        self._histories = Histories()
        self._starts = context_starts(transcript)
        self._ends = sorted({recorded.input_messages for recorded in transcript.requests})
        self._attempts = list(_billed(transcript))

    def exchanges(self) -> Iterator[Exchange]:
        """The exchanges, oldest first; those that are malformed are left out."""
        self.malformed.clear()
        for number, recorded in enumerate(self.transcript.requests):
            attempt = self._attempts[number] if self._attempts else None
            try:
                yield self._exchange(recorded, attempt)
            except BodyError as error:
                self.malformed.append(str(error))

    def contexts(self) -> Iterator[Prompt]:
        """Everything that was said in each context: from the start, or a compaction, up to the next one."""
        for start, end in zip(self._starts, [*self._starts[1:], None], strict=True):
            last = len(self.transcript.messages) if end is None else end
            yield self._prompt(request_body(self.transcript, RecordedRequest(start)), start, last)

    def _exchange(self, recorded: RecordedRequest, attempt: RecordedAttempt | None) -> Exchange:
        sent, messages = recorded.input_messages, self.transcript.messages
        following = bisect_right(self._ends, sent)
        limit = self._ends[following] if following < len(self._ends) else len(messages)
        said = list(takewhile(is_generated, messages[sent:limit]))
        context = bisect_left(self._starts, sent, lo=1) - 1
        start = sent - self._starts[context]
        answer = attempt.answer if attempt is not None else None
        model = recorded.model or self.transcript.model
        body = None if attempt is None else attempt.request
        request = self._request({**request_body(self.transcript, recorded), "model": model}, model)
        if attempt is not None and body is not None:
            request = self._request(body, attempt.fields.get("url_model"))
        return Exchange(
            recorded=recorded,
            request=request,
            sent=self._sent(attempt, request),
            answer=answer
            or answer_body(self._wire.name, said, model=model, stop_reason=recorded.stop_reason),
            context=context,
            said=range(start, start + len(said)),
        )

    def _sent(self, attempt: RecordedAttempt | None, request: ModelRequest) -> ModelRequest:
        if attempt is None or attempt.sent is None or attempt.sent is attempt.request:
            return request
        return self._request(attempt.sent, attempt.fields.get("url_model"))

    def _request(self, body: Mapping[str, Any], url_model: str | None) -> ModelRequest:
        request = ModelRequest(
            self._wire,
            body,
            self._histories,
            provider=self.transcript.provider,
            url_model=url_model,
        )
        # A malformed body says so here.
        request.turns  # noqa: B018
        return request

    def _prompt(self, head: Mapping[str, Any], start: int, end: int) -> Prompt:
        messages = list(self.transcript.messages[start:end])
        return Prompt(self._wire, self._wire.with_messages(head, messages), self._histories)


def _billed(transcript: Transcript) -> Iterator[RecordedAttempt]:
    """What our own log holds of each request; nothing for other logs."""
    for attempt in mapping(transcript.meta).get("attempts", ()):
        if isinstance(attempt, RecordedAttempt) and attempt.outcome != NOT_BILLED:
            yield attempt


def answer_body(
    wire: str, messages: Sequence[Any], *, model: str | None, stop_reason: str | None
) -> dict[str, Any]:
    """A response body, without usage, around what the model said.

    Args:
        wire: The name of the wire.
        messages: The native messages, or items, of the answer.
        model: The model that answered.
        stop_reason: In the provider's own word.
    """
    return _ANSWERS[wire](messages, model, stop_reason)


def text_message(wire: str, text: str) -> dict[str, Any]:
    """A text of the model as a native message, or item."""
    return _TEXTS[wire](text)


def _anthropic(messages: Sequence[Any], model: str | None, stop_reason: str | None) -> dict[str, Any]:
    content = [part for message in messages for part in _parts(message, "content")]
    return {
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop_reason,
    }


def _openai_chat(messages: Sequence[Any], model: str | None, stop_reason: str | None) -> dict[str, Any]:
    choices = [
        {"index": index, "message": message, "finish_reason": stop_reason}
        for index, message in enumerate(messages)
    ]
    return {"object": "chat.completion", "model": model, "choices": choices}


def _openai_responses(messages: Sequence[Any], model: str | None, stop_reason: str | None) -> dict[str, Any]:
    output = [
        {"type": "message", **message} if "role" in mapping(message) else message for message in messages
    ]
    return {"object": "response", "model": model, "output": output, "status": stop_reason or "completed"}


def _gemini(messages: Sequence[Any], model: str | None, stop_reason: str | None) -> dict[str, Any]:
    parts = [part for message in messages for part in _parts(message, "parts")]
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": stop_reason}
    return {"modelVersion": model, "candidates": [candidate]}


def _parts(message: Any, key: str) -> list[Any]:
    content = mapping(message).get(key)
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


_ANSWERS: Mapping[str, Callable[[Sequence[Any], str | None, str | None], dict[str, Any]]] = {
    "anthropic_messages": _anthropic,
    "openai_chat": _openai_chat,
    "openai_responses": _openai_responses,
    "gemini": _gemini,
}
_TEXTS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "anthropic_messages": lambda text: {"role": "assistant", "content": text},
    "openai_chat": lambda text: {"role": "assistant", "content": text},
    "openai_responses": lambda text: {
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    },
    "gemini": lambda text: {"role": "model", "parts": [{"text": text}]},
}
