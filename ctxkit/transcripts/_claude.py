"""Claude Code's conversations, put together from lines that each hold a piece of a message.

Its session files and its stream-json output share this. One answer is several lines with one message id:
their blocks are one message, and the last usage of an answer counts for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeGuard

from ctxkit.transcripts._fields import measured, moment, objects
from ctxkit.transcripts._files import Source
from ctxkit.transcripts._providers import provider_of
from ctxkit.transcripts.base import RecordedRequest, Transcript
from ctxkit.wire import usage_fields
from ctxkit.wire.native import string
from ctxkit.wire.usage_fields import mapping

WIRE = "anthropic_messages"
SYNTHETIC = "<synthetic>"  # the client's own notes, such as a rate limit, written as if a model had answered


@dataclass(slots=True)
class Answer:
    """One answer of the model, as far as its lines have been seen.

    Attributes:
        message_id: The provider's id of the answer.
        request_id: The provider's id of the request, where a line has it.
        position: Where its message stands.
        usage: The last native usage seen.
        stop_reason: The last one seen.
        model: The model that answered.
        timestamp: When its last line was written.
    """

    message_id: str
    request_id: str | None
    position: int
    usage: Any = None
    stop_reason: str | None = None
    model: str | None = None
    timestamp: datetime | None = None

    @property
    def key(self) -> Hashable:
        """What stands for the answer in every file that repeats it."""
        return ("claude", self.message_id, self.request_id)

    def is_for(self, request_id: str | None) -> bool:
        """Whether it may answer a request; some lines leave the request out."""
        return self.request_id == request_id or None in (self.request_id, request_id)

    def update(self, message: Mapping[str, Any]) -> None:
        """Take over what a later line says."""
        self.usage = message.get("usage") or self.usage
        self.stop_reason = string(message.get("stop_reason")) or self.stop_reason
        self.model = string(message.get("model")) or self.model

    def request(self) -> RecordedRequest:
        """The request that it answers."""
        return RecordedRequest(
            input_messages=self.position,
            usage=measured(usage_fields.anthropic(self.usage)),
            model=self.model,
            stop_reason=self.stop_reason,
            timestamp=self.timestamp,
            output_known=self.stop_reason is not None,
            answer_id=self.message_id,
        )


@dataclass(slots=True)
class Conversation:
    """The messages and answers of one chain of lines.

    Attributes:
        name: What tells it from the other conversations of its session; empty for the main one.
        line: The line it starts at.
        messages: Its messages so far.
        answers: The model's answers so far.
        marks: Where its context was compacted: `at` is the first message of the new context.
    """

    name: str
    line: int
    messages: list[dict[str, Any]] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    marks: list[dict[str, Any]] = field(default_factory=list)
    _by_message_id: dict[str, Answer] = field(default_factory=dict)

    def add_user(self, content: str | list[Any]) -> int:
        """Add what the user or a tool said, and say where; the results of one answer are one message."""
        last = self.messages[-1] if self.messages else {}
        if has_results(content) and last.get("role") == "user" and has_results(last["content"]):
            given = [_identity(part) for part in last["content"]]
            last["content"].extend(part for part in objects(content) if _identity(part) not in given)
        else:
            self.messages.append({"role": "user", "content": own(content)})
        return len(self.messages) - 1

    def add_assistant(self, record: Mapping[str, Any]) -> Answer:
        """Add a piece of an answer to the answer that it belongs to."""
        message = mapping(record.get("message"))
        message_id = string(message.get("id")) or str(record.get("uuid"))
        request_id = string(record.get("requestId")) or string(record.get("request_id"))
        answer = self._by_message_id.get(message_id)
        if answer is None or not answer.is_for(request_id):
            answer = Answer(message_id, request_id, len(self.messages))
            self._by_message_id[message_id] = answer
            self.answers.append(answer)
            self.messages.append({"role": "assistant", "content": []})
        content = self.messages[answer.position]["content"]
        content.extend(block for block in _blocks(message.get("content")) if block not in content)
        answer.request_id = answer.request_id or request_id
        answer.timestamp = moment(record.get("timestamp")) or answer.timestamp
        answer.update(message)
        return answer

    def mark(self, meta: Mapping[str, Any]) -> None:
        """Note that what follows is a new context."""
        if not self.marks or self.marks[-1]["at"] != len(self.messages):
            self.marks.append({"at": len(self.messages), "kind": "compaction", "meta": meta})

    def transcript(
        self, source: Source, *, session: str, meta: Mapping[str, Any], **more: Any
    ) -> Iterator[Transcript]:
        """The conversation as a transcript, unless all its answers were counted before."""
        answers = [answer for answer in self.answers if answer.model != SYNTHETIC]
        new = [answer for answer in answers if answer.key not in source.counted]
        source.counted.update(answer.key for answer in new)
        if answers and not new:
            source.skip(self.line, "all its answers stand in what was read before")
            return
        model = next((answer.model for answer in answers if answer.model), None)
        yield Transcript(
            id=f"{session}~{self.name}" if self.name else session,
            wire=WIRE,
            provider=provider_of(model),
            model=model,
            system=None,
            tools=(),
            messages=self.messages,
            requests=tuple(answer.request() for answer in new),
            path=source.path,
            line=self.line,
            meta={**meta, "marks": self.marks} if self.marks else meta,
            **more,
        )


def is_content(content: Any) -> TypeGuard[str | list[Any]]:
    """Whether the content of a message can be read: a string, or a list of blocks."""
    return isinstance(content, str) or (
        isinstance(content, list) and all(isinstance(part, Mapping) for part in content)
    )


def has_results(content: Any) -> bool:
    """Whether the content of a message holds results of tools."""
    return any(part.get("type") == "tool_result" for part in objects(content))


def own(content: str | list[Any]) -> str | list[Any]:
    """The content of a message, in a list that may be added to."""
    return list(content) if isinstance(content, list) else content


def _identity(part: Mapping[str, Any]) -> Any:
    """What two parts have in common that say the same: a call has one result, however often it is logged."""
    return part.get("tool_use_id", part)


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(objects(content))
