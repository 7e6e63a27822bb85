"""`ctxkit count`: what a request, a recorded run or a text counts, and what was learned of counting."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from heapq import nlargest
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from ctxkit.cli.inputs import as_file, read_input
from ctxkit.cli.output import JsonOption, OutputOption, emit
from ctxkit.cli.reading import nothing_readable, read_runs
from ctxkit.cli.tables import titled
from ctxkit.counting import CountedBlock, CountedRequest, CountReport, count_file, count_text
from ctxkit.counting.report import Costs
from ctxkit.messages import Kind
from ctxkit.money import price_list_version
from ctxkit.reports.content import dollars, percent, printable
from ctxkit.tokens.calibration import CALIBRATION
from ctxkit.tokens.calibration_file import keep_calibration
from ctxkit.tokens.estimate import TokenCount
from ctxkit.wire.native import path as spelled

EXAMPLES = """Examples:

ctxkit count request.json

ctxkit count session.jsonl --line 3 --blocks

git diff | ctxkit count - --model gpt-5.5 --json | jq .total_tokens

ctxkit count --calibration"""

ERRORS = (
    "error: how far off counts were, where 1 is as far as was to be expected; fixed: tokens that every "
    "request has beyond what is counted here"
)
DEFINITION: Kind = "tool_definition"
SHOWN_ROWS = 10
SHOWN_REQUESTS = 20


File = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE",
        help="A request body, recorded runs or a text; - is standard input.",
        show_default=False,
    ),
]
Model = Annotated[str | None, typer.Option(metavar="NAME", help="Count for this model.")]
WireName = Annotated[
    str | None, typer.Option(metavar="NAME", help="Read bodies as of this wire; left out, it is told.")
]
Line = Annotated[int | None, typer.Option(min=1, metavar="N", help="Count only what starts at this line.")]
AsText = Annotated[bool, typer.Option("--text", help="Count the file as a text, whatever it holds.")]
All = Annotated[bool, typer.Option("--blocks", help="Show every request, tool and block.")]
Learned = Annotated[bool, typer.Option("--calibration", help="Show what was learned from earlier answers.")]
Forget = Annotated[
    bool,
    typer.Option("--reset", help="Forget what was learned: of the model named in place of FILE, or all."),
]


def command(
    file: File = None,
    *,
    model: Model = None,
    wire: WireName = None,
    line: Line = None,
    text: AsText = False,
    blocks: All = False,
    calibration: Learned = False,
    reset: Forget = False,
    json: JsonOption = False,
    output: OutputOption = None,
) -> None:
    """Count the input tokens of a request, of every request of recorded runs, or of a text.

    95 of 100 true counts lie within the band of a count. A count says how it was
    made: reported, exact, calibrated or estimated. Dollars are those of the
    input, uncached and when all of it is read from the prompt cache.

    The JSON has model, counter, source, total_tokens, low, high, by_kind,
    uncached_usd, cache_read_usd (sums, where there are several requests), tools
    and blocks (of the largest request), requests, skipped and price_list. A tool
    has name, tokens; a block has kind, tool, where, message, tokens; a request
    has the same figures, line, request, reported_tokens and incomplete.

    With --calibration the JSON has models, each with model, wire, counter,
    observations, last_seen, typical_error and intercept.
    """
    kept = keep_calibration()
    if reset:
        CALIBRATION.reset(file)
    kept.close()
    if calibration or reset:
        emit(_learned(), renderable=_learned_renderable, json=json, output=output)
        return
    if file is None:
        raise typer.TyperException("name a FILE to count, or - for standard input")
    report = _counted(file, model=model, wire=wire, line=line, as_text=text)
    emit(report.to_dict(), renderable=lambda: _renderable(report, whole=blocks), json=json, output=output)


def _counted(
    source: str, *, model: str | None, wire: str | None, line: int | None, as_text: bool
) -> CountReport:
    data = read_input(source)
    if as_text:
        return CountReport([CountedRequest(count_text(data.decode(errors="replace"), model=model))])
    with as_file(source, data) as path:
        report = count_file(
            data,
            path=source,
            runs=lambda skipped: read_runs([path], skipped),
            model=model,
            wire=wire,
            line=line,
        )
    if not report.requests:
        raise typer.TyperException(
            f"{nothing_readable([source], report.skipped)}; --text counts it as a text"
            if line is None
            else f"{source}: no request starts at line {line}"
        )
    return report


def _renderable(report: CountReport, *, whole: bool) -> RenderableType:
    largest = report.largest
    return Group(
        *(_all(report, whole=whole) if len(report.requests) > 1 else ()),
        *_one(largest),
        *_kinds(largest.count),
        *_tools(largest, whole=whole),
        *_blocks(largest, whole=whole),
        Text(""),
        *(Text(note, style="dim") for note in _notes(report)),
    )


def _all(report: CountReport, *, whole: bool) -> Iterator[RenderableType]:
    """The requests together and one by one, up to the words that lead to the largest."""
    tokens = sum(request.count.total for request in report.requests)
    yield Text(f"{len(report.requests):,} requests: {tokens:,} input tokens", style="bold")
    yield Text(_cost(report.dollars()))
    yield from _requests(report, whole=whole)
    yield Text("")
    yield Text(f"The largest: line {report.largest.line}, request {report.largest.request}", style="bold")


def _one(request: CountedRequest) -> Iterator[Text]:
    count = request.count
    unit = "tokens" if request.prompt is None else "input tokens"
    band = "" if count.low == count.high else f"{count.low:,} to {count.high:,}, "
    yield Text(f"{count.total:,} {unit} ({band}{count.source}, {count.counter})", style="bold")
    yield Text(f"{_cost(request.dollars())} for {printable(count.model or 'an unnamed model')}")
    if request.reported_tokens is not None:
        yield Text(f"{request.reported_tokens:,} were reported")


def _cost(costs: Costs) -> str:
    plain, read = costs
    if plain is None:
        return "cost unknown"
    cached = "" if read is None else f", {dollars(read, whole=plain)} when read from the prompt cache"
    return f"{dollars(plain, whole=plain)} uncached{cached}"


def _requests(report: CountReport, *, whole: bool) -> list[RenderableType]:
    shown, most = report.requests, report.largest.dollars()
    if not whole:
        largest = nlargest(SHOWN_REQUESTS, shown, key=lambda request: request.count.total)
        shown = sorted(largest, key=lambda request: (request.line, request.request))
    rows = [
        (
            f"{request.line}",
            f"{request.request:,}",
            f"{request.count.total:,}",
            f"{request.count.low:,} to {request.count.high:,}",
            "" if request.reported_tokens is None else f"{request.reported_tokens:,}",
            *(
                dollars(usd, whole=top or Decimal(1))
                for usd, top in zip(request.dollars(), most, strict=True)
            ),
        )
        for request in shown
    ]
    title = f"By request{_of(len(shown), len(report.requests))}"
    columns = ("line", "request", "tokens", "band", "reported", "uncached", "cached")
    return titled(title, columns, rows, names=0)


def _kinds(count: TokenCount) -> list[RenderableType]:
    kinds = sorted(count.by_kind.items(), key=lambda kind: -kind[1])
    rows = [(kind.replace("_", " "), *_figures(tokens, count.total)) for kind, tokens in kinds]
    return titled("By kind", ("kind", "tokens", "of all"), rows)


def _tools(request: CountedRequest, *, whole: bool) -> list[RenderableType]:
    """The tool definitions, and what the count of their kind has beside them."""
    tools = [block for block in _largest_first(request) if block.kind == DEFINITION]
    shown, total = tools if whole else tools[:SHOWN_ROWS], request.count.total
    rows = [(tool.tool or "", *_figures(tool.tokens, total)) for tool in shown]
    beside = request.count.by_kind.get(DEFINITION, 0) - sum(tool.tokens for tool in tools)
    if tools and beside > 0:
        rows.append(("(comes with any tool)", *_figures(beside, total)))
    title = f"Tool definitions, the largest first{_of(len(shown), len(tools))}"
    return titled(title, ("tool", "tokens", "of all"), rows)


def _blocks(request: CountedRequest, *, whole: bool) -> list[RenderableType]:
    blocks = [block for block in _largest_first(request) if block.kind != DEFINITION]
    shown = blocks if whole else blocks[:SHOWN_ROWS]
    rows = [(*_place(block), *_figures(block.tokens, request.count.total)) for block in shown]
    title = f"Other blocks, the largest first{_of(len(shown), len(blocks))}"
    return titled(title, ("where", "kind", "tool", "tokens", "of all"), rows, names=3)


def _largest_first(request: CountedRequest) -> list[CountedBlock]:
    return sorted(request.blocks(), key=lambda block: -block.tokens)


def _figures(tokens: int, total: int) -> tuple[str, str]:
    return f"{tokens:,}", percent(tokens, total)


def _place(block: CountedBlock) -> tuple[str, str, str]:
    return spelled(block.where), block.kind.replace("_", " "), block.tool or ""


def _of(shown: int, all_of_them: int) -> str:
    return "" if shown == all_of_them else f" ({shown:,} of {all_of_them:,}; --blocks shows all)"


def _notes(report: CountReport) -> Iterator[str]:
    if incomplete := report.largest.incomplete:
        yield f"Not shown there, so not counted: {incomplete}"
    if report.skipped:
        yield f"Not counted: {nothing_readable([], report.skipped)}"
    yield f"Prices: {price_list_version()}."


def _learned() -> dict[str, Any]:
    rows = [row._asdict() for row in CALIBRATION.show()]
    return {"models": [{**row, "last_seen": str(row["last_seen"])} for row in rows]}


def _learned_renderable() -> RenderableType:
    rows = [
        (
            row.model,
            row.wire,
            f"{row.observations:,}",
            f"{row.typical_error:.2f}",
            f"{row.intercept:+,.0f}",
            str(row.last_seen),
        )
        for row in CALIBRATION.show()
    ]
    if not rows:
        return Text("Nothing was learned yet: keep_calibration() in a program keeps what its answers report.")
    columns = ("model", "wire", "answers", "error", "fixed", "last seen")
    return Group(
        *titled("What was learned of counting", columns, rows, names=2),
        Text(""),
        Text(ERRORS, style="dim"),
    )
