"""How events stand in the bytes of a stream where they are no server-sent events.

Amazon sends each as a binary message (`application/vnd.amazon.eventstream`), Gemini without `alt=sse` as an
element of one JSON array. Read from `botocore` 1.44.8 and Google's REST reference on 2026-11-30.
"""

from __future__ import annotations

import base64
import codecs
import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from ctxkit.messages import Framing
from ctxkit.wire.native import dumps, loads
from ctxkit.wire.sse import Event, EventReader
from ctxkit.wire.usage_fields import mapping

CONTENT_TYPES: Mapping[Framing, str] = {
    "sse": "text/event-stream; charset=utf-8",
    "aws": "application/vnd.amazon.eventstream",
    "json": "application/json; charset=utf-8",
}
# The length of the message, that of its headers, and a checksum of the two; another one ends the message.
_PRELUDE = struct.Struct(">III")
_CHECKSUM = struct.Struct(">I")
_OVERHEAD = _PRELUDE.size + _CHECKSUM.size
_HEADERS = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
_STRING = 7
_ELEMENTS = json.JSONDecoder()
_BETWEEN = " \t\r\n[,"


class Reader(Protocol):
    """Turns the bytes of a stream into events."""

    def feed(self, data: bytes) -> Iterator[Event]:
        """The events that these bytes complete."""
        ...


class AwsEventReader:
    """Turns the bytes of an Amazon event stream into events, as they come in.

    What is no message ends the reading: whatever follows can't be told apart any more.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._lost = False

    def feed(self, data: bytes) -> Iterator[Event]:
        """The events that these bytes complete."""
        self._rest += data
        while not self._lost and len(self._rest) >= _PRELUDE.size:
            length, header_length, _ = _PRELUDE.unpack_from(self._rest)
            self._lost = length < header_length + _OVERHEAD
            if self._lost or len(self._rest) < length:
                return
            payload = self._rest[_PRELUDE.size + header_length : length - _CHECKSUM.size]
            self._rest = self._rest[length:]
            event = _decoded(payload)
            if event is not None:
                yield event


def _decoded(payload: bytes) -> Event | None:
    """The event in a message; `None` where the message is another one, such as an error."""
    try:
        content = mapping(loads(payload)).get("bytes")
        data = base64.b64decode(content, validate=True).decode() if isinstance(content, str) else None
    except ValueError:
        return None
    return None if data is None else Event("", data)


class JsonArrayReader:
    """Turns the bytes of a JSON array into events, an element each, as they come in."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._rest: list[str] = []

    def feed(self, data: bytes) -> Iterator[Event]:
        """The events that these bytes complete."""
        text = self._decoder.decode(data)
        self._rest.append(text)
        # No element ends without its bracket, so a long one is looked at once for each of those only.
        if "}" not in text:
            return
        rest = "".join(self._rest)
        while element := rest.lstrip(_BETWEEN):
            try:
                _, end = _ELEMENTS.raw_decode(element)
            except (ValueError, RecursionError):
                break
            rest = element[end:]
            yield Event("", element[:end])
        self._rest = [rest]


def reader_for(content_type: str, asked: Framing | None) -> Reader | None:
    """A reader of the events in an answer of this type; `None` where it holds none.

    Args:
        content_type: As the answer says.
        asked: The framing that the request's address asks for.
    """
    if "text/event-stream" in content_type:
        return EventReader()
    if CONTENT_TYPES["aws"] in content_type:
        return AwsEventReader()
    return JsonArrayReader() if asked == "json" else None


def reframed(events: Iterable[bytes], framing: Framing) -> Iterator[bytes]:
    """Server-sent events in another framing."""
    if framing == "sse":
        yield from events
        return
    reader = EventReader()
    data = (event.data for piece in events for event in reader.feed(piece))
    if framing == "aws":
        yield from (_message({"bytes": base64.b64encode(one.encode()).decode()}) for one in data)
        return
    yield b"[" + b",".join(one.encode() for one in data) + b"]"


def _message(payload: Any) -> bytes:
    headers = b"".join(_header(name.encode(), value.encode()) for name, value in _HEADERS.items())
    content = dumps(payload)
    lengths = struct.pack(">II", len(headers) + len(content) + _OVERHEAD, len(headers))
    message = lengths + _CHECKSUM.pack(zlib.crc32(lengths)) + headers + content
    return message + _CHECKSUM.pack(zlib.crc32(message))


def _header(name: bytes, value: bytes) -> bytes:
    return struct.pack(">B", len(name)) + name + struct.pack(">BH", _STRING, len(value)) + value
