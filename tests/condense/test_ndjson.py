"""`condense_ndjson`: lines of JSON as rows, and the few lines that are none beside them."""

from __future__ import annotations

import json

from ctxkit.condense.base import NOTE, Budget, Condensed
from ctxkit.condense.ndjson import condense_ndjson
from ctxkit.tokens import counter_for

COUNTER = counter_for(None)


def condensed(text: str, max_tokens: int) -> Condensed:
    """The condensed lines, which keep the limit."""
    made = condense_ndjson(text, Budget(max_tokens, COUNTER))
    assert COUNTER.count(made.text) <= max_tokens
    return made


def events(count: int) -> list[str]:
    """Lines as the loggers of servers write them."""
    return [
        json.dumps({"level": 30, "time": 1_743_577_959_399 + number, "pid": 1, "msg": f"request {number}"})
        for number in range(count)
    ]


def test_white_space_goes_first() -> None:
    text = "\n".join(events(9))
    made = condensed(text, COUNTER.count(text) - 1)
    assert made.text == text.replace(": ", ":").replace(", ", ",")
    assert made.lossless


def test_then_keys_are_said_once() -> None:
    text = "\n".join(events(30))
    made = condensed(text, int(0.6 * COUNTER.count(text)))
    assert made.lossless
    assert made.text.split("\n")[0] == '30 rows, each line a JSON array of the values of ["time","msg"]'
    assert made.text.split("\n")[1] == 'The same in every row: {"level":30,"pid":1}'


def test_the_one_line_of_another_level_is_shown() -> None:
    lines = events(900)
    lines[444] = lines[444].replace('"level": 30', '"level": 50')
    text = condensed("\n".join(lines), 400).text
    assert '[50,1743577959843,"request 444"]' in text
    assert "level: 30 899, 50 1" in text


def test_a_line_that_is_no_json_stays_in_its_place_where_there_is_room() -> None:
    lines = ['{ "a": 1 }', "Backend server is running", '{ "a": 2 }', *['{ "a": 3 }'] * 9]
    text = "\n".join(lines)
    made = condensed(text, COUNTER.count(text) - 1)
    assert made.text == text.replace(" ", "").replace("Backendserverisrunning", "Backend server is running")


def test_a_line_that_is_no_json_stands_above_the_rows_with_its_number() -> None:
    lines = events(300)
    lines.insert(1, "Backend server is running")
    made = condensed("\n".join(lines), 300)
    assert made.text.startswith('{"line 2 is no JSON":"Backend server is running"}\n300 rows, ')


def test_lines_that_make_no_table_are_shown_as_a_list() -> None:
    made = condensed("\n".join(["no JSON", *(f"[{number}, {number + 1}]" for number in range(900))]), 200)
    shown = json.loads(made.text.split(f"\n{NOTE}")[0])
    assert shown[:2] == [{"line 1 is no JSON": "no JSON"}, [0, 1]]
    assert shown[-1] == [899, 900]


def test_where_many_lines_are_no_json_they_are_shown_as_lines() -> None:
    text = "\n".join(line for event in events(300) for line in (event, "no JSON at all"))
    assert " lines shown; " in condensed(text, 300).text
