"""The command line: parses arguments and prints. Each command is a module, and what it does lives elsewhere.

Exit codes: 0 good, 1 the input has what was looked for, 2 wrong use or nothing readable, 130 interrupted.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

import ctxkit
from ctxkit.cli import check, count, demo, profile, replay, report, sweep, tools
from ctxkit.errors import CtxkitError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command("demo", epilog=demo.EXAMPLES)(demo.command)
app.command("profile", epilog=profile.EXAMPLES)(profile.command)
app.command("report", epilog=report.EXAMPLES)(report.command)
app.command("check", epilog=check.EXAMPLES)(check.command)
app.command("count", epilog=count.EXAMPLES)(count.command)
app.command("replay", epilog=replay.EXAMPLES)(replay.command)
app.command("sweep", epilog=sweep.EXAMPLES)(sweep.command)
app.command("tools", epilog=tools.EXAMPLES)(tools.command)


def main() -> None:
    """Run the command that the process's arguments name, and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = app(prog_name="ctxkit", standalone_mode=False)
    except typer.TyperException as error:
        code = _refuse(error.format_message() or "name a command")
    except CtxkitError as error:
        code = _refuse(str(error))
    sys.exit(code)


def _refuse(reason: str) -> int:
    """Say on one line why there is no result."""
    typer.echo(f"ctxkit: {' '.join(reason.split())}", err=True)
    return 2


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"ctxkit {ctxkit.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Count, cut, cache and bill what a tool-use loop sends to a model."""
