"""Reports of a ledger: a row for each task, tool, model or day, and rows that add up."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.errors import ConfigError
from ctxkit.keeping import Ledger, grouped
from ctxkit.ledger import NO_TOOL, Attempt
from ctxkit.usage import Usage
from support.kept import MODEL, attempt

BOOKED = st.builds(
    attempt,
    st.decimals(0, 10, places=9).map(str),
    tool=st.sampled_from([None, "grep", "ls"]),
    task=st.sampled_from(["a", "b"]),
    model=st.sampled_from([None, "m", "n"]),
    started=st.floats(0, 2e9),
    tool_calls=st.lists(st.sampled_from(["grep", "ls"])).map(tuple),
)


def names(attempts: list[Attempt], by: str) -> list[str]:
    return [row.id for row in grouped(attempts, by=by).tasks]


@given(st.lists(BOOKED, max_size=6), st.sampled_from(["task", "tool", "model", "day"]))
def test_the_rows_add_up_and_the_order_of_attempts_does_not_matter(attempts: list[Attempt], by: str) -> None:
    report = grouped(attempts, by=by)
    totals = report.totals
    rows = [row.totals for row in report.tasks]
    assert totals.requests == len(attempts)
    assert totals.cost_usd == sum(one.charge.total_usd for one in attempts if one.charge)
    for name in ("cost_usd", "input_tokens", "output_tokens"):
        assert sum(getattr(row, name) for row in rows) == getattr(totals, name)
    if by != "tool":
        assert sum(row.requests for row in rows) == totals.requests
    turned = grouped(reversed(attempts), by=by)
    assert [(row.id, row.model, row.totals) for row in turned.tasks] == [
        (row.id, row.model, row.totals) for row in report.tasks
    ]
    assert turned.totals == totals


def test_rows_come_dearest_first() -> None:
    attempts = [
        attempt("1", task="cheap"),
        attempt("3", task="dear", model="n"),
        attempt("1", task="also cheap"),
    ]
    assert names(attempts, "task") == ["dear", "also cheap", "cheap"]
    assert names([*attempts, attempt("0", model=None)], "model") == ["n", MODEL, "(unknown model)"]


def test_days_are_local_and_come_latest_first() -> None:
    days = [datetime(2026, 11, 29, 23, 59), datetime(2026, 11, 30), datetime(2026, 11, 30, 23, 59)]
    attempts = [attempt(started=day.timestamp()) for day in days] + [attempt(started=0.0)]
    assert names(attempts, "day") == ["2026-11-30", "2026-11-29", "(unknown day)"]


def test_a_tool_has_its_part_of_every_request_that_it_has_to_do_with() -> None:
    report = grouped(
        [
            attempt("4", tool="grep", tool_calls=("grep", "ls"), cut_tokens=9),
            attempt("2", usage=Usage(100, None), charge=None, shares=()),
            attempt(outcome="not_billed", usage=None, charge=None, shares=()),
        ],
        by="tool",
    )
    rows = {row.id: row.totals for row in report.tasks}
    assert {tool: (totals.requests, totals.cost_usd) for tool, totals in rows.items()} == {
        "grep": (1, Decimal(2)),
        NO_TOOL: (2, Decimal(2)),
        "ls": (1, Decimal(0)),
    }
    assert (rows["grep"].input_tokens, rows["grep"].tool_calls) == (40, {"grep": 1})
    assert (report.totals.requests, report.totals.attempts_not_billed) == (2, 1)
    assert report.totals.cut_tokens == 9


def test_a_tool_without_a_known_price_costs_none_and_not_zero() -> None:
    one = attempt(tool="grep")
    unpriced = attempt(tool="grep", charge=None, shares=())
    row = grouped([attempt(charge=None, tool_calls=("grep",), shares=())], by="tool").to_dict()["tasks"][0]
    assert row["cost_usd"] is None
    both = grouped([one, unpriced], by="tool").totals
    assert (both.requests_unpriced, both.cost_usd) == (1, Decimal("0.5"))


def test_the_json_says_by_what_and_what_is_not_known_of_a_tool() -> None:
    said = grouped([attempt(tool="grep")], by="tool").to_dict()
    assert json.loads(json.dumps(said)) == said
    assert said["by"] == "tool"
    assert {row["cache_read_tokens"] for row in said["tasks"]} == {None}
    assert said["totals"]["cache_read_tokens"] == 0
    assert grouped([attempt()]).to_dict()["tasks"][0]["cache_read_tokens"] == 0


def test_an_attempt_that_comes_twice_counts_once() -> None:
    one = attempt()
    assert grouped([one, one]).totals.requests == 1


def test_rows_hold_their_attempts_where_that_is_asked_for() -> None:
    one = attempt(tool="grep")
    with Ledger() as ledger:
        ledger.book(one)
        (row,) = ledger.report(keep_attempts=True).tasks
        assert (row.id, row.format, row.model, list(row.attempts)) == ("fix-bug", "ledger", MODEL, [one])
        assert not any(row.attempts for row in ledger.report().tasks)
        assert not any(row.attempts for row in ledger.report(by="tool", keep_attempts=True).tasks)


def test_an_unknown_grouping_is_refused() -> None:
    with Ledger() as ledger, pytest.raises(ConfigError, match="one of task, tool, model, day, it is 'week'"):
        ledger.report(by="week")  # type: ignore[arg-type]
