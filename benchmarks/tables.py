"""Tables of numbers as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print an empty line and a table: rows of the same keys, names to the left, numbers to four digits."""
    cells = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    names = [isinstance(value, str) for value in rows[0].values()]
    print()
    for line in cells:
        placed = zip(line, widths, names, strict=True)
        print("  ".join(text.ljust(width) if name else text.rjust(width) for text, width, name in placed))


def _cell(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
