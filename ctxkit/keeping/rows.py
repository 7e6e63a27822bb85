"""An attempt as a row of a ledger, and back again without loss, but for the provider's own usage object.

A column has the name of the attempt's field. What is no text and no number is JSON, money in it decimal text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from decimal import Decimal
from typing import Any

import orjson

from ctxkit.ledger import Attempt, Change, Placed, Sent
from ctxkit.money import Share
from ctxkit.usage import Charge, Media, Usage
from ctxkit.wire.native import loads

Stored = str | bytes | int | float | None
COLUMNS = tuple(field.name for field in fields(Attempt))


def row_of(attempt: Attempt) -> tuple[Stored, ...]:
    """The row of an attempt, in the order of `COLUMNS`."""
    return tuple(_stored(getattr(attempt, name)) for name in COLUMNS)


def attempt_of(row: Sequence[Stored]) -> Attempt:
    """The attempt of a row, given in the order of `COLUMNS`."""
    return Attempt(**{name: _restored(name, value) for name, value in zip(COLUMNS, row, strict=True)})


def _stored(value: Any) -> Stored:
    if value is None or isinstance(value, (int, float)):
        return value
    if not isinstance(value, str):
        return _json(replace(value, native={}) if isinstance(value, Usage) else value)
    try:
        value.encode()
    except UnicodeEncodeError:
        # A lone surrogate, as in names of files that are no UTF-8, can't be SQLite's text.
        return value.encode(errors="surrogatepass")
    return value


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value, default=_plain).decode()
    except TypeError:  # a lone surrogate, or a number of more than 64 bits
        return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else asdict(value)


def _restored(name: str, value: Stored) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="surrogatepass")
    if isinstance(value, str) and name in _READERS:
        return _READERS[name](loads(value))
    return value


def _usage(plain: dict[str, Any]) -> Usage:
    plain["media"] = tuple(Media(**media) for media in plain["media"])
    return Usage(**plain)


def _charge(plain: dict[str, str]) -> Charge:
    return Charge(**{part: Decimal(amount) for part, amount in plain.items()})


def _shares(plain: list[dict[str, Any]]) -> tuple[Share, ...]:
    for share in plain:
        if share["cost_usd"] is not None:
            share["cost_usd"] = Decimal(share["cost_usd"])
    return tuple(Share(**share) for share in plain)


def _placed(plain: list[dict[str, Any]]) -> tuple[Placed, ...]:
    return tuple(Placed(**block) for block in plain)


def _sent(plain: dict[str, Any]) -> Sent:
    plain["added"] = _placed(plain["added"])
    plain["change"] = plain["change"] and _change(plain["change"])
    return Sent(**plain)


def _change(plain: dict[str, Any]) -> Change:
    plain["block"] = plain["block"] and Placed(**plain["block"])
    return Change(**plain)


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "usage": _usage,
    "charge": _charge,
    "shares": _shares,
    "tool_calls": tuple,
    "sent": _sent,
    "answered": _placed,
}
