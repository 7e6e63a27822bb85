"""What every transcript reader gives back. No file format lives here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from ctxkit.usage import Usage


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request of a recorded run, as far as the log knows it.

    Attributes:
        input_messages: How many leading messages of the transcript it sent.
        usage: What its answer reported; `None` where the log does not say.
        model: The model that answered; `None`: the transcript's own.
        stop_reason: In the provider's own word, where the log has it.
        timestamp: When it was answered, where the log has it.
        recorded_cost_usd: What the recorder says it cost, where it says so.
        output_known: `False` where the log's output tokens are a placeholder, as in Claude Code's files.
        answer_id: The provider's id of the answer, where the log has it.
    """

    input_messages: int
    usage: Usage | None = None
    model: str | None = None
    stop_reason: str | None = None
    timestamp: datetime | None = None
    recorded_cost_usd: Decimal | None = None
    output_known: bool = True
    answer_id: str | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """One recorded run, its messages in the provider's own shape.

    Attributes:
        id: What the log calls it; unique within its file.
        format: The reader that read it, such as `claude_code`.
        wire: The name of the wire that its messages are in.
        provider: Who answered, as the price list calls them; `None` where unknown.
        model: The model asked.
        system: The system prompt in the wire's own shape; `None` where it is in the messages or unknown.
        tools: The tool definitions in the wire's own shape; empty where there are none or they are unknown.
        messages: The native messages, in order.
        requests: The requests of the run, oldest first.
        incomplete: What the log does not hold, in the log's words; `None` where it holds everything.
        path: The file it came from.
        line: The line it starts at, from 1.
        meta: Whatever else the reader kept.
    """

    id: str
    format: str
    wire: str
    provider: str | None
    model: str | None
    system: Any
    tools: Sequence[Any]
    messages: Sequence[Any]
    requests: tuple[RecordedRequest, ...]
    incomplete: str | None = None
    path: str = ""
    line: int = 1
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or a part of one that could not be read; the rest was.

    Attributes:
        path: The file.
        line: The line in it, from 1; `None` where the whole file is meant.
        reason: What is wrong, in one sentence.
    """

    path: str
    line: int | None
    reason: str
