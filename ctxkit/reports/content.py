"""What a report says, as sentences and tables of text. How they look belongs to `terminal` and `notebook`.

Names come from the user's runs: what can't stand on a line is replaced before it gets there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from ctxkit.ledger import NO_TOOL, UNRECORDED, Line, Reuse, Totals
from ctxkit.money import price_list_version
from ctxkit.reports.report import Report, TaskRow

T = TypeVar("T")

SHOWN_ROWS = 15
SHOWN_FACTS = 5
UNKNOWN = "unknown"
NOTHING_BOOKED = (
    "nothing was booked: is a TokenMeter in the stack, and was the wrapped client used inside "
    "`with ctxkit.task(...)`?"
)
NOTHING_RECORDED = "these runs hold no request to a model"
UNRECORDED_MEANS = "billed, but not shown by the log, such as the system prompt; its size is an estimate"
DEFINITION = "tool_definition"
# What a tool costs: the kinds of its blocks, and which part of what they cost.
TOOL_PARTS: Mapping[str, tuple[str, Callable[[Line], Line]]] = {
    "definition": (DEFINITION, lambda line: line),
    "new results": ("tool_result", lambda line: line.new),
    "carried": ("tool_result", lambda line: line.carried),
    "calls": ("tool_call", lambda line: line),
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts.

    Attributes:
        title: What it shows.
        columns: The heads of the columns. The first column holds names, all others hold numbers.
        rows: The cells.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Content:
    """What a report says.

    Attributes:
        headline: All of it in one sentence.
        caveat: What is missing from the sums; empty where nothing is.
        tables: The sums by kind, by tool and by task, as far as there are any.
        facts: What else is to be known, each as a word and a sentence.
    """

    headline: str
    caveat: str
    tables: tuple[Table, ...]
    facts: tuple[tuple[str, str], ...]


def content_of(report: Report, *, top: int = SHOWN_ROWS) -> Content:
    """Say what a report says.

    Args:
        report: Any report.
        top: How many tools and tasks get a row of their own, the dearest first.
    """
    totals = report.totals
    return Content(
        headline=_headline(report.tasks, totals),
        caveat=_caveat(totals),
        tables=tuple(_Tables(report.tasks, totals, top, report.by).all()),
        facts=tuple((word, printable(sentence)) for word, sentence in _facts(report, totals)),
    )


def printable(text: str) -> str:
    """A text that stays on its line, can be encoded, and sends no commands to a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)


def dollars(amount: Decimal | None, *, whole: Decimal) -> str:
    """An amount of money, with the decimals that its whole needs to show four digits, but two at least.

    Args:
        amount: US dollars; `None` is unknown.
        whole: What the amount is a part of, so that all parts of a whole get as many decimals.
    """
    if not amount:
        return UNKNOWN if amount is None else "$0"
    decimals = max(3 - whole.adjusted(), 2)
    smallest = Decimal(1).scaleb(-decimals)
    return f"<${smallest:f}" if amount < smallest else f"${amount:,.{decimals}f}"


def percent(part: int | Decimal, whole: int | Decimal) -> str:
    """A share of a whole; empty where there is no whole."""
    if not whole:
        return ""
    share = part / whole
    return "<0.1%" if 0 < share < 0.001 else f"{share:.1%}"


def _headline(tasks: Sequence[TaskRow], totals: Totals) -> str:
    if not totals.requests and not totals.attempts_not_billed:
        return NOTHING_RECORDED if any(row.format != "live" for row in tasks) else NOTHING_BOOKED
    requests = _counted(totals.requests, "request")
    if totals.requests_unmeasured and not totals.input_tokens:
        return f"{requests} of unknown size and cost"
    cost = totals.known_cost_usd
    spent = "cost unknown" if cost is None else dollars(cost, whole=cost)
    tokens = f"{totals.input_tokens:,} input tokens"
    if totals.cache_read_tokens:
        tokens += f" ({percent(totals.cache_read_tokens, totals.input_tokens)} read from the prompt cache)"
    tokens += f", {totals.output_tokens:,} output tokens"
    if totals.requests_unmeasured:
        tokens = f"at least {tokens}"
    if totals.is_lower_bound and cost is not None:
        spent = f"at least {spent}"
    return f"{requests}, {tokens}, {spent}"


