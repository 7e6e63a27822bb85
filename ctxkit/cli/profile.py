"""`ctxkit profile`: where the tokens and dollars of recorded runs went."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from ctxkit.cli.output import JsonOption, ReportOutputOption, emit, is_report_file
from ctxkit.cli.reading import nothing_readable, read_runs
from ctxkit.profile import profile
from ctxkit.reports.content import SHOWN_ROWS
from ctxkit.reports.doctor import content_of
from ctxkit.reports.terminal import content_renderable, report_renderable
from ctxkit.transcripts import Skipped, find_session_files

EXAMPLES = """Examples:

ctxkit profile

ctxkit profile runs/ 'logs/*.jsonl' --top 5

ctxkit profile runs/ -o costs.html

ctxkit profile runs/ --doctor

ctxkit profile session.jsonl --json | jq .totals.cost_usd"""

NO_SESSIONS = (
    "no session files: looked in ~/.claude/projects (or CLAUDE_CONFIG_DIR) and ~/.codex/sessions "
    "(or CODEX_HOME); give a PATH to read other files"
)


def command(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH",
            help="Files, folders or globs; left out, the session files of Claude Code and Codex.",
            show_default=False,
        ),
    ] = None,
    *,
    doctor: Annotated[
        bool, typer.Option("--doctor", help="Tell which requests missed the prompt cache, and why.")
    ] = False,
    json: JsonOption = False,
    output: ReportOutputOption = None,
    top: Annotated[
        int, typer.Option(min=1, metavar="N", help="Show so many tools and tasks, the dearest first.")
    ] = SHOWN_ROWS,
) -> None:
    """Tell where the tokens and dollars of recorded runs went: by kind, by tool, by task."""
    sources = paths or find_session_files()
    if not sources:
        raise typer.TyperException(NO_SESSIONS)
    skipped: list[Skipped] = []
    keep_attempts = doctor or is_report_file(output)
    report = profile(read_runs(sources, skipped), skipped=skipped, keep_attempts=keep_attempts)
    if not report.tasks:
        raise typer.TyperException(nothing_readable(sources, skipped))
    outcome = report.to_dict()
    renderable = partial(report_renderable, report, top=top)
    if doctor:
        diagnosis = report.doctor()
        outcome["doctor"] = diagnosis.to_list()
        renderable = partial(content_renderable, content_of(diagnosis, top=top))
    emit(outcome, renderable=renderable, json=json, output=output, report=report)
