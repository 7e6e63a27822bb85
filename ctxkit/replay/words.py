"""What a replay's report says, as sentences and tables of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from html import escape

from ctxkit.money import price_list_version
from ctxkit.replay.evidence import Dependency, interval
from ctxkit.replay.report import EXTRA_TURNS, ReplayedRun, ReplayReport
from ctxkit.reports.content import SHOWN_FACTS, SHOWN_ROWS, UNKNOWN, Content, Table, dollars, printable
from ctxkit.reports.terminal import content_renderable, plain_text

NOTHING_REPLAYED = "no run was replayed"
UPPER_BOUND = (
    "an upper bound: model and tools answer as recorded, and a model that sees less may take more turns"
)
STRING_CHARS = 40


def report_text(report: ReplayReport) -> str:
    """A replay's report as plain text, 100 columns wide."""
    return plain_text(content_renderable(content_of(report)))


def report_html(report: ReplayReport) -> str:
    """A replay's report for notebooks, as text in columns."""
    return f"<pre>{escape(report_text(report))}</pre>"


def content_of(report: ReplayReport, *, top: int = SHOWN_ROWS) -> Content:
    """Say what a replay found.

    Args:
        report: Any report.
        top: How many runs and lost strings get a row of their own.
    """
    if not report.runs:
        return Content(NOTHING_REPLAYED, "", (), tuple(_skipped(report)))
    tables = [_totals(report), _longer(report)]
    if len(report.runs) > 1:
        tables.append(_by_run(report, top))
    if lost := [(run, one) for run in report.runs for one in run.dependencies if not one.visible]:
        tables.append(_lost(lost, top))
    facts = ((word, printable(sentence)) for word, sentence in _facts(report))
    return Content(printable(_headline(report)), UPPER_BOUND, tuple(tables), tuple(facts))


def _headline(report: ReplayReport) -> str:
    saved, before = report.saved_usd, report.baseline.cost_usd
    if saved is None:
        what = f"saves {report.saved_tokens:,} input tokens, at unknown cost"
    else:
        share = f" ({abs(saved) / before:.1%})" if before else ""
        what = f"{'saves' if saved >= 0 else 'costs'} {dollars(abs(saved), whole=before)}{share}"
        what += "" if saved >= 0 else " more"
    return f"{report.policy} {what} over {_counted(len(report.runs), 'run')}"


def _totals(report: ReplayReport) -> Table:
    before, after = report.baseline, report.replayed
    whole = before.cost_usd
    peaks = (
        max(run.baseline_peak_tokens for run in report.runs),
        max(run.peak_tokens for run in report.runs),
    )
    rows = (
        ("requests", f"{before.requests:,}", f"{after.requests:,}"),
        ("input tokens", f"{before.input_tokens:,}", f"{after.input_tokens:,}"),
        ("read from the cache", f"{before.cache_read_tokens:,}", f"{after.cache_read_tokens:,}"),
        ("written to the cache", f"{before.cache_write_tokens:,}", f"{after.cache_write_tokens:,}"),
        ("output tokens", f"{before.output_tokens:,}", f"{after.output_tokens:,}"),
        ("largest request", *(f"{peak:,}" for peak in peaks)),
        ("cost", *(dollars(totals.known_cost_usd, whole=whole) for totals in (before, after))),
        ("prefix re-writes", "", f"{sum(run.prefix_rewrites for run in report.runs):,}"),
        ("invalid requests", "", f"{report.invalid_requests:,}"),
    )
    return Table("What is sent, both sides through the simulated prompt cache", ("", "before", "after"), rows)


def _longer(report: ReplayReport) -> Table:
    whole = report.baseline.cost_usd
    rows = tuple(
        (f"+{extra:.0%} turns", _signed(report.saved_if_longer(extra), whole)) for extra in EXTRA_TURNS
    )
    return Table("What is left of the saving if runs get longer", ("runs with", "saved"), rows)


