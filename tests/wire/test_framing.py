"""Events that are no server-sent events: Amazon's messages and JSON arrays, however the bytes are split."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.messages import Framing
from ctxkit.wire.framing import AwsEventReader, JsonArrayReader, reader_for, reframed
from ctxkit.wire.sse import EventReader, encode

EVENTS = [{"type": "message_start", "n": 1}, {"type": "ping", "text": "é\n]},{"}, {"type": "message_stop"}]


def written(framing: Framing, *events: Any) -> bytes:
    return b"".join(reframed(map(encode, events or EVENTS), framing))


def read(reader: Any, *pieces: bytes) -> list[Any]:
    return [json.loads(event.data) for piece in pieces for event in reader.feed(piece)]


def message(payload: bytes, headers: bytes = b"") -> bytes:
    """One message, put together by the layout of Amazon's docs."""
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    head = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return head + struct.pack(">I", zlib.crc32(head))


def chunk(event: Any) -> bytes:
    return message(json.dumps({"bytes": base64.b64encode(json.dumps(event).encode()).decode()}).encode())


@given(st.integers(0, 400))
def test_amazons_messages_are_read_however_they_are_split(place: int) -> None:
    whole = b"".join(map(chunk, EVENTS))
    assert read(AwsEventReader(), whole[:place], whole[place:]) == EVENTS


@given(st.integers(0, 120))
def test_the_elements_of_an_array_are_read_however_they_are_split(place: int) -> None:
    whole = json.dumps(EVENTS, indent=1, ensure_ascii=False).encode()
    assert read(JsonArrayReader(), whole[:place], whole[place:]) == EVENTS


@pytest.mark.parametrize(("framing", "reader"), [("aws", AwsEventReader), ("json", JsonArrayReader)])
def test_what_is_written_is_read_again(framing: Framing, reader: type[Any]) -> None:
    assert read(reader(), written(framing)) == EVENTS


def test_server_sent_events_stay_as_they_are() -> None:
    assert written("sse") == b"".join(map(encode, EVENTS))


def test_an_array_is_json_also_where_it_is_empty() -> None:
    assert json.loads(written("json")) == EVENTS
    assert b"".join(reframed([], "json")) == b"[]"


def test_amazons_checksums_are_those_of_what_stands_before_them() -> None:
    whole = written("aws", EVENTS[0])
    length, headers, checksum = struct.unpack_from(">III", whole)
    assert length == len(whole)
    assert checksum == zlib.crc32(whole[:8])
    assert struct.unpack(">I", whole[-4:]) == (zlib.crc32(whole[:-4]),)
    assert whole[12 : 12 + headers].startswith(b"\x0b:event-type\x07\x00\x05chunk")


@pytest.mark.parametrize(
    "payload", [b"", b"{}", b"[1]", b'{"message":"overloaded"}', b'{"bytes":"?"}', b'{"bytes":7}']
)
def test_a_message_that_is_no_event_is_passed_over(payload: bytes) -> None:
    assert read(AwsEventReader(), message(payload) + chunk(EVENTS[0])) == EVENTS[:1]


def test_what_is_no_message_ends_the_reading() -> None:
    lost = struct.pack(">III", 3, 0, 0)
    assert read(AwsEventReader(), chunk(EVENTS[0]) + lost, chunk(EVENTS[1])) == EVENTS[:1]


@pytest.mark.parametrize("junk", [b"]", b"no json", b'[{"a"', b"[" * 100_000 + b"{" * 100_000])
def test_what_is_no_array_gives_no_events(junk: bytes) -> None:
    assert read(JsonArrayReader(), junk, b"}") == []


@pytest.mark.parametrize(
    ("content_type", "asked", "reader"),
    [
        ("text/event-stream; charset=utf-8", None, EventReader),
        ("text/event-stream", "json", EventReader),
        ("application/vnd.amazon.eventstream", "aws", AwsEventReader),
        ("application/json; charset=UTF-8", "json", JsonArrayReader),
    ],
)
def test_the_answers_type_says_how_its_events_are_read(
    content_type: str, asked: Framing | None, reader: type[Any]
) -> None:
    assert isinstance(reader_for(content_type, asked), reader)


def test_an_answer_in_one_piece_holds_no_events() -> None:
    assert reader_for("application/json", None) is None
