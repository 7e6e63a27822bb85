"""`condense_traceback`: stack traces, and what compilers and linters report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from ctxkit.condense.base import Budget, Condensed
from ctxkit.condense.lines import Lines, Tier, View, around, from_both_ends, severity, spread
from ctxkit.condense.room import fits

REPORT = re.compile(r"([^\s:(]{1,400}+)[:(]\d+[:,]\d+")
# All in lower case, with 0 for each word that has a digit.
FRAME = re.compile(rb"\s+(?:file \"|at |0: |from |\S+\.\w+:0)|goroutine ")
FOREIGN = re.compile(
    rb"(?:site|dist)-packages|node_modules|node:|<frozen|/lib/python|/usr/(?:lib|local)|\.cargo/|java\.base|internal/"
)
TOTAL = re.compile(rb"\b0 (?:errors?|warnings?|problems?|issues?)\b|\bexit(?:ed)?\b.{0,20}\bcode 0")
LOCATION = re.compile(rb"\s*[^\s:(]*+[:(]0[:,]|\s+0:0\s")
FILE = re.compile(rb"(?=\S*[/\\])\S++$|--> ")


def condense_traceback(text: str, budget: Budget) -> Condensed:
    """Shorten stack traces and reports of compilers and linters to what went wrong, and where.

    The file of several reports in a row is said once, which loses nothing. Each different error and the
    totals come first, then frames of the user's own code, the outermost and the innermost before the
    others, then errors like those that are shown, warnings, and frames of libraries.

    Args:
        text: What an interpreter, a compiler or a linter printed.
        budget: How much may be shown.
    """
    if fits(text, budget):
        return Condensed(text, "traceback")
    lines = Lines("\n".join(_files_once(text.split("\n"))))
    if fits(lines.text, budget):
        return Condensed(lines.text, "traceback")
    ranked = lines.ranked(_rank)
    most = budget.max_tokens
    count = len(lines.lines)
    errors = lines.firsts(ranked["error"])[:most]
    frames = [ranked["frame"][place] for place in from_both_ends(len(ranked["frame"]), most)]
    tiers = [
        Tier(from_both_ends(count, 4)),
        Tier(lines.lasts(ranked["total"])[:most], share=0.1),
        Tier(lines.about(budget.terms)[:most], share=0.2),
        Tier(errors, share=0.4),
        Tier(spread(ranked["file"], most), share=0.15),
        Tier(around(frames, count, after=1), share=0.25),
        Tier(around(errors, count, before=1, after=3), share=0.2),
        Tier(spread(ranked["error"], most), share=0.4),
        Tier(lines.firsts(ranked["warning"])[:most], share=0.15),
        Tier(lines.firsts(ranked["plain"])[:most], share=0.2),
        Tier(from_both_ends(count, most)),
    ]
    return View(lines, tiers, "traceback").fitted(text, budget)


def _files_once(lines: Sequence[str]) -> Iterator[str]:
    """The lines, with the file of several reports in a row said once in front of them."""
    for path, group in groupby(lines, key=_file):
        reports = list(group)
        if path and len(reports) > 1:
            yield path
            reports = [report[len(path) :] for report in reports]
        yield from reports


def _file(line: str) -> str:
    """The file that a line reports of; empty where it is no report."""
    report = REPORT.match(line)
    return report[1] if report else ""


def _rank(form: bytes) -> str:
    if FRAME.match(form):
        return "foreign" if FOREIGN.search(form) else "frame"
    if TOTAL.search(form):
        return "total"
    kind = severity(form)
    if kind == "plain" and LOCATION.match(form):
        return "error"
    return "file" if kind == "plain" and FILE.match(form) else kind
