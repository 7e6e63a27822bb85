"""`condense_log`: what happened in a log, not how often it went well."""

from __future__ import annotations

import re

from ctxkit.condense.base import Budget, Condensed
from ctxkit.condense.lines import Lines, Tier, View, around, from_both_ends, severity, spread
from ctxkit.condense.room import fits

ENDS = 3
# Levels and status codes that are numbers, in lower case: 50 is an error in the logs of Bunyan and Pino.
# Each begins with letters to look for, which makes it quick.
NUMBERED = [
    re.compile(rb'"level":[456]0\b'),
    re.compile(rb'status(?:_?code)?"?[:= ]{1,3}[45]\d\d\b'),
    re.compile(rb'" [45]\d\d (?:\d|-)'),
]


def condense_log(text: str, budget: Budget) -> Condensed:
    """Shorten a log to its start and end, what the question asks about, one line of every form, and errors.

    Lines that differ only in numbers and ids have the same form. Errors come first and then warnings, rare
    forms before common ones, and numbers of an unusual size; what room is left is spread over the errors
    and goes to both ends.

    Args:
        text: The lines of a log.
        budget: How much may be shown.
    """
    if fits(text, budget):
        return Condensed(text, "log")
    lines = Lines(text)
    most = budget.max_tokens
    count = len(lines.lines)
    ranked = lines.ranked(severity)
    errors = sorted({*ranked["error"], *lines.matching(NUMBERED, most)})
    # Where ids differ in nearly every line, the sizes of numbers say nothing.
    sized = range(count) if len(set(lines.close)) < count // 4 else range(0)
    first_errors = lines.firsts(errors)[:most]
    tiers = [
        Tier(from_both_ends(count, 2 * ENDS)),
        Tier(lines.about(budget.terms)[:most], share=0.3),
        Tier(first_errors, share=0.4),
        Tier(lines.firsts(ranked["warning"])[:most], share=0.15),
        Tier(lines.firsts(range(count))[:most], share=0.2),
        Tier(lines.firsts(sized, close=True)[:most], share=0.1),
        Tier(lines.lasts(errors)[:most], share=0.1),
        Tier(around(first_errors, count, before=2, after=2), share=0.1),
        Tier(spread(errors, most), share=0.3),
        Tier(from_both_ends(count, most)),
    ]
    return View(lines, tiers, "log").fitted(text, budget)
