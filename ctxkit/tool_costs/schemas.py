"""Walking JSON Schemas, and leaving parts of them out. What a part is worth is not known here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ctxkit.messages import Where
from ctxkit.wire.native import dumps, loads

BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
UNIONS = ("anyOf", "oneOf", "allOf")
IN_A_LIST = (*UNIONS, "prefixItems")
ALONE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")


def subschemas(schema: Any) -> Iterator[tuple[Where, dict[str, Any]]]:
    """A schema and all schemas within it, each with its path, in their order.

    What stands under `properties` is a schema by its name, so a property called `title` is no title.
    """
    waiting: list[tuple[Where, Any]] = [((), schema)]
    while waiting:
        where, here = waiting.pop()
        if isinstance(here, dict):
            yield where, here
            waiting.extend(reversed([((*where, *steps), inner) for steps, inner in _children(here)]))


def without(native: Any, places: Iterable[Where]) -> Any:
    """A copy of a JSON value without what stands at these paths; none of them may lie within another.

    Args:
        native: The value.
        places: Paths of object members and list items; of several items of one list, the last first.
    """
    copy = loads(dumps(native))
    for place in places:
        holder = copy
        for step in place[:-1]:
            holder = holder[step]
        del holder[place[-1]]
    return copy


def _children(schema: dict[str, Any]) -> Iterator[tuple[Where, Any]]:
    for key, value in schema.items():
        if key in BY_NAME and isinstance(value, dict):
            yield from (((key, name), inner) for name, inner in value.items())
        elif key in IN_A_LIST and isinstance(value, list):
            yield from (((key, index), inner) for index, inner in enumerate(value))
        elif key in ALONE:
            yield (key,), value
