"""`ctxkit tools`: what tool definitions take of every request that offers them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple
from decimal import Decimal
from itertools import islice
from pathlib import PurePath
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from ctxkit.cli.inputs import read_json
from ctxkit.cli.output import JsonOption, OutputOption, emit
from ctxkit.cli.tables import titled
from ctxkit.errors import BodyError
from ctxkit.money import price_list_version
from ctxkit.reports.content import dollars, percent, printable
from ctxkit.tool_costs import (
    TASK_REQUESTS,
    Bloat,
    Duplicate,
    ToolCost,
    ToolDefinition,
    ToolsReport,
    read_tools,
    tool_costs,
)

EXAMPLES = """Examples:

ctxkit tools tools.json

ctxkit tools github.json files.json --model gpt-5.5

ctxkit tools request.json --json | jq -r '.tools[] | [.tokens, .name] | @tsv'"""

# A model in wide use on 2026-11-30.
DEFAULT_MODEL = "claude-sonnet-5-5"
SHOWN_TOOLS = 20
SHOWN_FINDINGS = 8
SHOWN_NAMES = 4
FRAME = "(comes with any tool)"
FIGURES = ("tokens", "of all", "request", "cached", "task", "cached")
BLOAT: dict[str, str] = {
    "description": "long description",
    "enum": "long enum",
    "union": "long union",
    "repeated_part": "repeated part",
    "titles": "titles",
    "empty_defaults": "null or empty defaults",
    "schema_marks": "$schema, $id, $comment",
}
DUPLICATES = {"same_name": "same name", "same_schema": "same arguments"}


def command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE", help="Tool definitions, a body that offers some, or an answer to tools/list."
        ),
    ],
    *,
    model: Annotated[str, typer.Option(metavar="NAME", help="Offer them to this model.")] = DEFAULT_MODEL,
    every: Annotated[bool, typer.Option("--all", help="Show every tool and every finding.")] = False,
    json: JsonOption = False,
    output: OutputOption = None,
) -> None:
    """Tell what tool definitions take of every request, in the form of the model's provider.

    A FILE holds definitions for Anthropic, OpenAI, Gemini or Bedrock, of an MCP
    server or of BFCL; - is standard input. A task is one of 100 requests. Cached
    means read from the prompt cache; in a task, written once and read 99 times.

    The JSON has model, wire, counter, task_requests, total_tokens, frame_tokens
    (what comes with any tools), request_usd, request_cached_usd, task_usd,
    task_cached_usd, tools, servers, duplicates, bloated, left_out, price_list. A
    tool or a server has server, name, tools, tokens, share and the dollars; a
    duplicate has kind, tools, tokens; what is bloated has kind, server, tool,
    where, tokens.
    """
    report = tool_costs(dict(_lists(files)), model=model)
    emit(report.to_dict(), renderable=lambda: _renderable(report, whole=every), json=json, output=output)


def _lists(files: Sequence[str]) -> Iterator[tuple[str, list[ToolDefinition]]]:
    """The definitions of each file under the shortest name that tells it from the others."""
    names = [PurePath(file).stem for file in files]
    for file, name in zip(files, names, strict=True):
        native = read_json(file)
        try:
            tools = read_tools(native)
        except BodyError as error:
            raise typer.TyperException(f"{file}: {error}") from None
        yield (name if names.count(name) == 1 else file), tools


def _renderable(report: ToolsReport, *, whole: bool) -> RenderableType:
    return Group(
        *_headline(report),
        *_servers(report),
        *_tools(report, whole=whole),
        *_duplicates(report.duplicates, total=report.total_tokens, whole=whole),
        *_bloat(report.bloated, total=report.total_tokens, whole=whole),
        Text(""),
        *(Text(note, style="dim") for note in _notes(report)),
    )


def _headline(report: ToolsReport) -> Iterator[Text]:
    number = len(report.tools)
    tools = f"{number:,} tool{'' if number == 1 else 's'}"
    yield Text(f"{tools}: {report.total_tokens:,} tokens in every request", style="bold")
    costs = report.dollars(report.total_tokens)
    name = printable(report.model)
    if costs.request_usd is None or costs.task_usd is None:
        yield Text(f"cost unknown: the price list does not have {name}", style="yellow")
        return
    yield Text(
        f"{name}: {_usd(costs.request_usd)} a request, {_usd(costs.task_usd)} a task of {TASK_REQUESTS}"
    )
    if costs.request_cached_usd is not None and costs.task_cached_usd is not None:
        cached = f"{_usd(costs.request_cached_usd)} a request, {_usd(costs.task_cached_usd)} a task"
        yield Text(f"cached: {cached} (written once, read {TASK_REQUESTS - 1} times)")


def _usd(amount: Decimal) -> str:
    return dollars(amount, whole=amount)


def _tools(report: ToolsReport, *, whole: bool) -> list[RenderableType]:
    shown = list(report.tools if whole else report.tools[:SHOWN_TOOLS])
    title = f"By tool{_of(len(shown), len(report.tools))}"
    if report.frame_tokens:
        shown.append(ToolCost("", FRAME, 0, report.frame_tokens))
    if len(report.servers) == 1:
        rows = [(cost.name or "", *figures) for cost, figures in _figures(shown, report)]
        return titled(title, ("tool", *FIGURES), rows)
    rows = [(cost.server, cost.name or "", *figures) for cost, figures in _figures(shown, report)]
    return titled(title, ("server", "tool", *FIGURES), rows, names=2)


def _servers(report: ToolsReport) -> list[RenderableType]:
    if len(report.servers) == 1:
        return []
    figures = _figures(report.servers, report)
    rows = [(cost.server, f"{cost.tools:,}", *numbers) for cost, numbers in figures]
    return titled("By server", ("server", "tools", *FIGURES), rows)


def _figures(costs: Sequence[ToolCost], report: ToolsReport) -> Iterator[tuple[ToolCost, list[str]]]:
    """Tokens, their share, and dollars with three digits of the largest."""
    largest = _amounts(report, max((cost.tokens for cost in costs), default=0))
    for cost in costs:
        amounts = zip(_amounts(report, cost.tokens), largest, strict=True)
        shown = [dollars(usd, whole=10 * (most or Decimal(1))) for usd, most in amounts]
        yield cost, [f"{cost.tokens:,}", percent(cost.tokens, report.total_tokens), *shown]


def _amounts(report: ToolsReport, tokens: int) -> tuple[Decimal | None, ...]:
    return astuple(report.dollars(tokens))


def _duplicates(found: Sequence[Duplicate], *, total: int, whole: bool) -> list[RenderableType]:
    shown = found if whole else found[:SHOWN_FINDINGS]
    rows = [
        (
            DUPLICATES[duplicate.kind],
            ", ".join(_names(duplicate.tools)),
            f"{duplicate.tokens:,}",
            percent(duplicate.tokens, total),
        )
        for duplicate in shown
    ]
    tokens = sum(duplicate.tokens for duplicate in found)
    title = f"Duplicated: {tokens:,} tokens{_of(len(shown), len(found))}"
    return titled(title, ("what", "tools", "tokens", "of all"), rows, names=2)


def _bloat(found: Sequence[Bloat], *, total: int, whole: bool) -> list[RenderableType]:
    """What could be shorter: in all by what it is, and the largest one by one."""
    sums: dict[str, list[Bloat]] = {}
    for bloat in found:
        sums.setdefault(bloat.kind, []).append(bloat)
    by_kind = [(kind, len(parts), sum(part.tokens for part in parts)) for kind, parts in sums.items()]
    by_kind.sort(key=lambda row: -row[2])
    rows = [(BLOAT[kind], f"{number:,}", f"{size:,}", percent(size, total)) for kind, number, size in by_kind]
    shown = found if whole else found[:SHOWN_FINDINGS]
    parts = [(part.tool, _short(part.where), BLOAT[part.kind], f"{part.tokens:,}") for part in shown]
    return [
        *titled("Could be shorter, in all", ("part", "number", "tokens", "of all"), rows),
        *titled(
            f"Could be shorter, one by one{_of(len(shown), len(found))}",
            ("tool", "where", "part", "tokens"),
            parts,
            names=3,
        ),
    ]


def _short(where: str) -> str:
    """A path into a definition without the steps that every path has."""
    return where.replace("schema.", "", 1).replace("properties.", "") or "all of it"


def _names(tools: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The names of a few tools, with how many times each is there, and how many more there are."""
    numbers = Counter(name for _, name in tools)
    for name, number in islice(numbers.items(), SHOWN_NAMES):
        yield name if number == 1 else f"{name} ({number} times)"
    if len(numbers) > SHOWN_NAMES:
        yield f"{len(numbers) - SHOWN_NAMES:,} more"


def _of(shown: int, all_of_them: int) -> str:
    return "" if shown == all_of_them else f" ({shown:,} of {all_of_them:,}; --all shows all)"


def _notes(report: ToolsReport) -> Iterator[str]:
    if report.left_out:
        names = ", ".join(_names(report.left_out))
        yield f"Left out, as they have no size for this model here: {printable(names)}"
    if report.bloated:
        yield "What could be shorter may lie within each other, so it does not add up."
    yield f"Counted with {report.counter} as {report.wire} renders them. Prices: {price_list_version()}."
