"""Attempts to keep in a ledger: one by hand, and any that there can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from decimal import Decimal
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from ctxkit.ledger import Attempt, Outcome
from ctxkit.ledger.sent import Cause
from ctxkit.money import Share
from ctxkit.usage import Charge, Usage

MODEL = "claude-sonnet-4-5"


def attempt(usd: str = "0.5", *, tool: str | None = None, **more: Any) -> Attempt:
    """A billed attempt that cost so much, half of it for a tool where one is named."""
    half = Decimal(usd) / 2
    shares = (Share("user_text", None, 60, 5, half), Share("tool_result", tool, 40, 5, half))
    known = {"task": "fix-bug", "purpose": "main", "model": MODEL, "wire": "anthropic_messages"}
    known |= {"outcome": "billed", "usage": Usage(100, 10), "charge": Charge(output_usd=Decimal(usd))}
    return Attempt(**{**known, "shares": shares, **more})


DOLLARS = st.decimals(allow_nan=False, allow_infinity=False)
_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(st.characters(exclude_categories=())),
    int: st.integers(0, 2**63 - 1),
    bool: st.booleans(),
    float: st.floats(allow_nan=False),
    Decimal: DOLLARS,
    NoneType: st.none(),
    Outcome: st.sampled_from(get_args(Outcome)),
    Cause: st.sampled_from(get_args(Cause)),
    Mapping[str, Any]: st.just({"native": "not kept"}),
}


def _any(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a type, built from the types of its fields."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if is_dataclass(kind):
        return st.builds(kind, **{name: _any(hint) for name, hint in get_type_hints(kind).items()})
    if get_origin(kind) is tuple:
        return st.lists(_any(get_args(kind)[0]), max_size=3).map(tuple)
    return st.one_of([_any(part) for part in get_args(kind)])


ATTEMPTS: st.SearchStrategy[Attempt] = _any(Attempt)
