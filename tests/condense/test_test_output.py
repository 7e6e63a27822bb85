"""`condense_test_output`: failures and totals before what passed."""

from __future__ import annotations

import pytest

from ctxkit.condense.base import Budget, Condensed
from ctxkit.condense.test_output import condense_test_output
from ctxkit.tokens import counter_for

COUNTER = counter_for(None)
PYTEST = [
    "=== test session starts ===",
    *(f"tests/test_{number}.py::test_it PASSED [ {number // 8}%]" for number in range(700)),
    "tests/test_700.py::test_total FAILED [ 99%]",
    "=== FAILURES ===",
    "___ test_total ___",
    ">       assert total(order) == 12",
    "E       assert 11 == 12",
    "tests/test_700.py:31: AssertionError",
    "=== 1 failed, 700 passed in 3.21s ===",
]
GO = [
    *(f"=== RUN   TestPart{number}\n--- PASS: TestPart{number} (0.0{number % 10}s)" for number in range(400)),
    "=== RUN   TestSave",
    "    save_test.go:12: Expected session_count=2, got 0",
    "--- FAIL: TestSave (0.07s)",
    *(f"=== RUN   TestRest{number}\n--- PASS: TestRest{number} (0.0{number % 10}s)" for number in range(400)),
    "FAIL",
    "FAIL\tentire.io/cli/strategy\t4.834s",
]
MOCHA = [
    *(f"    ✔ does part {number} (1{number % 10}ms)" for number in range(700)),
    "    1) lists the directory",
    *(f"    ✔ does rest {number} (1{number % 10}ms)" for number in range(300)),
    "  1000 passing (12s)",
    "  1 failing",
    "  1) lists the directory:",
    "     Error: Timeout of 30000ms exceeded.",
]


def condensed(lines: list[str], max_tokens: int) -> Condensed:
    """The condensed output, which keeps the limit."""
    made = condense_test_output("\n".join(lines), Budget(max_tokens, COUNTER))
    assert COUNTER.count(made.text) <= max_tokens
    return made


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (PYTEST, [PYTEST[0], *PYTEST[701:]]),
        (GO, [*GO[400:403], *GO[-2:]]),
        (MOCHA, [MOCHA[700], *MOCHA[1001:]]),
    ],
)
def test_failures_what_they_say_and_totals_are_shown(lines: list[str], expected: list[str]) -> None:
    shown = condensed(lines, 400).text.split("\n")
    assert [line for line in expected if line not in shown] == []


def test_failures_without_an_end_are_shown_from_all_over() -> None:
    lines = [f"FAILED tests/test_{number}.py::test_it - assert 1 == 2" for number in range(2_000)]
    made = condensed(lines, 500).text
    assert all(f"test_{number}.py" in made for number in (0, 1_000, 1_999))


def test_some_of_what_passed_is_shown_too() -> None:
    made = condensed(PYTEST, 1_000).text
    assert made.count("PASSED") > 10
