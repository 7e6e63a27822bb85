"""Where every command's outcome goes: to standard output or to a file, as text or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType

from ctxkit.errors import ConfigError
from ctxkit.reports import Report, export
from ctxkit.reports.terminal import plain_text
from ctxkit.wire.native import dumps

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file: JSON where it ends in .json."),
]
ReportOutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write to this file, by its ending: .html, .json, .csv, .parquet, .folded, or else text.",
    ),
]
ENDINGS = frozenset({".html", ".folded", ".csv", ".parquet"})
"""The endings of files that a report writes from its attempts."""


def is_report_file(output: Path | None) -> bool:
    """Whether a report writes a file of this name from its attempts."""
    return output is not None and output.suffix.lower() in ENDINGS


def _write_report(report: Report, output: Path) -> None:
    ending = output.suffix.lower()
    try:
        if ending == ".html":
            output.write_text(report.to_html(), encoding="utf-8", errors="replace")
        elif ending == ".folded":
            output.write_text(report.to_folded(), encoding="utf-8", errors="replace")
        else:
            export.write(report, output)
    except ConfigError as error:
        raise typer.TyperException(f"{output}: {error}") from None
    except OSError as error:
        raise typer.TyperException(f"{output}: can't be written: {error.strerror}") from None


def emit(
    outcome: Mapping[str, Any],
    *,
    renderable: Callable[[], RenderableType],
    json: bool,
    output: Path | None,
    report: Report | None = None,
) -> None:
    """Write a command's outcome to where the user wants it.

    Args:
        outcome: As JSON.
        renderable: Gives what a terminal shows, and as plain text what a file holds.
        json: Whether JSON goes to standard output, and to the file whatever its name.
        output: The file; left out, the outcome is printed.
        report: The report that files of its own kinds are written from.

    Raises:
        TyperException: The file can't be written.
    """
    if output is not None and report is not None and is_report_file(output):
        _write_report(report, output)
    elif output is not None:
        as_json = json or output.suffix == ".json"
        data = dumps(outcome) if as_json else plain_text(renderable()).encode(errors="replace")
        try:
            output.write_bytes(data + b"\n")
        except OSError as error:
            raise typer.TyperException(f"{output}: can't be written: {error.strerror}") from None
    if json:
        typer.echo(dumps(outcome))
    elif output is None:
        Console().print(renderable())
