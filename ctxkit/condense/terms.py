"""`terms`: what a question asks about, as words that can be looked for in a text."""

from __future__ import annotations

import re

QUESTION_CHARS = 4_000
MOST_TERMS = 40
SHORTEST = 3
# Paths, identifiers, versions, addresses: words that are tied together.
WORD = re.compile(r"\w[\w./:@#+-]*")
STOP_WORDS = frozenset(
    WORD.findall("""
    about after again all also and any are because been before being both but can could did does doing done
    each few find for from further get give had has have having here how into its just know let like list look
    make many may more most much must need not now off once only other our out over own please same see should
    show some such tell than that the their them then there these they this those through too under until use
    using very want was way were what when where which while who why will with would you your
    """)
)


def terms(question: str | None) -> frozenset[str]:
    """What a question asks about: its words in lower case, paths and identifiers whole, no common words.

    Args:
        question: The user's words; only the first 4,000 characters count. `None` asks about nothing.

    Returns:
        At most 40 terms, the first ones that stand in the question.
    """
    found: dict[str, None] = {}
    for word in WORD.findall((question or "")[:QUESTION_CHARS]):
        term = word.rstrip("./:@#+-").lower()
        if len(term) >= SHORTEST and term not in STOP_WORDS:
            found[term] = None
        if len(found) == MOST_TERMS:
            break
    return frozenset(found)
