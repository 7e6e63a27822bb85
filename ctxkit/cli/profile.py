"""`ctxkit profile`: where the tokens and dollars of recorded runs went."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxkit.cli.output import JsonOption, OutputOption, emit
from ctxkit.cli.reading import nothing_readable, read_runs
from ctxkit.profile import profile
from ctxkit.reports.content import SHOWN_ROWS
from ctxkit.reports.doctor import content_of
from ctxkit.reports.terminal import content_renderable, report_renderable
from ctxkit.transcripts import Skipped, find_session_files

EXAMPLES = """Examples:

ctxkit profile

ctxkit profile runs/ 'logs/*.jsonl' --top 5

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
    output: OutputOption = None,
    top: Annotated[
        int, typer.Option(min=1, metavar="N", help="Show so many tools and tasks, the dearest first.")
    ] = SHOWN_ROWS,
) -> None:
    """Tell where the tokens and dollars of recorded runs went: by kind, by tool, by task."""
    sources = paths or find_session_files()
    if not sources:
        raise typer.TyperException(NO_SESSIONS)
    skipped: list[Skipped] = []
    report = profile(read_runs(sources, skipped), skipped=skipped, keep_attempts=doctor)
    if not report.tasks:
        raise typer.TyperException(nothing_readable(sources, skipped))
    outcome = report.to_dict()
    if doctor:
        diagnosis = report.doctor()
        outcome["doctor"] = diagnosis.to_list()
        emit(
            outcome,
            renderable=lambda: content_renderable(content_of(diagnosis, top=top)),
            json=json,
            output=output,
        )
        return
    emit(outcome, renderable=lambda: report_renderable(report, top=top), json=json, output=output)
