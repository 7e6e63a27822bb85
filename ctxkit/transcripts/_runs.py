"""Single requests put together to runs: one that begins with another's messages goes on from it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ctxkit.transcripts import pairs
from ctxkit.transcripts._files import Record, Source
from ctxkit.transcripts.base import RecordedRequest, Transcript

API_OF: Mapping[str, str] = {wire.name: api for api, wire in pairs.APIS.items()}
"""What the reader of pairs calls the API of a wire."""
# So many histories of one key may go on at the same time.
SIDE_BY_SIDE = 32


@dataclass(slots=True)
class Run:
    """One history as it grows.

    Attributes:
        longest: The request with the most messages so far, and its answer.
        requests: All of its requests, in order.
        details: What their reader keeps about each.
    """

    longest: Transcript
    requests: list[RecordedRequest] = field(default_factory=list)
    details: list[Any] = field(default_factory=list)

    def goes_on_with(self, one: Transcript) -> bool:
        """Whether a request repeats the longest one, or sends more after the same messages."""
        before, sent = self.longest, self.sent
        return (
            sent <= one.requests[0].input_messages
            and before.wire == one.wire
            and before.messages[:sent] == one.messages[:sent]
            and before.system == one.system
            and before.tools == one.tools
        )

    @property
    def sent(self) -> int:
        """How many messages the longest request sent."""
        return self.longest.requests[0].input_messages

    def add(self, one: Transcript, detail: Any) -> None:
        """Take the next request."""
        if (one.requests[0].input_messages, len(one.messages)) > (self.sent, len(self.longest.messages)):
            self.longest = one
        self.requests.extend(one.requests)
        self.details.append(detail)


class Runs:
    """All histories of one key, such as a task."""

    def __init__(self) -> None:
        self._runs: dict[Hashable, list[Run]] = {}

    def add(self, key: Hashable, one: Transcript, *, detail: Any = None) -> None:
        """Take the next request, as a transcript of its own: its messages, then its answer.

        Args:
            key: Requests with different keys belong to different runs.
            one: The request.
            detail: What its reader wants to keep about it.
        """
        runs = self._runs.setdefault(key, [])
        run = next((run for run in reversed(runs[-SIDE_BY_SIDE:]) if run.goes_on_with(one)), None)
        if run is None:
            run = Run(one)
            runs.append(run)
        run.add(one, detail)

    def end(self, key: Hashable) -> Iterator[tuple[Transcript, list[Any]]]:
        """The runs of a key, with what was kept about their requests; the key is forgotten."""
        for number, run in enumerate(self._runs.pop(key, []), 1):
            name = run.longest.id if number == 1 else f"{run.longest.id}~{number}"
            yield replace(run.longest, id=name, requests=tuple(run.requests)), run.details


def pair(source: Source, line: int, record: dict[str, Any]) -> Iterator[Transcript]:
    """A request and its answer as a transcript; none where it is no model call, which is reported."""
    return pairs.read(replace(source, outcomes=[Record(line, record)]))
