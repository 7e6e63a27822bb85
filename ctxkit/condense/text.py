"""`condense_text`: prose and what has no other kind: start, end, errors, what the question asks about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ctxkit.condense.base import Budget, Condensed
from ctxkit.condense.lines import Lines, Tier, View, around, from_both_ends, severity
from ctxkit.condense.markdown import HEADING
from ctxkit.condense.mentions import mentions
from ctxkit.condense.room import fits

ENDS = 4
# A line that is longer is a paragraph, of which sentences can be shown one by one.
PARAGRAPH_CHARS = 400
SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=\S)|(?<=[。！？])")


def condense_text(text: str, budget: Budget) -> Condensed:
    """Shorten a text to its start, its end, what looks like errors, and what the question asks about.

    Each sentence of a long paragraph stands on a line of its own, which loses nothing.

    Args:
        text: Anything.
        budget: How much may be shown.
    """
    if fits(text, budget):
        return Condensed(text, "text")
    lines = Lines("\n".join(_sentences(text.split("\n"))))
    if fits(lines.text, budget):
        return Condensed(lines.text, "text")
    most = budget.max_tokens
    count = len(lines.lines)
    ranked = lines.ranked(severity)
    about = lines.about(budget.terms)[:most]
    errors = lines.firsts(ranked["error"])[:most]
    headings = [number for number, line in enumerate(lines.lines) if HEADING.match(line)]
    tiers = [
        Tier(from_both_ends(count, 2 * ENDS), share=0.3),
        Tier(about, share=0.3),
        Tier(errors, share=0.25),
        Tier(headings[:most], share=0.1),
        Tier(around(about, count, before=1, after=2), share=0.2),
        Tier(lines.firsts(ranked["warning"])[:most], share=0.1),
        Tier(around(errors, count, before=1, after=2), share=0.1),
        Tier(mentions(lines.lines)[:most], share=0.2),
        Tier(from_both_ends(count, most)),
    ]
    return View(lines, tiers, "text").fitted(text, budget)


def _sentences(lines: Sequence[str]) -> Iterator[str]:
    """The lines, and instead of each long one its sentences."""
    for line in lines:
        if len(line) > PARAGRAPH_CHARS:
            yield from SENTENCE_END.split(line)
        else:
            yield line
