"""`ctxkit profile`: where the tokens and dollars of recorded runs went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

import typer

from ctxkit.cli.output import JsonOption, OutputOption, emit
from ctxkit.cli.progress import Advance, progress_bar
from ctxkit.profile import profile
from ctxkit.reports import Report
from ctxkit.reports.content import SHOWN_ROWS
from ctxkit.reports.terminal import report_renderable
from ctxkit.transcripts import Skipped, Transcript, expand, find_session_files, load

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
            metavar="PATH",
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
    sources = paths or find_session_files()
    if not sources:
        raise typer.TyperException(NO_SESSIONS)
    report = _report(sources)
    if not report.tasks:
        raise typer.TyperException(_nothing_readable(sources, report.skipped))
    emit(
        report.to_dict(),
        renderable=lambda: report_renderable(report, top=top),
        json=json,
        output=output,
    )


def _report(sources: Sequence[str | Path]) -> Report:
    skipped: list[Skipped] = []
    files = dict.fromkeys(file for source in sources for file in expand(source))
    sizes = [file.stat().st_size for file in files]
    before = dict(zip(map(str, files), accumulate(sizes, initial=0), strict=False))
    runs = load(*sources, on_skip=skipped.append)
    with progress_bar(total_bytes=sum(sizes)) as advance:
        return profile(_watched(runs, before, advance), skipped=skipped)


def _watched(runs: Iterable[Transcript], before: Mapping[str, int], advance: Advance) -> Iterator[Transcript]:
    """The runs as they come, while the bytes of the files before each are shown as read."""
    for number, run in enumerate(runs, 1):
        advance(before[run.path], f"run {number:,}")
        yield run


def _nothing_readable(sources: Sequence[str | Path], skipped: Sequence[Mapping[str, Any]]) -> str:
    if not skipped:
        return f"{sources[0]}: no file in it"
    first = skipped[0]
    place = first["path"] if first["line"] is None else f"{first['path']}:{first['line']}"
    more = f" (and {len(skipped) - 1} more)" if len(skipped) > 1 else ""
    return f"{place}: {first['reason']}{more}"
