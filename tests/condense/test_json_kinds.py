"""What holds for every kind of structured data: JSON, rows, lines of JSON, tables."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.condense import Budget, Condenser
from ctxkit.condense.base import NOTE
from ctxkit.condense.json import condense_json
from ctxkit.condense.json_rows import condense_json_rows
from ctxkit.condense.ndjson import condense_ndjson
from ctxkit.condense.table import condense_table
from ctxkit.tokens import FunctionCounter, counter_for

COUNTER = counter_for(None)
KINDS: list[Condenser] = [condense_json, condense_json_rows, condense_ndjson, condense_table]
for_every_kind = pytest.mark.parametrize("condense", KINDS)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=60)
    | st.sampled_from(["error: disk full", "-", "ok", "long " * 200])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(st.sampled_from(["id", "name", "a.b", "[]", "é"]) | st.text(max_size=9), inner)
    ),
    max_leaves=40,
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(), "state": st.sampled_from(["ok", "failed"])},
        optional={"note": st.text(max_size=40), "in": st.fixed_dictionaries({"a": SCALARS, "b": SCALARS})},
    ),
    min_size=2,
    max_size=30,
)
CELLS = st.lists(st.sampled_from(["open", "shut", "12", "---"]) | st.text(max_size=9), min_size=3, max_size=3)
TEXTS = (
    (VALUES | ROWS).map(json.dumps)
    | ROWS.map(lambda rows: "\n".join(map(json.dumps, rows)))
    | ROWS.map(lambda rows: json.dumps({"total": len(rows), "items": rows}, indent=2, ensure_ascii=False))
    | st.lists(CELLS.map(",".join), max_size=30).map("\n".join)
    | st.lists(CELLS.map(" | ".join), max_size=30).map("\n".join)
    | st.lists(CELLS.map("   ".join), max_size=30).map("\n".join)
    | st.text(st.characters(), max_size=200)
)
BAITS = ["[", '{"a":', '{"a":1}\n', "[1,", '"', "\\", " ", "| ", "-", "a  ", ",", "\t", "1", "é", "[{}", "- "]


def budget(max_tokens: int, *terms: str) -> Budget:
    return Budget(max_tokens, COUNTER, frozenset(terms))


@for_every_kind
@given(text=TEXTS, limit=st.integers(1, 400))
@settings(max_examples=80, deadline=None)
def test_a_result_fits_comes_again_the_same_and_stays_as_it_is(
    condense: Condenser, text: str, limit: int
) -> None:
    made = condense(text, budget(limit, "failed", "disk"))
    assert COUNTER.count(made.text) <= limit
    assert condense(text, budget(limit, "disk", "failed")) == made
    assert condense(made.text, budget(limit)).text == made.text
    assert made.lossless or NOTE in made.text or text.startswith(made.text)


@for_every_kind
def test_a_text_that_fits_is_returned_as_it_is(condense: Condenser) -> None:
    text = '[ {"id": 1}, {"id": 2} ]'
    assert condense(text, budget(COUNTER.count(text))).text is text


@for_every_kind
def test_where_no_note_has_room_the_longest_beginning_stays(condense: Condenser) -> None:
    text = json.dumps([{"id": number, "name": f"row {number}"} for number in range(300)])
    made = condense(text, budget(12))
    assert text.startswith(made.text)
    assert COUNTER.count(made.text) == 12
    assert made.hidden


@for_every_kind
def test_the_note_tells_how_to_get_at_the_rest(condense: Condenser) -> None:
    lines = "\n".join(f'{{"id":{number},"name":"row {number}"}}' for number in range(900))
    made = condense(lines, Budget(300, COUNTER, how="call `recall` with the handle r1"))
    assert made.text.endswith("call `recall` with the handle r1]")
    assert made.kept in made.text and made.hidden in made.text


@for_every_kind
def test_a_slow_counter_is_asked_for_little(condense: Condenser) -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text) // 3

    lines = "\n".join(f'{{"id":{number},"name":"row {number} of many"}}' for number in range(20_000))
    made = condense(lines, Budget(2_000, FunctionCounter(count, name="thirds")))
    assert len(made.text) // 3 <= 2_000
    assert sum(counted) < 0.2 * len(lines)


@for_every_kind
@pytest.mark.parametrize("bait", BAITS)
@pytest.mark.parametrize("end", ["", "\n!"])
def test_the_time_grows_with_the_text_and_not_faster(condense: Condenser, bait: str, end: str) -> None:
    """A quadratic step would take 64 times as long for eight times the text."""
    small, large = (bait * (chars // len(bait)) + end for chars in (10_000, 80_000))
    condense(small, budget(200))
    assert _seconds(condense, large) < 24 * _seconds(condense, small) + 0.05


@for_every_kind
@pytest.mark.parametrize("wide", [False, True])
def test_many_objects_with_keys_of_their_own_take_time_in_proportion(condense: Condenser, wide: bool) -> None:
    def text(count: int) -> str:
        rows = [{f"key {number} {key}": number for key in range(10)} for number in range(count)]
        return json.dumps({key: part for row in rows for key, part in row.items()} if wide else rows)

    condense(text(250), budget(200))
    assert _seconds(condense, text(2_000)) < 24 * _seconds(condense, text(250)) + 0.05


def _seconds(condense: Condenser, text: str) -> float:
    def once() -> float:
        start = time.process_time()
        condense(text, budget(200))
        return time.process_time() - start

    return min(once() for _ in range(3))
