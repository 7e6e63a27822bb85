"""Session files of the pi coding agent, whose messages are the same for every provider.

They are turned into the shape of Anthropic's Messages API, which is closest to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxkit.transcripts._fields import dollars, measured, moment, objects
from ctxkit.transcripts._files import Source
from ctxkit.transcripts._providers import provider_of
from ctxkit.transcripts.base import RecordedRequest, Transcript
from ctxkit.usage import Usage
from ctxkit.wire.native import string, text
from ctxkit.wire.usage_fields import count, known, mapping, uncached

FORMAT = "pi"
WIRE = "anthropic_messages"
INCOMPLETE = "the system prompt and the tool definitions are not in this log"


def pi_usage(native: Any) -> Usage | None:
    """Pi's usage, whose `input` is the uncached rest."""
    usage = mapping(native)
    return uncached(
        usage,
        input_tokens=known(usage.get("input")),
        output_tokens=known(usage.get("output")),
        cache_read_tokens=count(usage, "cacheRead"),
        cache_write_tokens=count(usage, "cacheWrite"),
    )


def detect(record: Mapping[str, Any]) -> bool:
    """Whether a record is an entry of a session file."""
    kind = record.get("type")
    return (kind == "session" and "cwd" in record) or (
        kind == "message" and "role" in mapping(record.get("message"))
    )


def read(source: Source) -> Iterator[Transcript]:
    """The one session of the file."""
    session = _Session()
    for line, record in source.records():
        if string(record.get("type")) is None:
            source.skip(line, "not an entry of a pi session")
        else:
            session.add(record)
    if not session.messages:
        source.skip(None, "a pi session without messages")
        return
    model = next((request.model for request in session.requests if request.model), None)
    yield Transcript(
        id=session.id or source.name,
        format=FORMAT,
        wire=WIRE,
        provider=provider_of(model, session.provider),
        model=model,
        system=None,
        tools=(),
        messages=session.messages,
        requests=tuple(session.requests),
        incomplete=INCOMPLETE,
        path=source.path,
        meta={"marks": session.marks} if session.marks else {},
    )


@dataclass(slots=True)
class _Session:
    """What the entries of one file have said so far.

    Attributes:
        positions: How many messages there were before each entry, by its index and by its id.
    """

    id: str = ""
    provider: str | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    requests: list[RecordedRequest] = field(default_factory=list)
    marks: list[dict[str, Any]] = field(default_factory=list)
    positions: dict[Any, int] = field(default_factory=dict)
    entries: int = 0

    def add(self, entry: Mapping[str, Any]) -> None:
        """Take one entry."""
        before = len(self.messages)
        self.positions[self.entries] = self.positions[str(entry.get("id"))] = before
        self.entries += 1
        message = mapping(entry.get("message"))
        role = message.get("role")
        if entry["type"] == "session":
            self.id = string(entry.get("id")) or ""
        elif entry["type"] == "compaction":
            self._compact(entry)
        elif role == "assistant":
            self._add_answer(message)
        elif role == "toolResult":
            self._add_result(message)
        elif role == "user":
            self._add_user(_content(message.get("content")))
        elif role == "bashExecution":
            self._add_user(f"{text(message.get('command'))}\n{text(message.get('output'))}")

    def _add_user(self, content: Any) -> None:
        self.messages.append({"role": "user", "content": content})

    def _add_result(self, message: Mapping[str, Any]) -> None:
        result = {
            "type": "tool_result",
            "tool_use_id": message.get("toolCallId"),
            "content": _content(message.get("content")),
            "is_error": message.get("isError") is True,
        }
        last = mapping(self.messages[-1]) if self.messages else {}
        if any(part.get("type") == "tool_result" for part in objects(last.get("content"))):
            last["content"].append(result)
        else:
            self._add_user([result])

    def _add_answer(self, message: Mapping[str, Any]) -> None:
        usage = mapping(message.get("usage"))
        self.provider = self.provider or string(message.get("provider"))
        self.requests.append(
            RecordedRequest(
                input_messages=len(self.messages),
                usage=measured(pi_usage(usage)),
                model=string(message.get("model")),
                stop_reason=string(message.get("stopReason")),
                timestamp=moment(message.get("timestamp")),
                recorded_cost_usd=dollars(mapping(usage.get("cost")).get("total")),
            )
        )
        self.messages.append({"role": "assistant", "content": _content(message.get("content"))})

    def _compact(self, entry: Mapping[str, Any]) -> None:
        """The context begins anew, with the summary and the messages that were kept."""
        kept = entry.get("firstKeptEntryId", entry.get("firstKeptEntryIndex"))
        at = len(self.messages)
        start = self.positions.get(kept, at) if isinstance(kept, (int, str)) else at
        meta = {"tokens_before": entry.get("tokensBefore")}
        self.marks.append({"at": at, "kind": "compaction", "meta": meta})
        self._add_user(text(entry.get("summary")))
        self.messages.extend(self.messages[start:at])


def _content(content: Any) -> Any:
    return content if isinstance(content, str) else [_block(part) for part in objects(content)]


def _block(part: Mapping[str, Any]) -> dict[str, Any]:
    kind = part.get("type")
    if kind == "toolCall":
        call_input = part.get("arguments", {})
        return {"type": "tool_use", "id": part.get("id"), "name": part.get("name"), "input": call_input}
    if kind == "thinking":
        signature = string(part.get("thinkingSignature"))
        thinking = {"type": "thinking", "thinking": part.get("thinking")}
        return {**thinking, "signature": signature} if signature else thinking
    if kind == "image":
        picture = {"type": "base64", "media_type": part.get("mimeType"), "data": part.get("data")}
        return {"type": "image", "source": picture}
    return {"type": "text", "text": text(part.get("text"))}
