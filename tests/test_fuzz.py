"""Whatever arrives as bytes or as JSON, what reads it raises the documented errors or nothing, and ends.

`wire/test_malformed_bodies.py` puts junk in every place of a few bodies. Here bytes and bodies are random, or
valid ones that were damaged.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ctxkit
from ctxkit.errors import BodyError, ConfigError
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.tokens import block_counter_for, turn_tokens
from ctxkit.validity import problems_of, repair, validate
from ctxkit.wire import wire_named, wire_of, wire_of_answer
from ctxkit.wire.framing import AwsEventReader, JsonArrayReader, Reader
from ctxkit.wire.native import loads
from ctxkit.wire.sse import EventReader
from support.bodies import ALL_WIRES, answer_body
from support.valid_histories import VALID_HISTORIES

DEPTH = 10_000
WORDS = ["type", "text", "content", "id", "index", "delta", "usage", "role", "name", "output", "parts", "[DONE]"]
EXTREMES: list[Any] = [
    *(None, True, False, -1, 0, 10**400, -(10**400), 1e308, float("inf"), float("-inf"), float("nan")),
    *("", "\x00", "\ud83d", "\ud83d\x00" * 50, "x" * 5_000, "\u202e\ufeff", [], {}, [[]], [None], {"": None}),
]
ATOMS = st.sampled_from(EXTREMES) | st.sampled_from(WORDS) | st.integers() | st.floats() | st.text(max_size=5)
JSON = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)
READERS: list[Callable[[], Reader]] = [EventReader, AwsEventReader, JsonArrayReader]


def damaged(draw: Callable[[st.SearchStrategy[Any]], Any], value: Any, place: int | None = None) -> Any:
    """The value with one of its parts, at any depth, replaced, left out, or doubled."""
    children = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    if not children or draw(st.integers(0, 9)) == 0:
        return draw(JSON)
    key, inner = draw(st.sampled_from(children))
    made = value.copy()
    how = draw(st.integers(0, 9))
    if how == 0:
        del made[key]
    elif how == 1 and isinstance(made, list):
        made.insert(key, inner)
    else:
        made[key] = damaged(draw, inner)
    return made


@st.composite
def damaged_bodies(draw: Callable[[st.SearchStrategy[Any]], Any], wire: str) -> Any:
    history = draw(VALID_HISTORIES[wire])
    body = history.body(history.ends[-1])
    for _ in range(draw(st.integers(1, 3))):
        body = damaged(draw, body)
        if not isinstance(body, dict):
            return {wire_named(wire).messages_key: body}
    return body
def read_request(wire: str, body: Any) -> None:
    """Read all that a request has, judge it, mend it, count it and edit it."""
    request = ModelRequest(wire_named(wire), body)
    counter = block_counter_for(request.model)
    stack = ctxkit.Stack(ctxkit.TruncateToolResults(max_tokens=100), ctxkit.TrimHistory(start_tokens=50, target_tokens=0))
    for read in (
        lambda: list(request.wire.messages(body)),
        lambda: request.wire.head(body),
        lambda: list(request.blocks()),
        lambda: request.wire.has_server_state(body),
        lambda: problems_of(request),
        lambda: validate(body, wire=wire),
        lambda: repair(body, wire=wire),
        lambda: validate(body),
        lambda: repair(body),
        lambda: [turn_tokens(t, counter) for t in (request.head, *request.turns)],
        lambda: next(stack.model_flow(request)),
        lambda: [request.wire.call_input(b.native) for b in request.blocks() if b.kind == 'tool_call'],
    ):
        with suppress(BodyError):
            read()
def read_answer(wire, body):
    response = ModelResponse(wire_named(wire), body, ModelRequest(wire_named(wire), {}))
    wire_of_answer(body)
    for read in (
        lambda: response.usage,
        lambda: response.stop_reason,
        lambda: response.model,
        lambda: response.text,
        lambda: response.tool_calls,
        lambda: list(response.wire.events(body, {"stream_options": {"include_usage": True}})),
    ):
        with suppress(BodyError):
            read()
