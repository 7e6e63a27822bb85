"""`condense_ndjson`: a JSON value in each line, as logs and exports have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxkit.condense.base import Budget, Condensed
from ctxkit.condense.fitting import as_lines
from ctxkit.condense.json_rows import condensed_values
from ctxkit.condense.json_text import compact
from ctxkit.condense.room import fits

# How large a part of the lines may be no JSON.
MOST_BROKEN = 0.2


def condense_ndjson(text: str, budget: Budget) -> Condensed:
    """Shorten lines of JSON: no white space, keys said once, then fewer rows.

    A few lines may be no JSON: where the rows become a table, they stand above it, each with its number.
    What else holds is told at `condense_json_rows`.

    Args:
        text: A JSON value in each line.
        budget: How much may be shown.
    """
    if fits(text, budget):
        return Condensed(text, "ndjson")
    try:
        values, short = compact(text)
    except ValueError:
        return _mixed(text.split("\n"), text, budget)
    return condensed_values(values, short, text, budget, "ndjson")


def _mixed(lines: Sequence[str], text: str, budget: Budget) -> Condensed:
    """What is made of lines of which some are no JSON."""
    values: list[Any] = []
    short: list[str] = []
    others: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        try:
            found, said = compact(line)
        except ValueError:
            found, said = [], line
            others[f"line {number:,} is no JSON"] = line
        values += found
        short.append(said)
    if len(others) > MOST_BROKEN * len(lines):
        return as_lines(text, budget, "ndjson")
    return condensed_values(values, "\n".join(short), text, budget, "ndjson", others)
