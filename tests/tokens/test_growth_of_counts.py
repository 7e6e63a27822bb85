"""A growing loop costs what its new text costs, and the counts of its blocks take a bounded memory."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import orjson

from ctxkit.messages import Histories, ModelRequest
from ctxkit.tokens import BlockCounter, CountMemory, shape_of
from ctxkit.wire import wire_named
from ctxkit.wire.growing import WORTH_BYTES, GrowingBodies

WIRE = wire_named("anthropic_messages")
TURNS = 1_000
SMALL_BYTES = 200_000


class Letters:
    """Counts a token a letter, and keeps the texts that it was given last; no count is a cached integer."""

    name = "letters"

    def __init__(self) -> None:
        self.given: list[str] = []

    def count(self, text: str) -> int:
        self.given.append(text)
        return 1_000 + len(text)


def step(number: int) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"call_{number}", "name": "read_file", "input": {"number": number}}
    result = {"type": "tool_result", "tool_use_id": f"call_{number}", "content": f"{number:06} " * 100}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def bytes_held(*, turns: int, max_bytes: int) -> int:
    """What a counter still holds when a loop is over and everything else of it is gone."""
    tracemalloc.start()
    letters, histories, messages = Letters(), Histories(), []
    counter = BlockCounter(letters, memory=CountMemory(max_bytes=max_bytes))
    for number in range(turns):
        messages += step(number)
        shape_of(ModelRequest(WIRE, {"messages": messages[:]}, histories=histories), counter)
    letters.given.clear()
    del histories, messages
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held


def test_every_turn_of_a_loop_counts_its_own_two_texts_and_no_others() -> None:
    letters, bodies, histories = Letters(), GrowingBodies(), Histories()
    counter = BlockCounter(letters)
    messages: list[dict[str, Any]] = []
    raw = b""
    for number in range(60):
        messages += step(number)
        raw = orjson.dumps({"model": "m", "messages": messages})
        body = bodies.read(raw, key=WIRE.messages_key)
        shape_of(ModelRequest(WIRE, body, raw=raw, histories=histories), counter)
        assert letters.given == [f'read_file {{"number":{number}}}', f"{number:06} " * 100]
        letters.given.clear()
    assert len(raw) > 2 * WORTH_BYTES


def test_counts_stay_within_their_bound_in_a_loop_that_would_fill_more() -> None:
    bytes_held(turns=10, max_bytes=SMALL_BYTES)
    assert bytes_held(turns=TURNS, max_bytes=SMALL_BYTES) <= SMALL_BYTES
    assert bytes_held(turns=TURNS, max_bytes=100 * SMALL_BYTES) > SMALL_BYTES
