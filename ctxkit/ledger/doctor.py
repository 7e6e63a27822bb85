"""The cache doctor: which requests missed the prompt cache, why, and what that cost.

Pure: it looks at booked attempts. How a diagnosis is shown belongs to `reports.doctor`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Literal

from ctxkit.ledger.attempts import Attempt
from ctxkit.ledger.sent import Placed
from ctxkit.money import Rates, rates
from ctxkit.usage import Usage

MissCause = Literal[
    "caller", "middleware", "tool_order", "result_order", "model", "expired", "no_breakpoint", "unknown"
]

# How long a provider keeps a prefix at the least, in seconds, at its shorter and its longer lifetime.
# Source: the vendors' pages on prompt caching, second hand, read on 2026-11-30.
LIFETIMES = {"anthropic_messages": (300, 3_600), "openai_chat": (1_800, 43_200)}
LIFETIMES["openai_responses"] = LIFETIMES["openai_chat"]
LIFETIMES["bedrock_converse"] = LIFETIMES["anthropic_messages"]

# Wires on which nothing is written to the cache unless the request marks a place.
MARKED = frozenset({"anthropic_messages", "bedrock_converse"})

# Providers cache nothing below, and what is cached ends at a boundary: what is less is no miss.
SMALLEST_PREFIX = 1_024
BOUNDARY = 512
BOUNDARY_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Miss:
    """One request whose prefix was not read from the prompt cache as far as it could have been.

    Attributes:
        attempt: The attempt's id.
        task: Its task.
        purpose: Its purpose.
        model: Its model.
        turn: The turn of the tool loop that it is for.
        cause: Why the prefix was not reused.
        middleware: Which middleware changed it, where it was one and is known.
        block: The first block that differed from the request before, where one did.
        where: The path to it in the body; empty where nothing differed.
        reason: Why, in one sentence.
        told: The provider's own word for it, where it gives one.
        missed_tokens: How many tokens were paid for again instead of being read.
        cost_usd: What that cost more than reading them; `None` where a rate is unknown.
        taken_off_tokens: How many tokens the change took out of the prompt, as counted here; 0 where it grew.
    """

    attempt: str
    task: str
    purpose: str
    model: str | None
    turn: int | None
    cause: MissCause
    middleware: str | None
    block: Placed | None
    where: str
    reason: str
    told: str | None
    missed_tokens: int
    cost_usd: Decimal | None
    taken_off_tokens: int


def diagnose(attempts: Iterable[Attempt]) -> list[Miss]:
    """Find the requests whose prefix was not reused, the dearest first.

    Args:
        attempts: Of any tasks. Each is held against the attempt that its `sent` names, so their order does
            not matter. Attempts without usage, or of which it is not known what they sent, are passed over.
    """
    known = {attempt.id: attempt for attempt in attempts}
    misses = list(_misses(known))
    return sorted(misses, key=lambda miss: (-(miss.cost_usd or 0), -miss.missed_tokens))


def _misses(known: dict[str, Attempt]) -> Iterator[Miss]:
    for attempt in known.values():
        sent, usage = attempt.sent, attempt.usage
        before = known.get(sent.after) if sent is not None and sent.after is not None else None
        if sent is None or usage is None or usage.input_tokens is None or before is None:
            continue
        if before.usage is None or before.sent is None:
            continue
        could = _cached_by(before, before.usage)
        # What was taken out of the prompt could not have been read again.
        missed = min(could, usage.input_tokens) - usage.cache_read_tokens
        if missed > max(BOUNDARY, BOUNDARY_SHARE * could):
            cause, reason = _cause(before, attempt, could)
            change = sent.change if cause not in ("expired", "no_breakpoint", "unknown") else None
            yield Miss(
                attempt=attempt.id,
                task=attempt.task,
                purpose=attempt.purpose,
                model=attempt.model,
                turn=attempt.turn,
                cause=cause,
                middleware=change.middleware if change else None,
                block=change.block if change else None,
                where=change.where if change else "",
                reason=reason,
                told=attempt.miss_reason,
                missed_tokens=missed,
                cost_usd=_cost_usd(attempt, usage, missed),
                taken_off_tokens=max(0, before.sent.tokens - sent.tokens) if change else 0,
            )


def _cached_by(before: Attempt, usage: Usage) -> int:
    """How many tokens of a request could be read by the next one, had its prompt only grown."""
    prompt = usage.input_tokens or 0
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    could = min(prompt, cached) if before.wire in MARKED and cached else prompt
    return could if could >= SMALLEST_PREFIX else 0


def _cause(before: Attempt, attempt: Attempt, could: int) -> tuple[MissCause, str]:
    """Why a prefix was not reused; the provider's own word comes first, where it tells of a change."""
    change = attempt.sent.change if attempt.sent is not None else None
    told = attempt.miss_reason or ""
    told_change = told.endswith("_changed") or told == "context_compacted"
    if change is not None and change.by != "unknown":
        if told_change or not _lost_what_was_kept(before, attempt, could) or not _expired(before, attempt):
            return change.by, change.reason
    elif told_change:
        return "model" if told == "model_changed" else "caller", f"the provider says {told}"
    usage = before.usage
    if before.wire in MARKED and usage is not None and not usage.cache_read_tokens + usage.cache_write_tokens:
        return "no_breakpoint", "the request before marked no place up to which its prompt is cached"
    if lifetime := _expired(before, attempt):
        gap = _spoken(attempt.started - before.started)
        return "expired", f"{gap} after the request before, which was kept for {_spoken(lifetime)}"
    without = "" if before.started else "; it may have expired, as the log does not say when it was sent"
    return "unknown", f"nothing differed, and the cache was not read all the same{without}"


