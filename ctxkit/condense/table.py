"""`condense_table`: CSV, TSV, columns that stand one below the other, and columns between pipes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ctxkit.condense.base import Budget, Condensed, note
from ctxkit.condense.choice import chosen_rows, longest_row, with_gaps
from ctxkit.condense.columns import ends, few, firsts
from ctxkit.condense.fitting import fitted
from ctxkit.condense.lines import Lines, Tier, clip, from_both_ends, severity, spread
from ctxkit.condense.room import beginning, density, fits

# The first that most lines hold; the empty one is two blanks or more.
SEPARATORS = ("|", "\t", "", ",", ";")
# So many columns are looked at.
MOST_COLUMNS = 40
COLUMN = re.compile(r"(?<! ) {2,}")
NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
RULE = frozenset("-=+|: ")
LONG_RULE = re.compile(r"-{4,}")
# Fewer characters have no room for a row.
LEAST_CHARS = 40


@dataclass(frozen=True)
class _Table:
    """The lines of a table.

    Attributes:
        lines: All of them, those above and below the table, too.
        separator: What stands between cells; empty where these are told apart by two blanks or more.
        heading: The number of the line with the names of the columns.
        rows: The numbers of the lines that have as many cells as the heading.
        cells: Of these lines.
    """

    lines: Sequence[str]
    separator: str
    heading: int
    rows: Sequence[int]
    cells: Sequence[Sequence[str]]

    @classmethod
    def of(cls, lines: Sequence[str]) -> _Table:
        """The table in some lines; the first line like most others is its heading."""
        separator = _separator(lines)
        cells = [_cells(line, separator) for line in lines]
        usual = Counter(map(len, cells)).most_common(1)[0][0]
        like = [number for number, line in enumerate(cells) if len(line) == usual]
        rows = [number for number in like[1:] if not _is_rule(lines[number])]
        return cls(lines, separator, like[0], rows, [cells[number] for number in rows])

    @property
    def columns(self) -> Iterator[list[str]]:
        """The cells of each column, of the first columns where there are many."""
        for number in range(min(MOST_COLUMNS, len(self.cells[0]) if self.cells else 0)):
            yield [row[number] for row in self.cells]

    def without_shared_columns(self) -> list[str]:
        """The lines with columns that never change said once, in front, where that leaves no doubt."""
        names = _cells(self.lines[self.heading], self.separator)
        between = range(self.heading + 1, self.rows[-1] + 1) if self.rows else range(0)
        if len(self.rows) < 2 or len(between) != len(self.rows) or '"' in "".join(names):
            return list(self.lines)
        shared = {number for number, column in enumerate(self.columns) if len(set(column)) == 1}
        if not shared or len(shared) == len(names) or any('"' in cell for row in self.cells for cell in row):
            return list(self.lines)
        said = ", ".join(f"{names[number]} = {self.cells[0][number]}" for number in sorted(shared))
        joint = self.separator or "  "
        short = [joint.join(_without(row, shared)) for row in (names, *self.cells)]
        after = self.lines[self.rows[-1] + 1 :]
        return [*self.lines[: self.heading], f"The same in every row: {said}", *short, *after]


def condense_table(text: str, budget: Budget) -> Condensed:
    """Shorten a table: less padding, columns that never change said once, then long lines, then rows.

    The first two lose nothing. Where that is not enough, the heading stays, the first rows and the last,
    those with errors or of what the question asks about, one row of each value in columns that have few,
    the least and the greatest number of each column, and rows spread over all.

    Args:
        text: One row in each line.
        budget: How much may be shown.
    """
    if fits(text, budget):
        return Condensed(text, "table")
    table = _Table.of([_unpadded(line) for line in text.split("\n")])
    short = table.without_shared_columns()
    whole = "\n".join(short)
    if fits(whole, budget):
        return Condensed(whole, "table")
    lines = Lines(whole)
    tiers = _tiers(lines, _Table.of(short), budget)
    sizes = list(map(len, short))
    tokens_per_char = density(whole, budget)

    def made(chars: int) -> Condensed | None:
        if chars < LEAST_CHARS:
            return None
        longest = longest_row(sizes, chars)
        numbers = chosen_rows([min(size, longest) for size in sizes], tiers, chars)
        shown = "\n".join(with_gaps(numbers, len(short), lambda number: clip(short[number], longest)))
        cut = sum(sizes[number] > longest for number in numbers)
        left = len(short) - len(numbers)
        parts = [f"{left:,} lines" if left else "", f"parts of {cut:,} long lines" if cut else ""]
        kept, hidden = f"{len(numbers):,} of {len(short):,} lines", " and ".join(filter(None, parts))
        tokens = int(max(0, len(whole) - len(shown)) * tokens_per_char)
        return Condensed(f"{shown}\n{note(kept, hidden, tokens, budget.how)}", "table", kept, hidden)

    return fitted(made, whole, budget) or beginning(text, budget, "table")


def _tiers(lines: Lines, table: _Table, budget: Budget) -> list[Tier]:
    most = budget.max_tokens
    count = len(lines.lines)
    telling: list[tuple[int, int]] = []
    extremes: list[int] = []
    for column in table.columns:
        telling += firsts(column, few(column))
        if all(map(NUMBER.fullmatch, column)):
            extremes += (table.rows[place] for place in ends([float(cell) for cell in column]))
    above = range(max(0, table.heading - 1), min(count, table.heading + 2))
    return [
        Tier([table.heading, *above, *from_both_ends(count, 4)]),
        Tier(lines.about(budget.terms)[:most], share=0.35),
        Tier([table.rows[place] for _, place in sorted(telling)], share=0.35),
        Tier(lines.firsts(lines.ranked(severity).get("error", []))[:most], share=0.25),
        Tier(extremes, share=0.15),
        Tier(spread(range(count), most)),
    ]


def _unpadded(line: str) -> str:
    """A line without blanks at its end, with one blank beside each pipe, and with short rules."""
    line = line.rstrip(" ")
    if "|" in line:
        line = " | ".join(cell.strip(" ") for cell in line.split("|")).strip(" ")
    if _is_rule(line):
        line = LONG_RULE.sub("---", line)
    return line


def _is_rule(line: str) -> bool:
    return "-" in line and RULE.issuperset(line)


def _separator(lines: Sequence[str]) -> str:
    """The first separator that more than half of the lines hold."""
    half = len(lines) // 2
    found = [sign for sign in SEPARATORS if sum((sign or "  ") in line for line in lines) > half]
    return found[0] if found else ""


def _cells(line: str, separator: str) -> list[str]:
    cells = line.split(separator) if separator else COLUMN.split(line.strip())
    return [cell.strip() for cell in cells]


def _without(cells: Sequence[str], shared: set[int]) -> list[str]:
    return [cell for number, cell in enumerate(cells) if number not in shared]
