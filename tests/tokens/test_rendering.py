"""Definitions are written as the providers write them, whatever wire they come in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit.tokens.rendering import Definition, argument_texts, as_json, as_typescript, definition_of

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = Definition("weather", "Tells the weather.", SCHEMA)
FUNCTION = {"name": "weather", "description": "Tells the weather.", "parameters": SCHEMA}


def typed(**properties: Any) -> str:
    """The properties of a tool as TypeScript, none of them required."""
    spelled = as_typescript(Definition("f", "", {"type": "object", "properties": properties}))
    return spelled.removeprefix("type f = (_: {\n").removesuffix("}) => any;\n\n")


@pytest.mark.parametrize(
    "native",
    [
        {"name": "weather", "description": "Tells the weather.", "input_schema": SCHEMA},
        {"type": "custom", "name": "weather", "description": "Tells the weather.", "input_schema": SCHEMA},
        {"type": "function", "function": FUNCTION},
        {"type": "function", **FUNCTION},
        FUNCTION,
        {"name": "weather", "description": "Tells the weather.", "parametersJsonSchema": SCHEMA},
        {
            "toolSpec": {
                "name": "weather",
                "description": "Tells the weather.",
                "inputSchema": {"json": SCHEMA},
            }
        },
    ],
)
def test_a_definition_is_the_same_in_every_wire(native: Any) -> None:
    assert definition_of(native) == WEATHER


@pytest.mark.parametrize(
    "native",
    [
        None,
        "weather",
        {},
        {"type": "bash_20250124", "name": "bash"},
        {"type": "web_search"},
        {"type": "custom", "custom": {"name": "sql"}},
        {"type": "custom", "name": "sql", "format": {"type": "grammar"}},
    ],
)
def test_what_is_no_function_of_the_client_has_no_definition(native: Any) -> None:
    assert definition_of(native) is None


def test_claude_reads_json_without_an_empty_description() -> None:
    assert json.loads(as_json(WEATHER)) == FUNCTION
    assert list(json.loads(as_json(WEATHER))) == ["description", "name", "parameters"]
    assert as_json(Definition("é", "", None)) == '{"name": "é", "parameters": null}'


def test_openai_reads_typescript() -> None:
    assert (
        as_typescript(WEATHER) == "// Tells the weather.\ntype weather = (_: {\ncity: string,\n}) => any;\n\n"
    )
    assert as_typescript(Definition("now", "", None)) == "type now = () => any;\n\n"
    assert as_typescript(Definition("now", " ", {"properties": {}})) == "type now = () => any;\n\n"


def test_a_long_description_is_a_comment_line_by_line() -> None:
    said = "First.\n\n    Args:\n        city: Where.\n    "
    assert as_typescript(Definition("f", said, None)).splitlines()[:4] == [
        "// First.",
        "//",
        "// Args:",
        "// city: Where.",
    ]


def test_titles_descriptions_and_defaults_are_comments() -> None:
    assert typed(unit={"title": "Unit", "description": "Which.", "type": "string", "default": "C"}) == (
        "// Unit\n// Which.\nunit?: string, // default: C\n"
    )
    assert typed(unit={"type": "string", "default": None}) == "unit?: string, // default: null\n"
    assert as_typescript(Definition("f", "", {**SCHEMA, "title": "Input"})).startswith(
        "type f = (_: // Input\n{"
    )


@pytest.mark.parametrize(
    ("schema", "spelled"),
    [
        ({"type": "integer"}, "number"),
        ({"type": "number"}, "number"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "null"}, "null"),
        ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
        ({"const": "é"}, '"é"'),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
        ({"oneOf": [{"type": "string"}, True]}, "string | any"),
        ({"type": "array", "items": {"type": "integer"}}, "number[]"),
        ({"type": "array"}, "any[]"),
        ({"type": "object"}, "object"),
        ({"type": "object", "properties": {"b": {"type": "string"}}, "required": None}, "{\nb?: string,\n}"),
        ({"type": ["string", "null"]}, "\n | string\n | null"),
        ({"type": "money"}, "any"),
        ({}, "any"),
        (True, "any"),
    ],
)
def test_every_schema_has_a_type(schema: Any, spelled: str) -> None:
    assert typed(a=schema) == f"a?: {spelled},\n"


def test_a_type_of_several_kinds_repeats_what_is_said_of_it() -> None:
    assert typed(a={"type": ["string", "null"], "description": "Who."}) == (
        "// Who.\na?: \n// Who.\n | string\n// Who.\n | null,\n"
    )


def test_references_are_followed_but_never_into_themselves() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    schema = {"properties": {"first": {"$ref": "#/$defs/Node", "title": "First"}}, "$defs": {"Node": node}}
    assert as_typescript(Definition("f", "", schema)) == (
        "type f = (_: {\n// First\nfirst?: {\nnext?: any,\n},\n}) => any;\n\n"
    )
    assert typed(a={"$ref": "#/$defs/None"}, b={"$ref": 1}, c={"$ref": "other.json"}) == (
        "a?: any,\nb?: any,\nc?: any,\n"
    )


def test_references_that_double_at_every_step_end_soon() -> None:
    steps = {
        f"s{step}": {"properties": {name: {"$ref": f"#/$defs/s{step + 1}"} for name in "ab"}}
        for step in range(60)
    }
    schema = {"properties": {"start": {"$ref": "#/$defs/s0"}}, "$defs": steps}
    assert 1_000 < len(as_typescript(Definition("f", "", schema))) < 100_000


def test_the_arguments_of_a_call_are_read_one_by_one() -> None:
    assert list(argument_texts({"city": "Rome", "days": [1, "é"]})) == ["city", "Rome", "days", '[1, "é"]']
    assert list(argument_texts({})) == []
