"""`condense_json`: what is shown is JSON, with all keys as long as there is room."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.condense.base import NOTE, Budget, Condensed
from ctxkit.condense.json import condense_json
from ctxkit.condense.json_tree import Shortener
from ctxkit.tokens import counter_for

COUNTER = counter_for(None)
VALUES = st.recursive(
    st.none() | st.integers(0, 9_999) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.text(max_size=20), inner, max_size=9),
    max_leaves=60,
)


def condensed(value: Any, max_tokens: int, *terms: str) -> Condensed:
    """The condensed value, which keeps the limit."""
    made = condense_json(json.dumps(value, indent=2), Budget(max_tokens, COUNTER, frozenset(terms)))
    assert COUNTER.count(made.text) <= max_tokens
    return made


def shown(value: Any, max_tokens: int, *terms: str) -> Any:
    """The value above the note."""
    return json.loads(condensed(value, max_tokens, *terms).text.split(f"\n{NOTE}")[0])


@given(value=VALUES, limit=st.integers(100, 400))
@settings(max_examples=100, deadline=None)
def test_what_is_said_to_be_json_is(value: Any, limit: int) -> None:
    made = condensed(value, limit)
    if made.kept == "JSON of the same shape":
        json.loads(made.text.split(f"\n{NOTE}")[0])
    elif made.lossless and "rows, each line" not in made.text:
        assert json.loads(made.text) == value


def test_white_space_goes_first() -> None:
    value = {"name": "ctxkit", "parts": [1, 2, 3], "nested": {"é": True}}
    short = '{"name":"ctxkit","parts":[1,2,3],"nested":{"é":true}}'
    made = condensed(value, COUNTER.count(short))
    assert made.text == short
    assert made.lossless


def test_long_strings_are_cut_in_the_middle_and_short_ones_are_not() -> None:
    value = {"id": "PRRC_kwDOQyo98M6kT4HB", "body": f"start {'word ' * 900}end", "line": 289}
    made = shown(value, 200)
    assert made["id"] == value["id"] and made["line"] == 289
    assert made["body"].startswith("start word ") and made["body"].endswith(" word end")
    assert " characters ...] " in made["body"]


def test_a_string_is_not_cut_where_saying_so_would_take_as_much_room() -> None:
    assert Shortener(()).shortened("a short string of words", 20) == "a short string of words"


def test_a_string_of_many_lines_keeps_those_that_name_something_or_are_asked_about() -> None:
    lines = [f"this line tells of nothing {'at all ' * (number % 4)}" for number in range(300)]
    lines[111] = "see `sessions_fix.go` and `LastTranscriptLineCount`"
    lines[222] = "here is the needle"
    body = shown({"id": 7, "body": "\n".join(lines)}, 300, "needle")["body"].split("\n")
    assert body[0] == lines[0] and body[-1] == lines[-1]
    assert lines[111] in body and lines[222] in body


def test_what_one_part_does_not_need_goes_to_the_others() -> None:
    made = shown({"first": "a b " * 900, "second": "short", "third": "c d " * 900}, 400)
    assert abs(len(made["first"]) - len(made["third"])) < 10
    assert len(made["first"]) > 200


def test_all_keys_are_shown_where_there_is_room_for_them() -> None:
    value = {f"part_{number}": {"inner": list(range(300))} for number in range(12)}
    made = shown(value, 300)
    assert list(made) == list(value)


def test_keys_that_have_no_room_are_counted_and_the_first_named() -> None:
    value = {f"key_{number}": f"value {number} of many" for number in range(400)}
    made = shown(value, 300)
    hidden, names = list(made.items())[-1]
    assert hidden == f"[... {400 - len(made) + 1} more keys ...]"
    assert next(key for key in value if key not in made) == names.split(", ")[0]


def test_of_a_list_both_ends_errors_and_what_the_question_asks_about_are_shown() -> None:
    items: list[Any] = [f"entry number {number} of the list" for number in range(500)]
    items[123] = "fatal error: disk full"
    items[321] = {"about": "The Needle"}
    made = shown({"entries": items}, 300, "needle")["entries"]
    assert made[0] == items[0] and made[-1] == items[-1]
    assert items[123] in made and items[321] in made
    hidden = [item for item in made if str(item).endswith(" items ...]")]
    assert sum(int(item.split()[1]) for item in hidden) + len(made) - len(hidden) == 500


def test_deep_parts_are_told_by_their_size() -> None:
    value: Any = list(range(900))
    for level in range(40):
        value = {f"level_{level}": value}
    text = condensed(value, 300).text
    assert '"[... 1 key ...]"' in text
    assert "1 inner parts" in text


def test_values_one_behind_the_other_are_shown_as_rows() -> None:
    """Two calls of `gh api` print two objects; the strings are cut, and each stays an object of its own."""
    comments = [
        {"id": number, "path": f"a/{number}.go", "body": f"comment {number} " * 200} for number in (1, 2, 3)
    ]
    text = "\n".join(json.dumps(comment, indent=1) for comment in comments)
    made = condense_json(text, Budget(450, COUNTER))
    assert made.kept == "3 of 3 rows"
    assert all(f'[{number},"a/{number}.go","comment {number}' in made.text for number in (1, 2, 3))


def test_a_large_list_of_objects_below_keys_becomes_a_table() -> None:
    value = {"result": {"page": 1, "items": [{"id": number, "name": "x"} for number in range(900)]}}
    made = condensed(value, 300)
    assert "900 rows, each line a JSON array of the values of" in made.text
    assert made.kind == "json"


def test_a_small_list_of_objects_beside_other_things_does_not() -> None:
    value = {"items": [{"id": 1}, {"id": 2}], "text": "many words " * 900}
    assert shown(value, 200)["items"] == value["items"]


def test_a_list_too_far_down_is_left_where_it_is() -> None:
    value: Any = [{"id": number, "name": "x"} for number in range(900)]
    for key in "abcdef":
        value = {key: value}
    assert isinstance(shown(value, 200), dict)
