"""Claude Code's session files: a tree of lines, each a piece of a message, with what its subagents did.

A line names its parent. Results of parallel tools have different parents and still belong together, so lines
are taken in the order they were written; only a user who goes back to an earlier message starts a branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxkit.transcripts._claude import Conversation, has_results, is_content, own
from ctxkit.transcripts._files import Source
from ctxkit.transcripts.base import Transcript
from ctxkit.wire.native import string
from ctxkit.wire.usage_fields import mapping

FORMAT = "claude_code"
INCOMPLETE = "the system prompt and the tool definitions are not in this log"
NOTES = ("file-history-snapshot", "queue-operation")
MESSAGES = ("user", "assistant")
MAIN = ""


def detect(record: Mapping[str, Any]) -> bool:
    """Whether a record is a line of a session file."""
    if record.get("type") == "summary":
        return "leafUuid" in record
    return record.get("type") in NOTES or {"type", "uuid", "sessionId"} <= record.keys()


def read(source: Source) -> Iterator[Transcript]:
    """The session, its branches and its subagents' conversations, in the order they began."""
    session = _Session()
    for line, record in source.records():
        problem = session.add(line, record)
        if problem is not None:
            source.skip(line, problem)
    conversations = session.conversations()
    if not conversations:
        source.skip(None, "a Claude Code session without messages")
    for conversation in conversations:
        yield from conversation.transcript(
            source,
            format=FORMAT,
            session=session.id or source.name,
            incomplete=INCOMPLETE,
            meta=session.meta,
        )


@dataclass(slots=True)
class _Chain:
    """One conversation as it grows, and where the message of each line stands in it."""

    conversation: Conversation
    positions: dict[str, int] = field(default_factory=dict)

    def goes_back(self, position: int) -> bool:
        """Whether a message after this position would leave an answer behind."""
        return any(answer.position > position for answer in self.conversation.answers[-1:])

    def branch(self, position: int, *, name: str, line: int) -> None:
        """Go on after an earlier message, in a conversation of its own."""
        old = self.conversation
        kept = [{**message, "content": own(message["content"])} for message in old.messages[: position + 1]]
        marks = [mark for mark in old.marks if mark["at"] <= position]
        self.conversation = Conversation(name, line, kept, marks=marks)
        self.positions = {uuid: at for uuid, at in self.positions.items() if at <= position}


class _Session:
    """What the lines of one file have said so far."""

    def __init__(self) -> None:
        self.id = ""
        self.meta: dict[str, Any] = {}
        self._chains: dict[str, _Chain] = {}
        self._chain_of: dict[str, str] = {}
        self._left: list[Conversation] = []

    def conversations(self) -> list[Conversation]:
        """All conversations that hold messages, in the order they began."""
        everything = [*self._left, *(chain.conversation for chain in self._chains.values())]
        return sorted((one for one in everything if one.messages), key=lambda one: one.line)

    def add(self, line: int, record: Mapping[str, Any]) -> str | None:
        """Take one line; returns what is wrong with it, where something is."""
        kind = string(record.get("type"))
        if kind is None:
            return "not a line of a Claude Code session"
        if kind not in MESSAGES and "uuid" not in record:
            return None
        uuid = string(record.get("uuid")) or f"line {line}"
        self.id = string(record.get("sessionId")) or self.id
        self.meta.setdefault("client_version", record.get("version"))
        parent = string(record.get("parentUuid")) or ""
        chain = self._chain(line, record, uuid, parent)
        if uuid in chain.positions:
            return None
        position = chain.positions.get(parent)
        if record.get("subtype") == "compact_boundary":
            chain.conversation.mark(mapping(record.get("compactMetadata")))
        elif kind in MESSAGES:
            if not is_content(mapping(record.get("message")).get("content")):
                return "a message without content"
            position = self._add_message(chain, line, record, position)
        if position is not None:
            chain.positions[uuid] = position
        return None

    def _chain(self, line: int, record: Mapping[str, Any], uuid: str, parent: str) -> _Chain:
        key = MAIN
        if record.get("isSidechain") is True:
            key = string(record.get("agentId")) or self._chain_of.get(parent) or uuid
        self._chain_of[uuid] = key
        if key not in self._chains:
            self._chains[key] = _Chain(Conversation(key, line))
        return self._chains[key]

    def _add_message(self, chain: _Chain, line: int, record: Mapping[str, Any], position: int | None) -> int:
        if record["type"] == "assistant":
            return chain.conversation.add_assistant(record).position
        content = record["message"]["content"]
        if record.get("isCompactSummary") is True:
            chain.conversation.mark({})
        elif not has_results(content) and position is not None and chain.goes_back(position):
            self._left.append(chain.conversation)
            name = f"{chain.conversation.name}~{len(self._left) + 1}".lstrip("~")
            chain.branch(position, name=name, line=line)
        return chain.conversation.add_user(content)