def _by_run(report: ReplayReport, top: int) -> Table:
    runs = sorted(report.runs, key=lambda run: run.baseline.cost_usd, reverse=True)
    whole = report.baseline.cost_usd
    rows = [
        (
            printable(run.id),
            dollars(run.baseline.known_cost_usd, whole=whole),
            dollars(run.replayed.known_cost_usd, whole=whole),
            _signed(run.saved_usd, whole),
            f"{run.prefix_rewrites:,}",
            _kept(run.visible),
        )
        for run in runs[:top]
    ]
    title = f"By run, the {len(rows):,} dearest" if len(runs) > top else "By run"
    return Table(title, ("run", "before", "after", "saved", "re-writes", "kept"), tuple(rows))


def _lost(lost: Sequence[tuple[ReplayedRun, Dependency]], top: int) -> Table:
    rows = tuple(
        (
            printable(one.string)[:STRING_CHARS],
            printable(one.tool or ""),
            f"{one.request:,}",
            "yes" if one.recoverable else "no",
        )
        for _, one in lost[:top]
    )
    title = f"Needed and not visible: {_counted(len(lost), 'string')}"
    return Table(title, ("string", "tool", "request", "recoverable"), rows)


def _facts(report: ReplayReport) -> Iterator[tuple[str, str]]:
    yield "evidence", _evidence(report)
    if unpriced := report.baseline.requests_unpriced:
        yield "no price", f"{_counted(unpriced, 'request')}, which count in tokens and not in dollars"
    if report.break_even is not None:
        yield "break-even", f"the saving is gone if runs get {report.break_even:.0%} longer"
    if counts := report.side_call_counts:
        made = ", ".join(f"{purpose} ({_counted(count, 'call')})" for purpose, count in counts.most_common())
        lines = report.replayed.purpose_lines
        cost = sum((lines[purpose].cost_usd for purpose in counts), Decimal(0))
        spent = dollars(cost, whole=report.baseline.cost_usd)
        yield "side calls", f"{made} for {spent}, answered by {report.side_calls}"
    if report.simulator_error is not None:
        less_or_more = "less" if report.simulator_error < 0 else "more"
        size = f"{abs(report.simulator_error):.1%} {less_or_more}"
        yield "simulation", f"the recorded requests cost {size} here than by the usage in their log"
    faults: Counter[str] = Counter()
    notes: Counter[str] = Counter()
    for run in report.runs:
        faults.update(run.faults)
        notes.update(run.notes)
    for word, counts, unit in (("fault", faults, "time"), ("note", notes, "run")):
        for sentence, count in counts.most_common(SHOWN_FACTS):
            yield word, f"{sentence} ({_counted(count, unit)})"
    requests = sum(run.baseline.requests for run in report.runs)
    yield "time", f"{sum(run.seconds for run in report.runs):.1f} s for {_counted(requests, 'request')}"
    yield from _skipped(report)
    yield "prices", price_list_version()


def _evidence(report: ReplayReport) -> str:
    if report.evidence_recall is None:
        return "these runs took nothing from tool results that could be checked"
    needed = sum(len(run.dependencies) for run in report.runs)
    bounds = interval(run.visible for run in report.runs)
    over = "" if bounds is None else f" (95 % of resampled runs: {bounds[0]:.1%} to {bounds[1]:.1%})"
    return (
        f"{report.evidence_recall:.1%} of {_counted(needed, 'string')} that were needed are visible{over}, "
        f"{report.evidence_recoverable:.1%} visible or recoverable"
    )


def _skipped(report: ReplayReport) -> Iterator[tuple[str, str]]:
    for part in report.skipped[:SHOWN_FACTS]:
        place = part.path if part.line is None else f"{part.path}:{part.line}"
        yield "skipped", printable(f"{place}: {part.reason}")
    if len(report.skipped) > SHOWN_FACTS:
        yield "skipped", f"{len(report.skipped) - SHOWN_FACTS:,} more, all of them in the JSON"


def _signed(amount: Decimal | None, whole: Decimal) -> str:
    if amount is None:
        return UNKNOWN
    return f"{'-' if amount < 0 else ''}{dollars(abs(amount), whole=whole)}"


def _kept(counts: tuple[int, int]) -> str:
    kept, needed = counts
    return f"{kept / needed:.1%}" if needed else ""


def _counted(count: int, unit: str) -> str:
    return f"{count:,} {unit}{'' if count == 1 else 's'}"
