"""`condense_json_rows`: keys once, then rows like many others left out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.condense import condense
from ctxkit.condense.base import NOTE, Budget, Condensed
from ctxkit.condense.json_rows import condense_json_rows
from ctxkit.tokens import counter_for

COUNTER = counter_for(None)
ROWS = "rows, each line a JSON "
# A recorded answer of an airline's tool, with one list for each way to fly.
FLIGHT = {
    "flight_number": "HAT069",
    "origin": "JFK",
    "status": "available",
    "date": "2024-05-24",
    "available_seats": {"economy": 7, "business": 11},
    "prices": {"economy": 123, "business": 333},
}


def condensed(value: Any, max_tokens: int, *terms: str) -> Condensed:
    """The condensed value, which keeps the limit."""
    made = condense_json_rows(json.dumps(value), Budget(max_tokens, COUNTER, frozenset(terms)))
    assert COUNTER.count(made.text) <= max_tokens
    return made


def barely(value: Any) -> Condensed:
    """What is made of a value when it is a little too long without white space."""
    return condensed(value, COUNTER.count(json.dumps(value, separators=(",", ":"))) - 1)


def orders(count: int) -> list[dict[str, Any]]:
    return [
        {"id": 1_000 + number, "state": "open", "total": 10.5 + number, "name": f"customer {number}"}
        for number in range(count)
    ]


def shown_rows(text: str) -> list[list[Any]]:
    """The arrays among the lines."""
    body = text.split(f"\n{NOTE}")[0].split("\n")
    return [json.loads(line) for line in body if line.startswith("[") and not line.endswith(" ...]")]


def read_back(text: str) -> list[dict[str, Any]]:
    """The objects of a table, as its heading says that they are to be read."""
    heading, *lines = text.split("\n")
    shared: dict[str, Any] = {}
    if lines[0].startswith("The same in every row: "):
        shared = json.loads(lines.pop(0).removeprefix("The same in every row: "))
    described = heading.partition(ROWS)[2]
    if described.startswith("object"):
        rows = [{**json.loads(line), **shared} for line in lines]
    else:
        names, end = json.JSONDecoder().raw_decode(described, described.index("["))
        absent = json.loads(described[end + 2 :].split(" where")[0]) if " where a row" in described else None
        cells = [json.loads(line) for line in lines]
        rows = [
            {name: cell for name, cell in zip(names, row, strict=True) if absent is None or cell != absent}
            | shared
            for row in cells
        ]
    return [_deep(row) for row in rows] if '("a.b" is' in heading else rows


def _deep(row: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in row.items():
        *path, key = name.split(".")
        inner = made
        for part in path:
            inner = inner.setdefault(part, {})
        inner[key] = value
    return made


CELL = st.none() | st.booleans() | st.integers(0, 99) | st.sampled_from(["-", "--", "x", {}, [], {"k": 1}])
LIKE = st.fixed_dictionaries(
    {"identifier": CELL, "category": CELL},
    optional={
        "remarks": CELL,
        "dotted.name": CELL,
        "nested": st.fixed_dictionaries({"first": CELL}, optional={"second": CELL}),
    },
)


@given(objects=st.lists(LIKE, min_size=4, max_size=30))
@settings(max_examples=150, deadline=None)
def test_a_table_gives_all_objects_back(objects: list[dict[str, Any]]) -> None:
    made = barely(objects)
    if made.lossless:
        assert json.dumps(read_back(made.text)[0].get("identifier")) == json.dumps(objects[0]["identifier"])
        assert read_back(made.text) == objects


def test_keys_and_what_is_the_same_in_all_rows_are_said_once() -> None:
    objects = [{"id": number, "kind": "pod", "at": {"host": "node", "port": number}} for number in range(9)]
    made = barely(objects)
    assert made.lossless
    heading, shared, first = made.text.split("\n")[:3]
    assert heading.startswith(
        '9 rows, each line a JSON array of the values of ["id","at.port"] ("a.b" is the '
    )
    assert shared == 'The same in every row: {"kind":"pod","at.host":"node"}'
    assert first == "[0,0]"


def test_a_key_with_a_dot_in_it_is_not_taken_for_an_object() -> None:
    objects = [{"app.name": f"a{number}", "labels": {"tier": number}} for number in range(12)]
    made = barely(objects)
    assert made.lossless
    assert '("a.b"' not in made.text
    assert read_back(made.text) == objects


def test_a_row_without_a_key_is_told_from_one_with_any_value_for_it() -> None:
    objects = [{"identifier": number, "remark": "-"} for number in range(12)]
    del objects[5]["remark"]
    made = barely(objects)
    assert '("--" where a row has no such key)' in made.text
    assert '[5,"--"]' in made.text


def test_where_every_sign_is_taken_rows_are_objects() -> None:
    objects: list[dict[str, Any]] = [
        {"id": number, "remark": sign, "kind": "some longer kind"}
        for number, sign in enumerate(["-", "--", "(none)", "(no such key)"] * 3)
    ]
    del objects[5]["remark"]
    made = barely(objects)
    assert "each line a JSON object" in made.text
    assert read_back(made.text) == objects


def test_rows_in_lists_of_their_own_say_in_which() -> None:
    value = [[{**FLIGHT, "origin": "JFK"}, {**FLIGHT, "origin": "SEA"}], [{**FLIGHT, "origin": "SFO"}]]
    text = barely(value).text
    assert '("[]" is the number of the list that a row is in, from 0)' in text
    assert text.endswith('[0,"JFK"]\n[0,"SEA"]\n[1,"SFO"]')


def test_rows_below_keys_leave_what_stands_around_them_in_sight() -> None:
    value = {"total": 40, "result": {"page": 1, "items": orders(40)}}
    made = barely(value)
    assert made.lossless
    frame, heading = made.text.split("\n")[:2]
    assert frame == '{"total":40,"result":{"page":1,"items":"[... 40 rows, below ...]"}}'
    assert heading.startswith("40 rows, ")


def test_first_last_errors_and_what_the_question_asks_about_are_shown() -> None:
    objects = orders(600)
    objects[123]["name"] = "failed: disk full"
    objects[321]["name"] = "The Needle"
    made = condensed(objects, 500, "needle")
    assert made.kept == f"{600 - int(made.hidden.split()[0])} of 600 rows"
    names = {row[-1] for row in shown_rows(made.text)}
    assert {"customer 0", "customer 599", "failed: disk full", "The Needle"} <= names


def test_rare_values_and_extreme_numbers_are_shown_and_all_are_counted() -> None:
    objects = orders(500)
    objects[200]["state"] = "lost"
    objects[300]["total"] = -7.25
    made = condensed(objects, 400)
    rows = {row[0] for row in shown_rows(made.text)}
    assert {1_200, 1_300} <= rows
    assert 'state: "open" 499, "lost" 1; total: -7.25 to 509.5' in made.text


def test_a_number_is_said_as_it_was_spelled() -> None:
    text = ", ".join(f'{{"identifier": {10**24 + number}, "price": 1.{number:02}0}}' for number in range(60))
    made = condense_json_rows(f"[{text}]", Budget(500, COUNTER))
    assert f"[{10**24},1.000]" in made.text
    assert "price: 1.000 to 1.590" in made.text


def test_values_that_differ_only_in_spelling_are_not_said_to_be_the_same() -> None:
    prices = ["1.0", "1.00", "1.000"] * 7
    rows = [f'{{"identifier": {number}, "price": {price}}}' for number, price in enumerate(prices)]
    made = condense_json_rows(f"[{', '.join(rows)}]", Budget(200, COUNTER))
    assert "The same" not in made.text
    assert "[0,1.0]\n[1,1.00]\n[2,1.000]" in made.text


def test_long_values_are_cut_before_rows_are_left_out() -> None:
    objects = [{"id": number, "body": f"start {number} {'word ' * 300}end {number}"} for number in range(5)]
    made = condensed(objects, 600)
    rows = shown_rows(made.text)
    assert [row[0] for row in rows] == [0, 1, 2, 3, 4]
    assert all(row[1].startswith(f"start {row[0]} ") and row[1].endswith(f"end {row[0]}") for row in rows)
    assert made.hidden == "5 parts of long strings"


def test_rows_with_keys_of_their_own_are_objects() -> None:
    objects = [{"type": "event", f"field_{number}": number, f"other_{number}": "x"} for number in range(60)]
    made = condensed(objects, 300)
    lines = [line for line in made.text.split("\n") if line.startswith("{")]
    assert json.loads(lines[0]) == {"field_0": 0, "other_0": "x"}
    assert 'The same in every row: {"type":"event"}' in made.text


@pytest.mark.parametrize(
    "value",
    [
        [1, *orders(90)],
        [[1], *[[order] for order in orders(90)]],
        [orders(90), []],
        [[{"[]": 1}], orders(90)],
        [{f"key {number}": number for number in range(900)}],
    ],
)
def test_what_is_no_list_of_objects_is_shown_as_shorter_json(value: Any) -> None:
    made = condensed(value, 100)
    assert isinstance(json.loads(made.text.split(f"\n{NOTE}")[0]), list)
    assert made.kept == "JSON of the same shape"


def test_text_that_is_no_json_is_shown_as_lines() -> None:
    text = "\n".join(['[{"a": NaN},', *(f'{{"id": {number}}},' for number in range(500)), '{"b": 1}]'])
    made = condense_json_rows(text, Budget(200, COUNTER))
    assert made.text.startswith('[{"a": NaN},\n')
    assert " lines shown; " in made.text


def test_rows_with_keys_of_their_own_are_objects_whose_long_values_are_cut() -> None:
    rows = [{f"key_{row}_{column}": "word " * 200 for column in range(3)} for row in range(12)]
    shown = condense(json.dumps(rows), max_tokens=400, kind="json_rows").text.splitlines()
    assert shown[0] == "12 rows, each line a JSON object"
    first = json.loads(shown[1])
    assert list(first) == list(rows[0])
    assert all("characters ..." in value for value in first.values())
