"""`ctxkit replay`: what a stack would have saved on recorded runs, and what would have been lost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from ctxkit.cli.output import JsonOption, OutputOption, emit
from ctxkit.cli.reading import nothing_readable, read_runs
from ctxkit.policy import read_policy
from ctxkit.presets import balanced, lossless, observe
from ctxkit.replay import RecordedSideCalls, StandIn, replay
from ctxkit.replay.provider import SUMMARY_TOKENS
from ctxkit.replay.words import content_of
from ctxkit.reports.content import SHOWN_ROWS
from ctxkit.reports.terminal import content_renderable
from ctxkit.stack import Stack
from ctxkit.transcripts import Skipped, load

EXAMPLES = """Examples:

ctxkit replay runs/

ctxkit replay runs/ 'logs/*.jsonl' --policy lossless

ctxkit replay session.jsonl --policy balanced --json | jq .saved_usd"""

PRESETS: dict[str, Callable[[], Stack]] = {"balanced": balanced, "lossless": lossless, "observe": observe}


def command(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files, folders or globs.")],
    *,
    policy: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE", help=f"What is tried: {', '.join(PRESETS)}, or a policy's .toml file."
        ),
    ] = "balanced",
    summary_tokens: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="How long the stand-in for a side call's answer is."),
    ] = SUMMARY_TOKENS,
    json: JsonOption = False,
    output: OutputOption = None,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="Show so many runs and lost strings.")] = (
        SHOWN_ROWS
    ),
) -> None:
    """Run recorded runs once more through a stack: what it would have saved, and what lost."""
    stack = _stack_of(policy)
    skipped: list[Skipped] = []
    recorded = RecordedSideCalls(
        load(*paths, on_skip=lambda _: None), stand_in=StandIn(tokens=summary_tokens)
    )
    report = replay(read_runs(paths, skipped), stack, side_calls=recorded, skipped=skipped, policy=policy)
    if not report.runs:
        raise typer.TyperException(nothing_readable(paths, report.skipped))
    renderable = partial(content_renderable, content_of(report, top=top))
    emit(report.to_dict(), renderable=renderable, json=json, output=output)


def _stack_of(policy: str) -> Callable[[], Stack]:
    """What makes a fresh stack of a preset's name or a policy file."""
    if policy in PRESETS:
        return PRESETS[policy]
    if policy.endswith(".toml"):
        return read_policy(policy).stack
    raise typer.TyperException(
        f"unknown policy {policy!r}; known policies: {', '.join(PRESETS)}, or a file that ends in .toml"
    )
