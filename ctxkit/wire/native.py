"""Small readers of a provider's JSON that every wire uses. No provider is named here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from ctxkit.errors import BodyError
from ctxkit.messages import Block, Kind, Turn, Where


def loads(raw: bytes | str) -> Any:
    """Parse JSON. Lone surrogates in escapes are kept, which orjson alone would refuse.

    Raises:
        BodyError: It is not JSON, or nested too deeply to be read.
    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise BodyError(f"not JSON: {error}") from None


def dumps(native: Any) -> bytes:
    """Serialise JSON compactly, keys in their order, whatever strings it holds.

    Raises:
        BodyError: It holds something that JSON can't, or is nested too deeply.
    """
    try:
        return orjson.dumps(native)
    except TypeError:
        pass
    try:
        return json.dumps(native, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BodyError(f"can't be written as JSON: {error}") from None


def digest(native: Any) -> bytes:
    """16 bytes that stand for a value: equal native bytes, equal digests."""
    return hashlib.blake2b(dumps(native), digest_size=16).digest()


def body_object(value: Any, *, what: str = "the body") -> dict[str, Any]:
    """The value, where it is a JSON object; raises `BodyError` otherwise."""
    if not isinstance(value, dict):
        raise BodyError(f"{what} must be a JSON object, not {type(value).__name__}")
    return value


def items(value: Any, where: Where) -> list[Any]:
    """A list as it is, nothing as an empty one; raises `BodyError` for anything else."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise BodyError(f"{path(where)} must be a list, not {type(value).__name__}", where=where)
    return value


def path(where: Where) -> str:
    """A path as providers write it in their errors: `messages.3.content.0`."""
    return ".".join(str(part) for part in where)


def text(value: Any) -> str:
    """A string as it is, nothing as an empty one, anything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else dumps(value).decode()


def string(value: Any) -> str | None:
    """A string that is not empty, or `None`."""
    return value if isinstance(value, str) and value else None


def text_parts(parts: Iterable[Any]) -> str:
    """The texts of a list of content parts, one under the other."""
    return "\n".join(
        part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    )


def with_text(content: Any, replacement: str) -> Any:
    """The content of a tool result with another text: images and other parts stay where they are.

    Of several texts the first makes place for it, and gets what else the others carry, such as cache marks.
    """
    if not isinstance(content, list):
        return replacement
    parts: list[Any] = []
    merged: dict[str, Any] = {}
    for part in content:
        if not (isinstance(part, Mapping) and isinstance(part.get("text"), str)):
            parts.append(part)
            continue
        if not merged:
            parts.append(merged)
        merged.update({**part, "text": replacement})
    return parts


def block(kind: Kind, native: Any, where: Where, block_text: str, **more: Any) -> Block:
    """A block with its digest."""
    return Block(kind=kind, text=block_text, digest=digest(native), where=where, native=native, **more)


def call_of(parent: Turn | None, call_id: str | None, beside: Sequence[Block] = ()) -> Block | None:
    """The call that a result answers: looked up beside the result, then backwards from the turn before."""
    blocks, turn = beside, parent
    while call_id is not None:
        for candidate in blocks:
            if candidate.kind == "tool_call" and candidate.call_id == call_id:
                return candidate
        if turn is None:
            break
        blocks, turn = turn.blocks, turn.parent
    return None


def tool_of_call(parent: Turn | None, call_id: str | None, beside: Sequence[Block] = ()) -> str | None:
    """The tool of the call that a result answers."""
    call = call_of(parent, call_id, beside)
    return None if call is None else call.tool


def parsed_input(value: Any) -> Mapping[str, Any]:
    """The arguments of a call, given as an object or as JSON text; empty where they can't be read."""
    if isinstance(value, str):
        try:
            value = loads(value)
        except BodyError:
            return {}
    return value if isinstance(value, Mapping) else {}
