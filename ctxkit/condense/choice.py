"""Which of many rows are shown where there is no room for all, and what stands where some are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxkit.condense.base import gap
from ctxkit.condense.fitting import fair
from ctxkit.condense.lines import Tier

GAP_CHARS = 24
# A row is not cut below so many characters; others are left out before.
ROW_CHARS = 280
# Nor below what lets so many rows be shown.
ROWS_AT_LEAST = 12


def longest_row(sizes: Sequence[int], room: int) -> int:
    """The most characters of a row: what lets all be shown, but not so few that rows say nothing."""
    all_shown = fair([size + 1 for size in sizes], room) - 1
    return max(all_shown, min(ROW_CHARS, room // 2), room // ROWS_AT_LEAST)


def chosen_rows(sizes: Sequence[int], tiers: Sequence[Tier], room: int) -> list[int]:
    """The numbers of the rows that so many characters have room for, in order.

    Args:
        sizes: The characters of each row.
        tiers: What is wanted, the most important first.
        room: The characters of all that is shown.
    """
    if sum(sizes) + len(sizes) <= room:
        return list(range(len(sizes)))
    chosen: set[int] = set()
    used = 0
    for tier in tiers:
        limit = min(room, used + int(tier.share * room))
        for number in tier.numbers:
            gaps = number - 1 not in chosen and number + 1 not in chosen
            cost = sizes[number] + 1 + gaps * GAP_CHARS
            if number not in chosen and used + cost <= limit:
                chosen.add(number)
                used += cost
    return sorted(chosen)


def with_gaps(numbers: Sequence[int], count: int, row: Callable[[int], str], what: str = "rows") -> list[str]:
    """The rows of these numbers, and how many others are hidden where they are."""
    lines: list[str] = []
    after = 0
    for number in [*numbers, count]:
        if number > after:
            lines.append(gap(number - after, what if number - after > 1 else what.removesuffix("s")))
        if number < count:
            lines.append(row(number))
        after = number + 1
    return lines
