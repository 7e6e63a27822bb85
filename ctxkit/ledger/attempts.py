"""One attempt to call a model, as it is booked. What attempts add up to lives in `totals`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import uuid4

from ctxkit.errors import CtxkitError, FlowError, ModelCallFailed
from ctxkit.ledger.sent import Placed, Sent
from ctxkit.money import Share
from ctxkit.usage import Charge, Usage
from ctxkit.wire.native import string
from ctxkit.wire.usage_fields import mapping

Outcome = Literal["billed", "not_billed", "unknown"]

# Statuses that a server or a gateway sends when it gave up waiting: the model may have answered all the same.
MAY_BE_BILLED = frozenset({408, 504, 524})
# What httpx and httpx2 raise before a byte of the request has left.
NEVER_SENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol", "ProxyError"})
# What Anthropic says where it found no reason, as it had nothing to compare with.
NO_REASON = frozenset({"previous_message_not_found", "unavailable"})


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to call a model.

    Attributes:
        task: The path of the task it belongs to, names joined by ` / `.
        purpose: `main`, or the purpose of a middleware's side call.
        model: The model that answered, or else the one asked.
        wire: The wire's name.
        outcome: Whether it was billed; `unknown` where nobody can tell, as after a timeout.
        status: The HTTP status, where there was one.
        error: The type of the exception, where it ended in one.
        usage: What the answer reported; `None` where nothing arrived.
        charge: What it cost; `None` where usage or price is unknown.
        shares: The usage and the charge split over what the request was made of.
        tool_calls: The names of the tools that the answer calls.
        retry: How many attempts at the same call came before.
        cut_tokens: How many tokens of the caller's request were left out before it was sent, as counted here.
        started: Seconds since the epoch, or when it was answered where a log knows no more; 0 where nobody
            knows.
        seconds: How long it took.
        id: Tells it from every other attempt, in every process.
        turn: Which turn of the tool loop it is for: 1 and the number of answers that its history holds;
            `None` where that can't be read.
        provider: Who was asked, where that is known.
        sent: What it sent, block by block; `None` where that can't be read.
        answered: The blocks that came back.
        miss_reason: Why the prompt cache did not serve it, in the provider's own word where it gives one.
    """

    task: str
    purpose: str
    model: str | None
    wire: str
    outcome: Outcome
    status: int | None = None
    error: str | None = None
    usage: Usage | None = None
    charge: Charge | None = None
    shares: tuple[Share, ...] = field(default=(), repr=False)
    tool_calls: tuple[str, ...] = ()
    retry: int = 0
    cut_tokens: int = 0
    started: float = 0.0
    seconds: float = 0.0
    id: str = field(default_factory=lambda: uuid4().hex, compare=False)
    turn: int | None = None
    provider: str | None = None
    sent: Sent | None = field(default=None, repr=False)
    answered: tuple[Placed, ...] = field(default=(), repr=False)
    miss_reason: str | None = None


def outcome_of(error: BaseException) -> Outcome:
    """Whether an attempt that ended in this exception was billed."""
    if isinstance(error, ModelCallFailed):
        return "unknown" if error.status in MAY_BE_BILLED else "not_billed"
    if isinstance(error, CtxkitError) and not isinstance(error, FlowError):
        # A middleware or an integration refused to send the request.
        return "not_billed"
    names = {kind.__name__ for kind in type(error).__mro__}
    return "not_billed" if names & NEVER_SENT or isinstance(error, ConnectionRefusedError) else "unknown"


def miss_reason_of(body: Mapping[str, Any]) -> str | None:
    """Why the prompt cache did not serve a request, as the provider's answer says; `None` where it doesn't.

    Source: `diagnostics.cache_miss_reason` in the types of the `anthropic` SDK 2.14.0 and
    `prompt_cache_diagnostics` in those of the `openai` SDK 3.57.0, read on 2026-11-30.
    """
    missed = string(mapping(mapping(body.get("diagnostics")).get("cache_miss_reason")).get("type"))
    if missed is not None:
        return None if missed in NO_REASON else missed
    return string(mapping(body.get("prompt_cache_diagnostics")).get("reason"))
