"""Whether a text has room in a budget, told by counting as little of it as is needed."""

from __future__ import annotations

from ctxkit.condense.base import Budget, Condensed, ContentKind
from ctxkit.tokens import head

# A text that is longer than this for each token is only counted whole if its beginning does not tell already.
CHARS_PER_TOKEN = 8
# How far the count of a beginning must be over the budget so that the whole can't be within it.
SURELY_OVER = 1.25
SAMPLE_CHARS = 3_000


def fits(text: str, budget: Budget) -> bool:
    """Whether a text keeps within the budget; of a long one only a part is counted where that tells."""
    beginning = text[: CHARS_PER_TOKEN * budget.max_tokens]
    if len(beginning) < len(text) and budget.tokens(beginning) > SURELY_OVER * budget.max_tokens:
        return False
    return budget.fits(text)


def density(text: str, budget: Budget) -> float:
    """About how many tokens a character of a text has."""
    places = {0, max(0, (len(text) - SAMPLE_CHARS) // 2), max(0, len(text) - SAMPLE_CHARS)}
    sample = "".join(text[place : place + SAMPLE_CHARS] for place in sorted(places))
    return max(1, budget.tokens(sample)) / max(1, len(sample))


def beginning(text: str, budget: Budget, kind: ContentKind) -> Condensed:
    """What is left where there is no room for a note: the longest beginning that fits."""
    shown = head(text, budget.max_tokens, budget.counter)
    return Condensed(shown, kind, kept="the beginning", hidden="the rest")
