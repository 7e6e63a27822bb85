"""`condense_markdown`: a document as its headings, with the sections that the question asks about."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, zip_longest

from ctxkit.condense.base import Budget, Condensed, ContentKind
from ctxkit.condense.lines import Lines, Tier, View, around, from_both_ends, spread
from ctxkit.condense.mentions import mentions
from ctxkit.condense.room import fits

# Headings, lines that stand for one, and what names each of several documents in one text.
HEADING = re.compile(
    r"(#{1,6}) \S|={3,} \S.*={3,}$|\*\*[^*]{1,80}\*\*:?$|(?:file|path|source|title|url): ", re.IGNORECASE
)
DEEPEST = 7
FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
SECTION_LINES, TOKENS_PER_SPARE = 60, 100


class Document:
    """The lines of a document, and how they belong together.

    Attributes:
        lines: What there is.
        headings: The numbers of the headings, and of the beginning.
        levels: How deep each heading is, from 1.
        fences: For each line inside a fence of code the numbers of the two lines that enclose it.
        spare: The lines that are shown only where there is room for everything else.
    """

    def __init__(self, lines: Lines, spare: frozenset[int] = frozenset()) -> None:
        self.lines = lines
        self.spare = spare
        self.levels: dict[int, int] = {}
        self.fences: dict[int, tuple[int, int]] = {}
        opened, sign = -1, ""
        for number, line in enumerate(lines.lines):
            fence = FENCE.match(line)
            if sign:
                if fence and fence[1].startswith(sign) and line.strip() == fence[1]:
                    self.fences.update(dict.fromkeys(range(opened, number + 1), (opened, number)))
                    sign = ""
            elif fence:
                opened, sign = number, fence[1]
            elif heading := HEADING.match(line):
                self.levels[number] = len(heading[1] or "#" * DEEPEST)
        self.headings = sorted({0, *self.levels} - spare)

    @cached_property
    def own(self) -> list[int]:
        """The lines that are not blank and not spare."""
        lines = self.lines.lines
        return [number for number, line in enumerate(lines) if line.strip() and number not in self.spare]

    def sections(self) -> dict[int, list[int]]:
        """The own lines below each heading, down to the next one."""
        found: dict[int, list[int]] = {heading: [] for heading in self.headings}
        for number in self.own:
            heading = self._heading(number)
            if number != heading:
                found[heading].append(number)
        return found

    def below_headings(self, numbers: Iterable[int]) -> Iterator[int]:
        """The lines, each one behind the number of its heading."""
        for number in numbers:
            yield self._heading(number)
            yield number

    def _heading(self, number: int) -> int:
        return self.headings[max(0, bisect_right(self.headings, number) - 1)]


@dataclass(frozen=True)
class DocumentView(View):
    """How a document is shown.

    Attributes:
        fences: For each line inside a fence of code the two lines that enclose it, which are shown with it.
    """

    fences: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, document: Document, kind: ContentKind, budget: Budget, *, besides: str = "") -> DocumentView:
        """The view of a document that shows what matters within a budget."""
        tiers = _tiers(document, budget)
        return cls(document.lines, tiers, kind, besides=besides, fences=document.fences)

    def _filled(self, chosen: Sequence[int]) -> list[int]:
        enclosing = {fence for number in chosen for fence in self.fences.get(number, ())}
        return super()._filled(sorted({*chosen, *enclosing}))


def condense_markdown(text: str, budget: Budget) -> Condensed:
    """Shorten a document to its headings, the sections that the question asks about, and how others begin.

    Code keeps the lines that enclose it, and lines that name something (identifiers, paths, numbers) come
    before others; what room is left goes to all sections evenly.

    Args:
        text: Markdown, or several documents in one text.
        budget: How much may be shown.
    """
    if fits(text, budget):
        return Condensed(text, "markdown")
    return DocumentView.of(Document(Lines(text)), "markdown", budget).fitted(text, budget)


def _tiers(document: Document, budget: Budget) -> list[Tier]:
    most = budget.max_tokens
    lines, own, headings = document.lines, document.own, document.headings
    about = lines.about(budget.terms)[:most]
    near = around(about, len(lines.lines), before=1, after=2)
    sections = document.sections()
    filled = [section for section in sections.values() if section]
    asked = [number for heading in about for number in sections.get(heading, ())[:SECTION_LINES]]
    firsts = [section[0] for section in filled]
    telling = (number for number in mentions(lines.lines) if number not in document.spare)
    turns = (number for turn in zip_longest(*filled) for number in turn if number is not None)

    def below_headings(numbers: Iterable[int]) -> list[int]:
        return list(islice(document.below_headings(numbers), 2 * most))

    return [
        Tier([own[place] for place in from_both_ends(len(own), 2)]),
        Tier(sorted(spread(headings, most), key=lambda number: document.levels.get(number, 0)), share=0.6),
        Tier(below_headings(asked), share=0.35),
        Tier(below_headings(about), share=0.2),
        Tier(near, share=0.15),
        Tier(spread(firsts, most), share=0.1),
        Tier(below_headings(telling), share=0.3),
        Tier(below_headings(turns)),
        Tier(spread(sorted(document.spare), most // TOKENS_PER_SPARE)),
    ]
