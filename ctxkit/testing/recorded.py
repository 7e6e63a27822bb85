"""Recorded runs as scripts. Reading a recording belongs to `ctxkit.transcripts`."""

from __future__ import annotations

from ctxkit.testing.answers import Answer, native
from ctxkit.testing.shapes import shape_named
from ctxkit.transcripts.base import Transcript


def from_transcript(transcript: Transcript) -> list[Answer]:
    """A script that says again what the model said in a recorded run.

    Answer n is the n-th assistant message, whatever the request holds, in the shape of the transcript's
    own wire. Usage is computed from the request that is really sent, so that an edit shows in the bill.

    Raises:
        ConfigError: Answers can't be scripted for the transcript's wire.
    """
    shape = shape_named(transcript.wire)
    said = [message for message in transcript.messages if message["role"] == "assistant"]
    return [native(shape.body(message, call, transcript.model)) for call, message in enumerate(said)]
