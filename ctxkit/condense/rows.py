"""`Rows`: like objects written as lines, with the keys said once, and which of the lines are shown.

How the rows are found is the matter of each kind: a list in JSON, or lines of JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any

from ctxkit.condense.base import Budget, Condensed, ContentKind, note
from ctxkit.condense.choice import ROW_CHARS, chosen_rows, longest_row, with_gaps
from ctxkit.condense.columns import FEW_VALUES, ends, few, firsts
from ctxkit.condense.fitting import fair, fitted
from ctxkit.condense.json_text import Number, written
from ctxkit.condense.json_tree import Shortener
from ctxkit.condense.lines import Lines, Tier, from_both_ends, severity, spread
from ctxkit.condense.room import density, fits

Row = Mapping[str, Any]
# Stands for a key that a row does not have: the first of them that no row holds as a value.
ABSENT = ("-", "--", "(none)", "(no such key)")
# The shortest way to write rows is told from so many of them.
SAMPLE_ROWS = 200
# At least such a part of a table must be filled, or each row is an object.
FILLED = 0.6
# So many columns are looked at to tell which rows stand out.
MOST_COLUMNS = 40
FLAT_DEPTH = 4
# The key under which a row says in which list of a list of lists it is.
LIST = "[]"
SUMMARY_SHARE, ABOVE_SHARE = 0.15, 0.25


@dataclass(frozen=True)
class Rows:
    """Objects, how they are written, and what is the same in all of them.

    Attributes:
        rows: The objects, those inside flattened or not.
        columns: The keys said once; empty where each row is written as an object.
        shared: What is the same in all rows.
        absent: What stands for a key that a row does not have; empty where every row has all.
        flat: Whether objects inside were flattened.
    """

    rows: Sequence[Row]
    columns: Sequence[str]
    shared: Row
    absent: str = ""
    flat: bool = False

    def heading(self, shared: Row) -> list[str]:
        """What the lines are, for the model to understand them, with what is the same in all rows."""
        what = "object"
        if self.columns:
            what = f"array of the values of {written(self.columns).decode()}"
            if self.absent:
                what += f" ({written(self.absent).decode()} where a row has no such key)"
        if LIST in self.rows[0]:
            what += f' ("{LIST}" is the number of the list that a row is in, from 0)'
        if self.flat:
            what += ' ("a.b" is the key "b" of the object "a")'
        first = f"{len(self.rows):,} rows, each line a JSON {what}"
        return [first, f"The same in every row: {written(shared).decode()}"] if shared else [first]

    @property
    def usual(self) -> list[str]:
        """The keys that most rows have and whose values differ, the first ones where there are many."""
        sample = self.rows[:SAMPLE_ROWS]
        counts = Counter(name for row in sample for name in row if name != LIST and name not in self.shared)
        usual = (name for name, count in counts.items() if 2 * count > len(sample))
        return list(islice(usual, MOST_COLUMNS))

    @cached_property
    def lines(self) -> list[str]:
        """Each row as a line of JSON."""
        return [self._line(row) for row in self.rows]

    def line(self, number: int, chars: int, shortener: Shortener) -> str:
        """A row in about so many characters, its longest values cut."""
        if len(self.lines[number]) <= chars:
            return self.lines[number]
        own = self._own(self.rows[number])
        if not self.columns:
            return written(shortener.shortened(own, chars)).decode()
        most = fair([len(written(value)) + 1 for value in own.values()], chars - 2)
        return self._line({name: shortener.shortened(value, most) for name, value in own.items()})

    def _own(self, row: Row) -> dict[str, Any]:
        return {name: value for name, value in row.items() if name not in self.shared}

    def _line(self, row: Row) -> str:
        if not self.columns:
            return written(self._own(row)).decode()
        return written([row.get(name, self.absent) for name in self.columns]).decode()


def rows_of(objects: Sequence[Row]) -> Rows:
    """The objects written in the shortest of the ways: as they are, as a table, as a table without depth."""
    sample = objects[:: max(1, len(objects) // SAMPLE_ROWS)]
    # A key with a dot in it could not be told from a key of an object inside.
    dotted = any("." in name for row in objects for name in _names(row, FLAT_DEPTH))
    ways = [_as_objects, _as_table] if dotted else [_as_objects, _as_table, _as_flat_table]
    return min(ways, key=lambda way: _size(way(sample)))(objects)


def condensed_rows(rows: Rows, frame: Any, text: str, budget: Budget, kind: ContentKind) -> Condensed | None:
    """All rows if they fit; else long values cut, then rows left out; `None` where no row has room.

    Args:
        rows: What there is.
        frame: What stands around the rows, as JSON in front of the table; `None` where nothing does.
        text: The original.
        budget: How much may be shown.
        kind: What the original is.
    """
    above = [] if frame is None else [written(frame).decode()]
    whole = "\n".join([*above, *rows.heading(rows.shared), *rows.lines])
    if fits(whole, budget):
        return Condensed(whole, kind)
    selection = _Selection(rows, budget)
    tokens_per_char = density(whole, budget)

    def made(chars: int) -> Condensed | None:
        shortener = Shortener(budget.terms)
        part = int(chars * ABOVE_SHARE)
        above = [] if frame is None else [written(shortener.shortened(frame, part)).decode()]
        above += rows.heading(shortener.shortened(rows.shared, part))
        room = chars - sum(len(line) + 1 for line in above)
        if room < ROW_CHARS:
            return None
        numbers, shown = selection.shown(room, shortener)
        body = "\n".join([*above, *shown])
        kept = f"{len(numbers):,} of {len(rows.rows):,} rows"
        left = len(rows.rows) - len(numbers)
        hidden = " and ".join(filter(None, [f"{left:,} rows" if left else "", shortener.hidden]))
        tokens = int(max(0, len(whole) - len(body)) * tokens_per_char)
        return Condensed(f"{body}\n{note(kept, hidden, tokens, budget.how)}", kind, kept, hidden)

    return fitted(made, whole, budget)


class _Selection:
    """Which rows are shown, and what is said of all of them."""

    def __init__(self, rows: Rows, budget: Budget) -> None:
        self._rows = rows
        self._sizes = [len(line) for line in rows.lines]
        self._summary: dict[str, str] = {}
        telling: list[tuple[int, int]] = []
        extremes: list[int] = []
        for name in rows.usual:
            values = [row.get(name, rows.absent) for row in rows.rows]
            telling += self._few(name, values)
            extremes += self._range(name, values)
        lines = Lines("\n".join(rows.lines))
        most = budget.max_tokens
        count = len(rows.rows)
        errors = lines.firsts(lines.ranked(severity).get("error", []))[:most]
        self._tiers = [
            Tier(from_both_ends(count, 3)),
            Tier(lines.about(budget.terms)[:most], share=0.35),
            Tier([number for _, number in sorted(telling)], share=0.2),
            Tier(errors, share=0.2),
            Tier(extremes, share=0.15),
            Tier(lines.firsts(range(count))[:most], share=0.2),
            Tier(spread(range(count), most)),
        ]

    def shown(self, room: int, shortener: Shortener) -> tuple[list[int], list[str]]:
        """The numbers of the rows that so many characters have room for, and the lines that are shown."""
        summary = self._summary_within(int(room * SUMMARY_SHARE))
        room -= len(summary) + 1
        longest = longest_row(self._sizes, room)
        numbers = chosen_rows([min(size, longest) for size in self._sizes], self._tiers, room)

        def row(number: int) -> str:
            return self._rows.line(number, longest, shortener)

        return numbers, [*with_gaps(numbers, len(self._sizes), row), *filter(None, [summary])]

    def _few(self, name: str, values: Sequence[Any]) -> list[tuple[int, int]]:
        """Count the values of a column that has few, and give each count with the first such row."""
        if len(set(map(written, values[:SAMPLE_ROWS]))) > FEW_VALUES:
            return []
        forms = list(map(written, values))
        counts = few(forms)
        if counts:
            said = ", ".join(f"{form.decode()} {count:,}" for form, count in counts.most_common())
            self._summary[name] = said
        return firsts(forms, counts)

    def _range(self, name: str, values: Sequence[Any]) -> list[int]:
        """Say the least and the greatest value of a column of numbers, and give their rows."""
        if not all(type(value) in (int, Number) for value in values):
            return []
        least, greatest = ends(values)
        said = f"{written(values[least]).decode()} to {written(values[greatest]).decode()}"
        self._summary.setdefault(name, said)
        return [least, greatest]

    def _summary_within(self, room: int) -> str:
        said = ""
        for column in map(": ".join, self._summary.items()):
            longer = f"{said}; {column}" if said else f"In all {len(self._sizes):,} rows: {column}"
            said = longer if len(longer) <= room else said
        return said


def _as_objects(objects: Sequence[Row]) -> Rows:
    return Rows(objects, (), _shared(objects))


def _as_table(objects: Sequence[Row]) -> Rows:
    names = dict.fromkeys(chain.from_iterable(objects))
    filled = sum(map(len, objects))
    if filled < FILLED * len(names) * len(objects):
        return _as_objects(objects)
    shared = _shared(objects)
    columns = [name for name in names if name not in shared]
    if filled == len(names) * len(objects):
        return Rows(objects, columns, shared)
    texts = {value for row in objects for value in row.values() if isinstance(value, str)}
    absent = next((sign for sign in ABSENT if sign not in texts), "")
    return Rows(objects, columns, shared, absent) if absent else _as_objects(objects)


def _as_flat_table(objects: Sequence[Row]) -> Rows:
    return replace(_as_table([dict(_flat(row, FLAT_DEPTH)) for row in objects]), flat=True)


def _shared(objects: Sequence[Row]) -> dict[str, Any]:
    """What is the same in all of several objects, in its spelling, too."""
    same = {
        name: value
        for name, value in objects[0].items()
        if all(name in row and row[name] == value for row in objects)
    }
    return {name: value for name, value in same.items() if len({written(row[name]) for row in objects}) == 1}


def _flat(row: Row, depth: int) -> Iterator[tuple[str, Any]]:
    """The values of an object and of those inside, each with the keys on the way to it."""
    for name, value in row.items():
        if depth and value and isinstance(value, dict):
            yield from ((f"{name}.{inner}", part) for inner, part in _flat(value, depth - 1))
        else:
            yield name, value


def _names(row: Row, depth: int) -> Iterator[str]:
    for name, value in row.items():
        yield name
        if depth and isinstance(value, dict):
            yield from _names(value, depth - 1)


def _size(rows: Rows) -> int:
    return sum(map(len, [*rows.heading(rows.shared), *rows.lines]))