def _lost_what_was_kept(before: Attempt, attempt: Attempt, could: int) -> bool:
    """Whether even the beginning that did not change was not read."""
    sent, usage = attempt.sent, attempt.usage
    if sent is None or usage is None or before.sent is None or not before.sent.tokens:
        return False
    kept = could * sent.kept_tokens / before.sent.tokens
    return usage.cache_read_tokens < kept / 2 and kept >= SMALLEST_PREFIX


def _expired(before: Attempt, attempt: Attempt) -> int | None:
    """The lifetime that was over when a request came, in seconds; `None` where that can't be said."""
    lifetime = _lifetime(before)
    over = lifetime is not None and before.started and attempt.started - before.started > lifetime
    return lifetime if over else None


def _lifetime(before: Attempt) -> int | None:
    """How long the provider keeps what a request wrote, in seconds; `None` where it does not say."""
    shorter, longer = LIFETIMES.get(before.wire, (None, None))
    usage = before.usage
    is_longer = usage is not None and usage.cache_write_1h_tokens + usage.cache_write_12h_tokens
    return longer if is_longer else shorter


def _cost_usd(attempt: Attempt, usage: Usage, missed: int) -> Decimal | None:
    """What tokens cost that were written once more, or paid for in full, beyond what reading them costs."""
    at = datetime.fromtimestamp(attempt.started, UTC) if attempt.started else None
    found = rates(attempt.model, provider=attempt.provider, at=at, prompt_tokens=usage.input_tokens or 0)
    if found is None or found.cache_read is None:
        return None
    written = min(missed, usage.cache_write_tokens)
    dearer = written * (_write_rate(found, usage) - found.cache_read)
    return (dearer + (missed - written) * (found.input - found.cache_read)) / 1_000_000


def _write_rate(found: Rates, usage: Usage) -> Decimal:
    longer = usage.cache_write_1h_tokens > usage.cache_write_tokens / 2
    rate = found.cache_write_1h if longer else found.cache_write
    return found.input if rate is None else rate


def _spoken(seconds: float) -> str:
    """A stretch of time in the unit that fits."""
    return f"{seconds / 3_600:.0f} h" if seconds >= 3_600 else f"{seconds / 60:.0f} min"
