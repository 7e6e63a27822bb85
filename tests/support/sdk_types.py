"""What the installed SDKs' own types list: the words that a field may hold, over all members of a union."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Required, Union, get_args, get_origin, get_type_hints


def words(annotation: Any) -> set[str]:
    """The words of a `Literal`, wherever it stands in an annotation."""
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    inner = get_args(annotation)
    return {word for one in inner for word in words(one)} if _is_wrapped(annotation) else set()


def kinds(union: Any, field: str = "type") -> set[str]:
    """What the `type` of a union's members may be, or another field of theirs."""
    return {word for member in members(union) for word in words(fields(member).get(field))}


def members(union: Any) -> Iterator[Any]:
    """The classes of a union, also of unions within it."""
    if not _is_wrapped(union):
        yield union
        return
    inner = get_args(union)[:1] if get_origin(union) is Annotated else get_args(union)
    for one in inner:
        yield from members(one)


def _is_wrapped(annotation: Any) -> bool:
    return get_origin(annotation) in (Annotated, Required, Union, types.UnionType)


def fields(member: Any) -> dict[str, Any]:
    """The fields of a class, each with its annotation."""
    if hasattr(member, "model_fields"):
        return {name: field.annotation for name, field in member.model_fields.items()}
    return get_type_hints(member, include_extras=True)
