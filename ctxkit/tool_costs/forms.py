"""Tool definitions in every form they are written in, read into one and written in a wire's own.

The forms: Anthropic, OpenAI's Chat Completions (both generations) and Responses, Gemini, Bedrock Converse,
an MCP server's `tools/list`, and functions as BFCL writes them. What a definition costs is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ctxkit.errors import BodyError
from ctxkit.messages import Where
from ctxkit.tool_costs.schemas import subschemas
from ctxkit.wire.native import body_object, dumps, items, loads, path, string
from ctxkit.wire.usage_fields import mapping

EXPECTED = (
    "no tool definitions: expected a list of them, a request body with `tools`, or what an MCP server "
    "answers to tools/list"
)
# What a list of tools stands in, from the outside in.
ENVELOPES = ("request", "result", "toolConfig")
LISTS = ("tools", "functions")
DECLARATIONS = ("functionDeclarations", "function_declarations")
ALONE = frozenset({"name", "function", "toolSpec", *DECLARATIONS})
SCHEMAS = ("parameters", "parametersJsonSchema", "parameters_json_schema")
# Types that BFCL takes from Python. Read from its data on 2026-11-30.
BFCL_TYPES: Mapping[str, str] = {"dict": "object", "float": "number", "tuple": "array"}
# The types of Anthropic's own tools end with a date, or with that of their set of tools.
ANTHROPIC_TYPE = re.compile(r"_\d{8}$|_toolset(_|$)")


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """One tool as it is offered to a model, whatever form it was written in.

    Attributes:
        name: Its name.
        description: What it is said to do; empty where nothing is said.
        schema: The JSON Schema of its arguments; `None` for a tool that the provider itself runs or defines.
        wire: The wire whose form it was written in; `None` where it is no wire's.
        native: The definition as it was written. Never edit it in place.
    """

    name: str
    description: str
    schema: Mapping[str, Any] | None
    wire: str | None
    native: Mapping[str, Any]

    def written_for(self, wire: str) -> dict[str, Any]:
        """The definition in a wire's own form, of its name, description and schema alone."""
        schema = {} if self.schema is None else self.schema
        said = {"name": self.name, **({"description": self.description} if self.description else {})}
        if wire == "anthropic_messages":
            return {**said, "input_schema": schema}
        function = {**said, "parameters": schema}
        if wire == "gemini":
            return {"functionDeclarations": [function]}
        if wire == "openai_responses":
            return {"type": "function", **function}
        return {"type": "function", "function": function}


def read_tools(value: Any) -> list[ToolDefinition]:
    """Read tool definitions in any form that is known here.

    Args:
        value: JSON: a list of definitions, one definition, a request body that offers some, or an MCP
            server's answer to `tools/list`, with or without its JSON-RPC envelope.

    Raises:
        BodyError: It is none of these, one of the definitions is malformed, or there are none.
    """
    where: Where = ()
    while isinstance(value, Mapping) and (key := _first(value, ENVELOPES, Mapping)):
        value, where = value[key], (*where, key)
    if isinstance(value, Mapping):
        if key := _first(value, LISTS, list):
            value, where = value[key], (*where, key)
        elif ALONE & value.keys():
            value = [value]
    if not isinstance(value, list):
        raise BodyError(EXPECTED, where=where)
    tools = [tool for index, native in enumerate(value) for tool in _read(native, (*where, index))]
    if not tools:
        raise BodyError("the list of tools is empty", where=where)
    return tools


def _first(value: Mapping[str, Any], keys: Iterable[str], kind: type) -> str | None:
    return next((key for key in keys if isinstance(value.get(key), kind)), None)


def _read(native: Any, where: Where) -> Iterator[ToolDefinition]:
    """The tools of one entry: as a rule one, but a set of them for Gemini and for OpenAI's namespaces."""
    entry = body_object(native, what=f"tool {path(where)}")
    if key := _first(entry, DECLARATIONS, list):
        for index, function in enumerate(entry[key]):
            yield _function(function, {"functionDeclarations": [function]}, "gemini", (*where, key, index))
    elif entry.get("type") == "namespace":
        for index, inner in enumerate(items(entry.get("tools"), (*where, "tools"))):
            yield from _read(inner, (*where, "tools", index))
    else:
        yield _one(entry, where)


def _one(entry: Mapping[str, Any], where: Where) -> ToolDefinition:
    if isinstance(entry.get("function"), Mapping):
        return _function(entry["function"], entry, "openai_chat", where)
    if isinstance(entry.get("toolSpec"), Mapping):
        spec = entry["toolSpec"]
        return _tool(spec, mapping(spec.get("inputSchema")).get("json"), None, entry, where)
    if "input_schema" in entry:
        return _tool(entry, entry["input_schema"], "anthropic_messages", entry, where)
    if "inputSchema" in entry:
        return _tool(entry, entry["inputSchema"], None, entry, where)
    if entry.get("type") == "function":
        return _function(entry, entry, "openai_responses", where)
    return _provider_tool(entry) or _function(entry, entry, None, where)


def _function(function: Any, native: Mapping[str, Any], wire: str | None, where: Where) -> ToolDefinition:
    inner = body_object(function, what=f"tool {path(where)}")
    schema = next((inner[key] for key in SCHEMAS if key in inner), None)
    return _tool(inner, schema, wire, native, where)


def _tool(
    entry: Mapping[str, Any], schema: Any, wire: str | None, native: Mapping[str, Any], where: Where
) -> ToolDefinition:
    name = string(entry.get("name"))
    if name is None:
        raise BodyError(f"tool {path(where)} has no name", where=where)
    given = body_object({} if schema is None else schema, what=f"the schema of tool {path(where)}")
    return ToolDefinition(name, string(entry.get("description")) or "", _standard(given), wire, native)


def _provider_tool(entry: Mapping[str, Any]) -> ToolDefinition | None:
    """A tool that goes by its type, as only the provider knows what stands behind it."""
    kind = string(entry.get("type"))
    name = string(entry.get("name")) or string(entry.get("mcp_server_name"))
    if kind is None:
        if len(entry) != 1 or not isinstance(next(iter(entry.values())), Mapping):
            return None
        return ToolDefinition(next(iter(entry)), "", None, "gemini", entry)
    if any(key in entry for key in SCHEMAS):
        return None
    dated = ANTHROPIC_TYPE.search(kind) is not None
    custom = string(mapping(entry.get("custom")).get("name"))
    wire = "anthropic_messages" if dated else "openai_chat" if custom else "openai_responses"
    return ToolDefinition(name or custom or kind, "", None, wire, entry)


def _standard(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema with the types of JSON Schema, where it has BFCL's."""
    if schema.get("type") != "dict":
        return schema
    standard: dict[str, Any] = loads(dumps(schema))
    for _, inner in subschemas(standard):
        kind = inner.get("type")
        if isinstance(kind, str):
            inner["type"] = BFCL_TYPES.get(kind, kind)
    return standard
