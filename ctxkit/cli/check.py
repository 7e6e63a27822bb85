"""`ctxkit check`: which requests of recorded runs a provider would refuse, and why."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Annotated

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ctxkit.check import CheckReport, FoundProblem, check
from ctxkit.cli.output import JsonOption, OutputOption, emit
from ctxkit.cli.reading import nothing_readable, read_runs
from ctxkit.transcripts import Skipped
from ctxkit.wire.native import path as spelled

EXAMPLES = """Examples:

ctxkit check session.jsonl

ctxkit check runs/ 'bodies/*.json' -o problems.json

ctxkit check request.json --json | jq -r '.problems[].message'"""

SHOWN_PROBLEMS = 50


def command(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files, folders or globs.")],
    *,
    json: JsonOption = False,
    output: OutputOption = None,
) -> None:
    """Tell which requests of recorded runs a provider would refuse, and why.

    A PATH holds recorded runs or request bodies. It exits with 1 where there
    is a problem. A problem is told once for each run, with the first request
    that has it, as later requests send it again.

    The JSON has valid, requests (how many were looked at), problems, skipped.
    A problem has path, line, request (from 1), rule, where (the path into the
    body) and message (what the provider says).
    """
    skipped: list[Skipped] = []
    report = check(read_runs(paths, skipped))
    report.skipped[:0] = skipped
    if not report.requests:
        raise typer.TyperException(nothing_readable(paths, report.skipped))
    emit(report.to_dict(), renderable=lambda: _renderable(report), json=json, output=output)
    raise typer.Exit(1 if report.problems else 0)


def _renderable(report: CheckReport) -> RenderableType:
    shown = report.problems[:SHOWN_PROBLEMS]
    lines: list[RenderableType] = [_verdict(report)]
    for place, problems in groupby(shown, key=lambda found: f"{found.path}:{found.line}"):
        lines += [Text(""), Text(place, style="bold"), _table(problems)]
    if len(report.problems) > len(shown):
        more = len(report.problems) - len(shown)
        lines += [Text(""), Text(f"({_count(more, 'more problem')}; --json has them all)")]
    if report.skipped:
        reason = nothing_readable([], report.skipped)
        lines += [Text(""), Text(f"Not looked at: {reason}", style="dim")]
    return Group(*lines)


def _verdict(report: CheckReport) -> Text:
    requests = f"{_count(report.requests, 'request')} looked at"
    if not report.problems:
        return Text(f"{requests}: nothing that a provider is known to refuse.", style="bold green")
    problems = _count(len(report.problems), "problem")
    runs = _count(len({(found.path, found.line) for found in report.problems}), "run")
    return Text(f"{requests}: {problems} in {runs}.", style="bold red")


def _table(problems: Iterable[FoundProblem]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("request", justify="right", no_wrap=True)
    table.add_column("problem")
    for found in problems:
        where = spelled(found.problem.where) or "the body"
        said = Text.assemble((found.problem.rule, "bold"), f" at {where}\n{found.problem.message}")
        table.add_row(f"{found.request:,}", said)
    return table


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
