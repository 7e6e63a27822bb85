"""A body that grew is read as a whole parse would read it, and its beginning is not parsed again."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.errors import BodyError
from ctxkit.wire.growing import KEPT_BODIES, WORTH_BYTES, GrowingBodies, common_prefix, grown

# Texts that look like the end of a list, so that a bracket in a string is tried as one.
TEXT = st.text('],}{[":\\ aé', max_size=6)
ITEMS = st.recursive(
    TEXT | st.integers(0, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=6,
)
BODIES = st.dictionaries(
    st.sampled_from(["model", "messages", "tools", "stop"]), st.lists(ITEMS, max_size=3) | TEXT
)
LONG = "x" * WORTH_BYTES


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), **more}


def grow(known: Any, raw: bytes) -> Any:
    return grown(orjson.dumps(known), known, raw, key="messages")


@given(BODIES, st.lists(ITEMS, max_size=3), BODIES)
def test_a_grown_body_is_what_parsing_it_gives(
    known: dict[str, Any], more: list[Any], other: dict[str, Any]
) -> None:
    longer = [*known["messages"], *more] if isinstance(known.get("messages"), list) else more
    for now in ({**known, "messages": longer}, {**known, **other}, other):
        read = grow(known, orjson.dumps(now))
        assert read is None or (read == now and list(read) == list(now))


@pytest.mark.parametrize(
    "now",
    [
        body("a", "b", "c", system="s"),
        body("a", "b", "c", system="other"),
        body("a", "b", "c", system="s", tools=["t"]),
        body("a", "b", "c"),
        body("a", "b", system="s"),
    ],
)
def test_a_body_with_more_messages_shares_the_earlier_ones(now: dict[str, Any]) -> None:
    first = {"role": "user", "content": [1, 2]}
    known = body(first, "b", system="s")
    now["messages"][0] = first.copy()
    read = grow(known, orjson.dumps(now))
    assert read == now
    assert read["messages"][0] is first


@pytest.mark.parametrize(
    ("known", "now"),
    [
        (body("a"), body("other", "b")),
        (body(), body("a")),
        (body(["a"]), body(["a", "b"])),
        (body("a]"), body("a,")),
        ({"stop": ["a"], **body("x")}, {"stop": ["a", "b"], **body("x")}),
        (body("x", stop=["a"]), body("x", stop=["a", "b"])),
        ({"messages": "a"}, {"messages": "b"}),
    ],
)
def test_a_body_that_changed_elsewhere_is_not_taken_for_one_that_grew(known: Any, now: Any) -> None:
    assert grow(known, orjson.dumps(now)) is None


@pytest.mark.parametrize("rest", [b'"b"]}extra', b'"b"', b'"b"],"model":"again"}'])
def test_a_body_that_is_broken_or_says_a_key_twice_is_parsed_as_a_whole(rest: bytes) -> None:
    known = body("a")
    assert grow(known, orjson.dumps(known)[:-2] + b"," + rest) is None


def test_a_known_body_that_says_a_key_twice_is_not_grown() -> None:
    raw = b'{"model":"m","messages":["a"],"model":"n"}'
    assert grown(raw, orjson.loads(raw), raw.replace(b'"a"]', b'"a","b"]'), key="messages") is None


def test_bodies_share_what_they_have_in_common_with_earlier_ones() -> None:
    bodies = GrowingBodies()
    first = bodies.read(orjson.dumps(body({"content": LONG})), key="messages")
    second = bodies.read(orjson.dumps(body({"content": LONG}, "b")), key="messages")
    again = bodies.read(orjson.dumps(body({"content": LONG}, "b")), key="messages")
    assert second == body({"content": LONG}, "b")
    assert second["messages"][0] is first["messages"][0]
    assert again is second


def test_short_bodies_are_parsed_each_time() -> None:
    bodies = GrowingBodies()
    raw = orjson.dumps(body("a"))
    assert bodies.read(raw, key="messages") is not bodies.read(raw, key="messages")


@pytest.mark.parametrize("raw", [b"[]", b"<html>", b"[" + b"1," * WORTH_BYTES + b"1]", b"<" * WORTH_BYTES])
def test_what_is_no_json_object_is_refused(raw: bytes) -> None:
    with pytest.raises(BodyError):
        GrowingBodies().read(raw, key="messages")


@pytest.mark.parametrize(
    ("bodies", "others"), [(GrowingBodies(), KEPT_BODIES), (GrowingBodies(max_bytes=2 * WORTH_BYTES), 1)]
)
def test_old_bodies_are_forgotten(bodies: GrowingBodies, others: int) -> None:
    raw = orjson.dumps(body({"content": LONG}))
    first = bodies.read(raw, key="messages")
    for number in range(others):
        bodies.read(orjson.dumps(body(f"{number}{LONG}")), key="messages")
    assert bodies.read(raw, key="messages") is not first


@given(st.binary(max_size=8), st.binary(max_size=8), st.binary(max_size=8))
def test_a_common_prefix_is_the_longest_one(start: bytes, left: bytes, right: bytes) -> None:
    length = common_prefix(start + left, start + right)
    assert (start + left)[:length] == (start + right)[:length]
    assert (start + left)[length : length + 1] != (start + right)[length : length + 1] or (
        length == min(len(start + left), len(start + right))
    )
