"""`condense_json_rows`: a list of like objects as a table, found in a JSON value wherever it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxkit.condense.base import Budget, Condensed, ContentKind, gap
from ctxkit.condense.fitting import as_lines
from ctxkit.condense.json_text import compact, written
from ctxkit.condense.json_tree import as_tree
from ctxkit.condense.room import fits
from ctxkit.condense.rows import LIST, Row, condensed_rows, rows_of

# A list of rows that takes at least such a part of a text is shown as a table.
MAIN_SHARE = 0.6
# How many keys may lead to it.
PATH_KEYS = 4


@dataclass(frozen=True, slots=True)
class Found:
    """A list of objects in a value.

    Attributes:
        rows: The objects.
        frame: The value with words in place of the list; `None` where it is nothing but the list.
    """

    rows: Sequence[Row]
    frame: Any = None


def condense_json_rows(text: str, budget: Budget) -> Condensed:
    """Shorten a list of like objects: no white space, keys said once, then fewer rows.

    The table loses nothing: each line is a JSON array of the values, the keys stand in front, and so does
    what is the same in all rows. Where that is not enough, long values are cut, and then rows are left out;
    the first and last, those with errors or of what the question asks about, rare values, the least and
    greatest numbers stay, and the values of columns that have few are counted over all rows.

    Args:
        text: A JSON array of objects, or an object with such an array in it.
        budget: How much may be shown.
    """
    return condense_value(text, budget, "json_rows")


def condense_value(text: str, budget: Budget, kind: ContentKind) -> Condensed:
    """JSON without white space, else as a table where most of it is rows, else as a shorter value."""
    if fits(text, budget):
        return Condensed(text, kind)
    try:
        values, short = compact(text)
    except ValueError:
        return as_lines(text, budget, kind)
    return condensed_values(values, short, text, budget, kind)


def condensed_values(
    values: list[Any],
    short: str,
    text: str,
    budget: Budget,
    kind: ContentKind,
    others: Mapping[str, str] | None = None,
) -> Condensed:
    """One or several values of a text that does not fit.

    Args:
        values: What there is.
        short: Each of them in a line, without white space.
        text: The original.
        budget: How much may be shown.
        kind: What the original is.
        others: What else stands in the text, each with a word on what it is.
    """
    if fits(short, budget):
        return Condensed(short, kind)
    value = values if len(values) > 1 else values[0]
    found = main_rows(value, int(MAIN_SHARE * len(short)))
    frame = others or (found and found.frame)
    made = condensed_rows(rows_of(found.rows), frame, text, budget, kind) if found else None
    return made or as_tree([others, *values] if others else value, short, text, budget, kind)


def main_rows(value: Any, least_chars: int) -> Found | None:
    """The largest list of objects in a value; `None` where none takes so many bytes.

    Args:
        value: Any JSON value.
        least_chars: The least size of the list, written without white space.
    """
    if not isinstance(value, dict):
        rows = _rows(value)
        return Found(rows) if rows else None
    lists = [(len(written(part)), path, rows) for path, part, rows in _lists(value, ())]
    size, path, rows = max(lists, key=lambda found: found[0], default=(0, (), []))
    return Found(rows, _framed(value, path, len(rows))) if rows and size >= least_chars else None


def _rows(value: Any) -> list[Row]:
    """A list of objects, or of lists of objects with the number of the list in each; empty for all else."""
    if not isinstance(value, list) or len(value) < 2:
        return []
    if all(isinstance(item, dict) for item in value):
        return value
    if not all(isinstance(item, list) and item for item in value):
        return []
    rows = [(number, row) for number, item in enumerate(value) for row in item]
    if not all(isinstance(row, dict) and LIST not in row for _, row in rows):
        return []
    return [{LIST: number, **row} for number, row in rows]


def _lists(value: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any, list[Row]]]:
    """Each list of objects below an object, and the keys that lead to it."""
    for key, part in value.items():
        if isinstance(part, dict) and len(path) < PATH_KEYS:
            yield from _lists(part, (*path, key))
        elif rows := _rows(part):
            yield (*path, key), part, rows


def _framed(value: dict[str, Any], path: Sequence[str], count: int) -> dict[str, Any]:
    key, *further = path
    inner = _framed(value[key], further, count) if further else gap(count, "rows, below")
    return {**value, key: inner}
