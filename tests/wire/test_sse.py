"""Server-sent events come out the same, however their bytes are split and their lines end."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.wire.sse import Event, EventReader, encode

STREAM = (
    'event: start\ndata: {"text": "Olá, 你好, 🙂"}\n\n'
    ": a comment\n\n"
    "id: 7\nretry: 10\ndata: one\ndata: two\ndata:  indented\n\n"
    "data\n\n"
    "event: named without data\n\n"
    "data:[DONE]\n\n"
)
EVENTS = [
    Event("start", '{"text": "Olá, 你好, 🙂"}'),
    Event("", "one\ntwo\n indented"),
    Event("", ""),
    Event("", "[DONE]"),
]
LINE_ENDS = ["\n", "\r\n", "\r"]


def read(*pieces: bytes) -> list[Event]:
    reader = EventReader()
    return [event for piece in pieces for event in reader.feed(piece)]


def with_line_end(line_end: str) -> bytes:
    return STREAM.replace("\n", line_end).encode()


@pytest.mark.parametrize("line_end", LINE_ENDS)
def test_a_stream_is_the_same_whatever_ends_its_lines(line_end: str) -> None:
    assert read(with_line_end(line_end)) == EVENTS


@pytest.mark.parametrize("line_end", LINE_ENDS)
def test_a_stream_may_be_split_at_every_byte(line_end: str) -> None:
    stream = with_line_end(line_end)
    for position in range(len(stream) + 1):
        assert read(stream[:position], stream[position:]) == EVENTS


@pytest.mark.parametrize("line_end", LINE_ENDS)
def test_a_stream_may_come_byte_by_byte(line_end: str) -> None:
    assert read(*(bytes([byte]) for byte in with_line_end(line_end))) == EVENTS


@given(st.sampled_from(LINE_ENDS), st.lists(st.integers(0, len(STREAM)), max_size=6).map(sorted))
def test_a_stream_may_come_in_pieces_of_any_size(line_end: str, cuts: list[int]) -> None:
    stream = with_line_end(line_end)
    pieces = [stream[start:stop] for start, stop in zip([0, *cuts], [*cuts, None], strict=True)]
    assert read(*pieces) == EVENTS


@pytest.mark.parametrize("line_end", LINE_ENDS)
def test_an_event_is_given_out_with_its_last_byte(line_end: str) -> None:
    """A reader that waited for more would hold back the last event of a stream forever."""
    assert read(f"data: now{line_end}{line_end}".encode()) == [Event("", "now")]


def test_an_event_without_its_blank_line_is_not_given_out() -> None:
    assert read(b"data: half\n") == []


def test_a_byte_order_mark_is_no_part_of_the_first_event() -> None:
    assert read(b"\xef\xbb\xbfdata: x\n\n") == [Event("", "x")]


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    assert read(b"data: \xff\n\n") == [Event("", "\ufffd")]


def test_what_is_encoded_is_read_back() -> None:
    named = encode({"type": "ping", "text": "a\nb\r\n"}, name="ping")
    (event,) = read(named)
    assert event.name == "ping"
    assert json.loads(event.data) == {"type": "ping", "text": "a\nb\r\n"}
    assert read(encode("[DONE]")) == [Event("", "[DONE]")]
