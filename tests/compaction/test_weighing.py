"""A summary is weighed with the call that writes it, by the formulas of the gate."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ctxkit.compaction import output_multiple, weigh_summary
from ctxkit.money.break_even import Edit, Terms, summary_break_even_turns
from ctxkit.trimming import Costs

FIVE = Decimal(5)


def terms(write: str, read: str) -> Terms:
    return Terms(Decimal("0.000004"), Decimal(write), Decimal(read))


@pytest.mark.parametrize(
    ("write", "read", "turns"), [("1.25", "0.1", 2.5), ("1.25", "0.05", 3.8), ("1.25", "0.025", 6.6)]
)
def test_with_nothing_behind_it_it_agrees_with_the_published_break_even_of_a_warm_summary(
    write: str, read: str, turns: float
) -> None:
    """`n* = [rT + (o+w)Z] / [r(T-F-Z)]`, in which what is saved in the edit's own turn is not counted."""
    edit = Edit(10_000, 140_000, 0, 3_000)
    made = weigh_summary(edit, Costs(terms(write, read)), written_tokens=3_000, output=FIVE, expected_turns=9)
    known = summary_break_even_turns(
        history_tokens=150_000,
        stable_tokens=10_000,
        summary_tokens=3_000,
        output=FIVE,
        terms=terms(write, read),
    )
    assert known is not None and made.break_even_turns is not None
    assert round(known, 1) == turns
    own_turn = edit.removed_tokens / (edit.removed_tokens - edit.stub_tokens)
    assert made.break_even_turns == pytest.approx(known - own_turn)
    assert made.taken


def test_the_steps_that_are_written_again_behind_it_make_it_dearer() -> None:
    costs = Costs(terms("1.25", "0.1"))
    bare, followed = (
        weigh_summary(
            Edit(10_000, 140_000, suffix, 3_000), costs, written_tokens=3_000, output=FIVE, expected_turns=9
        )
        for suffix in (0, 50_000)
    )
    more = followed.delta0_usd - bare.delta0_usd
    # Written instead of read, and read once by the call.
    assert more == Decimal("0.000004") * 50_000 * (Decimal("1.25") - Decimal("0.1") + Decimal("0.1"))


@pytest.mark.parametrize(("turns", "taken"), [(1, False), (2, True)])
def test_it_is_taken_where_so_many_turns_are_expected_as_it_needs(turns: int, *, taken: bool) -> None:
    edit, costs = Edit(10_000, 140_000, 0, 3_000), Costs(terms("1.25", "0.1"))
    made = weigh_summary(edit, costs, written_tokens=3_000, output=FIVE, expected_turns=turns)
    assert made.taken == taken
    assert made.taken == (made.net_saving_usd >= 0)
    assert f"{turns} are expected to come" in made.reason


def test_a_saving_that_is_asked_for_counts_after_the_call() -> None:
    edit, costs = Edit(10_000, 140_000, 0, 3_000), Costs(terms("1.25", "0.1"))

    def weighed(least: Decimal) -> bool:
        return weigh_summary(
            edit, costs, written_tokens=3_000, output=FIVE, expected_turns=9, min_net_saving_usd=least
        ).taken

    net = weigh_summary(edit, costs, written_tokens=3_000, output=FIVE, expected_turns=9).net_saving_usd
    assert weighed(net)
    assert not weighed(net + Decimal("0.0001"))


def test_what_does_not_fit_the_window_is_taken_and_what_is_no_shorter_is_not() -> None:
    costs = Costs(terms("1.25", "0.1"), window_tokens=100_000)
    forced = weigh_summary(
        Edit(10_000, 140_000, 0, 3_000), costs, written_tokens=3_000, output=FIVE, expected_turns=0
    )
    assert forced.taken
    assert "the model takes 100,000" in forced.reason
    longer = weigh_summary(
        Edit(10_000, 2_000, 0, 3_000), costs, written_tokens=3_000, output=FIVE, expected_turns=9
    )
    assert not longer.taken
    assert longer.break_even_turns is None
    assert longer.reason == "what would stand in its place is no shorter"


def test_an_answers_token_costs_what_the_price_list_says_and_five_times_as_much_where_it_does_not() -> None:
    assert output_multiple("gpt-4.1", None) == 4
    assert output_multiple("house", None) == 5
