"""`ctxkit profile`: where the tokens and dollars of recorded runs went."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Annotated

import typer

from ctxkit.cli.output import JsonOption, OutputOption, emit
from ctxkit.cli.progress import progress_bar
from ctxkit.errors import TranscriptError
from ctxkit.profile import profile
from ctxkit.reports import Report
from ctxkit.reports.content import SHOWN_ROWS
from ctxkit.reports.terminal import report_renderable, report_text
from ctxkit.transcripts import Skipped, Transcript, find_session_files, load
from ctxkit.transcripts._files import expand

EXAMPLES = """Examples:

ctxkit profile

ctxkit profile runs/ 'logs/*.jsonl' --top 5

ctxkit profile session.jsonl --json | jq .totals.cost_usd"""

NO_SESSIONS = (
    "no session files: looked in ~/.claude/projects (or CLAUDE_CONFIG_DIR) and ~/.codex/sessions "
    "(or CODEX_HOME); give a PATH to read other files"
)


def command(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="Files, folders or globs; left out, the session files of Claude Code and Codex.",
            show_default=False,
        ),
    ] = None,
    *,
    json: JsonOption = False,
    output: OutputOption = None,
    top: Annotated[
        int, typer.Option(min=1, metavar="N", help="Show so many tools and tasks, the dearest first.")
    ] = SHOWN_ROWS,
) -> None:
    """Tell where the tokens and dollars of recorded runs went: by kind, by tool, by task."""
    files = _files(paths)
    report = _read(files)
    if not report.tasks:
        raise _nothing_readable(report.skipped)
    emit(
        report.to_dict(),
        renderable=lambda: report_renderable(report, top=top),
        text=lambda: report_text(report, top=top),
        json=json,
        output=output,
    )
