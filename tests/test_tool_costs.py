"""What tool definitions cost, in whatever form they come."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ctxkit.errors import BodyError
from ctxkit.money import rates
from ctxkit.tool_costs import TASK_REQUESTS, ToolDefinition, ToolsReport, read_tools, tool_costs

SHARED = Path(__file__).parents[2] / "shared" / "data" / "tooldefs"
MODEL = "claude-sonnet-5-5"
SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
PARTS: dict[str, Any] = {"name": "search", "description": "Search the web."}
ANTHROPIC_TOOL = {**PARTS, "input_schema": SCHEMA}
CHAT_TOOL = {"type": "function", "function": {**PARTS, "parameters": SCHEMA}}
MCP_TOOL = {**PARTS, "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}
BFCL_SCHEMA = {"type": "dict", "properties": {"query": {"type": "string"}}, "required": ["query"]}
GEMINI_FUNCTION = {**PARTS, "parameters": SCHEMA}
FORMS: dict[str, Any] = {
    "anthropic": [ANTHROPIC_TOOL],
    "chat": [CHAT_TOOL],
    "chat without a type": [{"function": CHAT_TOOL["function"]}],
    "responses": [{"type": "function", **PARTS, "parameters": SCHEMA, "strict": True}],
    "responses namespace": [
        {"type": "namespace", "name": "web", "tools": [{"type": "function", **PARTS, "parameters": SCHEMA}]}
    ],
    "gemini": [{"functionDeclarations": [GEMINI_FUNCTION]}],
    "gemini, snake case": [{"function_declarations": [{**PARTS, "parameters_json_schema": SCHEMA}]}],
    "bedrock": [{"toolSpec": {**PARTS, "inputSchema": {"json": SCHEMA}}}],
    "mcp": [MCP_TOOL],
    "mcp answer": {"tools": [MCP_TOOL]},
    "mcp envelope": {"jsonrpc": "2.0", "id": 1, "result": {"tools": [MCP_TOOL]}},
    "a type of its own": [{"type": "tool", **PARTS, "parameters": SCHEMA}],
    "bfcl": [{**PARTS, "parameters": BFCL_SCHEMA, "response": {"type": "dict"}}],
    "one tool": ANTHROPIC_TOOL,
    "one set of tools": {"functionDeclarations": [GEMINI_FUNCTION]},
    "request body": {"model": "m", "messages": [], "tools": [ANTHROPIC_TOOL]},
    "older request body": {"messages": [], "functions": [GEMINI_FUNCTION]},
    "bedrock body": {"toolConfig": {"tools": [{"toolSpec": {**PARTS, "inputSchema": {"json": SCHEMA}}}]}},
    "recorded pair": {"request": {"tools": [CHAT_TOOL]}, "response": {}},
}


def tool(name: str, properties: Mapping[str, Any], *, description: str = "Does it.") -> dict[str, Any]:
    """A tool as an MCP server lists it."""
    return {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties},
    }


def report_of(*natives: Any, model: str = MODEL) -> ToolsReport:
    """The report on one list of tools."""
    return tool_costs({"one": read_tools(list(natives))}, model=model)


def bloat_of(native: Any, kind: str, *, model: str = MODEL) -> list[tuple[str, int]]:
    """The parts of a kind that are found in a tool, as places and tokens."""
    return [(part.where, part.tokens) for part in report_of(native, model=model).bloated if part.kind == kind]


@pytest.mark.parametrize("form", FORMS)
def test_a_tool_is_read_from_every_form(form: str) -> None:
    (read,) = read_tools(FORMS[form])
    assert (read.name, read.description, read.schema) == ("search", "Search the web.", SCHEMA)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "gpt-5.5", "gemini-2.5-pro", "nobody-knows-1"])
def test_a_tool_costs_the_same_in_whatever_form_it_comes(form: str, model: str) -> None:
    tools = read_tools(FORMS[form])
    plain = ToolDefinition("search", "Search the web.", SCHEMA, None, {})
    (found,), (expected,) = (tool_costs({"a": one}, model=model).tools for one in (tools, [plain]))
    assert found.tokens == pytest.approx(expected.tokens, abs=6)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([], "the list of tools is empty"),
        ({"tools": []}, "the list of tools is empty"),
        ([{"functionDeclarations": []}], "the list of tools is empty"),
        ({"a": 1}, "expected a list of them, a request body with `tools`, or what an MCP server answers"),
        ("search", "expected a list of them"),
        ([7], "tool 0 must be a JSON object, not int"),
        ({"result": {"tools": ["a"]}}, "tool result.tools.0 must be a JSON object, not str"),
        ([{"description": "It has no name."}], "tool 0 has no name"),
        ([{"functionDeclarations": [{}]}], "tool 0.functionDeclarations.0 has no name"),
        ([{"name": "a", "input_schema": []}], "the schema of tool 0 must be a JSON object, not list"),
    ],
)
def test_what_is_no_list_of_tools_is_refused_with_its_place(value: Any, reason: str) -> None:
    with pytest.raises(BodyError, match="^.*" + reason):
        read_tools(value)


def test_a_tool_without_a_schema_or_a_description_is_a_tool() -> None:
    (read,) = read_tools([{"name": "now", "inputSchema": None}])
    assert (read.description, read.schema) == ("", {})
    assert report_of({"name": "now"}).total_tokens < report_of({**PARTS, "name": "now"}).total_tokens


def test_the_types_of_bfcl_become_those_of_json_schema() -> None:
    values = {"type": "tuple", "items": {"type": "float"}, "not": {"type": ["null"]}}
    (read,) = read_tools([{"name": "a", "parameters": {"type": "dict", "properties": {"type": values}}}])
    assert read.schema == {
        "type": "object",
        "properties": {"type": {"type": "array", "items": {"type": "number"}, "not": {"type": ["null"]}}},
    }


def test_a_tool_that_the_provider_runs_is_counted_for_that_provider_alone() -> None:
    natives = [{"type": "bash_20250124", "name": "bash"}, ANTHROPIC_TOOL]
    own, other = report_of(*natives), report_of(*natives, model="gpt-5.5")
    assert {cost.name for cost in own.tools} == {"bash", "search"}
    assert [cost.name for cost in other.tools] == ["search"]
    assert (own.left_out, other.left_out) == ((), (("one", "bash"),))


@pytest.mark.parametrize(
    ("native", "name", "wire"),
    [
        ({"type": "web_search"}, "web_search", "openai_responses"),
        ({"type": "mcp", "server_label": "files"}, "mcp", "openai_responses"),
        ({"type": "custom", "custom": {"name": "shell"}}, "shell", "openai_chat"),
        ({"type": "mcp_toolset", "mcp_server_name": "files"}, "files", "anthropic_messages"),
        ({"googleSearch": {}}, "googleSearch", "gemini"),
    ],
)
def test_a_providers_own_tool_is_read_as_such(native: Any, name: str, wire: str) -> None:
    (read,) = read_tools([native])
    assert (read.name, read.schema, read.wire, read.native) == (name, None, wire, native)


def test_a_tool_is_offered_in_the_form_of_the_models_provider() -> None:
    assert report_of(MCP_TOOL).wire == "anthropic_messages"
    assert report_of(MCP_TOOL, model="gemini-2.5-pro").wire == "gemini"
    assert report_of(MCP_TOOL, model="gpt-5.5").wire == "openai_chat"
    assert report_of(*FORMS["responses"], model="gpt-5.5").wire == "openai_responses"


def test_a_tool_that_is_loaded_later_takes_nothing() -> None:
    report = report_of({**ANTHROPIC_TOOL, "defer_loading": True}, {**ANTHROPIC_TOOL, "name": "look"})
    assert [(cost.name, cost.tokens > 0) for cost in report.tools] == [("look", True), ("search", False)]


def test_tools_are_ranked_and_add_up_with_what_comes_with_them() -> None:
    small, large = tool("small", {}), tool("large", {"a": {"type": "string", "description": "Long. " * 50}})
    report = report_of(small, large)
    assert [cost.name for cost in report.tools] == ["large", "small"]
    told = report.to_dict()
    assert told["total_tokens"] == sum(row["tokens"] for row in told["tools"]) + told["frame_tokens"]
    assert sum(row["share"] for row in told["tools"]) <= 1


def test_dollars_follow_the_models_rates() -> None:
    known = rates(MODEL)
    assert known is not None
    assert known.cache_read is not None
    assert known.cache_write is not None
    costs = report_of(ANTHROPIC_TOOL).dollars(1_000_000)
    assert costs.request_usd == known.input
    assert costs.request_cached_usd == known.cache_read
    assert costs.task_usd == TASK_REQUESTS * known.input
    assert costs.task_cached_usd == known.cache_write + (TASK_REQUESTS - 1) * known.cache_read


def test_where_writing_to_the_cache_has_no_rate_it_costs_what_input_costs() -> None:
    known = rates("gpt-4.1")
    assert known is not None
    assert known.cache_read is not None
    costs = report_of(ANTHROPIC_TOOL, model="gpt-4.1").dollars(1_000_000)
    assert costs.task_cached_usd == known.input + (TASK_REQUESTS - 1) * known.cache_read


def test_where_nothing_is_cached_only_plain_dollars_are_known() -> None:
    costs = report_of(ANTHROPIC_TOOL, model="gpt-4").dollars(1_000)
    assert costs.request_usd is not None
    assert costs.task_usd == 100 * costs.request_usd
    assert (costs.request_cached_usd, costs.task_cached_usd) == (None, None)


def test_an_unknown_model_has_tokens_and_no_dollars() -> None:
    told = report_of(ANTHROPIC_TOOL, model="nobody-knows-1").to_dict()
    assert told["total_tokens"] > 0
    assert {told[key] for key in told if key.endswith("_usd")} == {None}


def test_dollars_in_the_json_are_written_out() -> None:
    told = report_of(ANTHROPIC_TOOL).to_dict()
    assert Decimal(told["request_usd"]) > 0
    assert "E" not in told["request_cached_usd"]


def test_lists_stand_side_by_side() -> None:
    lists = {"web": read_tools([MCP_TOOL]), "files": read_tools([tool("read", {}), tool("write", {})])}
    report = tool_costs(lists, model=MODEL)
    assert {(server.server, server.tools) for server in report.servers} == {("web", 1), ("files", 2)}
    assert sum(server.tokens for server in report.servers) + report.frame_tokens == report.total_tokens


LONG = {f"field_{number}": {"type": "string", "description": "What it holds."} for number in range(5)}


def test_tools_of_one_name_are_duplicates_and_cost_all_but_the_first() -> None:
    (found,) = report_of(tool("read", {}), tool("write", {}), tool("read", {})).duplicates
    assert (found.kind, found.tools) == ("same_name", (("one", "read"), ("one", "read")))
    assert found.tokens == report_of(tool("read", {})).tools[0].tokens


def test_the_same_arguments_under_other_names_are_duplicates_titles_aside() -> None:
    titled = {"title": "Other", **{name: {**value, "title": name} for name, value in LONG.items()}}
    other = tool("other", {name: value for name, value in titled.items() if name != "title"})
    (found,) = report_of(tool("one", LONG), tool("far", {}), other).duplicates
    assert found.kind == "same_schema"
    assert [name for _, name in found.tools] == ["one", "other"]
    assert found.to_dict()["tools"][0] == {"server": "one", "name": "one"}
    assert found.tokens > 30


def test_short_arguments_that_are_alike_are_no_duplicates() -> None:
    path = {"path": {"type": "string"}}
    assert report_of(tool("read", path), tool("write", path)).duplicates == ()


def test_a_copy_of_a_tool_is_told_once() -> None:
    kinds = [found.kind for found in report_of(tool("one", LONG), tool("one", LONG)).duplicates]
    assert kinds == ["same_name"]


def test_a_long_description_is_found_with_what_it_takes() -> None:
    text = "It does one thing, and it does it well. " * 12
    short = tool("a", {"b": {"type": "string"}})
    long = tool("a", {"b": {"type": "string", "description": text}}, description=text)
    found = bloat_of(long, "description")
    assert {where for where, _ in found} == {"description", "schema.properties.b.description"}
    assert all(100 < tokens < 250 for _, tokens in found)
    assert bloat_of(short, "description") == []


def test_a_long_enum_is_found() -> None:
    values = [f"value-{number}" for number in range(60)]
    ((where, tokens),) = bloat_of(tool("a", {"b": {"type": "string", "enum": values}}), "enum")
    assert where == "schema.properties.b.enum"
    assert tokens > 100
    assert bloat_of(tool("a", {"b": {"enum": values[:3]}}), "enum") == []


def test_a_long_union_costs_all_but_its_first_branch() -> None:
    branches = [
        {"type": "object", "properties": {f"{key}{number}": {} for number in range(20)}} for key in "abc"
    ]
    ((where, tokens),) = bloat_of(tool("a", {"b": {"anyOf": branches}}), "union")
    assert where == "schema.properties.b.anyOf"
    ((_, fewer),) = bloat_of(tool("a", {"b": {"anyOf": branches[:2]}}), "union")
    assert tokens == pytest.approx(2 * fewer, rel=0.1)
    assert bloat_of(tool("a", {"b": {"oneOf": [{"type": "string"}, {"type": "null"}]}}), "union") == []


def test_a_part_that_stood_elsewhere_is_found_once_and_not_within_itself() -> None:
    part = {"type": "object", "properties": {"inner": {"type": "object", "properties": LONG}}}
    report = report_of(tool("first", {"x": part}), tool("second", {"y": part}))
    repeated = [(bloat.tool, bloat.where) for bloat in report.bloated if bloat.kind == "repeated_part"]
    assert repeated == [("second", "schema.properties.y")]


def test_titles_empty_defaults_and_marks_are_summed_up_for_each_tool() -> None:
    properties = {
        "title": {"type": "string", "title": "The Title", "default": None},
        "size": {"type": "integer", "title": "The Size", "default": 0},
        "tags": {"type": "array", "items": {"type": "string", "title": "One Tag"}, "default": []},
    }
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Arguments",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    native = {"name": "a", "inputSchema": schema}
    for kind in ("titles", "empty_defaults", "schema_marks"):
        ((where, tokens),) = bloat_of(native, kind)
        assert where == ""
        assert tokens > 0


def test_definitions_and_lists_of_schemas_are_looked_into() -> None:
    schema = {
        "type": "object",
        "$defs": {"Range": {"title": "Range"}},
        "properties": {"pair": {"prefixItems": [{"title": "From"}, {"title": "To"}]}, "odd": True},
    }
    ((_, three),) = bloat_of({"name": "a", "inputSchema": schema}, "titles")
    schema["properties"]["pair"]["prefixItems"].pop()
    ((_, two),) = bloat_of({"name": "a", "inputSchema": schema}, "titles")
    assert two < three


def test_the_definitions_that_were_given_are_left_as_they_are() -> None:
    natives = [tool("a", LONG), tool("b", LONG, description="Long. " * 100)]
    before = json.dumps(natives)
    report_of(*natives)
    assert json.dumps(natives) == before


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data is not here")
def test_every_shared_list_of_tools_is_read_and_adds_up() -> None:
    for file in sorted(SHARED.glob("*.json")):
        if file.stat().st_size < 200_000:
            natives = json.loads(file.read_bytes())
            report = tool_costs({file.stem: read_tools(natives)}, model=MODEL)
            assert len(report.tools) == len(natives), file.name
            assert report.total_tokens > 10 * len(natives), file.name
            assert all(bloat.tokens < report.total_tokens for bloat in report.bloated)