def _caveat(totals: Totals) -> str:
    lacking = {"full usage": totals.requests_unmeasured, "a price": totals.requests_unpriced}
    reasons = [f"{_counted(count, 'request')} without {what}" for what, count in lacking.items() if count]
    return f"missing from these sums: {', '.join(reasons)}" if reasons else ""


@dataclass(frozen=True, slots=True)
class _Tables:
    """The tables of one report."""

    tasks: Sequence[TaskRow]
    totals: Totals
    top: int
    by: str

    def all(self) -> Iterator[Table]:
        """Those that have something to say."""
        if self.totals.lines:
            yield self._by_kind()
        if any(tool for _, tool in self.totals.lines):
            yield self._by_tool()
        if (len(self.tasks) > 1 or self.by != "task") and self.totals.requests and self.by != "tool":
            yield self._by_row()

    @property
    def _priced(self) -> bool:
        return self.totals.known_cost_usd is not None

    @property
    def _share(self) -> str:
        return "of cost" if self._priced else "of tokens"

    def _by_kind(self) -> Table:
        rows = [
            (
                printable(kind.replace("_", " ")),
                f"{line.input_tokens:,}",
                f"{line.output_tokens:,}",
                *self._cost_and_share(line),
            )
            for kind, line in self.totals.by_kind().items()
        ]
        title = "By kind: tokens and dollars, in all requests together"
        return Table(title, ("kind", "input", "output", "cost", self._share), tuple(rows))

    def _by_tool(self) -> Table:
        lines = self.totals.by_tool()
        rest = lines.pop(NO_TOOL, None)
        rows = [
            (
                printable(name),
                f"{sum(self.totals.tool_calls[tool] for tool in tools):,}",
                *(self._tool_part(part, tools) for part in TOOL_PARTS),
                *self._cost_and_share(_sum(lines[tool] for tool in tools)),
            )
            for name, tools in _groups(list(lines), self.top, name=str)
        ]
        if rest is not None:
            rows.append((NO_TOOL, "", *("" for _ in TOOL_PARTS), *self._cost_and_share(rest)))
        unit = "dollars" if self._priced else "tokens"
        title = f"By tool: {unit} for definitions, results when new, results carried along, and calls"
        return Table(title, ("tool", "called", *TOOL_PARTS, "cost", self._share), tuple(rows))

    def _by_row(self) -> Table:
        tasks = self.tasks
        if self.by != "day":
            tasks = sorted(
                tasks, key=lambda row: (row.totals.cost_usd, row.totals.input_tokens), reverse=True
            )
        rows = []
        for name, group in _groups(tasks, self.top, name=lambda row: row.id):
            totals = Totals()
            for row in group:
                totals.merge(row.totals)
            rows.append((printable(name), *self._task_cells(totals)))
        columns = (self.by, "requests", "input", "cached", "output", "cost", self._share)
        return Table(f"By {self.by}: tokens and dollars", columns, tuple(rows))

    def _task_cells(self, totals: Totals) -> tuple[str, ...]:
        priced = totals.known_cost_usd is not None
        line = Line(totals.input_tokens, totals.output_tokens, totals.cost_usd, priced)
        return (
            f"{totals.requests:,}",
            f"{totals.input_tokens:,}",
            percent(totals.cache_read_tokens, totals.input_tokens),
            f"{totals.output_tokens:,}",
            *self._cost_and_share(line),
        )

    def _tool_part(self, part: str, tools: Sequence[str]) -> str:
        kind, part_of = TOOL_PARTS[part]
        keys = [(kind, tool) for tool in tools if (kind, tool) in self.totals.lines]
        if not keys and kind == DEFINITION and UNRECORDED in self.totals.lines:
            return UNKNOWN
        line = part_of(self.totals.part(*keys))
        return self._dollars(line) if self._priced else f"{_tokens(line):,}"

    def _cost_and_share(self, line: Line) -> tuple[str, str]:
        if self._priced:
            return self._dollars(line), percent(line.cost_usd, self.totals.cost_usd)
        return UNKNOWN, percent(_tokens(line), self.totals.input_tokens + self.totals.output_tokens)

    def _dollars(self, line: Line) -> str:
        known = line.priced or not _tokens(line)
        return dollars(line.cost_usd if known else None, whole=self.totals.cost_usd)


