"""What a request will use and cost, worked out before it is sent.

How much of it its provider has in the prompt cache is remembered with the turns of its history.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from ctxkit.messages import ModelRequest, Turn
from ctxkit.money import price
from ctxkit.usage import Usage
from ctxkit.wire.native import string
from ctxkit.wire.usage_fields import mapping

# What of a request has rates of its own, and stands in the usage of its answer under the same name.
SERVICE_KEYS = ("speed", "inference_geo")
_CACHED = "foreseen.cached"


def foreseen_usd(request: ModelRequest, usage: Usage) -> Decimal:
    """What a usage would cost in the service that the request asks for, or else in standard service."""
    body = request.body
    native = {key: body[key] for key in SERVICE_KEYS if key in body}
    asked = replace(usage, service_tier=string(body.get("service_tier")), native=native)
    plain = replace(usage, cache_write_tokens=0, cache_write_1h_tokens=0)
    for one in (asked, usage, plain):
        charge = price(one, model=request.model, provider=request.provider)
        if charge is not None:
            return charge.total_usd
    return Decimal(0)


def dearest(request: ModelRequest, usage: Usage) -> Usage:
    """The same usage at its dearest: what is not read from the cache is written to it.

    Anthropic writes only what the request marks, others as they please.
    """
    lifetimes = {"5m"}
    if request.wire.name == "anthropic_messages":
        from ctxkit.validity.anthropic_cache import marks_of

        top = mapping(request.body.get("cache_control"))
        lifetimes = {mark.ttl for mark in marks_of(request)} | ({top.get("ttl") or "5m"} if top else set())
    unread = usage.uncached_tokens or 0
    return replace(
        usage,
        cache_write_tokens=unread if lifetimes else 0,
        cache_write_1h_tokens=unread if "1h" in lifetimes else 0,
    )


def cached_tokens(request: ModelRequest) -> int:
    """How much of a request its provider has in the cache, as the last answer in its history proves."""
    key = (_CACHED, request.model)

    def step(before: int, turn: Turn) -> int:
        return before if turn.parent is None else turn.parent.memo.get(key, before)

    return request.fold((*key, "before"), lambda head: 0, step)


def note_cached(request: ModelRequest, usage: Usage) -> None:
    """Remember with the last turn of a request what its answer shows to be in the cache."""
    for turn in request.turns[-1:]:
        turn.memo[_CACHED, request.model] = usage.cache_read_tokens + usage.cache_write_tokens
