"""`context_timeline`: how large each request was, and how much of it the prompt cache served."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from ctxkit.errors import ConfigError
from ctxkit.plots.base import COLOURS, INK, key, new_figure, shortened, titled
from ctxkit.plots.costs import NO_ATTEMPTS
from ctxkit.reports import Report
from ctxkit.reports.timeline import timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARTS = {
    "read": ("read from the cache", COLOURS[2]),
    "written": ("written to the cache", COLOURS[5]),
    "uncached": ("paid in full", COLOURS[1]),
}
NAME_CHARACTERS = 34
HEADROOM = 1.15


def context_timeline(report: Report) -> Figure:
    """Draw the input tokens of one request after the other, by what the prompt cache did with them.

    A triangle stands over a request that the cache could have served better.

    Args:
        report: One whose rows hold their attempts.

    Raises:
        ConfigError: The rows hold no attempts.
    """
    from matplotlib.ticker import MaxNLocator

    columns = timeline(report)
    numbers = range(1, len(columns["task"]) + 1)
    if not numbers:
        raise ConfigError(NO_ATTEMPTS, option="report")
    figure, (axes,) = new_figure(height_inches=3.8)
    bottoms = [0] * len(numbers)
    for part, (label, colour) in PARTS.items():
        if not any(columns[part]):
            continue
        axes.bar(numbers, columns[part], bottom=bottoms, width=0.82, color=colour, label=label)
        bottoms = [below + tokens for below, tokens in zip(bottoms, columns[part], strict=True)]
    highest = max(bottoms) or 1
    missed = [number for number in numbers if columns["missed"][number - 1]]
    if missed:
        tops = [bottoms[number - 1] + highest * 0.03 for number in missed]
        axes.plot(missed, tops, "v", color=INK, markersize=5, label="could have been read")
    axes.set_ylim(0, highest * HEADROOM)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    titled(axes, "Context from request to request", x="request", y="input tokens")
    _name_tasks(axes, [columns["names"][task] for task in columns["task"]], highest)
    key(figure, columns=4)
    return figure


def _name_tasks(axes: Axes, tasks: list[str], highest: int) -> None:
    """Write above each task what it is called, and draw a line where the next one begins."""
    changes = [place for place, (before, after) in enumerate(pairwise(tasks), 1) if before != after]
    for start in changes:
        axes.axvline(start + 0.5, color=INK, linewidth=0.8, linestyle=":")
    starts = [0, *changes]
    widths = [end - start for start, end in pairwise([*starts, len(tasks)])]
    for start, width in zip(accumulate([0, *widths[:-1]]), widths, strict=True):
        room = max(4, NAME_CHARACTERS * 2 * width // len(tasks))
        name = shortened(tasks[start], room)
        axes.text(
            start + 0.6, highest * (HEADROOM - 0.01), name, fontsize=8, va="top", color=INK, parse_math=False
        )
