"""What tells rows apart: columns of a few values, and the ends of a range of numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

Value = TypeVar("Value", str, bytes)

# A column with more values, or with longer ones, does not sort its rows into a few groups.
FEW_VALUES, LONGEST_VALUE = 8, 40
SAMPLE = 200


def few(values: Sequence[Value]) -> Counter[Value]:
    """How often each value of a column is there; empty for a column whose values are many or long."""
    if len(set(values[:SAMPLE])) > FEW_VALUES:
        return Counter()
    counts = Counter(values)
    fits = len(counts) <= FEW_VALUES and len(counts) < len(values)
    return counts if fits and max(map(len, counts)) <= LONGEST_VALUE else Counter()


def firsts(values: Sequence[Value], counts: Counter[Value]) -> list[tuple[int, int]]:
    """Each count with the place of the first such value: sorted, what is rarest comes first."""
    return [(count, values.index(value)) for value, count in counts.items()]


def ends(numbers: Sequence[float]) -> list[int]:
    """The places of the least and of the greatest number."""
    places = range(len(numbers))
    return [min(places, key=numbers.__getitem__), max(places, key=numbers.__getitem__)]
