"""What attempts add up to: sums that tell the truth about what they leave out."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from random import Random
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
    lambda key, read, written, dollars, carried: Share(*key, read, written, dollars, carried),
    KEYS,
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    DOLLARS | st.none(),
    st.booleans(),
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


ATTEMPTS = st.lists(
    st.builds(
        lambda shares, purpose: attempt(*shares, purpose=purpose),
        st.lists(SHARES, max_size=4),
        st.sampled_from(["main", "summary"]),
    )
    | st.sampled_from([NOT_BILLED, TIMED_OUT, BROKE_OFF]),
    max_size=6,
)


@given(ATTEMPTS, st.randoms(use_true_random=False))
def test_the_order_of_attempts_makes_no_difference(attempts: list[Attempt], random: Random) -> None:
    shuffled = list(attempts)
    random.shuffle(shuffled)
    assert totals_of(*shuffled) == totals_of(*attempts)


@given(ATTEMPTS, ATTEMPTS, ATTEMPTS)
def test_it_makes_no_difference_which_sums_are_added_up_first(
    first: list[Attempt], second: list[Attempt], third: list[Attempt]
) -> None:
    left, tail = totals_of(*first), totals_of(*second)
    left.merge(totals_of(*second))
    left.merge(totals_of(*third))
    tail.merge(totals_of(*third))
    right = totals_of(*first)
    right.merge(tail)
    assert left == right == totals_of(*first, *second, *third)


@given(ATTEMPTS)
def test_purposes_add_up_and_what_is_carried_is_a_part(attempts: list[Attempt]) -> None:
    totals = totals_of(*attempts)
    assert sum(line.cost_usd for line in totals.purpose_lines.values()) == totals.cost_usd
    assert sum(line.input_tokens for line in totals.purpose_lines.values()) == totals.input_tokens
    assert totals.purpose_lines.keys() == totals.purposes.keys()
    for line in totals.lines.values():
        assert line.new.cost_usd + line.carried.cost_usd == line.cost_usd
        assert line.new.input_tokens + line.carried.input_tokens == line.input_tokens
        assert line.new.output_tokens == line.output_tokens or line.carried_tokens


@given(ATTEMPTS, st.integers(0, 5))
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
    line.add_share(Share("system", None, 5, 0, None, carried=True))
    assert line.to_dict()["cost_usd"] is None
    assert line.to_dict()["carried_usd"] is None
    line.add(Line(1, 2))
    assert line.to_dict() == {
        "tokens": 8,
        "input_tokens": 6,
        "output_tokens": 2,
        "carried_tokens": 5,
        "cost_usd": None,
        "carried_usd": None,
    }
    line.add(Line(0, 0, Decimal(0), priced=True))
    assert line.to_dict()["cost_usd"] == line.to_dict()["carried_usd"] == "0"


@pytest.mark.parametrize(
    ("amount", "written"), [("0", "0"), ("1.500", "1.5"), ("1E+2", "100"), ("1E-12", "0.000000000001")]
)
def test_dollars_are_written_as_plain_digits(amount: str, written: str) -> None:
    assert usd(Decimal(amount)) == written


def test_the_json_has_every_tools_definitions_results_and_calls_new_and_carried() -> None:
    shares = (
        Share("tool_definition", "ls", 100, 0, Decimal("0.01")),
        Share("tool_call", "ls", 0, 20, Decimal("0.02")),
        Share("tool_call", "ls", 30, 0, Decimal("0.005"), carried=True),
        Share("tool_result", "ls", 300, 0, Decimal("0.03")),
        Share("tool_result", "ls", 400, 0, Decimal("0.004"), carried=True),
        Share("tool_result", "grep", 50, 0, None),
        Share("system", None, 10, 0, Decimal("0.04")),
    )
    made = totals_of(attempt(*shares, tool_calls=("ls",)), NOT_BILLED).to_dict()
    assert json.loads(json.dumps(made)) == made
    assert made["cost_usd"] == "0.109"
    assert made["attempts_not_billed"] == 1
    assert made["by_purpose"] == {"main": 1}
    assert made["by_kind"]["tool_result"]["tokens"] == 750
    assert made["by_tool"][NO_TOOL] == {
        "tokens": 10,
        "input_tokens": 10,
        "output_tokens": 0,
        "carried_tokens": 0,
        "cost_usd": "0.04",
        "carried_usd": "0",
    }
    assert made["by_tool"]["ls"] == {
        "tokens": 850,
        "input_tokens": 830,
        "output_tokens": 20,
        "carried_tokens": 430,
        "cost_usd": "0.069",
        "carried_usd": "0.009",
        "calls": 1,
        "definitions_usd": "0.01",
        "calls_written_usd": "0.02",
        "calls_carried_usd": "0.005",
        "results_usd": "0.034",
        "results_new_usd": "0.03",
        "results_carried_usd": "0.004",
    }
    assert made["by_tool"]["grep"]["results_usd"] is None
    assert Totals().to_dict()["cost_usd"] == "0"
    assert totals_of(TIMED_OUT).to_dict()["cost_usd"] is None


def test_the_json_tells_what_history_and_side_calls_cost() -> None:
    main = attempt(
        Share("user_text", None, 10, 0, Decimal("0.1")),
        Share("user_text", None, 20, 0, Decimal("0.02"), carried=True),
        Share("assistant_text", None, 30, 0, Decimal("0.03"), carried=True),
        Share("assistant_text", None, 0, 5, Decimal("0.5")),
        Share("tool_result", "ls", 40, 0, Decimal("0.04"), carried=True),
    )
    summary, unknown = replace(PAID, purpose="summary"), replace(UNPRICED, purpose="recall")
    made = totals_of(main, summary, unknown).to_dict()
    assert made["history_usd"] == "0.05"
    assert made["cost_by_purpose"] == {"main": "0.69", "summary": "0.5", "recall": None}
    assert Totals().to_dict()["history_usd"] is None
