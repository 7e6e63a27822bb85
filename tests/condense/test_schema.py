"""`slim_schema`: a shorter schema allows and says the same."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.condense.schema import slim_schema
from ctxkit.wire.native import dumps

ADDRESS = {
    "type": "object",
    "properties": {
        "street": {"type": "string", "description": "Street and number of the building"},
        "city": {"type": "string", "description": "The city, in its own language"},
    },
    "required": ["city"],
}
TWICE = {"type": "object", "properties": {"home": ADDRESS, "work": ADDRESS}}
NAMES = st.sampled_from(["a", "b", "title", "properties", "$ref"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "title", "long enough"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


def schemas() -> st.SearchStrategy[Any]:
    leaves = st.sampled_from(
        [
            *({}, True, False, {"type": "string", "title": "A"}, {"type": "integer", "minimum": 0}),
            *(
                {"enum": ["a", {"title": "a"}, None]},
                {"const": {"default": None}},
                {"type": ["string", "null"]},
            ),
            {"type": "string", "description": "said in so many words that repeating it takes much room"},
        ]
    )
    return st.recursive(leaves, _larger, max_leaves=12)


def _larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    by_name = st.dictionaries(NAMES, inner, max_size=4)
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "properties": by_name,
        "patternProperties": by_name.map(lambda named: {f"^{name[-1]}": one for name, one in named.items()}),
        "additionalProperties": inner,
        "unevaluatedProperties": st.booleans(),
        "required": st.lists(NAMES, max_size=2, unique=True),
        "items": inner,
        "prefixItems": st.lists(inner, min_size=1, max_size=2),
        "anyOf": st.lists(inner, min_size=1, max_size=3),
        "allOf": st.lists(inner, min_size=1, max_size=2),
        "not": inner,
        "title": st.sampled_from(["A", "b", "Other"]),
        "description": st.sampled_from(["", " ", "says something"]),
        "default": VALUES,
        "examples": st.lists(VALUES, max_size=2),
        "$comment": st.just("for programs"),
    }
    return st.fixed_dictionaries({}, optional=keywords)


@given(schemas().filter(lambda schema: isinstance(schema, dict)), st.lists(VALUES, max_size=8), st.booleans())
def test_a_slim_schema_allows_what_the_schema_allows_and_nothing_else(
    schema: dict[str, Any], instances: list[Any], references: bool
) -> None:
    before = deepcopy(schema)
    slim = slim_schema(schema, references=references)
    assert schema == before
    jsonschema.Draft202012Validator.check_schema(slim)
    one, other = (jsonschema.Draft202012Validator(each) for each in (schema, slim))
    for instance in instances:
        assert one.is_valid(instance) == other.is_valid(instance)


@given(schemas().filter(lambda schema: isinstance(schema, dict)))
def test_a_slim_schema_is_never_longer_and_slimming_it_again_changes_nothing(schema: dict[str, Any]) -> None:
    slim = slim_schema(schema)
    assert len(dumps(slim)) <= len(dumps(schema))
    assert dumps(slim_schema(slim)) == dumps(slim)


@pytest.mark.parametrize(
    "noise",
    [
        *({"title": "City_Name"}, {"title": ""}, {"description": " "}, {"$comment": "generated"}),
        *({"default": None}, {"default": ""}, {"default": []}, {"default": {}}),
        *({"additionalProperties": True}, {"additionalProperties": {}}),
    ],
    ids=str,
)
def test_what_says_nothing_goes(noise: dict[str, Any]) -> None:
    schema = {"properties": {"cityName": {"type": "string", **noise}}}
    assert slim_schema(schema) == {"properties": {"cityName": {"type": "string"}}}


@pytest.mark.parametrize(
    "meaning",
    [
        *({"title": "Capital"}, {"description": "Which city"}, {"default": False}, {"default": 0}),
        *(
            {"default": "Paris"},
            {"additionalProperties": False},
            {"additionalProperties": {"type": "string"}},
        ),
        *(
            {"enum": ["", None]},
            {"const": None},
            {"required": []},
            {"format": "date"},
            {"examples": ["Rome"]},
        ),
        *({"x-order": {"title": "city"}}, {"title": 7}, {"description": None}),
    ],
    ids=str,
)
def test_what_says_something_stays(meaning: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string", **meaning}}, "required": ["city"]}
    assert slim_schema(schema) == schema


def test_a_property_may_be_called_like_a_keyword() -> None:
    schema = {"properties": {"title": {"type": "string"}, "default": {"type": "null"}, "examples": {}}}
    assert slim_schema(schema, examples=False) == schema


def test_the_title_of_the_whole_goes_where_it_repeats_the_tools_name() -> None:
    schema = {"title": "readFile", "type": "object"}
    assert slim_schema(schema, name="read_file") == {"type": "object"}
    assert slim_schema(schema, name="write_file") == schema


def test_examples_go_only_where_that_is_asked_for() -> None:
    schema = {"properties": {"city": {"examples": ["Rome"]}}}
    assert slim_schema(schema) == schema
    assert slim_schema(schema, examples=False) == {"properties": {"city": {}}}


def test_open_objects_stay_where_that_is_asked_for_or_where_they_change_what_is_left_over() -> None:
    schema = {"additionalProperties": True}
    assert slim_schema(schema, open_objects=False) == schema
    left_over = {"allOf": [schema], "unevaluatedProperties": False}
    assert slim_schema(left_over) == left_over


@pytest.mark.parametrize(
    ("dialect", "schema", "goes"),
    [
        ("http://json-schema.org/draft-07/schema#", {"type": "object"}, True),
        ("https://json-schema.org/draft/2020-12/schema", {"type": "object"}, True),
        ("http://json-schema.org/draft-04/schema#", {"minimum": 0, "exclusiveMinimum": True}, False),
        ("http://json-schema.org/draft-07/schema#", {"properties": {"a": {"items": [{}]}}}, False),
        (
            "http://json-schema.org/draft-07/schema#",
            {"properties": {"a": {"$ref": "#/a"}}},
            False,
        ),
        (7, {"type": "object"}, False),
    ],
)
def test_the_dialect_goes_where_every_dialect_reads_the_schema_alike(
    dialect: Any, schema: dict[str, Any], goes: bool
) -> None:
    assert ("$schema" not in slim_schema({"$schema": dialect, **schema})) == goes


def test_a_part_that_repeats_is_said_once() -> None:
    reference = {"$ref": "#/$defs/part1"}
    assert slim_schema(TWICE) == {
        "type": "object",
        "properties": {"home": reference, "work": reference},
        "$defs": {"part1": ADDRESS},
    }
    assert slim_schema(TWICE, references=False) == TWICE


def test_repeated_parts_within_repeated_parts_are_said_once_too() -> None:
    person = {"type": "object", "properties": {"address": ADDRESS, "friend": {"enum": ["x" * 100]}}}
    schema = {"properties": {"a": person, "b": person, "c": ADDRESS, "d": ADDRESS}, "$defs": {"part1": {}}}
    slim = slim_schema(schema)
    assert [*slim["$defs"]] == ["part1", "part2", "part3"]
    assert len(dumps(slim)) < len(dumps(schema)) / 2


@pytest.mark.parametrize(
    "fixed",
    [
        *({"$ref": "#/properties/home"}, {"$ref": 7}, {"$anchor": "here"}, {"$id": "https://example.com/a"}),
        {"dependencies": {"a": ["b"]}},
    ],
    ids=str,
)
def test_parts_stay_where_something_may_point_to_them(fixed: dict[str, Any]) -> None:
    schema = {"properties": {"home": ADDRESS, "work": ADDRESS, "other": fixed}}
    assert slim_schema(schema) == schema


def test_parts_stay_where_definitions_are_not_what_they_should_be() -> None:
    schema = {**TWICE, "$defs": 7}
    assert slim_schema(schema) == schema


def test_a_schema_with_references_of_its_own_may_get_more() -> None:
    tree = {"description": "x" * 99, "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#/$defs/leaf"}}}
    slim = slim_schema({"properties": {"a": tree, "b": tree}, "$defs": {"leaf": {"type": "string"}}})
    assert slim["properties"]["a"] == slim["properties"]["b"] == {"$ref": "#/$defs/part1"}


def test_only_so_many_parts_are_moved() -> None:
    parts = {f"a{number}": {"description": f"{number} {'x' * 300}"} for number in range(60)}
    schema = {"properties": {**parts, **{f"b{name}": part for name, part in parts.items()}}}
    slim = slim_schema(schema)
    assert len(slim["$defs"]) == 50
    assert slim_schema(slim) == slim
