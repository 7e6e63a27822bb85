"""Attempts grouped into the rows of a report: by task, by tool, by model, or by day. Reads no file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, get_args

from ctxkit.errors import ConfigError
from ctxkit.ledger import NO_TOOL, Attempt, Totals
from ctxkit.reports import Report, TaskRow
from ctxkit.usage import Charge, Usage

By = Literal["task", "tool", "model", "day"]

UNKNOWN_MODEL = "(unknown model)"
UNKNOWN_DAY = "(unknown day)"
# What a request has as a whole, and no part of it that belongs to a tool.
OF_REQUESTS = ("cache_read_tokens", "cache_write_tokens", "cut_tokens")


@dataclass(frozen=True)
class GroupedReport(Report):
    """A report that has a row for each task, tool, model or day.

    Attributes:
        by: What has a row. The rows add up to `totals`; those of tools do so in tokens and dollars, while a
            request counts in the row of every tool that it has to do with.
        whole: The sum of all attempts.
    """

    by: By = "task"
    whole: Totals = field(default_factory=Totals)

    @property
    def totals(self) -> Totals:
        """The sum of all attempts, in which each request counts once."""
        return self.whole

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON; of a tool it is not known what the cache held and what was cut: `None`."""
        said = super().to_dict()
        if self.by == "tool":
            for row in said["tasks"]:
                row.update(dict.fromkeys(OF_REQUESTS))
        return {"by": self.by, **said}


def grouped(attempts: Iterable[Attempt], *, by: By = "task", keep_attempts: bool = False) -> GroupedReport:
    """Make a report of attempts, in which an attempt that comes twice counts once.

    Args:
        attempts: In any order.
        by: What gets a row. Days are local ones, the latest first; others come dearest first.
        keep_attempts: Whether each row holds its attempts; one of a tool never does.

    Raises:
        ConfigError: `by` is none of these.
    """
    if by not in get_args(By):
        raise ConfigError(f"by must be one of {', '.join(get_args(By))}, it is {by!r}", option="by")
    groups: dict[str, _Group] = {}
    whole = Totals()
    for attempt in _once(attempts):
        whole.add(attempt)
        for name, part in _parts(attempt, by):
            groups.setdefault(name, _Group()).add(part, keep=keep_attempts and by != "tool")
    rows = sorted((group.row(name) for name, group in groups.items()), key=_dearest_first)
    if by == "day":
        rows.sort(key=lambda row: row.id, reverse=True)
    return GroupedReport(rows, by=by, whole=whole)


@dataclass(slots=True)
class _Group:
    """The attempts of a row, while they are added."""

    totals: Totals = field(default_factory=Totals)
    models: Counter[str] = field(default_factory=Counter)
    attempts: list[Attempt] = field(default_factory=list)

    def add(self, attempt: Attempt, *, keep: bool) -> None:
        self.totals.add(attempt)
        if attempt.model is not None:
            self.models[attempt.model] += 1
        if keep:
            self.attempts.append(attempt)

    def row(self, name: str) -> TaskRow:
        model = max(sorted(self.models), key=self.models.__getitem__, default=None)
        return TaskRow(name, "ledger", model, self.totals, attempts=self.attempts)


def _once(attempts: Iterable[Attempt]) -> Iterator[Attempt]:
    seen: set[str] = set()
    for attempt in attempts:
        if attempt.id not in seen:
            seen.add(attempt.id)
            yield attempt


def _parts(attempt: Attempt, by: By) -> Iterator[tuple[str, Attempt]]:
    """The names of the rows that an attempt belongs to, each with what of it belongs there."""
    if by == "tool":
        tools = {NO_TOOL, *(share.tool or NO_TOOL for share in attempt.shares), *attempt.tool_calls}
        for tool in tools:
            yield tool, _part(attempt, tool)
    elif by == "day":
        yield _day(attempt.started), attempt
    else:
        yield attempt.task if by == "task" else attempt.model or UNKNOWN_MODEL, attempt


def _part(attempt: Attempt, tool: str) -> Attempt:
    """What of an attempt belongs to a tool."""
    shares = tuple(share for share in attempt.shares if (share.tool or NO_TOOL) == tool)
    usage, charge = attempt.usage, attempt.charge
    if usage is not None:
        usage = Usage(
            None if usage.input_tokens is None else sum(share.input_tokens for share in shares),
            None if usage.output_tokens is None else sum(share.output_tokens for share in shares),
        )
    if charge is not None:
        charge = Charge(other_usd=sum((share.cost_usd or Decimal(0) for share in shares), Decimal(0)))
    calls = tuple(call for call in attempt.tool_calls if call == tool)
    return replace(attempt, usage=usage, charge=charge, shares=shares, tool_calls=calls, cut_tokens=0)


def _day(started: float) -> str:
    return datetime.fromtimestamp(started).date().isoformat() if started else UNKNOWN_DAY


def _dearest_first(row: TaskRow) -> tuple[Decimal, int, str]:
    return -row.totals.cost_usd, -row.totals.input_tokens, row.id
