"""`ctxkit demo`: one recorded task, plain and wrapped, and the bills side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from decimal import Decimal
from itertools import chain
from typing import Annotated

import typer
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ctxkit.cli.output import JsonOption, OutputOption, emit
from ctxkit.demo import DemoReport, run_demo
from ctxkit.demo.play import MAX_TOKENS
from ctxkit.demo.recorded import TITLE, recorded_bill
from ctxkit.ledger import NO_TOOL, Line, Totals
from ctxkit.money import price_list_version
from ctxkit.reports.content import dollars, percent

EXAMPLES = """Examples:

ctxkit demo

ctxkit demo --max-tokens 600

ctxkit demo --json | jq '.comparisons[] | {sdk, saved_usd, saved_percent}'"""

SUMS = {
    "billed requests": "requests",
    "input tokens": "input_tokens",
    "- read from cache": "cache_read_tokens",
    "- written to cache": "cache_write_tokens",
    "output tokens": "output_tokens",
    "cost": "known_cost_usd",
}
METHOD = (
    "A scripted server on this machine stands for both providers. It gives a recorded answer only while all "
    "that the answer takes from tool results is still in the request; what a real model would say, it can't "
    "show. A TokenMeter alone measures the plain runs. The tokens are the server's own count, and the "
    "dollars are those of"
)
# What all costs are written as parts of, so that they have the same four decimals.
DIME = Decimal("0.1")
Amount = int | Decimal | None


def command(
    *,
    max_tokens: Annotated[
        int, typer.Option(metavar="N", help="Cut tool results to so many tokens in the wrapped runs.")
    ] = MAX_TOKENS,
    json: JsonOption = False,
    output: OutputOption = None,
) -> None:
    """Run a recorded task through two SDKs, plain and wrapped, and compare the bills.

    It needs no key and no network. It exits with 1 where a run did not end as the recorded one.

    The JSON has task, recorded (what the recorded run was billed), max_tokens, same, problems,
    comparisons and price_list. A comparison has sdk, sdk_version, model, plain, wrapped (both
    like the totals of ctxkit profile --json), saved_usd and saved_percent.
    """
    try:
        with Console(stderr=True).status("Running the recorded task four times"):
            report = run_demo(max_tokens=max_tokens)
    except ModuleNotFoundError as error:
        raise typer.TyperException(str(error)) from None
    emit(
        report.to_dict(),
        renderable=lambda: _renderable(report),
        json=json,
        output=output,
    )
    raise typer.Exit(1 if report.problems else 0)


def _renderable(report: DemoReport) -> RenderableType:
    return Group(
        Text(TITLE, style="bold"),
        Text(_story(report)),
        Text(""),
        _table(report),
        Text(""),
        *_verdict(report),
        Text(""),
        Text(f"{METHOD} {price_list_version()}.", style="dim"),
    )


def _story(report: DemoReport) -> str:
    bill = recorded_bill(report.recorded)
    source = report.recorded.meta["source"]
    asked = " and ".join(f"{one.model} through {one.sdk} {one.sdk_version}" for one in report.comparisons)
    return (
        f"Recorded by {source['repo']} ({source['licence']}) with {bill['model']}, which was billed "
        f"{bill['requests']} requests, {bill['input_tokens']:,} input tokens and ${bill['cost_usd']}. "
        f"Played here as {asked}."
    )


def _verdict(report: DemoReport) -> Iterator[Text]:
    if report.problems:
        yield Text("The runs did not all end as the recorded one:", style="bold red")
        yield from (Text(f"- {problem}") for problem in report.problems)
        return
    answers, calls = len(report.expected.answers), len(report.expected.tool_calls)
    gave = f"All four runs gave the recorded {answers} answers and {calls} tool calls."
    yield Text(gave, style="bold green")
    yield Text("Wrapping took two lines around the loop:")
    yield Text(f"    client = ctxkit.wrap(client, ctxkit.balanced(max_tokens={report.max_tokens:_}))")
    yield Text('    with ctxkit.task("change-flight"):')
    for one in report.comparisons:
        saved, plain = one.saved_usd, one.plain.totals.known_cost_usd
        if saved is not None and plain:
            bill = dollars(plain, whole=DIME)
            yield Text(f"It saved {percent(saved, plain)} of {bill} with {one.sdk}.", style="bold")


def _table(report: DemoReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("\n", no_wrap=True)
    pairs = []
    for comparison in report.comparisons:
        for head in (f"{comparison.sdk}\nplain", "\nwrapped", "\nsaved"):
            table.add_column(head, justify="right", no_wrap=True)
        pairs.append((comparison.plain.totals, comparison.wrapped.totals))
    kinds = list(pairs[0][0].by_kind())
    tools = list(dict.fromkeys(name for name, _ in report.expected.tool_calls))
    columns = [[_rows(totals, kinds, tools) for totals in pair] for pair in pairs]
    for title, rows in columns[0][0].items():
        table.add_section()
        table.add_row(Text(title, style="bold"))
        for label in rows:
            cells = (_cells(plain[title][label], wrapped[title][label]) for plain, wrapped in columns)
            table.add_row(label, *chain.from_iterable(cells))
    return table


def _rows(totals: Totals, kinds: Iterable[str], tools: Collection[str]) -> dict[str, dict[str, Amount]]:
    """The amounts of one run by title and label; tools that are not named stand in one row."""
    by_kind, by_tool = totals.by_kind(), totals.by_tool()
    idle = Line()
    for name in by_tool.keys() - {*tools, NO_TOOL}:
        idle.add(by_tool[name])
    return {
        "Bill": {label: getattr(totals, name) for label, name in SUMS.items()},
        "Tokens by kind": {kind.replace("_", " "): _tokens(by_kind.get(kind, Line())) for kind in kinds},
        "Cost by tool": {
            **{tool: _cost(by_tool.get(tool, Line())) for tool in tools},
            "(tools never called)": _cost(idle),
            NO_TOOL: _cost(by_tool.get(NO_TOOL, Line())),
        },
    }


def _tokens(line: Line) -> int:
    return line.input_tokens + line.output_tokens


def _cost(line: Line) -> Decimal | None:
    return line.cost_usd if line.priced or not _tokens(line) else None


def _cells(plain: Amount, wrapped: Amount) -> Iterator[str]:
    """Both amounts, and what was saved in percent; nothing where that is less than half of one."""
    for amount in (plain, wrapped):
        yield f"{amount:,}" if isinstance(amount, int) else dollars(amount, whole=DIME)
    saved = round(100 * (plain - wrapped) / plain) if plain and wrapped is not None else 0
    yield f"{saved}%" if saved else ""
