"""The request bodies of a recorded run, put together from what its log holds."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from ctxkit.transcripts import bodies
from ctxkit.transcripts.base import RecordedRequest, Transcript
from ctxkit.wire.usage_fields import known, mapping


def request_body(transcript: Transcript, recorded: RecordedRequest) -> dict[str, Any]:
    """The body of one request of a run, as far as the log shows it.

    It starts where the client last compacted the history before it.
    """
    starts = context_starts(transcript)
    start = starts[bisect_left(starts, recorded.input_messages, lo=1) - 1]
    messages = list(transcript.messages[start : recorded.input_messages])
    return {**head(transcript), bodies.MESSAGES.get(transcript.wire, "messages"): messages}


def head(transcript: Transcript) -> dict[str, Any]:
    """The body that every request of the run has in common."""
    shared: dict[str, Any] = {"model": transcript.model}
    if transcript.tools:
        tools = {"tools": list(transcript.tools)}
        shared |= {"toolConfig": tools} if transcript.wire == "bedrock_converse" else tools
    if transcript.system is not None:
        shared[bodies.SYSTEM.get(transcript.wire, "system")] = transcript.system
    return shared


def context_starts(transcript: Transcript) -> list[int]:
    """Where a context begins: at the first message, and wherever the client compacted the history."""
    marks = transcript.meta.get("marks")
    places = [known(mapping(mark).get("at")) for mark in marks] if isinstance(marks, list) else []
    return sorted({0, *(place for place in places if place is not None)})
