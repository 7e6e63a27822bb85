"""The gate: an edit is made where it is expected to pay, by formulas that hold in dollars."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit import ConfigError
from ctxkit.ledger.decisions import EditDecision
from ctxkit.money import Rates, rates
from ctxkit.money.break_even import (
    Edit,
    RemainingTurns,
    Terms,
    Weighed,
    break_even_turns,
    kept_out_usd,
    saving_per_turn_usd,
    smallest_batch_tokens,
    start_tokens,
    summary_break_even_turns,
    surcharge_usd,
    weigh,
)

AT = datetime(2026, 11, 30, tzinfo=UTC)
NEAR = Edit(30_000, 80_000, 40_000, 400)
FAR = Edit(0, 20_000, 100_000, 400)


def terms(write: str, read: str) -> Terms:
    return Terms(Decimal("0.000004"), Decimal(write), Decimal(read))


@pytest.mark.parametrize(
    ("write", "read", "near", "far", "unmarked"),
    [
        ("1.25", "0.1", 4.8, 57.9, 7.7),
        ("2", "0.1", 8.6, 96.3, 13.4),
        ("1.25", "0.05", 11.2, 121.9, 17.2),
        ("2", "0.05", 18.8, 198.8, 28.6),
        ("1.25", "0.025", 23.9, 250.0, 36.2),
        ("1", "0.1", 3.6, 45.1, 5.8),
        ("1", "0.25", 0.5, 14.4, 1.3),
        ("1", "0.5", -0.5, 4.1, -0.2),
    ],
)
def test_the_turns_to_pay_back_are_those_of_the_published_table(
    write: str, read: str, near: float, far: float, unmarked: float
) -> None:
    at = terms(write, read)
    found = [break_even_turns(edit, at) for edit in (NEAR, FAR, NEAR.readable_up_to(10_000))]
    assert [round(turns or 0, 1) for turns in found] == [near, far, unmarked]


def test_an_edit_of_a_cached_history_costs_what_a_model_bills() -> None:
    listed = rates("claude-opus-5-5", at=AT)
    assert listed is not None
    at = Terms.of(listed)
    keep = at.input_usd * at.read * NEAR.before_tokens
    assert keep == Decimal("0.03")
    assert round(keep + surcharge_usd(NEAR, at), 3) == Decimal("0.208")
    assert round(keep - saving_per_turn_usd(NEAR, at), 3) == Decimal("0.014")


def test_terms_follow_the_rates_and_the_lifetime() -> None:
    listed = Rates(Decimal(4), Decimal(5), Decimal(8), Decimal("0.2"), Decimal(20))
    assert Terms.of(listed) == Terms(Decimal("0.000004"), Decimal("1.25"), Decimal("0.05"))
    assert Terms.of(listed, lifetime="1h").write == 2


def test_where_there_is_no_cache_or_no_price_terms_are_plain() -> None:
    assert Terms.of(Rates(Decimal(4), None, None, None, Decimal(1))) == Terms(Decimal("0.000004"))
    assert Terms.of(Rates(Decimal(0), None, None, Decimal(0), Decimal(0))) == Terms(Decimal(0))


tokens = st.integers(0, 300_000)


@given(
    edit=st.builds(Edit, tokens, tokens, tokens, st.integers(0, 1_000)),
    write=st.decimals("1", "2", places=2),
    read=st.decimals("0.02", "1", places=2),
    turns=st.integers(0, 50),
    cold=st.decimals("0", "1", places=2),
)
def test_the_formulas_are_what_a_turn_by_turn_bill_adds_up_to(
    edit: Edit, write: Decimal, read: Decimal, turns: int, cold: Decimal
) -> None:
    """`Δ0(λ) = (1-λ)[(w-r)S + ws - rR] + λ·w(s-R)` and `δ(λ) = (R-s)[r(1-λ) + wλ]`, times the price."""
    at = Terms(Decimal("0.000003"), write, read)
    gone, stub, behind = edit.removed_tokens, edit.stub_tokens, edit.suffix_tokens
    warm = (write - read) * behind + write * stub - read * gone
    delta0 = (1 - cold) * warm + cold * write * (stub - gone)
    delta = (gone - stub) * (read * (1 - cold) + write * cold)
    assert surcharge_usd(edit, at, cold=cold) == at.input_usd * delta0
    assert saving_per_turn_usd(edit, at, cold=cold) == at.input_usd * delta
    weighed = weigh(edit, at, expected_turns=turns, cold_share=cold)
    assert weighed.net_saving_usd == at.input_usd * (turns * delta - delta0)


def test_an_edit_is_made_from_the_turn_on_in_which_it_pays() -> None:
    early, late = (weigh(NEAR, terms("1.25", "0.1"), expected_turns=turns) for turns in (4, 5))
    assert not early.taken
    assert early.reason == "it would pay for itself after 4.8 turns, and 4 are expected to come"
    assert late.taken
    assert late.reason == "it pays for itself after 4.8 turns, and 5 are expected to come"
    assert late.net_saving_usd > 0 > early.net_saving_usd


def test_an_edit_that_saves_at_once_needs_no_further_turn() -> None:
    weighed = weigh(NEAR, terms("1", "0.5"), expected_turns=0)
    assert (weighed.taken, weighed.break_even_turns) == (True, 0)
    assert weighed.reason == "it saves in its own turn"


def test_with_a_cold_cache_every_edit_saves_at_once() -> None:
    weighed = weigh(FAR, terms("1.25", "0.025"), expected_turns=0, cold_now=True)
    assert (weighed.taken, weighed.break_even_turns) == (True, 0)
    assert weighed.reason == "it saves in its own turn, as the cache has lapsed"


def test_an_edit_that_crosses_a_price_cliff_pays_in_its_own_turn() -> None:
    """Haiku 5.5 takes five times as much for every token of a prompt beyond 100,000."""
    dear, cheap = (rates("claude-haiku-5-5", at=AT, prompt_tokens=size) for size in (110_000, 70_000))
    assert dear is not None and cheap is not None
    edit = Edit(20_000, 40_000, 50_000)
    at, before = Terms.of(cheap), Terms.of(dear)
    assert weigh(edit, at, expected_turns=1, before=before).taken
    assert not weigh(edit, at, expected_turns=1).taken
    assert saving_per_turn_usd(edit, at, before=before) == Decimal("0.0055") - Decimal("0.0007")


def test_a_history_that_does_not_fit_the_window_is_edited_at_any_price() -> None:
    weighed = weigh(FAR, terms("2", "0.025"), expected_turns=0, window_tokens=100_000)
    assert weighed.taken
    assert weighed.reason == "the history has 120,000 tokens, and the model takes 100,000"
    assert weighed.net_saving_usd < 0
    assert not weigh(FAR, terms("2", "0.025"), expected_turns=0, window_tokens=120_000).taken


def test_what_is_no_shorter_is_never_put_in_the_place_of_anything() -> None:
    weighed = weigh(Edit(0, 400, 0, 400), terms("1", "1"), expected_turns=9, window_tokens=1, cold_now=True)
    assert not weighed.taken
    assert weighed.reason == "what would stand in its place is no shorter"


def test_what_costs_nothing_saves_nothing() -> None:
    weighed = weigh(NEAR, Terms(Decimal(0)), expected_turns=9, min_net_saving_usd=Decimal("0.01"))
    assert (weighed.taken, weighed.break_even_turns, weighed.reason) == (False, None, "it saves nothing")


def test_a_saving_below_the_one_asked_for_is_left() -> None:
    least = Decimal("0.02")
    weighed = weigh(NEAR, terms("1.25", "0.1"), expected_turns=5, min_net_saving_usd=least)
    assert not weighed.taken
    assert weighed.reason == "it is expected to save $0.0052, less than is asked for"


@pytest.mark.parametrize(("read", "batch"), [("0.1", 20_910), ("0.05", 43_637), ("0.025", 89_091)])
def test_the_smallest_batch_grows_as_reading_gets_cheaper(read: str, batch: int) -> None:
    at = terms("1.25", read)
    assert smallest_batch_tokens(suffix_tokens=20_000, expected_turns=10, terms=at) == batch
    assert weigh(Edit(0, batch, 20_000), at, expected_turns=10).taken
    assert not weigh(Edit(0, batch - 1, 20_000), at, expected_turns=10).taken


@pytest.mark.parametrize(
    ("write", "read", "batch"),
    [("1.25", "0.1", 67_823), ("1.25", "0.05", 97_980), ("1.25", "0.025", 140_000), ("1", "0.1", 60_000)],
)
def test_the_high_threshold_follows_from_prices_growth_and_the_stable_part(
    write: str, read: str, batch: int
) -> None:
    at = terms(write, read)
    start = start_tokens(target_tokens=50_000, stable_tokens=10_000, growth_tokens=5_000, terms=at)
    assert start == 50_000 + batch
    whole = start_tokens(target_tokens=10_000, stable_tokens=50_000, growth_tokens=5_000, terms=at)
    assert whole == 10_000


def test_a_history_that_is_read_for_nothing_is_never_cleared() -> None:
    free = terms("1.25", "0")
    assert start_tokens(target_tokens=9, stable_tokens=1, growth_tokens=1, terms=free) is None
    assert smallest_batch_tokens(suffix_tokens=9, expected_turns=9, terms=free) is None
    assert break_even_turns(NEAR, free) is None


@pytest.mark.parametrize(("read", "turns"), [("0.1", 2.5), ("0.05", 3.8), ("0.025", 6.6)])
def test_a_summary_of_a_warm_history_pays_within_a_few_turns(read: str, turns: float) -> None:
    found = summary_break_even_turns(
        history_tokens=150_000,
        stable_tokens=10_000,
        summary_tokens=3_000,
        output=Decimal(5),
        terms=terms("1.25", read),
    )
    assert found == pytest.approx(turns, abs=0.05)


@pytest.mark.parametrize(("read", "multiple"), [("0.1", "4.25"), ("0.05", "2.75"), ("0.025", "2.0")])
def test_what_is_cut_before_it_is_sent_saves_a_write_and_every_read(read: str, multiple: str) -> None:
    at = terms("1.25", read)
    assert kept_out_usd(1_000, turns=30, terms=at) == 1_000 * at.input_usd * Decimal(multiple)


def test_remaining_turns_are_the_median_of_the_runs_that_got_as_far() -> None:
    learned = RemainingTurns.from_lengths([90, 3, 40, 20, 60, 30, 50])
    assert [learned.after(turn) for turn in (0, 10, 25)] == [40, 30, 25]


def test_where_too_few_runs_got_as_far_a_tenth_of_the_turns_so_far_is_expected() -> None:
    learned = RemainingTurns.from_lengths([10, 10, 20, 20, 20])
    assert learned.after(9) == 11
    assert learned.after(12) == 1
    assert RemainingTurns().after(30) == 3


def test_remaining_turns_may_be_set() -> None:
    assert RemainingTurns(fixed=7).after(1_000) == 7
    with pytest.raises(ConfigError) as caught:
        RemainingTurns(fixed=-1)
    assert caught.value.option == "fixed"


def test_the_decision_of_a_middleware_has_all_the_numbers_that_it_was_weighed_by() -> None:
    weighed = weigh(NEAR, terms("1.25", "0.1"), expected_turns=5)
    decision = EditDecision.of(weighed, by="TrimHistory")
    assert decision.by == "TrimHistory"
    assert all(getattr(decision, one.name) == getattr(weighed, one.name) for one in fields(Weighed))
