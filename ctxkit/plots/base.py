"""What all pictures share: a white ground, colours that most people can tell apart, and words in dollars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_INCHES = 9.0
DPI = 100
INK = "#1f2328"
FAINT = "#d0d7de"
# The colours of Okabe and Ito, which most people with a colour vision deficiency can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def new_figure(*, height_inches: float, panels: int = 1) -> tuple[Figure, Sequence[Axes]]:
    """A figure with so many panels side by side, which share their vertical axis."""
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(WIDTH_INCHES, height_inches),
        dpi=DPI,
        layout="constrained",
        facecolor="white",
        edgecolor="white",
    )
    axes = figure.subplots(1, panels, sharey=True, squeeze=False)[0]
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
        one.spines[["left", "bottom"]].set_color(INK)
        one.tick_params(colors=INK, labelsize=9)
        one.set_axisbelow(True)
    return figure, list(axes)


def titled(axes: Axes, title: str, *, x: str, y: str) -> None:
    """Say what a panel shows, and what its axes are."""
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK)
    axes.set_xlabel(x, fontsize=10, color=INK)
    axes.set_ylabel(y, fontsize=10, color=INK)
    axes.grid(visible=True, axis="y", color=FAINT, linewidth=0.8)


def key(figure: Figure, *, columns: int) -> None:
    """Say beside the panels, where it hides nothing, what their colours stand for."""
    legend = figure.legend(
        loc="outside lower center", ncols=columns, fontsize=9, frameon=False, labelcolor=INK
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def dollar_format(largest: float) -> str:
    """The format of amounts up to a largest one, with three digits of that, and cents at least."""
    decimals = 2 if largest <= 0 else max(2, 2 - math.floor(math.log10(largest)))
    return f"${{x:,.{decimals}f}}"


def shortened(text: str, characters: int) -> str:
    """A text that has at most so many characters; what goes is in its middle, as names differ at ends."""
    if len(text) <= characters:
        return text
    left = (characters - 1) * 2 // 3
    right = characters - 1 - left
    return f"{text[:left]}…{text[len(text) - right :]}"


def fitting(text: str, *, width_points: float, size: float) -> str:
    """A text as long as there is room for, at a size of type in points."""
    from matplotlib.textpath import TextPath

    # No letter is much narrower than a quarter of its size.
    characters = min(len(text), round(4 * width_points / size))
    while True:
        short = shortened(text, characters)
        path = TextPath((0, 0), short.replace("$", "S"), size=size)
        if characters <= 2 or path.get_extents().width <= width_points:
            return short
        characters -= 1
