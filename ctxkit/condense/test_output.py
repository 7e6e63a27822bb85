"""`condense_test_output`: what a test runner printed: what failed and why, and how many passed."""

from __future__ import annotations

import re

from ctxkit.condense.base import Budget, Condensed
from ctxkit.condense.lines import Lines, Tier, View, around, from_both_ends, severity, spread
from ctxkit.condense.room import fits

AFTER_FAILURE = 8
# All in lower case, with 0 for each word that has a digit.
TOTAL = re.compile(
    rb".*\b0 (?:passed|failed|passing|failing|pending|skipped|errors?|tests?|examples|assertions|problems)\b"
    rb"|(?:tests?|test suites|test result|snapshots|failures|time):\s|={3,} .*={3}$"
    rb"|(?:ok|fail)\s+\S+\s+0s?\b"
)
FAILURE = re.compile(
    (
        r"\s*(?:--- fail|fail(?:ed|ure)?\b|error\b|not ok|✗|✖|×|✘|e  |>  |0\) )"
        r"|.*\b(?:failed|fail|error)$|.*\.\.\. (?:failed|fail|error)\b|.*\bfailed *\["
    ).encode()
)
PASSED = re.compile(
    (
        r"\s*(?:--- (?:pass|skip)|=== |ok\b|pass(?:ed)?\b|✓|✔|\? |\?\t)"
        r"|.*\.\.\. ok$|.*\bpassed(?: *\[.*)?$"
    ).encode()
)


def condense_test_output(text: str, budget: Budget) -> Condensed:
    """Shorten what a test runner printed: failures, what they say, and totals before what passed.

    Args:
        text: The output of any test runner.
        budget: How much may be shown.
    """
    if fits(text, budget):
        return Condensed(text, "test_output")
    lines = Lines(text)
    ranked = lines.ranked(_rank)
    most = budget.max_tokens
    count = len(lines.lines)
    failures = spread(ranked["failure"], most)
    tiers = [
        Tier(from_both_ends(count, 8)),
        Tier(spread(ranked["total"], most), share=0.15),
        Tier(failures, share=0.3),
        Tier(lines.about(budget.terms)[:most], share=0.15),
        Tier(lines.firsts(ranked["error"])[:most], share=0.25),
        Tier(around(failures, count, after=AFTER_FAILURE), share=0.4),
        Tier(around(lines.firsts(ranked["error"])[:most], count, before=2, after=3), share=0.2),
        Tier(spread(ranked["error"], most), share=0.2),
        Tier(lines.firsts(ranked["warning"])[:most], share=0.1),
        Tier(lines.firsts(ranked["plain"])[:most], share=0.2),
        Tier(spread(ranked["passed"], most), share=0.1),
        Tier(from_both_ends(count, most)),
    ]
    return View(lines, tiers, "test_output").fitted(text, budget)


def _rank(form: bytes) -> str:
    if TOTAL.match(form):
        return "total"
    if FAILURE.match(form):
        return "failure"
    return "passed" if PASSED.match(form) else severity(form)
