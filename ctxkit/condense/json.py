"""`condense_json`: a nested JSON value as a shorter one of the same shape."""

from __future__ import annotations

from ctxkit.condense.base import Budget, Condensed
from ctxkit.condense.json_rows import condense_value


def condense_json(text: str, budget: Budget) -> Condensed:
    """Shorten JSON: no white space, then long strings, long lists and deep parts cut, each told by its size.

    Above the note stands one JSON value. Where most of it is a list of like objects, also some keys further
    in, it becomes a table as of `condense_json_rows`. What can't be read without a change, such as a key that
    stands twice, is shown as lines.

    Args:
        text: A JSON text.
        budget: How much may be shown.
    """
    return condense_value(text, budget, "json")
