"""Tables as the newer commands print them: names first, then numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ctxkit.reports.content import printable

MANY_COLUMNS = 8


def titled(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, names: int = 1
) -> list[RenderableType]:
    """A table under its title, after an empty line; nothing where there are no rows.

    Args:
        title: What it shows.
        columns: The heads of the columns.
        rows: The cells.
        names: How many columns, the first ones, hold names; all others hold numbers.
    """
    # A table of many columns gives its room to the names.
    gap = 1 if len(columns) < MANY_COLUMNS else 0
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, gap, 0, 0))
    for number, column in enumerate(columns):
        if number < names:
            table.add_column(column, overflow="fold", min_width=6)
        else:
            table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return [Text(""), Text(title, style="bold"), table] if table.row_count else []
