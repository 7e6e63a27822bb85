"""Server-sent events: bytes in, events out, however the bytes are split. Knows no provider.

Follows the parsing rules of the HTML Living Standard, section 9.2.6: lines end in CR, LF or CRLF, a blank
line ends an event, several `data` lines are joined by LF, and lines that start with a colon are comments.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ctxkit.wire.native import dumps


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event.

    Attributes:
        name: The `event` field; empty where there was none.
        data: The `data` lines, joined.
    """

    name: str
    data: str


class EventReader:
    """Turns the bytes of an event stream into events, as they come in."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._rest: list[str] = []
        self._after_cr = False
        self._name = ""
        self._data: list[str] = []

    def feed(self, data: bytes) -> Iterator[Event]:
        """The events that these bytes complete."""
        text = self._decoder.decode(data)
        if not text:
            return
        # A CR ends its line at once; an LF that comes after it with the next bytes is its second half.
        lines = text.removeprefix("\n") if self._after_cr else text
        self._after_cr = text.endswith("\r")
        first, *others = lines.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest.append(first)
        if not others:
            return
        complete = ["".join(self._rest), *others[:-1]]
        self._rest = [others[-1]]
        for line in complete:
            event = self._line(line)
            if event is not None:
                yield event

    def _line(self, line: str) -> Event | None:
        if not line:
            event = Event(self._name, "\n".join(self._data)) if self._data else None
            self._name, self._data = "", []
            return event
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        return None


def encode(data: Any, *, name: str | None = None) -> bytes:
    """One event as bytes; `data` is JSON, or a string sent as it is."""
    payload = data.encode() if isinstance(data, str) else dumps(data)
    head = b"" if name is None else b"event: " + name.encode() + b"\n"
    return head + b"data: " + payload + b"\n\n"
