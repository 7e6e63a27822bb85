"""Codex's rollout files: items of OpenAI's Responses API between events about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxkit.transcripts._fields import is_generated, measured, moment, objects, unmeasured_requests
from ctxkit.transcripts._files import Source
from ctxkit.transcripts._providers import provider_of
from ctxkit.transcripts.base import RecordedRequest, Transcript
from ctxkit.usage import Usage
from ctxkit.wire.native import string
from ctxkit.wire.usage_fields import count, inclusive, known, mapping

FORMAT = "codex"
WIRE = "openai_responses"
INCOMPLETE = "the tool definitions are not in this log"
TYPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")


def codex_usage(native: Any) -> Usage | None:
    """Codex's count of one request, whose `input_tokens` holds the cached ones too."""
    usage = mapping(native)
    return inclusive(
        usage,
        input_tokens=known(usage.get("input_tokens")),
        output_tokens=known(usage.get("output_tokens")),
        cache_read_tokens=count(usage, "cached_input_tokens"),
        cache_write_tokens=count(usage, "cache_write_input_tokens"),
        reasoning_tokens=count(usage, "reasoning_output_tokens"),
    )


def detect(record: Mapping[str, Any]) -> bool:
    """Whether a record is a line of a rollout."""
    return record.get("type") in TYPES and "payload" in record


def read(source: Source) -> Iterator[Transcript]:
    """The one session of the file."""
    session = _Session()
    for line, record in source.records():
        payload = record.get("payload")
        if isinstance(payload, Mapping):
            session.add(record, payload)
        else:
            source.skip(line, "not a line of a Codex rollout")
    if not session.messages:
        source.skip(None, "a Codex rollout without messages")
        return
    model = session.first_model or session.model
    yield Transcript(
        id=session.id or source.name,
        format=FORMAT,
        wire=WIRE,
        provider=provider_of(model, session.provider),
        model=model,
        system=session.system,
        tools=(),
        messages=session.messages,
        requests=tuple(session.requests) or unmeasured_requests(session.messages, WIRE),
        incomplete=INCOMPLETE,
        path=source.path,
        meta={"marks": session.marks} if session.marks else {},
    )


@dataclass(slots=True)
class _Session:
    """What the lines of one file have said so far."""

    id: str = ""
    provider: str | None = None
    model: str | None = None
    first_model: str | None = None
    system: str | None = None
    messages: list[Any] = field(default_factory=list)
    requests: list[RecordedRequest] = field(default_factory=list)
    marks: list[dict[str, Any]] = field(default_factory=list)
    answer_start: int | None = None
    total: Any = None

    def add(self, record: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
        """Take one line."""
        kind = record.get("type")
        if kind == "session_meta" and not self.id:
            self.id = string(payload.get("id")) or ""
            self.provider = string(payload.get("model_provider"))
            self.system = string(mapping(payload.get("base_instructions")).get("text"))
        elif kind == "turn_context":
            self.model = string(payload.get("model")) or self.model
        elif kind == "response_item":
            if self.answer_start is None and is_generated(payload):
                self.answer_start = len(self.messages)
            self.messages.append(payload)
        elif kind == "compacted":
            self._compact(payload)
        elif payload.get("type") == "token_count":
            self._count(mapping(payload.get("info")), record.get("timestamp"))

    def _compact(self, payload: Mapping[str, Any]) -> None:
        """The context begins anew, with what the client put in place of the history."""
        self.marks.append({"at": len(self.messages), "kind": "compaction", "meta": {}})
        history = objects(payload.get("replacement_history"))
        summary = string(payload.get("message"))
        if summary is not None and not history:
            content = [{"type": "input_text", "text": summary}]
            history = [{"type": "message", "role": "user", "content": content}]
        self.messages.extend(history)
        self.answer_start = None

    def _count(self, info: Mapping[str, Any], timestamp: Any) -> None:
        """One more request, unless the totals are as they were: then the event only repeats them."""
        total = info.get("total_token_usage")
        if not total or total == self.total:
            return
        self.total = total
        self.first_model = self.first_model or self.model
        sent = len(self.messages) if self.answer_start is None else self.answer_start
        self.answer_start = None
        self.requests.append(
            RecordedRequest(
                input_messages=sent,
                usage=measured(codex_usage(info.get("last_token_usage"))),
                model=self.model,
                timestamp=moment(timestamp),
            )
        )
