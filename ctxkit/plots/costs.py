"""`cost_flame`: what every part of a bill costs, as boxes within boxes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxkit.errors import ConfigError
from ctxkit.plots.base import COLOURS, FAINT, INK, WIDTH_INCHES, fitting, new_figure
from ctxkit.reports import Report
from ctxkit.reports.content import dollars, percent
from ctxkit.reports.cost_tree import Node, cost_tree, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT_INCHES = 6.5
LEVELS = 4
KIND_COLOURS = {
    "system": COLOURS[6],
    "tool definition": COLOURS[5],
    "tool result": COLOURS[0],
    "tool call": COLOURS[4],
    "assistant text": COLOURS[2],
    "thinking": COLOURS[3],
    "user text": COLOURS[1],
}
# A box below this share of the whole has no room for a line of text.
LEGIBLE_SHARE = 0.021
LABEL_SIZE = 8
# Of a column, beside the gaps and the margins of the picture.
LABEL_SHARE = 0.94
NO_ATTEMPTS = "this report holds no attempts to draw: profile(..., keep_attempts=True) keeps them"


@dataclass(frozen=True, slots=True)
class Box:
    """One part of the bill.

    Attributes:
        name: What it is called.
        kind: The kind of text it belongs to; empty for a task or a turn.
        level: How deep it stands.
        top: Where it begins, as a share of the whole.
        share: What it is of the whole.
        node: What it costs.
    """

    name: str
    kind: str
    level: int
    top: float
    share: float
    node: Node


def cost_flame(report: Report) -> Figure:
    """Draw what a bill is made of: task, turn, kind and tool from left to right, each as high as its cost.

    A turn is the one in which a text was new; what it costs in all later requests is in its box, too. So a
    high box at the top is what is carried all the way.

    Args:
        report: One whose rows hold their attempts. Where no price is known, heights are tokens.

    Raises:
        ConfigError: The rows hold no attempts.
    """
    root = cost_tree(report)
    if not root.tokens:
        raise ConfigError(NO_ATTEMPTS, option="report")
    figure, (axes,) = new_figure(height_inches=HEIGHT_INCHES)
    boxes = list(_boxes(root, root, level=0, top=0.0, kind=""))
    columns = max(box.level for box in boxes) + 1
    for box in boxes:
        _draw(axes, box, root, label_points=WIDTH_INCHES * 72 / columns * LABEL_SHARE)
    axes.set_xlim(0, columns)
    axes.set_ylim(1, 0)
    axes.axis("off")
    unit = f"{dollars(root.usd, whole=root.usd)}" if root.usd else f"{root.tokens:,} tokens"
    title = f"Where {unit} went: task, turn in which it was new, kind, tool"
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK)
    _explain(axes, {box.kind for box in boxes if box.kind})
    return figure


def _boxes(root: Node, parent: Node, *, level: int, top: float, kind: str) -> Iterator[Box]:
    for name, node in visible(parent):
        found = kind or (name if name in KIND_COLOURS else "")
        share = _share(node, root)
        yield Box(name, found, level, top, share, node)
        if level + 1 < LEVELS:
            yield from _boxes(root, node, level=level + 1, top=top, kind=found)
        top += share


def _share(node: Node, root: Node) -> float:
    return float(node.usd / root.usd) if root.usd else node.tokens / root.tokens


def _draw(axes: Axes, box: Box, root: Node, *, label_points: float) -> None:
    from matplotlib.patches import Rectangle

    colour = KIND_COLOURS.get(box.kind, FAINT)
    place = (box.level, box.top)
    axes.add_patch(Rectangle(place, 0.985, box.share, facecolor=colour, alpha=0.35, edgecolor="none"))
    axes.add_patch(Rectangle(place, 0.985, box.share, fill=False, edgecolor="white", linewidth=1))
    if box.share >= LEGIBLE_SHARE:
        middle = box.top + box.share / 2
        label = _label(box, root, label_points)
        axes.text(
            box.level + 0.02, middle, label, fontsize=LABEL_SIZE, va="center", color=INK, parse_math=False
        )


def _label(box: Box, root: Node, label_points: float) -> str:
    whole = percent(box.node.usd, root.usd) if root.usd else percent(box.node.tokens, root.tokens)
    # A digit is at most two thirds as wide as the type is high.
    room = label_points - (len(whole) + 2) * LABEL_SIZE * 2 / 3
    return f"{fitting(box.name, width_points=room, size=LABEL_SIZE)}  {whole}"


def _explain(axes: Axes, kinds: set[str]) -> None:
    from matplotlib.patches import Patch

    shown = [
        Patch(facecolor=colour, alpha=0.35, label=kind)
        for kind, colour in KIND_COLOURS.items()
        if kind in kinds
    ]
    axes.figure.legend(handles=shown, loc="outside lower center", ncols=7, fontsize=9, frameon=False)
