"""Replays side by side: dollars against evidence, what longer runs leave of a saving, and the spending."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from itertools import accumulate
from typing import TYPE_CHECKING

from ctxkit.errors import ConfigError
from ctxkit.plots.base import COLOURS, FAINT, INK, MARKERS, dollar_format, key, new_figure, shortened, titled
from ctxkit.replay import ReplayReport
from ctxkit.replay.report import EXTRA_TURNS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST = Decimal("0.20")
NAME_CHARACTERS = 30
NOTHING_KNOWN = "none of these replays has a known cost and a share of evidence: were the runs priced?"


def pareto(reports: Mapping[str, ReplayReport]) -> Figure:
    """Draw what runs cost under each policy against how much of the evidence stayed visible.

    The line joins the policies that no other one beats in both.

    Args:
        reports: The replays of the same runs, by what their policy is called. Those without a known cost or
            without evidence are left out.

    Raises:
        ConfigError: None is left.
    """
    points = {
        name: (float(report.replayed.known_cost_usd), 100 * report.evidence_recall)
        for name, report in reports.items()
        if report.replayed.known_cost_usd is not None and report.evidence_recall is not None
    }
    if not points:
        raise ConfigError(NOTHING_KNOWN, option="reports")
    figure, (axes,) = new_figure(height_inches=4.4)
    in_dollars = dollar_format(max(usd for usd, _ in points.values()))
    best = sorted((point for point in points.values() if _is_best(point, points)), key=lambda point: point[0])
    axes.step(*zip(*best, strict=True), where="post", color=COLOURS[0], linewidth=1.2, zorder=1)
    for place, (name, (usd, share)) in enumerate(points.items()):
        good = (usd, share) in best
        label = f"{shortened(name, NAME_CHARACTERS)}: {in_dollars.format(x=usd)}, {share:.0f}%"
        colour = COLOURS[0] if good else COLOURS[6]
        marker = MARKERS[place % len(MARKERS)]
        axes.plot([usd], [share], marker, color=colour, markersize=9, label=label, linestyle="none")
    axes.margins(x=0.08, y=0.12)
    axes.xaxis.set_major_formatter(in_dollars)
    axes.yaxis.set_major_formatter("{x:.0f}%")
    titled(
        axes, "Dollars against evidence (blue: beaten by none)", x="cost of the runs", y="evidence visible"
    )
    key(figure, columns=2)
    return figure


def sensitivity(reports: Mapping[str, ReplayReport]) -> Figure:
    """Draw what is left of each saving if runs get longer; below zero it has turned into a loss.

    Args:
        reports: The replays by what their policy is called. Those without a known cost are left out.

    Raises:
        ConfigError: None is left.
    """
    known = {
        name: report
        for name, report in reports.items()
        if report.saved_usd is not None and report.baseline.known_cost_usd
    }
    if not known:
        raise ConfigError(NOTHING_KNOWN, option="reports")
    figure, (axes,) = new_figure(height_inches=4.2)
    for place, (name, report) in enumerate(known.items()):
        longer = [*EXTRA_TURNS, LONGEST]
        axes.plot(
            [float(100 * extra) for extra in longer],
            [_saved_percent(report, extra) for extra in longer],
            label=shortened(name, NAME_CHARACTERS),
            linewidth=1.8,
            color=COLOURS[place % len(COLOURS)],
            marker=MARKERS[place % len(MARKERS)],
        )
    axes.axhline(0, color=INK, linewidth=1)
    axes.set_xticks([float(100 * extra) for extra in (*EXTRA_TURNS, LONGEST)])
    axes.xaxis.set_major_formatter("+{x:.0f}%")
    axes.yaxis.set_major_formatter("{x:.0f}%")
    titled(
        axes, "What is left of the saving if runs get longer", x="more turns", y="saved, of the cost before"
    )
    key(figure, columns=3)
    return figure


def spending(reports: Mapping[str, ReplayReport]) -> Figure:
    """Draw what the first run of each replay has cost after each of its requests.

    Args:
        reports: The replays by what their policy is called; `observe` gives the run as it was.

    Raises:
        ConfigError: There is no replay, one of them holds no run, or a request of unknown cost.
    """
    if not reports:
        raise ConfigError("there is no replay to draw", option="reports")
    figure, (axes,) = new_figure(height_inches=4.0)
    lines = {name: _sums(name, report) for name, report in reports.items()}
    in_dollars = dollar_format(max(sums[-1] for sums in lines.values()))
    for place, (name, sums) in enumerate(lines.items()):
        label = f"{shortened(name, NAME_CHARACTERS)}: {in_dollars.format(x=sums[-1])}"
        colour = COLOURS[place % len(COLOURS)]
        axes.plot(range(1, len(sums) + 1), sums, label=label, linewidth=2, color=colour)
    axes.yaxis.set_major_formatter(in_dollars)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, axis="x", color=FAINT, linewidth=0.5)
    titled(axes, "Spent so far", x="request", y="dollars")
    key(figure, columns=3)
    return figure


def _sums(name: str, report: ReplayReport) -> list[float]:
    if not report.runs:
        raise ConfigError(f"the replay {name!r} holds no run", option="reports")
    costs = [float(usd) for usd in report.runs[0].replayed_usd if usd is not None]
    if not costs or len(costs) < len(report.runs[0].replayed_usd):
        raise ConfigError(
            f"the first run of the replay {name!r} has requests of unknown cost", option="reports"
        )
    return list(accumulate(costs))


def _is_best(point: tuple[float, float], points: Mapping[str, tuple[float, float]]) -> bool:
    usd, share = point
    return not any(
        (other_usd <= usd and other_share >= share) and (other_usd, other_share) != point
        for other_usd, other_share in points.values()
    )


def _saved_percent(report: ReplayReport, extra: Decimal) -> float:
    saved = report.saved_if_longer(extra)
    return float("nan") if saved is None else float(100 * saved / report.baseline.cost_usd)
