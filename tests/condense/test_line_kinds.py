"""What holds for every kind that is made of lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.condense import Budget, Condensed, Condenser
from ctxkit.condense.base import NOTE
from ctxkit.condense.listing import condense_listing
from ctxkit.condense.log import condense_log
from ctxkit.condense.search_hits import condense_search_hits
from ctxkit.condense.test_output import condense_test_output
from ctxkit.condense.traceback import condense_traceback
from ctxkit.tokens import FunctionCounter, counter_for

COUNTER = counter_for(None)
KINDS: list[Condenser] = [
    condense_log,
    condense_search_hits,
    condense_listing,
    condense_traceback,
    condense_test_output,
]
for_every_kind = pytest.mark.parametrize("condense", KINDS)
ODD_LINES = [
    "",
    "--",
    "2026-11-30 12:00:05 ERROR disk full on node-7",
    "2026-11-30 12:00:05 INFO request 200 done in 12 ms",
    "src/app/main.py:12:def main() -> None:",
    "src/app/main.py-13-    run()",
    "/srv/src/app/main.py-14-",
    "/srv/src/app/main.py:15:x",
    "12:pathless",
    "-rw-r--r--  1 root  staff  1292 Dec 18 13:20 a.txt",
    "drwxr-xr-x  2 root  staff  64 Dec 18 13:20 sub",
    "total 12",
    "./src:",
    "/srv/app/src/main.py",
    "/srv/app/node_modules/x/index.js",
    "├── lib",
    "Traceback (most recent call last):",
    '  File "/srv/app/main.py", line 3, in <module>',
    '  File "/usr/lib/python3/site-packages/x.py", line 3, in y',
    "src/a.ts(212,28): error TS2304: Cannot find name",
    "src/a.ts(213,28): warning: unused",
    "--- FAIL: TestSave (0.07s)",
    "    save_test.go:12: want 1, got 2",
    "--- PASS: TestLoad (0.00s)",
    "=== 1 failed, 4 passed in 0.12s ===",
    "你好 🙂 \ud83d",
    "x" * 3_000,
]
TEXTS = st.lists(st.sampled_from(ODD_LINES) | st.text(st.characters(), max_size=40), max_size=60).map(
    "\n".join
)
BAITS = [
    "a" * 100,
    ".",
    "=",
    "-1",
    "[",
    "/a",
    "::",
    " ",
    "\x1b[",
    "1:",
    "failed [",
    "(0,",
    "a\n",
    "\n",
    "0 ",
    "é",
]


def budget(max_tokens: int, *terms: str) -> Budget:
    return Budget(max_tokens, COUNTER, frozenset(terms))


@for_every_kind
@given(text=TEXTS, times=st.integers(1, 8), limit=st.integers(1, 400))
@settings(max_examples=60)
def test_a_result_fits_comes_again_the_same_and_stays_as_it_is(
    condense: Condenser, text: str, times: int, limit: int
) -> None:
    long = text * times
    made = condense(long, budget(limit, "disk", "main.py"))
    assert COUNTER.count(made.text) <= limit
    assert condense(long, budget(limit, "main.py", "disk")) == made
    assert condense(made.text, budget(limit)).text == made.text
    assert made.lossless or NOTE in made.text or long.startswith(made.text)


@for_every_kind
def test_a_text_that_fits_is_returned_as_it_is(condense: Condenser) -> None:
    text = "\n".join(ODD_LINES[:-2])
    assert condense(text, budget(COUNTER.count(text))).text is text


@for_every_kind
def test_where_no_note_has_room_the_longest_beginning_stays(condense: Condenser) -> None:
    text = "\n".join(f"line {number} of many that differ" for number in range(900))
    made = condense(text, budget(20))
    assert text.startswith(made.text)
    assert COUNTER.count(made.text) == 20
    assert made.hidden


@for_every_kind
def test_what_the_question_asks_about_is_shown(condense: Condenser) -> None:
    lines = [f"word {number} and {'other' * (number % 3)} things" for number in range(3_000)]
    lines[1_711] = "here is the Needle_42"
    made = condense("\n".join(lines), budget(500, "needle_42", "word"))
    assert "here is the Needle_42" in made.text


@for_every_kind
def test_a_long_line_keeps_its_start_and_its_end(condense: Condenser) -> None:
    made = condense(f"start {'word ' * 20_000}end", budget(300))
    assert made.text.startswith("start ")
    assert " characters ...] " in made.text
    assert "end\n[ctxkit: 1 of 1 lines shown; parts of long lines" in made.text


@for_every_kind
def test_the_note_tells_how_to_get_at_the_rest(condense: Condenser) -> None:
    text = "\n".join(f"line {number}" for number in range(3_000))
    made = condense(text, Budget(300, COUNTER, how="call `recall` with the handle r1"))
    assert made.text.endswith("call `recall` with the handle r1]")
    assert made.kept in made.text and made.hidden in made.text


@for_every_kind
def test_a_slow_counter_is_asked_for_little(condense: Condenser) -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text.split())

    text = "\n".join(f"line {number} of a long text" for number in range(40_000))
    made = condense(text, Budget(2_000, FunctionCounter(count, name="words")))
    assert len(made.text.split()) <= 2_000
    assert sum(counted) < 0.2 * len(text)


@for_every_kind
@pytest.mark.parametrize("bait", BAITS)
def test_the_time_grows_with_the_text_and_not_faster(condense: Condenser, bait: str) -> None:
    """A quadratic step would take sixteen times as long for four times the text."""
    small, large = (bait * (chars // len(bait)) + "\n!" for chars in (20_000, 80_000))
    condense(small, budget(200))
    assert _seconds(condense, large) < 9 * _seconds(condense, small) + 0.02


def _seconds(condense: Callable[[str, Budget], Condensed], text: str) -> float:
    times: Sequence[float] = []
    for _ in range(3):
        start = time.process_time()
        condense(text, budget(200))
        times = [*times, time.process_time() - start]
    return min(times)
