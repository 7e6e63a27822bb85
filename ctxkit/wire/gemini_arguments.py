"""Arguments of a Gemini function call that arrive piece by piece, each with a JSON Path to where it goes.

Read from the types of `google-genai` 3.6.1 and recorded streams of Vertex on 2026-11-30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ctxkit.errors import BodyError
from ctxkit.wire.native import items, text
from ctxkit.wire.usage_fields import mapping

_STEP = re.compile(r"\[(?P<index>\d+)\]|\['(?P<quoted>[^']*)'\]|\.(?P<name>[^.\[]+)")


def goes_on(call: Mapping[str, Any]) -> bool:
    """Whether more of a function call is still to come."""
    return call.get("willContinue") is True


def continued(call: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """A function call with more of it.

    Raises:
        BodyError: A piece goes nowhere.
    """
    made = {**call, **more}
    pieces = items(made.pop("partialArgs", None), ("functionCall", "partialArgs"))
    if pieces:
        made["args"] = mapping(call.get("args"))
    for piece in map(mapping, pieces):
        made["args"] = _placed(made["args"], _steps(text(piece.get("jsonPath"))), piece)
    if not goes_on(more):
        made.pop("willContinue", None)
    return made


def _steps(path: str) -> list[str | int]:
    steps = (match.groupdict() for match in _STEP.finditer(path))
    return [step["name"] or step["quoted"] or int(step["index"] or 0) for step in steps]


def _placed(held: Any, steps: Sequence[str | int], piece: Mapping[str, Any]) -> Any:
    """What is held, with a piece where the steps lead to."""
    if not steps:
        return _value(held, piece)
    step, *rest = steps
    if isinstance(step, str):
        inner = mapping(held)
        return {**inner, step: _placed(inner.get(step), rest, piece)}
    made = list(held) if isinstance(held, list) else []
    if step > len(made):
        raise BodyError(f"a piece of an argument has the index {step}, and {len(made)} came before it")
    made[step:] = [_placed(made[step] if step < len(made) else None, rest, piece), *made[step + 1 :]]
    return made


def _value(held: Any, piece: Mapping[str, Any]) -> Any:
    if isinstance(piece.get("stringValue"), str):
        return (held if isinstance(held, str) else "") + piece["stringValue"]
    return piece.get("numberValue", piece.get("boolValue"))
