"""`missing_facts`: what error lines say exactly is not lost in a summary."""

from __future__ import annotations

import time

import pytest

from ctxkit.condense.facts import missing_facts


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        ("ERROR: src/app.py:17 is broken.", ["src/app.py:17"]),
        ("it failed after 1,234 of 50% at 7", ["1,234", "50%"]),
        ("panic: job 8f3a2b1c, user_42", ["8f3a2b1c", "user_42"]),
        (r"Exception: C:\\logs\\a", [r"C:\\logs\\a"]),
        ("fatal: main.py and 10.0.0.1 refused", ["main.py", "10.0.0.1"]),
        ("an error in plain words, and/or a/b", ["and/or", "a/b"]),
        (f"error {'x1' * 200} // x", []),
    ],
)
def test_paths_ids_and_numbers_of_error_lines_are_facts(line: str, facts: list[str]) -> None:
    assert missing_facts(f"GET /index.html 200\n{line}\nall done in 300 ms", "") == facts


def test_what_the_summary_says_is_not_missing() -> None:
    assert missing_facts("error in a.py: 404 404\nerror in b.py", "There is an error in a.py.") == [
        "404",
        "b.py",
    ]


def test_only_so_many_are_given() -> None:
    text = "\n".join(f"error {number}" for number in range(100, 200))
    assert missing_facts(text, "", most=3) == ["100", "101", "102"]


@pytest.mark.parametrize("text", ["error " + "1.,:%" * 200_000, "error" * 200_000, "error 1.1\n" * 50_000])
def test_hostile_texts_take_time_in_proportion_to_their_length(text: str) -> None:
    started = time.perf_counter()
    missing_facts(text, "")
    assert time.perf_counter() - started < 2
