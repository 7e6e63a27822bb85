"""Whatever arrives as bytes or as JSON, what reads it raises `BodyError` or nothing, and comes to an end.

`wire/test_malformed_bodies.py` puts junk in every place of a few bodies. Here bytes, bodies and events are
random, or good ones that were damaged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ctxkit
from ctxkit.errors import BodyError, ConfigError
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.tokens import block_counter_for, turn_tokens
from ctxkit.validity import repair, validate
from ctxkit.wire import wire_named, wire_of_answer
from ctxkit.wire.framing import AwsEventReader, JsonArrayReader, Reader
from ctxkit.wire.native import loads
from ctxkit.wire.sse import Event, EventReader
from support.bodies import ALL_WIRES, ANTHROPIC, OPENAI, answer_body, calls
from support.recorded import events_of
from support.valid_histories import VALID_HISTORIES

DEPTH = 10_000
WORDS = st.sampled_from(
    ["type", "text", "content", "id", "index", "delta", "usage", "role", "name", "output", "parts", "[DONE]"]
)
EXTREMES: list[Any] = [
    *(None, True, -1, 0, 10**400, -(10**400), 1e308, float("inf"), float("-inf"), float("nan")),
    *("", "\x00", "\ud83d", "\udc00\x00" * 50, "\u202e\ufeff", "x" * 5_000, [], {}, [[]], [None], {"": None}),
]
JSON = st.recursive(
    st.sampled_from(EXTREMES) | WORDS | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
READERS: list[Callable[[], Reader]] = [EventReader, AwsEventReader, JsonArrayReader]
on_all_wires = pytest.mark.parametrize("wire", ALL_WIRES)
Draw = Callable[[st.SearchStrategy[Any]], Any]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Faults of middlewares are expected here, and not logged."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


def damaged(draw: Draw, value: Any) -> Any:
    """JSON of which one part, at any depth, is left out, stands there twice, or is something else."""
    if not isinstance(value, (dict, list)) or not value or draw(st.integers(0, 9)) == 0:
        return draw(JSON)
    key = draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
    made = value.copy()
    how = draw(st.integers(0, 9))
    if how == 0:
        del made[key]
    elif how == 1 and isinstance(made, list):
        made.insert(key, made[key])
    else:
        made[key] = damaged(draw, made[key])
    return made


def damaged_object(draw: Draw, value: dict[str, Any]) -> dict[str, Any]:
    """An object that was damaged once to three times, and is one still."""
    for _ in range(draw(st.integers(1, 3))):
        made = damaged(draw, value)
        value = made if isinstance(made, dict) else value
    return value


@st.composite
def damaged_bytes(draw: Draw, raw: bytes) -> bytes:
    """Bytes of which a part was cut out, and something else put in."""
    start = draw(st.integers(0, len(raw)))
    stop = start + draw(st.integers(0, 40))
    put_in: bytes = draw(st.binary(max_size=20))
    return raw[:start] + put_in + raw[stop:]


def read_request(wire: str, body: dict[str, Any]) -> None:
    """All that is done with a request on its way to the provider, and what only a user asks for."""
    request = ModelRequest(wire_named(wire), body)
    counter = block_counter_for(request.model, request.wire.name)
    edits = ctxkit.Stack(
        ctxkit.TruncateToolResults(max_tokens=100), ctxkit.TrimHistory(start_tokens=50, target_tokens=0)
    )
    for read in (
        lambda: request.wire.head(body),
        lambda: request.wire.has_server_state(body),
        lambda: [request.wire.call_input(one.native) for one in request.blocks() if one.kind == "tool_call"],
        lambda: [turn_tokens(turn, counter) for turn in (request.head, *request.turns)],
        lambda: next(edits.model_flow(request)),
        lambda: repair(body, wire=wire),
        lambda: validate(body),
    ):
        with suppress(BodyError):
            read()


def read_answer(wire: str, body: dict[str, Any]) -> None:
    """All that is done with an answer."""
    response = ModelResponse(wire_named(wire), body, ModelRequest(wire_named(wire), {}))
    wire_of_answer(body)
    for read in (
        lambda: (response.usage, response.stop_reason, response.model),
        lambda: (response.text, response.tool_calls),
        lambda: list(response.wire.events(body, {"stream_options": {"include_usage": True}})),
    ):
        with suppress(BodyError):
            read()


def read_events(wire: str, events: list[Any]) -> None:
    """All that is done with the events of a stream, and with the answer that they make."""
    accumulator = wire_named(wire).accumulator()
    for event in events:
        with suppress(BodyError):
            accumulator.feed(event)
    assert accumulator.complete in (True, False)
    read_answer(wire, accumulator.finish() or {})


def answer(wire: str) -> dict[str, Any]:
    """An answer with a text and with a call."""
    called = calls(OPENAI, "a", inputs={"what": "fox"})
    more: dict[str, dict[str, Any]] = {
        ANTHROPIC: {"content": calls(wire, "a", thinking="Hm.")["content"]},
        OPENAI: {"choices": [{"index": 0, "message": called, "finish_reason": "tool_calls"}]},
    }
    return answer_body(wire, **more.get(wire, {}))


def stream(wire: str) -> bytes:
    """The events of that answer, as bytes."""
    return b"".join(wire_named(wire).events(answer(wire), {"stream_options": {"include_usage": True}}))


def read(reader: Reader, raw: bytes, cuts: list[int]) -> list[Event]:
    """The events in bytes that come in pieces."""
    pieces = (raw[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(raw)], strict=True))
    return [event for piece in pieces for event in reader.feed(piece)]


@on_all_wires
@given(data=st.data())
def test_a_damaged_request_is_read_or_refused(data: st.DataObject, wire: str) -> None:
    history = data.draw(VALID_HISTORIES[wire])
    read_request(wire, damaged_object(data.draw, history.body(history.ends[-1])))


@on_all_wires
@given(data=st.data())
def test_a_damaged_answer_is_read_or_refused(data: st.DataObject, wire: str) -> None:
    read_answer(wire, damaged_object(data.draw, answer(wire)))


@on_all_wires
@given(data=st.data())
def test_damaged_events_are_read_or_refused(data: st.DataObject, wire: str) -> None:
    made = damaged_object(data.draw, {"events": events_of(stream(wire))}).get("events")
    read_events(wire, made if isinstance(made, list) else [made])


@on_all_wires
@given(data=st.data())
def test_damaged_bytes_of_a_stream_are_read_the_same_however_they_are_split(
    data: st.DataObject, wire: str
) -> None:
    raw = data.draw(damaged_bytes(stream(wire)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=5)))
    events = read(EventReader(), raw, [])
    assert read(EventReader(), raw, cuts) == events
    parsed: list[Any] = []
    for event in events:
        with suppress(BodyError):
            parsed.append(event.data if event.data == "[DONE]" else loads(event.data))
    read_events(wire, parsed)


@pytest.mark.parametrize("make", READERS)
@given(raw=st.binary(max_size=300), cut=st.integers(0, 300))
def test_any_bytes_may_be_a_stream(raw: bytes, cut: int, make: Callable[[], Reader]) -> None:
    reader = make()
    for piece in (raw[:cut], raw[cut:], b"", b"\n\n"):
        assert all(isinstance(event.data, str) for event in reader.feed(piece))


@given(
    st.binary(max_size=200) | damaged_bytes(b'{"model": "claude-sonnet-5", "messages": [{"role": "user"}]}')
)
def test_any_bytes_may_be_a_request(raw: bytes) -> None:
    with suppress(BodyError):
        validate(raw)


def nested(depth: int, *, lists: bool) -> Any:
    """JSON of that depth."""
    made: Any = "x"
    for _ in range(depth):
        made = [made] if lists else {"deeper": made}
    return made


@on_all_wires
@pytest.mark.parametrize("lists", [True, False], ids=["lists", "objects"])
def test_no_depth_is_too_deep(wire: str, lists: bool) -> None:
    deep = nested(DEPTH, lists=lists)
    key = wire_named(wire).messages_key
    call = {
        "type": "tool_use",
        "id": "a",
        "name": "find",
        "input": deep,
        "arguments": deep,
        "functionCall": deep,
    }
    for messages in (deep, [deep], [{"role": "user", "content": deep, "parts": deep}], [call]):
        read_request(wire, {key: messages, "tools": [call], "system": deep})
        read_request(wire, {key: [{"role": "assistant", "content": [call], "parts": [call]}]})
    for part in (deep, [deep], [{"message": deep, "content": deep}]):
        made = dict.fromkeys(("content", "choices", "output", "candidates", "usage", "usageMetadata"), part)
        read_answer(wire, {**made, "model": part})


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_no_depth_of_an_event_is_too_deep(wire: str) -> None:
    deep = nested(DEPTH, lists=False)
    holders = ("message", "delta", "content_block", "item", "part", "response", "content")
    for kind in ("message_start", "content_block_start", "content_block_delta", "response.completed", ""):
        choices = [{"index": 0, "delta": deep, "content": deep}]
        whole = {**dict.fromkeys(holders, deep), "choices": choices, "candidates": choices}
        read_events(wire, [deep, {"type": kind, "index": 0, **whole}, {"type": kind, "delta": "x"}])


def test_no_depth_of_bytes_is_too_deep() -> None:
    for opening, closing in ((b"[", b"]"), (b'{"messages":', b"}")):
        with pytest.raises(BodyError):
            validate(b'{"messages":' + opening * DEPTH + b"1" + closing * DEPTH + b"}")
    assert list(JsonArrayReader().feed(b"[" * DEPTH)) == []


def test_only_the_name_of_a_wire_is_refused_as_a_setting() -> None:
    for read_body in (validate, repair):
        with pytest.raises(ConfigError):
            read_body({"messages": []}, wire="fax")
