"""`condense_search_hits`: what grep, ripgrep and their kin found, every file named once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice, zip_longest

from ctxkit.condense.base import Budget, Condensed
from ctxkit.condense.lines import Lines, Tier, View, around, from_both_ends, spread
from ctxkit.condense.room import fits

SEPARATOR = "--"
# `path:12:text`, or `path:text` where lines are not numbered; context stands as `path-12-text`.
PATH_CHARS = 400
HIT = re.compile(rf"((?:[A-Za-z]:)?[^:\n]{{1,{PATH_CHARS}}}+):(\d+:)")
CONTEXT = re.compile(rf"([^\s:][^\n]{{0,{PATH_CHARS}}}?)-(\d+-)")
UNNUMBERED = re.compile(rf"((?=[^\s:]{{0,{PATH_CHARS}}}[./])[^\s:]{{1,{PATH_CHARS}}}+):()")
NUMBERED = re.compile(r"\d+[:-]")
AFTER_DEFINITION = 12
DEFINITION = re.compile(
    r"\d*:?\s*(?:export |default |public |private |static |abstract |async |pub )*"
    r"(?:class|const|def|enum|fn|func|function|impl|interface|struct|trait|type) "
)


@dataclass(slots=True)
class _Grouped:
    """Search hits with each path said once, as a heading.

    Attributes:
        shown: The lines: headings, hits, context, and what is neither.
        headings: The numbers of the headings.
        hits: The numbers of the hits, one list for each heading; the first one for hits before any.
        path: Of the file that is under way.
    """

    shown: list[str] = field(default_factory=list)
    headings: list[int] = field(default_factory=list)
    hits: list[list[int]] = field(default_factory=lambda: [[]])
    path: str = ""

    def add(self, line: str) -> None:
        """Take the next line of the original."""
        size = len(self.path)
        if not self.path or not line.startswith(self.path) or not NUMBERED.match(line, size + 1):
            path, rest = _split(line)
            if path:
                self._go_to(path)
        else:
            rest = line[size + 1 :]
        numbered = NUMBERED.match(rest)
        if numbered[0].endswith(":") if numbered else rest != line:
            self.hits[-1].append(len(self.shown))
        self.shown.append(rest)

    def _go_to(self, path: str) -> None:
        """Say a path, unless it is another way to say the last one: some tools say both in turn."""
        if path == self.path or self.path.endswith(f"/{path}"):
            return
        if path.endswith(f"/{self.path}") and self.headings:
            self.shown[self.headings[-1]] = path
        else:
            if self.shown[-1:] == [SEPARATOR]:
                self.shown.pop()
            self.headings.append(len(self.shown))
            self.hits.append([])
            self.shown.append(path)
        self.path = path


def condense_search_hits(text: str, budget: Budget) -> Condensed:
    """Shorten search hits: paths once, then less context, then hits spread over the files.

    Each file's path becomes a heading, which loses nothing. Where that is not enough, all files stay named
    as long as there is room; definitions and what the question asks about come before other hits, each file's
    first hit before its second, and hits before the lines around them.

    Args:
        text: Lines as `path:12:text`, with or without lines of context.
        budget: How much may be shown.
    """
    if fits(text, budget):
        return Condensed(text, "search_hits")
    grouped = _Grouped()
    for line in text.split("\n"):
        grouped.add(line)
    lines = Lines("\n".join(grouped.shown))
    if fits(lines.text, budget):
        return Condensed(lines.text, "search_hits")
    tiers, parts = _tiers(lines, grouped, budget), frozenset(grouped.headings)
    return View(lines, tiers, "search_hits", parts=parts).fitted(text, budget)


def _split(line: str) -> tuple[str, str]:
    """The path of a line and the rest of it; no path where the line has none."""
    found = None if NUMBERED.match(line) else HIT.match(line) or CONTEXT.match(line) or UNNUMBERED.match(line)
    return (found[1], line[found.start(2) :]) if found else ("", line)


def _tiers(lines: Lines, grouped: _Grouped, budget: Budget) -> list[Tier]:
    most = budget.max_tokens
    count = len(lines.lines)
    hits = [number for of_file in grouped.hits for number in of_file]
    definitions = [number for number in hits if DEFINITION.match(lines.lines[number])]
    turns = (number for turn in zip_longest(*grouped.hits) for number in turn if number is not None)
    in_turn = list(islice(turns, most))
    return [
        Tier(from_both_ends(count, 2)),
        Tier(spread(grouped.headings, most), share=0.5),
        Tier(lines.about(budget.terms)[:most], share=0.2),
        Tier(spread(definitions, most), share=0.3),
        Tier(in_turn, share=0.4),
        Tier(around(spread(definitions, most), count, before=1, after=AFTER_DEFINITION), share=0.4),
        Tier(in_turn, share=0.4),
        Tier(around(spread(hits, most), count, before=1, after=2)),
        Tier(from_both_ends(count, most)),
    ]
