"""Buckets of tokens are inclusive, and what is unknown stays unknown."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ctxkit.usage import Charge, Usage


@pytest.mark.parametrize(
    ("usage", "uncached"),
    [
        (Usage(100, 5), 100),
        (Usage(100, 5, cache_read_tokens=60, cache_write_tokens=30), 10),
        (Usage(100, 5, cache_read_tokens=90, cache_write_tokens=30), 0),
        (Usage(None, 5, cache_read_tokens=60), None),
    ],
)
def test_the_uncached_part_is_what_was_neither_read_nor_written(usage: Usage, uncached: int | None) -> None:
    assert usage.uncached_tokens == uncached


def test_usages_are_equal_whatever_the_provider_called_them() -> None:
    assert Usage(1, 2, native={"prompt_tokens": 1}) == Usage(1, 2, native={"input_tokens": 1})


def test_a_charge_is_the_sum_of_its_parts() -> None:
    parts = [Decimal(f"0.{digit}") for digit in "12345"]
    assert Charge(*parts).total_usd == Decimal("1.5")
    assert Charge().total_usd == 0
