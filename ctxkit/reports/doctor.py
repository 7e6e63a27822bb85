"""A diagnosis of the prompt cache, to print, show in a notebook, or write as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ctxkit.ledger import usd
from ctxkit.ledger.doctor import Miss, MissCause, diagnose
from ctxkit.reports.content import SHOWN_ROWS, Content, Table, dollars, percent, printable
from ctxkit.reports.report import Report

# What to do about each cause.
HINTS: Mapping[MissCause, str] = {
    "caller": "keep what was sent as it was, and add at the end",
    "middleware": "let it edit less often, in batches, or only when a result comes in",
    "tool_order": "send the tools in one order",
    "result_order": "send parallel results in the order of their calls",
    "model": "each model has a cache of its own: switch between tasks",
    "expired": "ask for the longer lifetime, or keep the pauses shorter",
    "no_breakpoint": "mark the end of the prompt with cache_control",
    "unknown": "none: the provider keeps no promise about it",
}


@dataclass(frozen=True)
class Diagnosis:
    """What of the bill was paid because a prefix was not read from the prompt cache.

    Attributes:
        misses: The requests, the dearest first.
        cost_usd: What the whole report costs, as far as it is known.
        unknown: How many requests can't be judged, as it is not known what they sent or used.
    """

    misses: Sequence[Miss]
    cost_usd: Decimal
    unknown: int

    @classmethod
    def of(cls, report: Report) -> Diagnosis:
        """The diagnosis of a report whose rows hold their attempts."""
        attempts = [attempt for row in report.tasks for attempt in row.attempts]
        unknown = sum(attempt.sent is None or attempt.usage is None for attempt in attempts)
        return cls(diagnose(attempts), report.totals.cost_usd, unknown)

    @property
    def missed_usd(self) -> Decimal:
        """What the misses cost, as far as it is known."""
        return sum((miss.cost_usd for miss in self.misses if miss.cost_usd is not None), Decimal(0))

    def to_list(self) -> list[dict[str, Any]]:
        """The misses as JSON, the dearest first."""
        return [_as_json(miss) for miss in self.misses]

    def __str__(self) -> str:
        from ctxkit.reports.terminal import content_renderable, plain_text

        return plain_text(content_renderable(content_of(self)))


def content_of(diagnosis: Diagnosis, *, top: int = SHOWN_ROWS) -> Content:
    """Say what a diagnosis says.

    Args:
        diagnosis: Any diagnosis.
        top: How many misses get a row of their own, the dearest first.
    """
    if not diagnosis.misses:
        return Content("no prefix was paid for twice", _caveat(diagnosis), (), ())
    missed = diagnosis.missed_usd
    share = percent(missed, diagnosis.cost_usd)
    count = f"{len(diagnosis.misses):,} request{'' if len(diagnosis.misses) == 1 else 's'}"
    headline = (
        f"{count} paid again for what the prompt cache could have held: {dollars(missed, whole=missed)}, "
        f"{share or 'an unknown share'} of the bill"
    )
    tables = (_by_cause(diagnosis), _dearest(diagnosis, top))
    causes = dict.fromkeys(miss.cause for miss in diagnosis.misses)
    facts = tuple((_word(cause), HINTS[cause]) for cause in causes)
    return Content(headline, _caveat(diagnosis), tables, facts)


def _caveat(diagnosis: Diagnosis) -> str:
    if not diagnosis.unknown:
        return ""
    count = f"{diagnosis.unknown:,} request{'' if diagnosis.unknown == 1 else 's'}"
    return f"{count} can't be judged: what was sent or used is not known"


def _by_cause(diagnosis: Diagnosis) -> Table:
    sums: dict[MissCause, list[Miss]] = {}
    for miss in diagnosis.misses:
        sums.setdefault(miss.cause, []).append(miss)
    rows = tuple(
        (
            _word(cause),
            f"{len(misses):,}",
            f"{sum(miss.missed_tokens for miss in misses):,}",
            dollars(_cost(misses), whole=diagnosis.missed_usd),
        )
        for cause, misses in sums.items()
    )
    return Table("By cause: what was paid for again", ("cause", "requests", "tokens", "cost"), rows)


def _dearest(diagnosis: Diagnosis, top: int) -> Table:
    rows = tuple(
        (
            printable(f"{miss.task}: {_what(miss)}"),
            "" if miss.turn is None else f"{miss.turn:,}",
            _word(miss.cause),
            f"{miss.missed_tokens:,}",
            dollars(miss.cost_usd, whole=diagnosis.missed_usd),
        )
        for miss in diagnosis.misses[:top]
    )
    return Table("The dearest requests", ("what differed first", "turn", "cause", "tokens", "cost"), rows)


def _what(miss: Miss) -> str:
    told = f" (the provider says {miss.told})" if miss.told else ""
    if miss.block is None:
        return f"{miss.reason}{told}"
    tool = f" of {miss.block.tool}" if miss.block.tool else ""
    by = f" by {miss.middleware}" if miss.middleware else ""
    return f"{miss.block.kind.replace('_', ' ')}{tool} at {miss.where}{by}; {miss.reason}{told}"


def _cost(misses: Sequence[Miss]) -> Decimal | None:
    known = [miss.cost_usd for miss in misses if miss.cost_usd is not None]
    return sum(known, Decimal(0)) if known else None


def _word(cause: str) -> str:
    return cause.replace("_", " ")


def _as_json(miss: Miss) -> dict[str, Any]:
    block = miss.block
    return {
        "task": miss.task,
        "purpose": miss.purpose,
        "model": miss.model,
        "turn": miss.turn,
        "cause": miss.cause,
        "middleware": miss.middleware,
        "kind": None if block is None else block.kind,
        "tool": None if block is None else block.tool,
        "call_id": None if block is None else block.call_id,
        "where": miss.where,
        "reason": miss.reason,
        "told": miss.told,
        "missed_tokens": miss.missed_tokens,
        "cost_usd": None if miss.cost_usd is None else usd(miss.cost_usd),
        "taken_off_tokens": miss.taken_off_tokens,
        "hint": HINTS[miss.cause],
    }
