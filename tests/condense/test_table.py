"""`condense_table`: the heading stays, and rows like many others go."""

from __future__ import annotations

import pytest

from ctxkit.condense.base import Budget, Condensed
from ctxkit.condense.table import condense_table
from ctxkit.tokens import counter_for

COUNTER = counter_for(None)
PODS = """\
NAMESPACE            NAME                                    READY   STATUS             NOMINATED NODE
default              alertmanager-0                          2/2     Running            <none>
default              db-certs-authenticator-757f89d977       0/1     CrashLoopBackOff   <none>
local-path-storage   local-path-provisioner-57c5987fd4       1/1     Running            <none>
"""


def condensed(text: str, max_tokens: int, *terms: str) -> Condensed:
    """The condensed table, which keeps the limit."""
    made = condense_table(text, Budget(max_tokens, COUNTER, frozenset(terms)))
    assert COUNTER.count(made.text) <= max_tokens
    return made


def barely(text: str) -> Condensed:
    """What is made of a text that is a little too long."""
    return condensed(text, COUNTER.count(text) - 1)


def people(count: int) -> list[str]:
    rows = (f"{number},person {number},open,{30 + number % 9}" for number in range(count))
    return ["id,name,state,age", *rows]


def test_padding_between_pipes_goes_first() -> None:
    text = "| id   | name      |\n|------|-----------|\n| 1    | Ann       |\n| 22   | Bob, jr.  |"
    made = barely(text)
    assert made.lossless
    assert made.text == "| id | name |\n| --- | --- |\n| 1 | Ann |\n| 22 | Bob, jr. |"


def test_rules_between_pipes_are_short() -> None:
    text = " id |    name    \n----+------------\n  1 | Ann        \n 22 | Bob        \n(2 rows)"
    assert barely(text).text == "id | name\n---+---\n1 | Ann\n22 | Bob\n(2 rows)"


def test_a_column_that_never_changes_is_said_once() -> None:
    heading, rows = PODS.split("\n", 1)
    made = barely(f"{heading}\n{rows * 4}")
    assert made.lossless
    assert made.text.split("\n")[:3] == [
        "The same in every row: NOMINATED NODE = <none>",
        "NAMESPACE  NAME  READY  STATUS",
        "default  alertmanager-0  2/2  Running",
    ]


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_what_stands_above_and_below_a_table_stays(separator: str) -> None:
    lines = [line.replace(",", separator) for line in people(20)]
    made = barely("\n".join(["stdout:", *lines, "", "stderr:"]))
    heading = separator.join(["id", "name", "age"])
    assert made.text.startswith(f"stdout:\nThe same in every row: state = open\n{heading}\n")
    assert made.text.endswith("\n\nstderr:")


@pytest.mark.parametrize("cell", ['"open, or not"', "", "x,y"])
def test_a_column_stays_where_cells_can_not_be_told_apart(cell: str) -> None:
    lines = people(20)
    lines[7] = f"6,{cell},open" if cell else "no row"
    text = "\n".join(lines)
    made = condensed(text, int(0.95 * COUNTER.count(text)))
    assert made.text.startswith("id,name,state,age\n0,person 0,open,30")


def test_heading_ends_errors_and_what_the_question_asks_about_are_shown() -> None:
    lines = people(800)
    lines[124] = "123,failed to load,open,33"
    lines[322] = "321,The Needle,open,33"
    made = condensed("\n".join(lines), 300, "needle").text
    for line in (lines[124], lines[322], lines[1], lines[-1]):
        assert line.replace("open,", "") in made
    assert "\nid,name,age\n" in made


def test_a_rare_value_and_extreme_numbers_are_shown() -> None:
    lines = people(800)
    lines[201] = "200,person 200,lost,30"
    lines[301] = "300,person 300,open,-7.5"
    made = condensed("\n".join(lines), 300).text
    assert lines[201] in made and lines[301] in made


def test_the_rarest_values_of_all_columns_come_first() -> None:
    heading, *rows = PODS.split("\n")[:-1]
    many = [
        row.replace("default", f"space-{number % 7}") for number in range(200) for row in (rows[0], rows[2])
    ]
    assert rows[1] not in many
    made = condensed("\n".join([heading, *many[:99], rows[1], *many[99:]]), 200)
    assert "CrashLoopBackOff" in made.text


def test_long_lines_are_cut_before_rows_are_left_out() -> None:
    lines = ["name\tlabels", *(f"pod-{number}\t{f'label=value-{number},' * 90}" for number in range(10))]
    made = condensed("\n".join(lines), 1_500)
    assert all(f"pod-{number}\t" in made.text for number in range(10))
    assert made.hidden == "parts of 10 long lines"


def test_a_text_without_columns_is_shortened_as_well() -> None:
    made = condensed("\n".join(f"word{number}" for number in range(900)), 200)
    assert made.text.startswith("word0\n")
    assert made.hidden


def test_a_table_of_nothing_but_a_heading_keeps_its_start() -> None:
    assert condensed("a | b | c | " * 900, 120).text.startswith("a | b | c")
