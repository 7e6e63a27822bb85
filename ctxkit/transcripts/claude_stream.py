"""What Claude Code prints with `--output-format stream-json`, and recordings of `claude-agent-sdk`.

The SDK's recordings hold the same records in one document, each with the direction it went.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxkit.transcripts._claude import Conversation, is_content
from ctxkit.transcripts._fields import objects
from ctxkit.transcripts._files import Record, Source
from ctxkit.transcripts.base import Transcript
from ctxkit.wire.native import string
from ctxkit.wire.usage_fields import mapping

FORMAT = "claude_stream"
INCOMPLETE = "the system prompt, the tool definitions and often the prompt are not in this log"
KEPT_OF_RESULT = ("total_cost_usd", "usage", "modelUsage", "num_turns", "is_error")


def detect(record: Mapping[str, Any]) -> bool:
    """Whether a record is printed by Claude Code, or recorded by its SDK."""
    recorded = objects(record.get("messages"))
    return {"type", "session_id"} <= record.keys() or any(
        {"direction", "message"} <= item.keys() for item in recorded
    )


def read(source: Source) -> Iterator[Transcript]:
    """The conversations of each session, and of its subagents, in the order they began."""
    run = _Run()
    for line, record in _unpacked(source.records()):
        session = string(record.get("session_id"))
        if record.get("subtype") == "init" and run.session not in ("", session):
            yield from run.transcripts(source)
            run = _Run()
        problem = run.add(line, record)
        if problem is not None:
            source.skip(line, problem)
    yield from run.transcripts(source)


def _unpacked(records: Iterable[Record]) -> Iterator[Record]:
    for line, record in records:
        recorded = objects(record.get("messages"))
        yield from (Record(line, dict(mapping(item.get("message")))) for item in recorded)
        if not recorded:
            yield Record(line, record)


@dataclass(slots=True)
class _Run:
    """What the records of one session have said so far.

    Attributes:
        session: Its id.
        meta: What its last result says about the whole run.
        conversations: The main one under an empty name, and those of subagents.
        streaming: The message id of the answer that streams in each conversation.
        final: What the end of a stream says about an answer, by message id.
    """

    session: str = ""
    meta: dict[str, Any] = field(default_factory=dict)
    conversations: dict[str, Conversation] = field(default_factory=dict)
    streaming: dict[str, str] = field(default_factory=dict)
    final: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def add(self, line: int, record: Mapping[str, Any]) -> str | None:
        """Take one record; returns what is wrong with it, where something is."""
        kind = record.get("type")
        name = string(record.get("parent_tool_use_id")) or ""
        if kind in ("user", "assistant"):
            content = mapping(record.get("message")).get("content")
            if not is_content(content):
                return "a message without content"
            conversation = self.conversations.setdefault(name, Conversation(name, line))
            if kind == "user":
                conversation.add_user(content)
                return None
            conversation.add_assistant(record)
        elif kind == "stream_event":
            self._note_event(name, mapping(record.get("event")))
        elif kind == "result":
            self.meta["result"] = {key: record[key] for key in KEPT_OF_RESULT if key in record}
        self.session = string(record.get("session_id")) or self.session
        return None

    def transcripts(self, source: Source) -> Iterator[Transcript]:
        """The conversations as transcripts."""
        if not self.conversations:
            source.skip(None, "a run of Claude Code without messages")
        for conversation in self.conversations.values():
            for answer in conversation.answers:
                answer.update(self.final.get(answer.message_id, {}))
            yield from conversation.transcript(
                source,
                format=FORMAT,
                session=self.session or source.name,
                incomplete=INCOMPLETE,
                meta=self.meta,
            )

    def _note_event(self, name: str, event: Mapping[str, Any]) -> None:
        if event.get("type") == "message_start":
            message = mapping(event.get("message"))
            self.streaming[name] = str(message.get("id"))
            self.final[self.streaming[name]] = message
        elif event.get("type") == "message_delta" and name in self.streaming:
            start = self.final[self.streaming[name]]
            usage = {**mapping(start.get("usage")), **mapping(event.get("usage"))}
            self.final[self.streaming[name]] = {**mapping(event.get("delta")), "usage": usage}
