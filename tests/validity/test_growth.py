"""A history that grows is looked at where it is new: every turn once, whatever stands before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.messages import Histories, ModelRequest, Turn
from ctxkit.validity import problems_of
from ctxkit.validity.problems import Finding, Message, Rules
from ctxkit.validity.seen import Seen, is_seen, with_ids
from ctxkit.wire import wire_named
from support.bodies import ANTHROPIC, OPENAI, rounds, user


def test_a_turn_is_looked_at_once() -> None:
    turns: list[Turn] = []
    exchanges: list[tuple[int, int]] = []

    def every_turn(turn: Turn) -> Iterator[Finding]:
        turns.append(turn)
        return iter(())

    def every_exchange(left: Message, right: Message) -> Iterator[Finding]:
        exchanges.append((len(left), len(right)))
        return iter(())

    rules = Rules(continues=lambda turn: False, turns=(every_turn,), exchanges=(every_exchange,))
    history, histories = rounds(OPENAI, ["Found."] * 50), Histories()
    for length in (100, 101):
        turns.clear()
        exchanges.clear()
        request = ModelRequest(wire_named(OPENAI), {"messages": history[:length]}, histories=histories)
        rules.problems(request)
    assert turns == [request.turns[-1]]
    assert exchanges == [(1, 1), (1, 1), (1, 0)]


@pytest.mark.parametrize("wire", [ANTHROPIC, OPENAI])
def test_a_branch_is_judged_by_its_own_turns(wire: str) -> None:
    histories = Histories()
    base = rounds(wire, ["Found."])

    def rules_of(messages: list[Any]) -> list[str]:
        request = ModelRequest(wire_named(wire), {"messages": messages}, histories=histories)
        return [problem.rule for problem in problems_of(request)]

    assert rules_of(base[:2]) != []
    assert rules_of(base) == []
    assert rules_of([*base[:2], user("Stop.")]) != []
    assert rules_of([*base, user("Go on.")]) == []


@given(st.lists(st.lists(st.sampled_from("abcdefghij"), max_size=3), max_size=40))
def test_a_set_that_grows_holds_what_a_plain_one_holds(added: list[list[str]]) -> None:
    states: list[tuple[Seen, set[str]]] = [((), set())]
    for ids in added:
        seen, plain = states[-1]
        states.append((with_ids(seen, ids), plain | set(ids)))
    for seen, plain in states:
        assert {name for name in "abcdefghij" if is_seen(seen, name)} == plain


def test_a_set_that_grows_is_kept_in_few_pieces() -> None:
    seen: Seen = ()
    for number in range(1_000):
        seen = with_ids(seen, [str(number)])
    assert len(seen) <= 10
