"""`made_up_run`: a long run without any secrets, for pictures of what limits would do to one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from ctxkit.transcripts import RecordedRequest, Transcript

STARTED = datetime(2026, 11, 30, 9, tzinfo=UTC)
SECONDS_BETWEEN = 20
LOG_LINES = 60
TOOL = {
    "name": "read_log",
    "description": "Reads the log of a service.",
    "input_schema": {
        "type": "object",
        "properties": {"service": {"type": "string"}},
        "required": ["service"],
    },
}


def made_up_run(*, turns: int, model: str) -> Transcript:
    """Make up a run in which a Claude model reads one log after the other, about 1,500 tokens each.

    It is always the same for the same arguments, and reports no usage, as nobody was billed for it.

    Args:
        turns: How many logs are read.
        model: The model that is taken to have done so.
    """
    asked = {"role": "user", "content": "Find out which of the services is slow, and why."}
    rounds = [message for turn in range(turns) for message in _round(turn)]
    answer = {"role": "assistant", "content": [{"type": "text", "text": "None of them is slow."}]}
    return Transcript(
        id=f"made up, {turns} turns",
        format="made_up",
        wire="anthropic_messages",
        provider="anthropic",
        model=model,
        system="You look after services.",
        tools=[TOOL],
        messages=[asked, *rounds, answer],
        requests=tuple(
            RecordedRequest(1 + 2 * turn, timestamp=STARTED + timedelta(seconds=SECONDS_BETWEEN * turn))
            for turn in range(turns + 1)
        ),
    )


def _round(turn: int) -> Iterator[dict[str, Any]]:
    """A call of the tool, and its result."""
    name = f"service-{turn}"
    call = {"type": "tool_use", "id": f"call_{turn}", "name": TOOL["name"], "input": {"service": name}}
    lines = [
        f"{turn % 60:02}:{line:02} {name} handled request {turn * 1000 + line} in {line * 7 % 90} ms"
        for line in range(LOG_LINES)
    ]
    yield {"role": "assistant", "content": [call]}
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "\n".join(lines)}
    yield {"role": "user", "content": [result]}
