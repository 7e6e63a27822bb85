"""Scripts that answer only while the model could still know what it says. Cutting belongs to middlewares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ctxkit.messages import Block, Kind, ModelRequest
from ctxkit.testing.answers import Answer, Script, reply
from ctxkit.transcripts import Transcript
from ctxkit.wire import wire_named

GIVEN: frozenset[Kind] = frozenset({"tool_definition", "system", "user_text"})
SAID: frozenset[Kind] = frozenset({"assistant_text", "tool_call"})
WORD = re.compile(r"\w+")
# An e-mail address, a date or a time: words that are tied together, each by one sign.
COMPOUND = re.compile(r"\w+(?:[^\w\s]\w+)+")
NAME_CHARS = 4
NUMBER_DIGITS = 3


def needs_evidence(script: Sequence[Answer], transcript: Transcript) -> Script:
    """A script that gives each answer only if what the answer takes from tool results is still in the request.

    What answer n takes are the names, ids and numbers that the n-th assistant message of the recorded run
    says, in its text or to a tool, that an earlier tool result holds, and that the tools, the system prompt
    and the user did not hand it. If one of them is nowhere in the request, the server answers in a text that
    it can't see it. So an equal outcome shows that nothing was cut that the recorded run made use of; it
    can't show what a real model would have said.

    Args:
        script: The answers, one for each assistant message of the run, as `from_transcript` makes them.
        transcript: The recorded run, in the wire that the requests will be in.
    """
    evidence = list(_evidence(transcript))
    wire = wire_named(transcript.wire)

    def answer(body: Mapping[str, Any], call: int) -> Answer:
        sent = _text(ModelRequest(wire, body).blocks())
        missing = sorted(word for word in evidence[call] if not _holds(sent, word))
        return reply(f"I can't see {', '.join(missing)} any more.") if missing else script[call]

    return answer


def _evidence(transcript: Transcript) -> Iterator[frozenset[str]]:
    """For each assistant message, the words that it can only have from an earlier tool result."""
    body = {"tools": transcript.tools, "system": transcript.system, "messages": transcript.messages}
    request = ModelRequest(wire_named(transcript.wire), body)
    given = _text(block for block in request.head.blocks if block.kind in GIVEN)
    results = ""
    for turn in request.turns:
        if turn.role == "assistant":
            said = _text(block for block in turn.blocks if block.kind in SAID)
            yield frozenset(
                word for word in _words(said) if _holds(results, word) and not _holds(given, word)
            )
        given += _text(block for block in turn.blocks if block.kind in GIVEN)
        results += _text(block for block in turn.blocks if block.kind == "tool_result")


def _text(blocks: Iterable[Block]) -> str:
    return "".join(f"{block.text}\n" for block in blocks)


def _words(text: str) -> set[str]:
    """The words of a text that are long enough to stand for something."""
    found = {*WORD.findall(text), *COMPOUND.findall(text)}
    return {word for word in found if len(word) >= (NUMBER_DIGITS if word.isdigit() else NAME_CHARS)}


def _holds(text: str, word: str) -> bool:
    """Whether the word stands in the text, and not only as a part of a longer one."""
    return word in text and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
