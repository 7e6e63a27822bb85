"""The size of the context from request to request, and how much of it the prompt cache served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxkit.ledger import Attempt
from ctxkit.ledger.doctor import diagnose
from ctxkit.reports.content import printable
from ctxkit.reports.report import Report


def timeline(report: Report) -> Mapping[str, Any]:
    """The requests of a report as columns, in the order in which they were booked.

    Returns:
        `read`, `written`, `uncached` and `output` in tokens, `task` and `purpose` as places in `names`,
        `turn` (0 where it is unknown), `retry`, and `missed`: tokens that the cache could have held.
    """
    rows = [(row.id, attempt) for row in report.tasks for attempt in row.attempts if _is_sent(attempt)]
    missed = {miss.attempt: miss.missed_tokens for miss in diagnose(attempt for _, attempt in rows)}
    names: dict[str, int] = {}

    def named(name: str) -> int:
        return names.setdefault(printable(name), len(names))

    columns: dict[str, Sequence[int]] = {
        "task": [named(name) for name, _ in rows],
        "purpose": [named(attempt.purpose) for _, attempt in rows],
        "turn": [attempt.turn or 0 for _, attempt in rows],
        "retry": [attempt.retry for _, attempt in rows],
        "missed": [missed.get(attempt.id, 0) for _, attempt in rows],
        **_tokens([attempt for _, attempt in rows]),
    }
    return {"names": list(names), **columns}


def _is_sent(attempt: Attempt) -> bool:
    return attempt.outcome != "not_billed"


def _tokens(attempts: Sequence[Attempt]) -> dict[str, Sequence[int]]:
    """What each request had; nothing where that is not known."""
    usages = [attempt.usage for attempt in attempts]
    return {
        "read": [usage.cache_read_tokens if usage else 0 for usage in usages],
        "written": [usage.cache_write_tokens if usage else 0 for usage in usages],
        "uncached": [(usage.uncached_tokens or 0) if usage else 0 for usage in usages],
        "output": [(usage.output_tokens or 0) if usage else 0 for usage in usages],
    }