def _facts(report: Report, totals: Totals) -> Iterator[tuple[str, str]]:
    if report.by == "task":
        models = Counter(row.model or UNKNOWN for row in report.tasks if row.totals.requests)
        yield from _most_common("model", models, "task")
    if totals.purposes.keys() - {"main"}:
        yield from _purposes(totals)
    if totals.history.cost_usd:
        shown = dollars(totals.history.cost_usd, whole=totals.cost_usd)
        yield "history", f"{shown} for texts of earlier turns, sent once more"
    if totals.attempts_not_billed:
        yield "not billed", f"{_counted(totals.attempts_not_billed, 'attempt')}, such as a refusal with 429"
    if totals.cut_tokens:
        yield "cut", f"{totals.cut_tokens:,} tokens, as counted here, before requests were sent"
    recorded = [row.recorded_cost_usd for row in report.tasks if row.recorded_cost_usd is not None]
    if recorded:
        said = sum(recorded, Decimal(0))
        tasks = _counted(len(recorded), "task")
        yield "recorded", f"{tasks} cost {dollars(said, whole=said)} by their own logs"
    yield from _reused(report)
    faults: Counter[str] = Counter()
    for row in report.tasks:
        faults.update(row.faults)
    yield from _most_common("fault", faults, "time")
    if UNRECORDED in totals.lines:
        yield "unrecorded", UNRECORDED_MEANS
    yield from _most_common("note", Counter(note for row in report.tasks for note in row.notes), "task")
    yield from _skipped(report)
    yield "prices", price_list_version()


def _purposes(totals: Totals) -> Iterator[tuple[str, str]]:
    for purpose, count in totals.purposes.most_common(SHOWN_FACTS):
        line = totals.purpose_lines[purpose]
        cost = dollars(line.cost_usd, whole=totals.cost_usd) if line.priced else "cost unknown"
        yield "purpose", f"{purpose} ({_counted(count, 'request')}, {cost})"
    yield from _more("purpose", len(totals.purposes))


def _reused(report: Report) -> Iterator[tuple[str, str]]:
    reused: dict[str, Reuse] = {}
    for row in report.tasks:
        for tool, reuse in row.reused.items():
            reused[tool] = reused.get(tool, Reuse()) + reuse
    for tool, reuse in sorted(reused.items(), key=lambda item: -item[1].times)[:SHOWN_FACTS]:
        saved = f"which saved {reuse.seconds_saved:,.1f} s of runs"
        yield "reused", f"{_counted(reuse.times, 'earlier result')} of {tool} given again, {saved}"
    yield from _more("reused", len(reused))


def _skipped(report: Report) -> Iterator[tuple[str, str]]:
    for part in report.skipped[:SHOWN_FACTS]:
        place = part["path"] if part["line"] is None else f"{part['path']}:{part['line']}"
        yield "skipped", f"{place}: {part['reason']}"
    yield from _more("skipped", len(report.skipped))


def _most_common(word: str, counts: Counter[str], unit: str) -> Iterator[tuple[str, str]]:
    for sentence, count in counts.most_common(SHOWN_FACTS):
        yield word, f"{sentence} ({_counted(count, unit)})"
    yield from _more(word, len(counts))


def _more(word: str, count: int) -> Iterator[tuple[str, str]]:
    if count > SHOWN_FACTS:
        yield word, f"{count - SHOWN_FACTS:,} more, all of them in the JSON"


def _groups(items: Sequence[T], top: int, *, name: Callable[[T], str]) -> Iterator[tuple[str, Sequence[T]]]:
    """The first items one by one, and the rest together."""
    for item in items[:top]:
        yield name(item), [item]
    if rest := items[top:]:
        yield f"({len(rest):,} more)", rest


def _sum(lines: Iterable[Line]) -> Line:
    total = Line()
    for line in lines:
        total.add(line)
    return total


def _tokens(line: Line) -> int:
    return line.input_tokens + line.output_tokens


def _counted(count: int, unit: str) -> str:
    return f"{count:,} {unit}{'' if count == 1 else 's'}"
