"""Tool results as stores keep them: their keys, and their form as JSON. Nothing here is pickled."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from ctxkit.errors import BodyError
from ctxkit.messages import ToolCall, ToolResult
from ctxkit.wire.native import dumps, loads

# Parsers of JSON may give back larger numbers as floats.
EXACT_BITS = 63


@dataclass(frozen=True, slots=True)
class Entry:
    """A tool's result, as it is kept.

    Attributes:
        content: What the tool gave.
        is_error: Whether it failed.
        made: When the result was there, in seconds of the wall clock.
        seconds: How long the tool took.
    """

    content: Any
    is_error: bool
    made: float
    seconds: float

    def result(self) -> ToolResult:
        """The result, marked as one that is given again."""
        return ToolResult(self.content, is_error=self.is_error, from_cache=True)


def key_of(namespace: str, call: ToolCall) -> str | None:
    """What equal calls have in common; `None` where the arguments are no plain JSON."""
    try:
        return tool_prefix(namespace, call.name) + dumps(_sorted(call.input)).decode()
    except (BodyError, RecursionError):
        return None


def namespace_prefix(namespace: str) -> str:
    """How every key of a namespace begins, and no other key does."""
    return dumps(namespace).decode()


def tool_prefix(namespace: str, tool: str) -> str:
    """How every key of a tool begins, and no other key does."""
    return namespace_prefix(namespace) + dumps(tool).decode()


def pack(entry: Entry) -> bytes | None:
    """An entry as JSON; `None` where it would not come back as it is."""
    try:
        if not _is_plain(entry.content):
            return None
        return dumps([entry.content, entry.is_error, entry.made, entry.seconds])
    except (BodyError, RecursionError):
        return None


def unpack(value: Any) -> Entry | None:
    """The entry that a store gave back, its content free to be changed; `None` where it is no entry."""
    if isinstance(value, Entry):
        return replace(value, content=deepcopy(value.content))
    if not isinstance(value, bytes):
        return None
    try:
        match loads(value):
            case [content, bool(is_error), int() | float() as made, int() | float() as seconds]:
                return Entry(content, is_error, made, seconds)
    except BodyError:
        pass
    return None


def _sorted(value: object) -> object:
    """The value with the keys of every object in one order; raises `BodyError` where it is no plain JSON."""
    if isinstance(value, Mapping):
        return {str(key): _sorted(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, (list, tuple)):
        return [_sorted(item) for item in value]
    if value is None or isinstance(value, (str, int)) or (isinstance(value, float) and isfinite(value)):
        return value
    raise BodyError(f"a {type(value).__name__} is no plain JSON")


def _is_plain(value: object) -> bool:
    """Whether JSON gives a value back as it is, types included."""
    if type(value) is dict:
        return all(type(key) is str and _is_plain(item) for key, item in value.items())
    if type(value) is list:
        return all(map(_is_plain, value))
    if type(value) is int:
        return value.bit_length() <= EXACT_BITS
    return value is None or type(value) in (str, bool) or (type(value) is float and isfinite(value))
