"""`break_even`: after how many turns clearing a part of the history has paid for itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ctxkit.errors import ConfigError
from ctxkit.money import break_even as paying
from ctxkit.money.break_even import Edit, Terms
from ctxkit.plots.base import COLOURS, FAINT, MARKERS, key, new_figure, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# From a tenth of what can go up to nine tenths.
SHARES = tuple(percent / 100 for percent in range(10, 95, 5))
TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500)


def break_even(
    panels: Mapping[str, Mapping[str, Terms]], *, history_tokens: int = 60_000, stable_tokens: int = 10_000
) -> Figure:
    """Draw after how many later turns clearing a part of the history has paid for itself.

    What is cleared stands right behind what is stable, and all that stands behind it is written again.

    Args:
        panels: What tokens cost, by the title of a panel and the name of a line in it.
        history_tokens: The history at the moment of the edit.
        stable_tokens: The part of it in front of the edit, which is read on.

    Raises:
        ConfigError: There is no panel.
    """
    if not panels:
        raise ConfigError("there are no terms to draw", option="panels")
    figure, axes = new_figure(height_inches=4.0, panels=len(panels))
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    for one, (title, lines) in zip(axes, panels.items(), strict=True):
        for name, terms in lines.items():
            place = names.index(name)
            one.plot(
                [100 * share for share in SHARES],
                _turns(terms, history_tokens, stable_tokens),
                label=name if one is axes[0] else None,
                color=COLOURS[place % len(COLOURS)],
                marker=MARKERS[place % len(MARKERS)],
                markersize=4,
                linewidth=1.8,
            )
        one.set_yscale("log")
        one.set_yticks(TICKS, map(str, TICKS))
        one.minorticks_off()
        one.set_ylim(0.5, TICKS[-1] * 2)
        one.xaxis.set_major_formatter("{x:.0f}%")
        one.grid(visible=True, axis="x", color=FAINT, linewidth=0.5)
        titled(one, title, x="cleared, of what can go", y="turns until it has paid" if one is axes[0] else "")
    key(figure, columns=3)
    return figure


def _turns(terms: Terms, history_tokens: int, stable_tokens: int) -> Sequence[float]:
    """The turns for each share that is cleared; not a number where it never pays or pays at once."""
    found = []
    for share in SHARES:
        removed = round(share * (history_tokens - stable_tokens))
        edit = Edit(stable_tokens, removed, history_tokens - stable_tokens - removed)
        turns = paying.break_even_turns(edit, terms)
        found.append(float("nan") if turns is None or turns <= 0 else turns)
    return found
