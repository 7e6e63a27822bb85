"""`reading`: what can be read in a text that holds more than that, such as a page or data."""

from __future__ import annotations

from ctxkit.condense.base import Budget, Condensed, ContentKind, note
from ctxkit.condense.room import density, fits


def reading(
    original: str, readable: str, budget: Budget, kind: ContentKind, *, kept: str, hidden: str
) -> Condensed | None:
    """All that can be read, with a note of what else there is; `None` where it has no room.

    Args:
        original: The whole text.
        readable: What can be read in it.
        budget: How much may be shown.
        kind: What the text is.
        kept: What is shown, in words.
        hidden: What is not, in words.
    """
    tokens = max(0, int((len(original) - len(readable)) * density(original, budget)))
    text = f"{readable}\n{note(kept, hidden, tokens, budget.how)}"
    return Condensed(text, kind, kept=kept, hidden=hidden) if fits(text, budget) else None
