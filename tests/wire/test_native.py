"""The small readers of JSON: whatever stands there, they give a value or a `BodyError`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.errors import BodyError
from ctxkit.wire.native import (
    body_object,
    digest,
    dumps,
    items,
    loads,
    parsed_input,
    text,
    text_parts,
    with_text,
)

LONE_SURROGATE = "half an emoji: \ud83d"
# Any text Python can hold, lone surrogates among it.
TEXT = st.text(st.characters(), max_size=10) | st.just(LONE_SURROGATE)
NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


def nested(depth: int) -> Any:
    value: Any = "core"
    for _ in range(depth):
        value = [value]
    return value


@given(JSON)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert loads(dumps(value)) == value


def test_a_lone_surrogate_is_written_as_an_escape_and_read_back() -> None:
    assert loads(dumps({"text": LONE_SURROGATE})) == {"text": LONE_SURROGATE}
    assert loads('"\\ud83d"') == "\ud83d"


@pytest.mark.parametrize("raw", [b"", b"{", b"<html>", b"\xff\xfe", "NaN?", b"[" * 100_000])
def test_what_is_no_json_is_refused(raw: bytes | str) -> None:
    with pytest.raises(BodyError, match="not JSON"):
        loads(raw)


@pytest.mark.parametrize("value", [object(), {"a": {1, 2}}, nested(100_000)])
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(BodyError, match="can't be written as JSON"):
        dumps(value)


def test_equal_bytes_have_equal_digests_and_others_do_not() -> None:
    assert digest({"a": 1}) == digest({"a": 1})
    assert digest({"a": 1}) != digest({"a": True})
    assert len(digest("x")) == 16


@pytest.mark.parametrize("value", [None, [], "text", 1])
def test_a_body_must_be_an_object(value: Any) -> None:
    with pytest.raises(BodyError, match=r"messages\.0 must be a JSON object"):
        body_object(value, what="messages.0")


def test_items_are_a_list_or_nothing() -> None:
    assert items(None, ("content",)) == []
    assert items([1], ("content",)) == [1]
    with pytest.raises(BodyError, match=r"messages\.3\.content must be a list, not dict") as raised:
        items({}, ("messages", 3, "content"))
    assert raised.value.where == ("messages", 3, "content")


@pytest.mark.parametrize(("value", "said"), [("as it is", "as it is"), (None, ""), ({"a": [1]}, '{"a":[1]}')])
def test_text_is_a_string_as_it_is_or_json(value: Any, said: str) -> None:
    assert text(value) == said


def test_text_parts_are_joined_and_others_left_out() -> None:
    parts = [
        {"type": "text", "text": "a"},
        {"type": "image"},
        "b",
        {"text": 7},
        {"type": "text", "text": "c"},
    ]
    assert text_parts(parts) == "a\nc"


def test_another_text_takes_the_place_of_the_first_and_the_rest_stays() -> None:
    image = {"type": "image"}
    content = [
        image,
        {"type": "text", "text": "a", "cache_control": {}},
        image,
        {"type": "text", "text": "b"},
    ]
    assert with_text(content, "new") == [image, {"type": "text", "text": "new", "cache_control": {}}, image]
    assert with_text("old", "new") == "new"
    assert with_text(None, "new") == "new"


@pytest.mark.parametrize(
    ("value", "parsed"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ('{"a": ', {}),
        ("[1]", {}),
        (None, {}),
        (7, {}),
    ],
)
def test_the_arguments_of_a_call_are_read_or_empty(value: Any, parsed: Any) -> None:
    assert parsed_input(value) == parsed
