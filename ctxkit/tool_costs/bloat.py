"""What of tool definitions is said twice, at length, or to no purpose, and the tokens that it takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from ctxkit.messages import Where
from ctxkit.tool_costs.forms import ToolDefinition
from ctxkit.tool_costs.schemas import subschemas, without
from ctxkit.wire.native import digest, dumps, path

BloatKind = Literal[
    "description", "enum", "union", "repeated_part", "titles", "empty_defaults", "schema_marks"
]
DuplicateKind = Literal["same_name", "same_schema"]
CountTool = Callable[[ToolDefinition], int]
# What a part is, where it stands, and the places in the definition that it takes.
Part = tuple[BloatKind, Where, list[Where]]

LONG_TEXT = 400
LONG_ENUM = 200
LONG_UNION = 400
LONG_PART = 120
# Keys of JSON Schema that are addressed to programs.
MARKS = frozenset({"$schema", "$id", "$comment"})
EMPTY: tuple[Any, ...] = (None, "", [], {})


@dataclass(frozen=True, slots=True)
class Bloat:
    """A part of a tool definition that could be shorter.

    Attributes:
        kind: `description`, `enum` or `union`: a long one (of a union, all branches but the first).
            `repeated_part`: a part of a schema that stood in an earlier place already. `titles`,
            `empty_defaults`, `schema_marks`: all of a tool's titles, of its defaults that are null or empty,
            of its `$schema`, `$id` and `$comment`.
        server: What the tool is listed under.
        tool: Its name.
        where: The path to it in the tool's description or schema.
        tokens: What the definition would be shorter by without it. Parts may lie within each other.
    """

    kind: BloatKind
    server: str
    tool: str
    where: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Tools that say the same.

    Attributes:
        kind: `same_name`: one name, which a provider refuses within one request. `same_schema`: the same
            arguments under different names, titles aside.
        tools: Each as its server and its name; the first of them counts as the one to keep.
        tokens: What the others take: all of them for `same_name`, their arguments for `same_schema`.
    """

    kind: DuplicateKind
    tools: tuple[tuple[str, str], ...]
    tokens: int

    def to_dict(self) -> dict[str, Any]:
        """The duplicate as JSON."""
        return {**asdict(self), "tools": [{"server": server, "name": name} for server, name in self.tools]}


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool definition with what it is listed under, and its tokens."""

    server: str
    tool: ToolDefinition
    tokens: int


def duplicates_of(listed: Sequence[Listed], *, count: CountTool) -> list[Duplicate]:
    """Tell which tools say the same, those that take the most tokens first.

    Args:
        listed: The tools.
        count: Counts a tool that is made shorter.
    """
    found = [
        _duplicate("same_name", group, [one.tokens for one in group])
        for group in _groups(listed, key=lambda one: one.tool.name)
    ]
    for group in _groups(listed, key=lambda one: _arguments(one.tool)):
        named = list({one.tool.name: one for one in reversed(group)}.values())[::-1]
        if len(named) > 1:
            tokens = [_saved(one, [("schema", "properties")], count) for one in named]
            found.append(_duplicate("same_schema", named, tokens))
    return sorted(found, key=lambda duplicate: -duplicate.tokens)


def bloat_of(listed: Iterable[Listed], *, count: CountTool) -> list[Bloat]:
    """Tell which parts of tool definitions could be shorter, those that take the most tokens first.

    Args:
        listed: The tools.
        count: Counts a tool that is made shorter.
    """
    seen: set[bytes] = set()
    found = [
        Bloat(kind, one.server, one.tool.name, path(where), _saved(one, places, count))
        for one in listed
        for kind, where, places in _parts(one.tool, seen)
    ]
    return sorted((bloat for bloat in found if bloat.tokens > 0), key=lambda bloat: -bloat.tokens)


def _groups(listed: Sequence[Listed], *, key: Callable[[Listed], Any]) -> Iterator[list[Listed]]:
    """The tools that have a key in common, where there are several."""
    groups: dict[Any, list[Listed]] = {}
    for one in listed:
        groups.setdefault(key(one), []).append(one)
    return (group for value, group in groups.items() if value is not None and len(group) > 1)


def _duplicate(kind: DuplicateKind, group: Sequence[Listed], tokens: Sequence[int]) -> Duplicate:
    return Duplicate(kind, tuple((one.server, one.tool.name) for one in group), sum(tokens[1:]))


def _arguments(tool: ToolDefinition) -> bytes | None:
    """What two tools with the same arguments have in common; `None` where there is too little of it."""
    if tool.schema is None or len(dumps(tool.schema.get("properties"))) < LONG_PART:
        return None
    aside = [
        (*where, key) for where, schema in subschemas(tool.schema) for key in {"title", *MARKS} & {*schema}
    ]
    return digest(json.dumps(without(tool.schema, aside), sort_keys=True))


def _saved(one: Listed, places: Iterable[Where], count: CountTool) -> int:
    """What a definition would be shorter by without what stands at these places."""
    whole = {"description": one.tool.description, "schema": one.tool.schema}
    rest = without(whole, places)
    shorter = replace(one.tool, description=rest.get("description", ""), schema=rest["schema"])
    return one.tokens - count(shorter)


def _parts(tool: ToolDefinition, seen: set[bytes]) -> Iterator[Part]:
    """The parts of a tool that are worth a look."""
    if len(tool.description) >= LONG_TEXT:
        yield "description", ("description",), [("description",)]
    together: dict[BloatKind, list[Where]] = {}
    within: list[Where] = []
    for steps, schema in subschemas(tool.schema):
        where: Where = ("schema", *steps)
        if steps and not any(where[: len(outer)] == outer for outer in within) and _is_repeated(schema, seen):
            within.append(where)
            yield "repeated_part", where, [where]
        yield from _long_parts(schema, where)
        for key, value in schema.items():
            if kind := _empty_kind(key, value):
                together.setdefault(kind, []).append((*where, key))
    yield from ((kind, (), places) for kind, places in together.items())


def _is_repeated(schema: Any, seen: set[bytes]) -> bool:
    """Whether a schema of some length stood in an earlier place; from now on it did."""
    if len(dumps(schema)) < LONG_PART:
        return False
    mark = digest(schema)
    known = mark in seen
    seen.add(mark)
    return known


def _long_parts(schema: dict[str, Any], where: Where) -> Iterator[Part]:
    description, enum = schema.get("description"), schema.get("enum")
    if isinstance(description, str) and len(description) >= LONG_TEXT:
        place: Where = (*where, "description")
        yield "description", place, [place]
    if enum is not None and len(dumps(enum)) >= LONG_ENUM:
        place = (*where, "enum")
        yield "enum", place, [place]
    for key in ("anyOf", "oneOf"):
        branches = schema.get(key)
        if isinstance(branches, list) and len(dumps(branches)) >= LONG_UNION:
            place = (*where, key)
            yield "union", place, [(*place, index) for index in range(len(branches) - 1, 0, -1)]


def _empty_kind(key: str, value: Any) -> BloatKind | None:
    if key == "title" and isinstance(value, str):
        return "titles"
    if key == "default" and value in EMPTY:
        return "empty_defaults"
    return "schema_marks" if key in MARKS else None
