"""The lifetime of cache writes: an hour is taken only where the gaps so far would have paid for it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from ctxkit.money import Rates
from ctxkit.money.cache_lifetime import Gaps, pays_for_an_hour

# Sonnet 5: writing costs 1.25 and 2, reading 0.1 of plain input.
RATES = Rates(Decimal(2), Decimal("2.5"), Decimal(4), Decimal("0.2"), Decimal(10))


def run(*gaps: float, size: int = 100) -> Gaps:
    """A history that does not grow, sent at once and after each of these gaps in seconds."""
    seen, at = Gaps().then(at=0.0, size=size, kept=0), 0.0
    for gap in gaps:
        at += gap
        seen = seen.then(at=at, size=size, kept=size)
    return seen


@pytest.mark.parametrize(
    ("gaps", "pays"),
    [
        ([], False),
        ([300.0] * 9, False),
        ([301.0], False),
        ([301.0, 3_600.0], True),
        ([301.0, 10.0, 10.0, 301.0], True),
        ([3_601.0] * 9, False),
        ([301.0, 301.0, 3_601.0, 3_601.0], False),
    ],
)
def test_an_hour_pays_where_two_gaps_lie_between_the_lifetimes(gaps: list[float], pays: bool) -> None:
    """`(1.25-0.1)·lapsed > (2-1.25)·(written+size)`, economics.md, sections 1.4 and 2.1."""
    assert pays_for_an_hour(run(*gaps), 100, RATES) is pays


def test_what_is_new_in_a_turn_is_written_whatever_lifetime_it_has() -> None:
    seen = Gaps().then(at=0.0, size=100, kept=0).then(at=10.0, size=150, kept=100)
    assert (seen.written, seen.lapsed) == (150, 0)


def test_after_more_than_an_hour_all_is_written_again_at_either_lifetime() -> None:
    assert (run(3_600.0).written, run(3_600.0).lapsed) == (100, 100)
    assert (run(3_601.0).written, run(3_601.0).lapsed) == (200, 0)


@pytest.mark.parametrize("rates", [None, replace(RATES, cache_write_1h=None)])
def test_an_hour_does_not_pay_where_its_price_is_unknown(rates: Rates | None) -> None:
    assert not pays_for_an_hour(run(*[600.0] * 9), 100, rates)
