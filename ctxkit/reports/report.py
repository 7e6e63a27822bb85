"""What tasks used and cost, as an object to print, show in a notebook, or write as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ctxkit.ledger import Attempt, Reuse, Totals, usd
from ctxkit.money import price_list_version

if TYPE_CHECKING:
    from ctxkit.reports.doctor import Diagnosis


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task of a report.

    Attributes:
        id: The task's path, or the recorded run's id.
        format: `live`, `ledger`, or the reader that read the run.
        model: The model that answered most of its requests.
        totals: What it used, without the tasks nested in it.
        faults: How often a middleware failed, by middleware and exception.
        reused: What was saved by giving earlier results of tools again, by tool.
        recorded_cost_usd: What the recorder says that the run cost, where it says so.
        notes: What the reader should know, such as what the log does not hold.
        attempts: Its own attempts, oldest first, where they were kept: of a live task the last 10,000.
    """

    id: str
    format: str
    model: str | None
    totals: Totals
    faults: Mapping[str, int] = field(default_factory=dict)
    reused: Mapping[str, Reuse] = field(default_factory=dict)
    recorded_cost_usd: Decimal | None = None
    notes: Sequence[str] = ()
    attempts: Sequence[Attempt] = field(default=(), repr=False)


@dataclass(frozen=True)
class Report:
    """What tasks used and cost. `str()` gives a table, a notebook shows it, `to_dict` is the `profile` JSON.

    Attributes:
        tasks: A row a task; the rows add up to `totals`.
        skipped: Parts of recorded runs that could not be read: `path`, `line`, `reason`.
        by: What has a row: `task`, or in a ledger's report also `tool`, `model` or `day`.
    """

    tasks: Sequence[TaskRow]
    skipped: Sequence[Mapping[str, Any]] = ()
    by: str = "task"

    @property
    def totals(self) -> Totals:
        """The sum of all tasks."""
        totals = Totals()
        for row in self.tasks:
            totals.merge(row.totals)
        return totals

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON; fields may be added, never renamed."""
        return {
            "totals": self.totals.to_dict(),
            "tasks": [
                {
                    "id": row.id,
                    "format": row.format,
                    "model": row.model,
                    **row.totals.to_dict(),
                    "recorded_cost_usd": _usd(row.recorded_cost_usd),
                    "faults": dict(row.faults),
                    "reused": {tool: reuse.to_dict() for tool, reuse in row.reused.items()},
                    "notes": list(row.notes),
                }
                for row in self.tasks
            ],
            "skipped": [dict(part) for part in self.skipped],
            "price_list": price_list_version(),
        }

    def to_html(self) -> str:
        """The report as a page of its own: a chart of costs, a timeline of the context, and the tables.

        Its rows must hold their attempts, as those of live tasks do.
        """
        from ctxkit.reports.page import page

        return page(self)

    def to_folded(self) -> str:
        """What every part cost, in millionths of a dollar, as folded stacks that flame-graph viewers read."""
        from ctxkit.reports.cost_tree import folded

        return folded(self)

    def doctor(self) -> Diagnosis:
        """Which requests paid again for what the prompt cache could have held, why, and what that cost.

        Its rows must hold their attempts, as those of live tasks do.
        """
        from ctxkit.reports.doctor import Diagnosis

        return Diagnosis.of(self)

    def __str__(self) -> str:
        from ctxkit.reports.terminal import report_text

        return report_text(self)

    def _repr_html_(self) -> str:
        from ctxkit.reports.notebook import report_html

        return report_html(self)


def _usd(amount: Decimal | None) -> str | None:
    return None if amount is None else usd(amount)
