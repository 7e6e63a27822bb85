"""`ctxkit sweep`: what every policy of a grid would have saved on recorded runs, and what lost."""

from __future__ import annotations

from csv import DictWriter
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ctxkit.cli.reading import nothing_readable, read_runs
from ctxkit.replay.sweep import Tried, policies_of, sweep
from ctxkit.transcripts import Skipped
from ctxkit.wire.native import dumps

EXAMPLES = """Examples:

ctxkit sweep runs/ --grid grid.toml

ctxkit sweep runs/ --grid grid.toml -o sweep.csv"""

COLUMNS = (
    "policy",
    "saved_usd",
    "saved_tokens",
    "prefix_rewrites",
    "peak_tokens",
    "evidence_recall",
    "evidence_recoverable",
    "invalid_requests",
)


def command(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files, folders or globs.")],
    *,
    grid: Annotated[Path, typer.Option(metavar="FILE", help="The policy and the settings that vary: .toml.")],
    json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object a policy, and nothing else.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write a table to this file, which ends in .csv."
        ),
    ] = None,
) -> None:
    """Run recorded runs through every policy of a grid: what each would have saved, and what lost."""
    if output is not None and output.suffix.lower() != ".csv":
        raise typer.TyperException(f"{output}: a sweep is written to a file that ends in .csv")
    policies_of(grid)
    skipped: list[Skipped] = []
    runs = list(read_runs(paths, skipped))
    if not runs:
        raise typer.TyperException(nothing_readable(paths, skipped))
    rows = [_row(tried) for tried in sweep(runs, grid)]
    if output is not None:
        _write(rows, output)
    if json:
        typer.echo(b"\n".join(map(dumps, rows)))
    elif output is None:
        Console().print(_table(rows))


def _row(tried: Tried) -> dict[str, Any]:
    """A policy as `ctxkit replay` has it, without its parts."""
    whole = tried.report.to_dict()
    return {column: whole[column] for column in COLUMNS}


def _write(rows: list[dict[str, Any]], output: Path) -> None:
    text = StringIO()
    table = DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    try:
        output.write_text(text.getvalue(), encoding="utf-8")
    except OSError as error:
        raise typer.TyperException(f"{output}: can't be written: {error.strerror}") from None


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(caption="What is saved is an upper bound: a model that sees less may take more turns.")
    for column in COLUMNS:
        table.add_column(column.replace("_", " "), justify="left" if column == "policy" else "right")
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row.values()))
    return table
