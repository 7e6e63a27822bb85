"""Tool definitions and calls as the text that a model reads, which is not the JSON that a request holds.

Claude reads definitions as JSON of its own order, OpenAI's models as TypeScript in a namespace. What the
providers add around that text is counted in `structure`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ctxkit.wire.native import text

Schema = Mapping[str, Any]

# Where the wires keep the parameters of a tool.
_PARAMETERS = ("input_schema", "parameters", "inputSchema", "parametersJsonSchema", "parameters_json_schema")
_NUMBERS = frozenset({"integer", "number"})
_NAMED = frozenset({"string", "boolean", "null"})
_ANY = "any"
MAX_REFERENCES = 1_000


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool that the client runs, as every wire says it.

    Attributes:
        name: The tool's name.
        description: What it is for; empty where it is not said.
        parameters: The JSON schema of its arguments; `None` where it takes none.
    """

    name: str
    description: str
    parameters: Schema | None


def definition_of(native: Any) -> Definition | None:
    """The definition in a wire's own JSON; `None` for what is no function of the client."""
    if not isinstance(native, Mapping):
        return None
    held = (native.get(key) for key in ("function", "toolSpec"))
    inner = next((one for one in held if isinstance(one, Mapping)), native)
    kind = inner.get("type", "custom")
    name = inner.get("name")
    parameters = next((inner[key] for key in _PARAMETERS if isinstance(inner.get(key), Mapping)), None)
    if not isinstance(name, str) or kind not in ("function", "custom") or "format" in inner:
        return None
    if parameters is not None and isinstance(parameters.get("json"), Mapping):
        parameters = parameters["json"]
    return Definition(name, text(inner.get("description")), parameters)


def as_json(definition: Definition) -> str:
    """The definition as Claude reads it; an empty description is left out."""
    described = {"description": definition.description} if definition.description else {}
    return json.dumps(
        {**described, "name": definition.name, "parameters": definition.parameters},
        ensure_ascii=False,
    )


def as_typescript(definition: Definition) -> str:
    """The definition as OpenAI's models read it: a type in the namespace `functions`."""
    head = f"{_comment(definition.description)}type {definition.name} = "
    schema = definition.parameters or {}
    if not schema.get("properties"):
        return f"{head}() => any;\n\n"
    writer = _TypeScript(schema)
    return f"{head}(_: {_described(schema)}{writer.type_of(schema, frozenset())}) => any;\n\n"


def argument_texts(arguments: Mapping[str, Any]) -> Iterator[str]:
    """The names and the values of a call's arguments, as Claude reads them: one by one, strings bare."""
    for name, value in arguments.items():
        yield str(name)
        yield value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class _TypeScript:
    """Writes the types of one schema, whose definitions its references point to.

    No reference is followed into itself, and no more than `MAX_REFERENCES` are followed at all, as they may
    double at every step.
    """

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._followed = 0

    def type_of(self, schema: Any, within: frozenset[str]) -> str:
        """The type, `within` being the references that led here."""
        if not isinstance(schema, Mapping):
            return _ANY
        schema, within = self._resolved(schema, within)
        if isinstance(schema.get("enum"), list):
            return " | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
        if "const" in schema:
            return json.dumps(schema["const"], ensure_ascii=False)
        for key in ("anyOf", "oneOf"):
            if isinstance(schema.get(key), list):
                return " | ".join(self.type_of(one, within) for one in schema[key])
        kind = schema.get("type")
        if isinstance(kind, list):
            variants = (self.type_of({**schema, "type": one}, within) for one in kind)
            return "".join(f"\n{_described(schema)} | {one}" for one in variants)
        if kind == "array":
            return f"{self.type_of(schema.get('items'), within)}[]"
        if kind == "object" or "properties" in schema:
            return self._object(schema, within)
        return "number" if kind in _NUMBERS else str(kind) if kind in _NAMED else _ANY

    def _object(self, schema: Schema, within: frozenset[str]) -> str:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or not properties:
            return "object"
        required = schema.get("required") or ()
        lines = (
            self._property(f"{name}{'' if name in required else '?'}", one, within)
            for name, one in properties.items()
        )
        return f"{{\n{''.join(lines)}}}"

    def _property(self, name: str, schema: Any, within: frozenset[str]) -> str:
        if not isinstance(schema, Mapping):
            return f"{name}: {_ANY},\n"
        schema, within = self._resolved(schema, within)
        default = f" // default: {text(schema['default']) or 'null'}" if "default" in schema else ""
        return f"{_described(schema)}{name}: {self.type_of(schema, within)},{default}\n"

    def _resolved(self, schema: Schema, within: frozenset[str]) -> tuple[Schema, frozenset[str]]:
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/") or reference in within:
            return schema, within
        found: Any = self._root
        for key in reference[2:].split("/"):
            found = found.get(key) if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping) or self._followed == MAX_REFERENCES:
            return schema, within
        self._followed += 1
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return {**found, **beside}, within | {reference}


def _described(schema: Schema) -> str:
    return _comment(text(schema.get("title"))) + _comment(text(schema.get("description")))


def _comment(said: str) -> str:
    """A text as comment lines, each without the space around it."""
    if not said.strip():
        return ""
    lines = (f"// {line.strip()}".rstrip() for line in said.strip().split("\n"))
    return "\n".join(lines) + "\n"
