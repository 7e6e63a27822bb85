"""Reports to show: attempts booked by hand, with what each part of them cost written out."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from ctxkit.ledger import Attempt, Totals
from ctxkit.money import Share
from ctxkit.reports import Report, TaskRow
from ctxkit.usage import Charge, Usage

MODEL = "claude-sonnet-4-5"


def share(
    kind: str, tool: str | None, read: int, written: int, usd: str | None, *, carried: bool = False
) -> Share:
    """A share of a bill, its cost written as a decimal number."""
    return Share(kind, tool, read, written, None if usd is None else Decimal(usd), carried)


def billed(
    *shares: Share, calls: Sequence[str] = (), cached: int = 0, purpose: str = "main", cut: int = 0
) -> Attempt:
    """A billed attempt whose usage and charge are what its shares add up to."""
    costs = [part.cost_usd for part in shares if part.cost_usd is not None]
    return Attempt(
        task="",
        purpose=purpose,
        model=MODEL,
        wire="anthropic_messages",
        outcome="billed",
        usage=Usage(
            sum(part.input_tokens for part in shares),
            sum(part.output_tokens for part in shares),
            cache_read_tokens=cached,
        ),
        charge=Charge(output_usd=sum(costs, Decimal(0))) if costs else None,
        shares=shares,
        tool_calls=tuple(calls),
        cut_tokens=cut,
    )


def paid(usd: str, *, tokens: int = 100) -> Attempt:
    """A billed attempt that cost so much."""
    return billed(share("user_text", None, tokens, 10, usd))


def unpriced() -> Attempt:
    """A billed attempt of a model without a price."""
    return billed(
        share("system", None, 300, 0, None), share("tool_call", "grep", 0, 100, None), calls=["grep"]
    )


def unmeasured() -> Attempt:
    """An attempt that may have been billed, and of which nothing else is known."""
    return Attempt(task="", purpose="main", model=None, wire="openai_chat", outcome="unknown")


def refused() -> Attempt:
    """An attempt that was not billed."""
    return Attempt(task="", purpose="main", model=None, wire="openai_chat", outcome="not_billed", status=429)


def row(*attempts: Attempt, id: str = "fix-bug", format: str = "live", **more: object) -> TaskRow:
    """A task with these attempts."""
    totals = Totals()
    for attempt in attempts:
        totals.add(attempt)
    return TaskRow(**{"id": id, "format": format, "model": MODEL, "totals": totals, **more})


def searched() -> Report:
    """One task of two requests, with a tool that was defined, called, and answered."""
    asked = billed(
        share("tool_definition", "grep", 1_000, 0, "0.0030"),
        share("system", None, 500, 0, "0.0015"),
        share("tool_call", "grep", 0, 20, "0.0003"),
        calls=["grep"],
    )
    answered = billed(
        share("tool_definition", "grep", 1_000, 0, "0.0003"),
        share("tool_result", "grep", 12_345, 0, "0.037035"),
        share("assistant_text", None, 0, 80, "0.0012"),
        cached=1_500,
    )
    return Report([row(asked, answered)])
