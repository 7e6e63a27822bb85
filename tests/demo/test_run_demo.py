"""The whole demo in this process: four runs, their bills, and what it says when something is wrong."""

from __future__ import annotations

import re
import sys
import threading
from decimal import Decimal

import pytest

from ctxkit.demo import Comparison, DemoReport, Run, run_demo
from ctxkit.demo.recorded import Outcome, recorded_outcome, recording
from ctxkit.errors import ConfigError
from ctxkit.ledger import Attempt, Totals
from ctxkit.usage import Charge, Usage

SAME = Outcome(["Done."], [("search", {"query": "cats"})])


@pytest.fixture(scope="module")
def report() -> DemoReport:
    """What the demo finds."""
    return run_demo()


@pytest.fixture(scope="module")
def starved() -> DemoReport:
    """What the demo finds where results are cut too much."""
    return run_demo(max_tokens=300)


def runs(report: DemoReport) -> list[Run]:
    return [run for one in report.comparisons for run in (one.plain, one.wrapped)]


def test_all_four_runs_end_as_the_recorded_one(report: DemoReport) -> None:
    assert [run.outcome for run in runs(report)] == [recorded_outcome(recording())] * 4
    assert report.problems == []
    assert report.to_dict()["same"] is True


def test_every_request_is_booked_and_measured(report: DemoReport) -> None:
    for run in runs(report):
        assert (run.totals.requests, run.received) == (10, 10)
        assert not run.totals.is_lower_bound
        assert not run.faults


def test_wrapping_makes_both_bills_smaller(report: DemoReport) -> None:
    for one in report.comparisons:
        assert one.wrapped.totals.input_tokens < one.plain.totals.input_tokens
        assert one.saved_usd == one.plain.totals.cost_usd - one.wrapped.totals.cost_usd
        assert one.saved_percent is not None
        assert one.saved_percent > 5


def test_only_the_wrapped_runs_are_cut(report: DemoReport) -> None:
    assert [run.totals.cut_tokens > 0 for run in runs(report)] == [False, True, False, True]


def test_the_shares_of_every_bill_add_up_to_it(report: DemoReport) -> None:
    for run in runs(report):
        for lines in (run.totals.by_kind(), run.totals.by_tool()):
            assert sum(line.cost_usd for line in lines.values()) == run.totals.cost_usd


def test_the_json_holds_both_bills_of_both_sdks(report: DemoReport) -> None:
    made = report.to_dict()
    assert list(made) == [
        "task",
        "recorded",
        "max_tokens",
        "same",
        "problems",
        "comparisons",
        "price_list",
    ]
    assert [(one["sdk"], one["model"]) for one in made["comparisons"]] == [
        ("anthropic", "claude-sonnet-5-5"),
        ("openai", "gpt-4.1"),
    ]
    for one, comparison in zip(made["comparisons"], report.comparisons, strict=True):
        assert one["plain"] == comparison.plain.totals.to_dict()
        assert one["wrapped"] == comparison.wrapped.totals.to_dict()
        assert Decimal(one["saved_usd"]) == comparison.saved_usd
        assert one["saved_percent"] == comparison.saved_percent


def test_a_limit_that_is_too_small_changes_the_answer_and_names_what_is_missing(starved: DemoReport) -> None:
    assert starved.to_dict()["same"] is False
    assert {problem.split(":")[0] for problem in starved.problems} == {
        "anthropic, wrapped",
        "openai, wrapped",
    }
    said = r"answer \d is \"I can't see .* any more|its tool calls are not the recorded ones"
    assert all(re.search(said, one) for one in starved.problems)
    assert sum("HAT172 any more" in problem for problem in starved.problems) == 2


def test_a_limit_below_what_can_be_cut_to_is_refused() -> None:
    with pytest.raises(ConfigError, match="max_tokens must be at least 100, it is 60"):
        run_demo(max_tokens=60)


@pytest.mark.parametrize("missing", ["anthropic", "openai"])
def test_without_an_sdk_the_demo_says_how_to_install_it(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'ctxkit\[demo\]'") as raised:
        run_demo()
    assert raised.value.name == missing


def test_the_demo_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    run_demo()
    assert threading.active_count() == before


def booked(requests: int = 1, *, usd: str | None = "0.5") -> Totals:
    totals = Totals()
    for _ in range(requests):
        charge = None if usd is None else Charge(output_usd=Decimal(usd))
        totals.add(Attempt("", "main", "m", "openai_chat", "billed", usage=Usage(1, 1), charge=charge))
    return totals


def compared(plain: Run, wrapped: Run) -> Comparison:
    return Comparison(sdk="openai", sdk_version="3", model="m", plain=plain, wrapped=wrapped)


def test_tool_calls_that_differ_are_a_problem() -> None:
    other = Run("wrapped", Outcome(["Done."], [("search", {"query": "dogs"})]), booked(), 1)
    silent = Run("plain", Outcome(["Done."], []), booked(), 1)
    assert list(compared(silent, other).problems(SAME)) == [
        "openai, plain: its tool calls are not the recorded ones: none",
        "openai, wrapped: its tool calls are not the recorded ones: search",
    ]


def test_a_request_that_was_not_booked_is_a_problem() -> None:
    plain, wrapped = Run("plain", SAME, booked(), 1), Run("wrapped", SAME, booked(), 2)
    assert list(compared(plain, wrapped).problems(SAME)) == [
        "openai, wrapped: 1 requests were booked, and the server received 2"
    ]


def test_a_middleware_that_failed_is_a_problem() -> None:
    wrapped = Run("wrapped", SAME, booked(), 1, {"TrimHistory: KeyError": 3})
    assert list(compared(Run("plain", SAME, booked(), 1), wrapped).problems(SAME)) == [
        "openai, wrapped: a middleware failed 3 times: TrimHistory: KeyError"
    ]


def test_a_long_answer_is_shortened_in_a_problem() -> None:
    plain = Run("plain", Outcome(["x" * 1_000], SAME.tool_calls), booked(), 1)
    (problem,) = plain.problems(SAME)
    assert problem == f"answer 1 is '{'x' * 160}...' instead of 'Done.'"


@pytest.mark.parametrize(
    ("plain", "wrapped", "usd", "percent"),
    [
        ("0.5", "0.4", "0.1", 20.0),
        ("0.5", "0.6", "-0.1", -20.0),
        (None, "0.4", None, None),
        ("0.5", None, None, None),
        ("0", "0", "0", None),
    ],
)
def test_savings_are_signed_and_unknown_where_a_price_is(
    plain: str | None, wrapped: str | None, usd: str | None, percent: float | None
) -> None:
    one = compared(
        Run("plain", SAME, booked(usd=plain), 1), Run("wrapped", SAME, booked(usd=wrapped), 1)
    ).to_dict()
    assert (one["saved_usd"], one["saved_percent"]) == (usd, percent)
