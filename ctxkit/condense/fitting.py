"""How what is made of a number of characters is brought within a number of tokens, counting little."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxkit.condense.base import Budget, Condensed, ContentKind, note
from ctxkit.condense.lines import Lines, Tier, View, from_both_ends, severity
from ctxkit.condense.room import density

# How often a size is tried; one that fills so much of the budget is good enough; what the next one aims at.
LOOKS = 7
FULL, AIM = 0.93, 0.97
# As long as what a note says is.
WORDS = "1,000 rows and 100 parts of long strings"


def fitted(make: Callable[[int], Condensed | None], sample: str, budget: Budget) -> Condensed | None:
    """What is made of as many characters as the budget allows; `None` where nothing is.

    A few sizes are tried, the next one worked out from the count of the one before.

    Args:
        make: Makes something of about so many characters and a note; `None` where that is too few.
        sample: A text that has about as many tokens a character as what is made.
        budget: How much may be shown.
    """
    said = budget.tokens(note(WORDS, WORDS, budget.max_tokens, budget.how))
    room = budget.max_tokens - said
    chars = room / density(sample, budget)
    best: Condensed | None = None
    most = 0
    for _ in range(LOOKS):
        made = make(int(chars))
        if made is None:
            break
        tokens = budget.tokens(made.text)
        if most < tokens <= budget.max_tokens:
            best, most = made, tokens
        if most >= FULL * budget.max_tokens:
            break
        chars *= AIM * room / max(1, tokens - said)
    return best


def as_lines(text: str, budget: Budget, kind: ContentKind) -> Condensed:
    """The lines at both ends, those with errors, and what the question asks about: right for any text."""
    lines = Lines(text)
    most = budget.max_tokens
    tiers = [
        Tier(from_both_ends(len(lines.lines), 6)),
        Tier(lines.about(budget.terms)[:most], share=0.3),
        Tier(lines.firsts(lines.ranked(severity).get("error", []))[:most], share=0.3),
        Tier(from_both_ends(len(lines.lines), most)),
    ]
    return View(lines, tiers, kind).fitted(text, budget)


def fair(sizes: Sequence[int], room: int) -> int:
    """The most that each may take so that all have room together: what one leaves goes to the others."""
    left = room
    for rank, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - rank)
        if size > share:
            return max(0, share)
        left -= size
    return room
