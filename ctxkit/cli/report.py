"""`ctxkit report`: what ledger files hold, by task, by tool, by model, or by day."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from ctxkit.cli.output import JsonOption, ReportOutputOption, emit, is_report_file
from ctxkit.cli.tables import titled
from ctxkit.keeping import By, GroupedReport, Ledger, grouped
from ctxkit.ledger import Attempt
from ctxkit.reports.content import SHOWN_ROWS, content_of, printable

EXAMPLES = """Examples:

ctxkit report costs.db

ctxkit report costs.db --since 7d --by day

ctxkit report laptop.db server.db --task fix-bug --by tool --json"""

AGO = re.compile(r"(\d+)([dh])")
SHOWN_TASKS = 5


def command(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE", help="Ledger files.")],
    *,
    since: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="Leave out what is older: a date, a time, or as 7d or 12h ago."),
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this task, and the tasks nested in it.")
    ] = None,
    by: Annotated[By, typer.Option(help="What gets a row.")] = "task",
    json: JsonOption = False,
    output: ReportOutputOption = None,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="Show so many rows.")] = SHOWN_ROWS,
) -> None:
    """Tell what ledger files hold: what was used, and what it cost.

    An attempt that is in several of the files counts once. Dates and times
    are local where they name no zone. The JSON is that of profile, with
    by, and with a row in tasks for each task, tool, model or day.
    """
    start = None if since is None else _moment(since, now=datetime.now().astimezone())
    for path in paths:
        if not path.is_file():
            raise typer.TyperException(f"{path}: no such file")
    report = grouped(_booked(paths, start, task), by=by, keep_attempts=is_report_file(output))
    if task is not None and not report.tasks:
        raise typer.TyperException(_no_such_task(task, {one.task for one in _booked(paths, start, None)}))
    emit(
        report.to_dict(),
        renderable=lambda: _renderable(report, paths, since, top),
        json=json,
        output=output,
        report=report,
    )


def _moment(text: str, *, now: datetime) -> datetime:
    """The time that the user means: a date, a date with a time, or how long ago."""
    try:
        if ago := AGO.fullmatch(text):
            return now - timedelta(**{"days" if ago[2] == "d" else "hours": int(ago[1])})
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise typer.TyperException(
            f"--since {text}: give a date (2026-11-30), a time (2026-11-30T18:00), or how long ago (7d, 12h)"
        ) from None


def _booked(paths: Sequence[Path], since: datetime | None, task: str | None) -> Iterator[Attempt]:
    for path in paths:
        try:
            with Ledger(path) as ledger:
                yield from ledger.attempts(since=since, task=task)
        except sqlite3.Error as error:
            raise typer.TyperException(f"{path}: can't be read: {error}") from None


def _no_such_task(task: str, known: set[str]) -> str:
    names = sorted(known)
    more = f" and {len(names) - SHOWN_TASKS:,} more" if len(names) > SHOWN_TASKS else ""
    there = f"there are {', '.join(names[:SHOWN_TASKS])}{more}" if names else "nothing is booked"
    return printable(f"no such task: {task}; {there}")


def _renderable(report: GroupedReport, paths: Sequence[Path], since: str | None, top: int) -> RenderableType:
    if not report.tasks:
        when = "yet" if since is None else f"since {since}"
        return Text(f"{', '.join(map(str, paths))}: nothing is booked {when}")
    content = content_of(report, top=top)
    parts: list[RenderableType] = [Text(content.headline, style="bold")]
    if content.caveat:
        parts.append(Text(content.caveat, style="yellow"))
    parts += [
        part
        for table in content.tables
        if report.by in ("task", table.columns[0])
        for part in titled(table.title, table.columns, table.rows)
    ]
    facts = (Text(f"{word}  {sentence}", style="dim") for word, sentence in content.facts)
    return Group(*parts, Text(""), *facts)
