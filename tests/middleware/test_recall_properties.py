"""`RecallToolResults` in loops of any shape: whatever is read, every request is valid and begins alike."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ctxkit
from ctxkit.drive import run
from ctxkit.messages import Histories, ModelRequest
from ctxkit.middleware.recall_tool_results import RecallToolResults
from ctxkit.middleware.truncate_tool_results import TruncateToolResults
from ctxkit.originals import RECALL_TOOL, Originals
from ctxkit.stores import MemoryStore
from ctxkit.testing import checked
from ctxkit.validity import problems_of
from support.bodies import ALL_WIRES, ANTHROPIC
from support.recalling import Caller, Model, answer, read_texts, reading, searching

LONG = "\n".join(f"line {number} of a long result" for number in range(300))
BINDS = "claude-opus-5-5"


@dataclass(frozen=True)
class Said:
    """What the model says in one answer.

    Attributes:
        reads: For each read, what of: a text that is kept, one that stands in the history, or nothing.
        searches: How many of the caller's tools it calls.
        reads_first: Whether the reads stand before them.
    """

    reads: tuple[str, ...]
    searches: int
    reads_first: bool


SAID = st.builds(
    Said,
    reads=st.lists(st.sampled_from(["kept", "shown", "unknown"]), max_size=2).map(tuple),
    searches=st.integers(0, 2),
    reads_first=st.booleans(),
)


@dataclass(frozen=True)
class Loop:
    """All that the model says, and whether it thinks before each answer."""

    said: tuple[Said, ...]
    thinks: bool


LOOPS = st.builds(Loop, st.lists(SAID, min_size=1, max_size=6).map(tuple), st.booleans())
few = settings(max_examples=25)
on_all_wires = pytest.mark.parametrize("wire", ALL_WIRES)


def answers_of(wire: str, loop: Loop, originals: Originals) -> list[Any]:
    """The answers of a loop; the last one ends it."""
    handles = {
        "kept": run(originals.keep(LONG), Model()),
        "shown": originals.handle(f"{LONG} of s100"),
        "unknown": "r-0",
    }
    answers = []
    for number, said in enumerate([*loop.said, Said((), 0, True)]):
        reads = [
            reading(100 * number + place, handles[what], first_line=place + 1)
            for place, what in enumerate(said.reads)
        ]
        searches = [searching(100 * number + place) for place in range(said.searches)]
        calls = [*reads, *searches] if said.reads_first else [*searches, *reads]
        thinking = f"thought {number}" if loop.thinks else ""
        answers.append(answer(wire, f"answer {number}", calls, thinking=thinking))
    return answers


def played(
    wire: str, loop: Loop, *, restarts: bool = False, inside: tuple[ctxkit.Middleware, ...] = ()
) -> tuple[list[ModelRequest], Caller]:
    """The requests that arrive from a loop, and its caller in the end."""
    store = MemoryStore()
    model = Model(*answers_of(wire, loop, Originals(store)))
    thinks = wire == ANTHROPIC and loop.thinks
    head = {"thinking": {"type": "enabled", "budget_tokens": 1_024}} if thinks else {}
    caller = Caller(wire, **{**head, "model": BINDS})
    histories, stack = Histories(), made(store, *inside)
    while True:
        if restarts:
            histories, stack = Histories(), made(store, *inside)
        request = caller.request(histories)
        before = deepcopy(request.body)
        assert problems_of(request) == ()
        response = run(checked(stack).model_flow(request), model)
        assert request.body == before
        caller.take(response, LONG)
        if len(model.requests) > len(loop.said):
            return model.requests, caller
        if not response.tool_calls:
            caller.ask("And now?")


def made(store: MemoryStore, *inside: ctxkit.Middleware) -> ctxkit.Stack:
    """A stack of a process that has just begun."""
    originals = Originals(store)
    cut = TruncateToolResults(max_tokens=300, originals=originals)
    return ctxkit.Stack(RecallToolResults(originals, max_rounds=20), cut, *inside)


@on_all_wires
@few
@given(loop=LOOPS)
def test_every_request_is_valid_and_the_caller_knows_of_no_read(wire: str, loop: Loop) -> None:
    with ctxkit.task("loop") as task:
        requests, caller = played(wire, loop)
    assert task.faults == {}
    assert [problem for request in requests for problem in problems_of(request)] == []
    assert f'"{RECALL_TOOL}"' not in repr(caller.messages).replace("'", '"')


@on_all_wires
@few
@given(loop=LOOPS, restarts=st.booleans())
def test_every_request_begins_with_the_one_before_it(wire: str, loop: Loop, restarts: bool) -> None:
    requests, _ = played(wire, loop, restarts=restarts)
    sent = [list(request.wire.messages(request.body)) for request in requests]
    for before, after in pairwise(sent):
        assert after[: len(before)] == before
    assert all(request.body["tools"] == requests[0].body["tools"] for request in requests)


@on_all_wires
@few
@given(loop=LOOPS, keep_steps=st.integers(0, 2))
def test_what_was_read_can_be_cleared_like_any_result(wire: str, loop: Loop, keep_steps: int) -> None:
    trim = ctxkit.TrimHistory(
        start_tokens=1_500, target_tokens=500, min_batch_tokens=0, keep_steps=keep_steps
    )
    with ctxkit.task("loop") as task:
        requests, _ = played(wire, loop, inside=(trim,))
    assert task.faults == {}
    assert [problem for request in requests for problem in problems_of(request)] == []


@on_all_wires
@few
@given(loop=LOOPS)
def test_a_restart_changes_no_byte(wire: str, loop: Loop) -> None:
    one, other = (played(wire, loop, restarts=restarts)[0] for restarts in (False, True))
    keys = [request.wire.messages_key for request in one]
    assert [request.body[key] for request, key in zip(one, keys, strict=True)] == [
        request.body[key] for request, key in zip(other, keys, strict=True)
    ]


@on_all_wires
@few
@given(loop=LOOPS)
def test_every_read_is_answered_within_its_limit(wire: str, loop: Loop) -> None:
    requests, _ = played(wire, loop)
    messages = list(requests[-1].wire.messages(requests[-1].body))
    assert len(read_texts(messages, wire)) == sum(len(said.reads) for said in loop.said)
