"""JSON is read and written again as it was spelled, or refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.condense.json_text import compact

SPELLINGS = ["1.10", "-0", "-0.0", "1e5", "1E+5", "0.1000000000000000055", "12345678901234567890123", "1e999"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@pytest.mark.parametrize("number", SPELLINGS)
def test_a_number_keeps_its_spelling(number: str) -> None:
    assert compact(f'{{ "n": [ {number} ] }}')[1] == f'{{"n":[{number}]}}'


@given(values=st.lists(VALUES, min_size=1, max_size=4), indent=st.none() | st.integers(0, 3))
def test_values_one_behind_the_other_become_lines_of_the_same_values(
    values: list[object], indent: int | None
) -> None:
    text = " \n".join(json.dumps(value, indent=indent) for value in values)
    _, short = compact(text)
    assert [json.loads(line) for line in short.split("\n")] == values


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "{",
        "[1, NaN]",
        "[-Infinity]",
        '{"a": 1, "b": 2, "a": 3}',
        '{"a": 1} and more',
        '["\\ud83d"]',
        '["a\nb"]',
        "[" * 300 + "]" * 300,
        "[" * 100_000,
    ],
)
def test_what_could_not_be_given_back_unchanged_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        compact(text)
