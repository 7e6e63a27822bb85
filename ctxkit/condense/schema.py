"""Makes a JSON Schema of a tool's arguments shorter without changing what it allows or says.

What is taken out are words to programs and repetitions. Where a schema stands in a request, and what a
provider understands of it, is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from ctxkit.wire.native import dumps

# The keywords whose values are schemas: by name, in a list, or one alone.
BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
IN_A_LIST = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
ALONE = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
    | {"unevaluatedProperties", "unevaluatedItems"}
)
EMPTY: tuple[Any, ...] = (None, "", [], {})
# Dialects that read the same where none of the keywords below is used.
KNOWN_DIALECT = re.compile(r"json-schema\.org/(?:draft-0[67]|draft/(?:2019-09|2020-12))/schema#?$")
OF_A_DIALECT = frozenset(
    {"$ref", "$recursiveRef", "$dynamicRef", "dependencies", "additionalItems", "unevaluatedItems"}
    | {"minContains", "maxContains", "dependentRequired", "dependentSchemas", "prefixItems"}
    | {"unevaluatedProperties", "$defs"}
)
# What a reference may point to, so that parts elsewhere in the schema are free to move.
MOVABLE_REFERENCE = re.compile(r"#(?:/(?:\$defs|definitions)/[^/]+)?")
# What gives a part an address of its own, or holds parts that are not looked into here.
ADDRESSED = frozenset(
    {"$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$dynamicRef", "dependencies"}
)
LEAST_SAVING = 40
# A reference is all signs and takes twice the tokens of words of its length.
REFERENCE_WEIGHT = 2
MOST_DEFINITIONS = 50


@dataclass(slots=True)
class _Repeated:
    """A part that stands in several places: its bytes once, and how often."""

    native: Any
    size: int
    count: int = 0


@dataclass(frozen=True, slots=True)
class _Rules:
    """What may go from a schema, besides what never says anything."""

    examples: bool
    open_objects: bool
    dialect: bool


def slim_schema(
    schema: Mapping[str, Any],
    *,
    name: str = "",
    references: bool = True,
    examples: bool = True,
    open_objects: bool = True,
) -> dict[str, Any]:
    """Make a schema shorter that allows and says the same.

    Left out are comments, titles that repeat the name of what they stand in, empty descriptions, defaults
    that are null or empty, `additionalProperties` that allow everything, and `$schema` where every dialect
    reads the schema alike. Types, enumerations, limits, `required` and all that is said in words stay.

    Args:
        schema: A JSON Schema; never changed.
        name: The tool's name, which a title of the whole schema may repeat.
        references: Whether parts that stand in several places may be moved to `$defs`, where that is shorter.
        examples: Whether `examples` stay.
        open_objects: Whether `additionalProperties` that allow everything may go.

    Returns:
        The schema, its keys in their order; slimming it again changes nothing.
    """
    used = {key for part in _parts(schema) for key in part}
    rules = _Rules(
        examples=examples,
        open_objects=open_objects and "unevaluatedProperties" not in used,
        dialect=_is_plain_dialect(schema, used),
    )
    slim = _slim(schema, name, rules)
    return _with_definitions(slim) if references and _may_move(slim) else slim


def _slim(schema: Mapping[str, Any], name: str, rules: _Rules) -> dict[str, Any]:
    kept = {key: value for key, value in schema.items() if not _is_noise(key, value, name, rules)}
    return _mapped(kept, lambda inner, called: _slim(inner, called, rules))


def _is_noise(key: str, value: Any, name: str, rules: _Rules) -> bool:
    """Whether a keyword says nothing."""
    if key == "title":
        return isinstance(value, str) and _letters(value) in ("", _letters(name))
    if key == "description":
        return isinstance(value, str) and not value.strip()
    if key == "default":
        return value in EMPTY
    if key == "additionalProperties":
        return rules.open_objects and (value is True or value == {})
    if key == "$schema":
        return rules.dialect
    return key == "$comment" or (key == "examples" and not rules.examples)


def _letters(words: str) -> str:
    return "".join(character for character in words.casefold() if character.isalnum())


def _is_plain_dialect(schema: Mapping[str, Any], used: set[str]) -> bool:
    """Whether a schema means the same without its `$schema`."""
    named = schema.get("$schema")
    if not isinstance(named, str) or not KNOWN_DIALECT.search(named) or used & OF_A_DIALECT:
        return False
    return not any(isinstance(part.get("items"), list) for part in _parts(schema))


def _mapped(schema: Mapping[str, Any], change: Callable[[Mapping[str, Any], str], Any]) -> dict[str, Any]:
    """A copy of a schema with its direct parts changed; each is told the name that it goes by."""

    def changed(value: Any, called: str = "") -> Any:
        return change(value, called) if isinstance(value, Mapping) else value

    made = dict(schema)
    for key, value in schema.items():
        if key in BY_NAME and isinstance(value, Mapping):
            made[key] = {called: changed(inner, called) for called, inner in value.items()}
        elif key in ALONE:
            made[key] = changed(value)
        if isinstance(value, list) and key in (*IN_A_LIST, "items"):
            made[key] = [changed(inner) for inner in value]
    return made


def _parts(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A schema and all schemas within it, in their order."""
    yield schema
    for key, value in schema.items():
        inner: Any = ()
        if key in BY_NAME and isinstance(value, Mapping):
            inner = value.values()
        elif isinstance(value, list) and key in (*IN_A_LIST, "items"):
            inner = value
        elif key in ALONE:
            inner = (value,)
        for part in inner:
            if isinstance(part, Mapping):
                yield from _parts(part)


def _may_move(schema: Mapping[str, Any]) -> bool:
    """Whether nothing in a schema depends on where its parts stand."""
    for part in _parts(schema):
        reference = part.get("$ref", "#")
        if not isinstance(reference, str) or not MOVABLE_REFERENCE.fullmatch(reference):
            return False
        if ADDRESSED & part.keys():
            return False
    return isinstance(schema.get("$defs", {}), Mapping)


def _with_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with the parts that are repeated under `$defs`, those that save the most first."""
    while len(names := schema.get("$defs", {})) < MOST_DEFINITIONS:
        name = next(one for number in count(1) if (one := f"part{number}") not in names)
        reference = {"$ref": f"#/$defs/{name}"}
        repeated = _most_repeated(schema, name, len(dumps(reference)))
        if repeated is None:
            break
        schema = _replaced(schema, repeated, reference)
        schema["$defs"] = {**schema.get("$defs", {}), name: dict(repeated)}
    return schema


def _most_repeated(schema: Mapping[str, Any], name: str, reference_size: int) -> Any:
    """The part that saves the most when it is said once; `None` where none saves enough."""
    found: dict[bytes, _Repeated] = {}
    parts = _parts(schema)
    next(parts)
    for part in parts:
        written = dumps(part)
        found.setdefault(written, _Repeated(part, len(written))).count += 1

    def saves(one: _Repeated) -> int:
        entry = one.size + len(name) + len('"":,')
        return (one.size - REFERENCE_WEIGHT * reference_size) * one.count - entry - len('"$defs":{},')

    best = max(found.values(), key=saves, default=None)
    return best.native if best is not None and best.count > 1 and saves(best) >= LEAST_SAVING else None


def _replaced(schema: Mapping[str, Any], part: Any, reference: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with a reference wherever a part stands."""
    written = dumps(part)

    def change(inner: Mapping[str, Any], called: str) -> Any:
        return dict(reference) if dumps(inner) == written else _replaced(inner, part, reference)

    return _mapped(schema, change)
