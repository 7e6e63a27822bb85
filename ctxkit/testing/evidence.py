"""Scripts that answer only while the model could still know what it says. Cutting belongs to middlewares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ctxkit.evidence import holds
from ctxkit.messages import Block, Kind, ModelRequest
from ctxkit.testing.answers import Answer, Script, reply
from ctxkit.transcripts import Transcript
from ctxkit.wire import wire_named

GIVEN: frozenset[Kind] = frozenset({"tool_definition", "system", "user_text"})
FOUND: frozenset[Kind] = frozenset({"tool_result"})
SAID: frozenset[Kind] = frozenset({"assistant_text", "tool_call"})
WORD = re.compile(r"\w+")
# A date, a time or an e-mail address: words that are tied together, each by one sign.
COMPOUND = re.compile(r"\w+(?:[^\w\s]\w+)+")
NAME_CHARS = 4
NUMBER_DIGITS = 3


def needs_evidence(script: Sequence[Answer], transcript: Transcript) -> Script:
    """A script that gives an answer only if what it takes from tool results still stands in the request.

    What an answer takes are the names, ids and numbers that the recorded run says there, in text or to a
    tool, that an earlier tool result holds, and that neither the tools, the system prompt nor the user
    handed it. Where one of them is missing, the answer is a text that says so. An equal outcome then shows
    that nothing was cut which the recorded run made use of; it can't show what a real model would have said.

    Args:
        script: The answers, one for each assistant message of the run, as `from_transcript` gives them.
        transcript: The recorded run, in the wire that the requests will be in.

    Returns:
        The script; it raises `AssertionError` for a call after the last of its answers.
    """
    evidence = list(_evidence(transcript))
    wire = wire_named(transcript.wire)

    def answer(body: Mapping[str, Any], call: int) -> Answer:
        if call >= len(evidence):
            raise AssertionError(f"the recorded run has {len(evidence)} answers, and this is call {call + 1}")
        sent = _text(ModelRequest(wire, body).blocks())
        missing = sorted(word for word in evidence[call] if not holds(sent, word))
        return reply(f"I can't see {', '.join(missing)} any more.") if missing else script[call]

    return answer


def _evidence(transcript: Transcript) -> Iterator[list[str]]:
    """For each assistant message, the words that it can only have from an earlier tool result."""
    body = {
        "tools": list(transcript.tools),
        "system": transcript.system,
        "messages": list(transcript.messages),
    }
    request = ModelRequest(wire_named(transcript.wire), body)
    given = found = ""
    for turn in (request.head, *request.turns):
        if turn.role == "assistant":
            said = _words(_text(turn.blocks, SAID))
            yield [word for word in said if holds(found, word) and not holds(given, word)]
        given += _text(turn.blocks, GIVEN)
        found += _text(turn.blocks, FOUND)


def _text(blocks: Iterable[Block], kinds: frozenset[Kind] = GIVEN | FOUND | SAID) -> str:
    return "".join(f"{block.text}\n" for block in blocks if block.kind in kinds)


def _words(text: str) -> set[str]:
    """The words of a text that are long enough to stand for something."""
    words = {*WORD.findall(text), *COMPOUND.findall(text)}
    return {word for word in words if len(word) >= (NUMBER_DIGITS if word.isdigit() else NAME_CHARS)}
