"""What attempts add up to: sums that tell the truth about what they leave out."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.ledger import NO_TOOL, Attempt, Line, Totals, usd
from ctxkit.money import Share
from ctxkit.usage import Charge, Usage

DOLLARS = st.decimals(0, 10, places=9)
KEYS = st.sampled_from(
    [("system", None), ("tool_definition", "ls"), ("tool_result", "ls"), ("tool_result", "grep")]
)
SHARES = st.builds(
    lambda key, read, written, dollars: Share(*key, read, written, dollars),
    KEYS,
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    DOLLARS | st.none(),
)


def attempt(*shares: Share, **more: Any) -> Attempt:
    """A billed attempt whose usage and charge are what its shares add up to."""
    costs = [share.cost_usd for share in shares if share.cost_usd is not None]
    return Attempt(
        **{
            "task": "t",
            "purpose": "main",
            "model": "m",
            "wire": "anthropic_messages",
            "outcome": "billed",
            "usage": Usage(
                sum(share.input_tokens for share in shares), sum(share.output_tokens for share in shares)
            ),
            "charge": Charge(output_usd=sum(costs, Decimal(0))) if costs else None,
            "shares": shares,
            **more,
        }
    )


def totals_of(*attempts: Attempt) -> Totals:
    totals = Totals()
    for one in attempts:
        totals.add(one)
    return totals


PAID = attempt(Share("user_text", None, 100, 10, Decimal("0.5")))
FREE = attempt(Share("user_text", None, 100, 10, Decimal(0)))
UNPRICED = attempt(Share("user_text", None, 100, 10, None))
NOT_BILLED = attempt(outcome="not_billed", usage=None, charge=None)
TIMED_OUT = attempt(outcome="unknown", usage=None, charge=None)
BROKE_OFF = attempt(
    Share("user_text", None, 100, 0, None), outcome="unknown", usage=Usage(100, None), charge=None
)


def test_every_bucket_is_summed() -> None:
    usage = Usage(100, 10, cache_read_tokens=60, cache_write_tokens=30)
    once = replace(PAID, usage=usage, cut_tokens=7, tool_calls=("ls", "ls", "grep"))
    totals = totals_of(once, replace(once, purpose="summary"))
    assert (totals.requests, totals.input_tokens, totals.output_tokens) == (2, 200, 20)
    assert (totals.cache_read_tokens, totals.cache_write_tokens, totals.cut_tokens) == (120, 60, 14)
    assert totals.cost_usd == Decimal("1.0")
    assert totals.purposes == {"main": 1, "summary": 1}
    assert totals.tool_calls == {"ls": 4, "grep": 2}


def test_an_attempt_that_was_not_billed_is_counted_and_adds_nothing() -> None:
    totals = totals_of(NOT_BILLED)
    assert totals == replace(Totals(), attempts_not_billed=1)
    assert totals.known_cost_usd == 0
    assert not totals.is_lower_bound


@pytest.mark.parametrize(
    ("one", "unmeasured", "unpriced", "input_tokens"),
    [(TIMED_OUT, 1, 0, 0), (BROKE_OFF, 1, 0, 100), (UNPRICED, 0, 1, 100)],
    ids=["timed out", "broke off", "unpriced"],
)
def test_what_is_unknown_makes_the_sums_a_lower_bound(
    one: Attempt, unmeasured: int, unpriced: int, input_tokens: int
) -> None:
    totals = totals_of(one)
    assert (totals.requests_unmeasured, totals.requests_unpriced) == (unmeasured, unpriced)
    assert (totals.requests, totals.input_tokens, totals.output_tokens) == (1, input_tokens, 10 * unpriced)
    assert totals.is_lower_bound
    assert totals.known_cost_usd is None
    assert totals_of(one, PAID).known_cost_usd == Decimal("0.5")


def test_what_is_free_is_known_to_cost_nothing() -> None:
    assert totals_of(FREE).known_cost_usd == 0
    assert totals_of(FREE, BROKE_OFF).known_cost_usd == 0
    assert Totals().known_cost_usd == 0


@given(st.lists(st.lists(SHARES, max_size=4).map(lambda shares: attempt(*shares)), max_size=5))
def test_the_rows_add_up_to_the_bill_exactly(attempts: list[Attempt]) -> None:
    totals = totals_of(*attempts)
    for rows in (totals.by_kind(), totals.by_tool()):
        assert sum(row.cost_usd for row in rows.values()) == totals.cost_usd
        assert sum(row.input_tokens for row in rows.values()) == totals.input_tokens
        assert sum(row.output_tokens for row in rows.values()) == totals.output_tokens


@given(
    st.lists(st.lists(SHARES, max_size=4).map(lambda shares: attempt(*shares)), max_size=5), st.integers(0, 5)
)
def test_sums_of_parts_are_the_sum_of_the_whole(attempts: list[Attempt], cut: int) -> None:
    merged = totals_of(*attempts[:cut])
    merged.merge(totals_of(*attempts[cut:]))
    assert merged == totals_of(*attempts)


def test_rows_come_dearest_first() -> None:
    cheap, dear, empty = (
        Share("tool_result", "ls", 900, 0, Decimal("0.1")),
        Share("tool_result", "grep", 10, 0, Decimal("0.2")),
        Share("system", None, 5, 0, None),
    )
    totals = totals_of(attempt(cheap, dear, empty))
    assert list(totals.by_tool()) == ["grep", "ls", NO_TOOL]
    assert list(totals.by_kind()) == ["tool_result", "system"]


def test_a_row_without_any_known_price_costs_none_and_not_zero() -> None:
    line = Line()
    line.add(Share("system", None, 5, 0, None))
    assert line.to_dict()["cost_usd"] is None
    line.add(Line(1, 2))
    assert line.to_dict() == {"tokens": 8, "input_tokens": 6, "output_tokens": 2, "cost_usd": None}
    line.add(Line(0, 0, Decimal(0), priced=True))
    assert line.to_dict()["cost_usd"] == "0"


@pytest.mark.parametrize(
    ("amount", "written"), [("0", "0"), ("1.500", "1.5"), ("1E+2", "100"), ("1E-12", "0.000000000001")]
)
def test_dollars_are_written_as_plain_digits(amount: str, written: str) -> None:
    assert usd(Decimal(amount)) == written


def test_the_json_has_every_tools_definitions_calls_and_results() -> None:
    shares = (
        Share("tool_definition", "ls", 100, 0, Decimal("0.01")),
        Share("tool_call", "ls", 0, 20, Decimal("0.02")),
        Share("tool_result", "ls", 300, 0, Decimal("0.03")),
        Share("tool_result", "grep", 50, 0, None),
        Share("system", None, 10, 0, Decimal("0.04")),
    )
    made = totals_of(attempt(*shares, tool_calls=("ls",)), NOT_BILLED).to_dict()
    assert json.loads(json.dumps(made)) == made
    assert made["cost_usd"] == "0.1"
    assert made["attempts_not_billed"] == 1
    assert made["by_purpose"] == {"main": 1}
    assert made["by_kind"]["tool_result"]["tokens"] == 350
    assert made["by_tool"][NO_TOOL] == {
        "tokens": 10,
        "input_tokens": 10,
        "output_tokens": 0,
        "cost_usd": "0.04",
    }
    assert made["by_tool"]["ls"] == {
        "tokens": 420,
        "input_tokens": 400,
        "output_tokens": 20,
        "cost_usd": "0.06",
        "calls": 1,
        "definitions_usd": "0.01",
        "calls_written_usd": "0.02",
        "results_usd": "0.03",
    }
    assert made["by_tool"]["grep"]["results_usd"] is None
    assert Totals().to_dict()["cost_usd"] == "0"
    assert totals_of(TIMED_OUT).to_dict()["cost_usd"] is None
