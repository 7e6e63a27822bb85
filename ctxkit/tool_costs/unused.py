"""Which tools recorded runs offered in every request and never called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ctxkit.messages import Prompt
from ctxkit.transcripts import Transcript, bodies
from ctxkit.transcripts.requests import head
from ctxkit.wire import READERS


@dataclass(frozen=True, slots=True)
class UnusedTool:
    """A tool that recorded runs offered and no answer in them called.

    Attributes:
        name: The tool.
        runs: How many of the runs offered it.
        requests: In how many of their requests it was sent, as far as the logs show.
    """

    name: str
    runs: int
    requests: int


def unused_tools(transcripts: Iterable[Transcript]) -> list[UnusedTool]:
    """Tell which tools recorded runs offered and never called, the most often sent first.

    Args:
        transcripts: The runs, taken one at a time. A run whose log holds no definitions says nothing of what
            it offered, but a call in it counts.

    Raises:
        BodyError: A run is malformed.
    """
    runs: Counter[str] = Counter()
    requests: Counter[str] = Counter()
    called: set[str | None] = set()
    for transcript in transcripts:
        body = {**head(transcript), bodies.MESSAGES.get(transcript.wire, "messages"): transcript.messages}
        prompt = Prompt(READERS[transcript.wire], body)
        offered = {block.tool for block in prompt.tools if block.tool}
        runs.update(offered)
        requests.update(dict.fromkeys(offered, len(transcript.requests)))
        called.update(block.tool for block in prompt.blocks() if block.kind == "tool_call")
    unused = [UnusedTool(name, count, requests[name]) for name, count in runs.items() if name not in called]
    return sorted(unused, key=lambda tool: (-tool.requests, -tool.runs, tool.name))
