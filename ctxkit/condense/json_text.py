"""JSON read and written again without a silent change: numbers keep their spelling, no key is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson

# Longer integers may pass the 64 bits that can be written.
SAFE_DIGITS = 18
SPACE = re.compile(r"[ \t\n\r]*+")


class Number(float):
    """A number that is written as it was spelled, such as `1.10`, or an integer of 30 digits."""

    __slots__ = ("spelling",)
    spelling: str

    @classmethod
    def spelled(cls, spelling: str) -> Number:
        """The number of a spelling."""
        number = cls(spelling)
        number.spelling = spelling
        return number


def written(value: Any) -> bytes:
    """A value as JSON without white space."""
    return orjson.dumps(value, default=_spelling)


def compact(text: str) -> tuple[list[Any], str]:
    """The JSON values in a text, one behind the other, and each of them in a line without white space.

    Raises:
        ValueError: It holds none, or something else, or a key twice in an object, or what can't be written
            again: a lone surrogate, or what is nested too deeply.
    """
    try:
        values = list(_values(text))
        return values, "\n".join(written(value).decode() for value in values)
    except (RecursionError, TypeError) as error:
        raise ValueError("the text can't be read and written again") from error


def _values(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(
        object_pairs_hook=_object,
        parse_int=_integer,
        parse_float=Number.spelled,
        parse_constant=_refused,
    )
    value, place = decoder.raw_decode(text, _start(text, 0))
    yield value
    while (place := _start(text, place)) < len(text):
        value, place = decoder.raw_decode(text, place)
        yield value


def _start(text: str, place: int) -> int:
    return next(SPACE.finditer(text, place)).end()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("an object holds a key twice")
    return made


def _integer(spelling: str) -> int | Number:
    exact = len(spelling) <= SAFE_DIGITS and spelling != "-0"
    return int(spelling) if exact else Number.spelled(spelling)


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _spelling(number: Number) -> orjson.Fragment:
    return orjson.Fragment(number.spelling)
