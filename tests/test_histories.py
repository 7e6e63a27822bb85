"""Bodies that begin alike share the turns of that beginning, and nothing is kept longer than it is of use."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.blocks import Turn
from ctxkit.errors import BodyError
from ctxkit.histories import KEPT_HISTORIES, Histories
from ctxkit.messages import ModelRequest
from ctxkit.wire import wire_named
from support.bodies import ANTHROPIC, OPENAI, WIRES, request_of, rounds, user

WIRE = wire_named(ANTHROPIC)


def read(histories: Histories, *texts: str, size: int = 0, **body: Any) -> tuple[Turn, ...]:
    """The turns of a body with one user's message for each text."""
    return histories.read(WIRE, {"messages": [user(text) for text in texts], **body}, size=size)


def shared(left: Sequence[Turn], right: Sequence[Turn]) -> int:
    """How many turns at the beginning are the same objects."""
    return sum(one is other for one, other in zip(left, right, strict=False))


@pytest.mark.parametrize("wire", WIRES)
def test_the_next_request_shares_all_turns_of_the_one_before(wire: str) -> None:
    histories = Histories()
    before: tuple[Turn, ...] = ()
    for length in range(1, 6):
        request = request_of(wire, rounds(wire, ["x"] * length), histories=histories)
        assert shared(before, request.turns) == len(before)
        before = request.turns


def test_branches_share_their_beginning_and_nothing_behind_it() -> None:
    histories = Histories()
    trunk = read(histories, "a", "b", "c")
    branch = read(histories, "a", "b", "other", "c")
    assert shared(trunk, branch) == 3
    assert branch[4] is not trunk[3]
    assert shared(branch, read(histories, "a", "b", "other", "c", "d")) == 5
    assert shared(trunk, read(histories, "a", "b", "c", "d")) == 4


def test_a_shorter_request_shares_the_turns_of_a_longer_one() -> None:
    histories = Histories()
    longer = read(histories, "a", "b", "c")
    assert shared(longer, read(histories, "a", "b")) == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"system": "s"}, {"system": "t"}),
        ({"tools": [{"name": "a"}]}, {"tools": [{"name": "b"}]}),
        ({"tools": [{"name": "a"}]}, {}),
    ],
)
def test_other_heads_share_nothing_although_their_messages_are_equal(one: Any, other: Any) -> None:
    histories = Histories()
    assert shared(read(histories, "a", "b", **one), read(histories, "a", "b", **other)) == 0


def test_what_is_no_part_of_the_prompt_keeps_nothing_apart() -> None:
    histories = Histories()
    one = read(histories, "a", model="m", temperature=0.1)
    assert shared(one, read(histories, "a", model="n", temperature=0.9)) == 2


def test_equal_heads_of_different_wires_are_different() -> None:
    histories = Histories()
    body = {"messages": [user("a")]}
    assert shared(histories.read(WIRE, body), histories.read(wire_named(OPENAI), body)) == 0


def test_histories_of_their_own_share_nothing() -> None:
    assert shared(read(Histories(), "a"), read(Histories(), "a")) == 0


def freed(reference: weakref.ref[Turn]) -> bool:
    gc.collect()
    return reference() is None


def test_turns_that_nothing_holds_are_freed() -> None:
    histories = Histories(max_bytes=10)
    gone, head = (weakref.ref(turn) for turn in (read(histories, "a", "b", size=10)[-1], read(histories)[0]))
    read(histories, "other", size=10)
    assert freed(gone)
    assert not freed(head)


def test_a_request_holds_its_own_turns() -> None:
    histories = Histories(max_bytes=10)
    request = ModelRequest(WIRE, {"messages": [user("a")]}, raw=b"x" * 10, histories=histories)
    turns = request.turns
    read(histories, "other", size=10)
    assert shared(turns, read(histories, "a")[1:]) == 1
    reference = weakref.ref(turns[0])
    del request, turns
    read(histories, "other", size=20)
    assert freed(reference)


def test_the_oldest_histories_go_when_there_are_too_many_bytes() -> None:
    histories = Histories(max_bytes=100)
    tips = {name: weakref.ref(read(histories, name, size=40)[-1]) for name in ("first", "second", "third")}
    assert [name for name, tip in tips.items() if freed(tip)] == ["first"]


def test_a_history_that_grows_counts_once() -> None:
    histories = Histories(max_bytes=100)
    other = weakref.ref(read(histories, "other", size=20)[-1])
    for length in range(1, 20):
        read(histories, *(f"{number}" for number in range(length)), size=60 + length)
    assert not freed(other)


def test_reading_the_same_history_again_makes_it_the_most_recent() -> None:
    histories = Histories(max_bytes=100)
    tips = {
        name: weakref.ref(read(histories, name, size=40)[-1])
        for name in ("first", "second", "first", "third")
    }
    assert [name for name, tip in tips.items() if freed(tip)] == ["second"]


def test_one_history_is_kept_however_large_it_is() -> None:
    histories = Histories(max_bytes=10)
    tip = weakref.ref(read(histories, "a", size=1_000)[-1])
    assert not freed(tip)


def test_histories_without_a_size_do_not_pile_up() -> None:
    histories = Histories()
    first = weakref.ref(read(histories, "0")[-1])
    for number in range(1, KEPT_HISTORIES):
        read(histories, f"{number}")
    assert not freed(first)
    read(histories, "one too many")
    assert freed(first)


def test_a_body_that_cannot_be_read_leaves_everything_as_it_was() -> None:
    histories = Histories()
    before = read(histories, "a")
    with pytest.raises(BodyError):
        histories.read(WIRE, {"messages": [user("a"), "no message"]})
    assert shared(before, read(histories, "a", "b")) == 2


MESSAGES = st.lists(st.sampled_from("abc"), max_size=5)


@given(st.lists(st.tuples(MESSAGES, st.integers(0, 60)), max_size=12))
def test_whatever_was_read_before_the_turns_are_those_of_the_body(
    bodies: list[tuple[list[str], int]],
) -> None:
    histories = Histories(max_bytes=100)
    for texts, size in bodies:
        turns = read(histories, *texts, size=size)
        assert [turn.native for turn in turns] == [None, *map(user, texts)]
        assert [turn.parent for turn in turns] == [None, *turns[:-1]]


def test_threads_that_read_the_same_history_get_the_same_turns() -> None:
    histories = Histories()
    together = threading.Barrier(8)
    found: list[tuple[Turn, ...]] = []

    def read_it() -> None:
        together.wait()
        found.append(read(histories, *map(str, range(50))))

    threads = [threading.Thread(target=read_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(shared(found[0], turns) == 51 for turns in found)


def test_a_body_that_is_too_deep_to_be_compared_is_malformed() -> None:
    class Deep(dict[str, object]):
        def __eq__(self, other: object) -> bool:
            raise RecursionError

        __hash__ = None  # type: ignore[assignment]

    histories = Histories()
    wire = wire_named(ANTHROPIC)
    message = Deep({"role": "user", "content": "Hello."})
    kept = histories.read(wire, {"messages": [message]})
    with pytest.raises(BodyError, match="nested too deeply"):
        histories.read(wire, {"messages": [{"role": "user", "content": "Hello."}]})
    assert len(kept) == 2
