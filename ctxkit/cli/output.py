"""Where every command's outcome goes: to standard output or to a file, as text or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType

from ctxkit.reports.terminal import plain_text
from ctxkit.wire.native import dumps

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file: JSON where it ends in .json."),
]


def emit(
    outcome: Mapping[str, Any],
    *,
    renderable: Callable[[], RenderableType],
    json: bool,
    output: Path | None,
) -> None:
    """Write a command's outcome to where the user wants it.

    Args:
        outcome: As JSON.
        renderable: Gives what a terminal shows, and as plain text what a file holds.
        json: Whether JSON goes to standard output, and to the file whatever its name.
        output: The file; left out, the outcome is printed.

    Raises:
        TyperException: The file can't be written.
    """
    if output is not None:
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
