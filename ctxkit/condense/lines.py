"""The engine of the kinds that are lines: which lines are shown, and what stands for the others.

A kind says what matters by tiers of line numbers; how a line looks is told by its form, so that each form is
judged once, however often it is repeated. What a kind looks like lives in the file of that kind.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, islice, pairwise

from ctxkit.condense.base import Budget, Condensed, ContentKind, gap, note
from ctxkit.condense.room import beginning, density
from ctxkit.condense.truncate import ENDINGS, WORDS

# How often a size is tried; one that fills so much of the budget is good enough; what the next one aims at.
LOOKS = 6
FULL, AIM = 0.93, 0.97
GAP_CHARS, NOTE_CHARS = 24, 200
NOTHING = "nothing"
# No line takes more than such a part of what there is, unless it is short.
LINE_PART, SHORTEST_CLIP = 6, 160
HITS_OF_A_TERM = 200

ZEROS = bytes.maketrans(b"0123456789", b"0" * 10)
# A word with a digit in it, in a form: an id, a time, a number.
VARIABLE = re.compile(rb"\b[^\W0]*+0\w*+")
ERROR_WORDS = [word for word in WORDS.split("|") if not word.startswith("warn")]
ERROR = re.compile(
    "|".join(
        [
            *(rf"{ending}s?\b" for ending in ENDINGS.split("|")),
            *(rf"{word}(?<=\b{word})\b" for word in ERROR_WORDS),
        ]
    ).encode()
)
WARNING = re.compile(rb"warn|deprecat|retry|slow|skipp")


@dataclass(frozen=True, slots=True)
class Tier:
    """Lines that are about equally worth showing.

    Attributes:
        numbers: The lines' numbers from 0, the most wanted first.
        share: The largest part of all that is shown which they may take.
    """

    numbers: Sequence[int]
    share: float = 1.0


class Lines:
    """The lines of a text and their forms.

    Attributes:
        text: The whole.
        lines: Without line ends.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")

    @cached_property
    def _lowered(self) -> bytes:
        return self.text.encode("utf-8", "surrogatepass").lower()

    @cached_property
    def close(self) -> list[bytes]:
        """The form of each line: in lower case, with 0 for each digit, so that magnitudes still show."""
        return self._lowered.translate(ZEROS).split(b"\n")

    @cached_property
    def loose(self) -> list[bytes]:
        """A form in which each word that has a digit is a single 0: the same for all lines of one origin."""
        distinct = list(set(self.close))
        forms = dict(zip(distinct, VARIABLE.sub(b"0", b"\n".join(distinct)).split(b"\n"), strict=True))
        return [forms[form] for form in self.close]

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(form) + 1 for form in self.close), initial=0))

    def ranked(self, rank: Callable[[bytes], str]) -> dict[str, list[int]]:
        """The numbers of the lines by the rank of their loose form, which is asked for once for each form."""
        ranks = {form: rank(form) for form in set(self.loose)}
        found: dict[str, list[int]] = defaultdict(list)
        for number, form in enumerate(self.loose):
            found[ranks[form]].append(number)
        return found

    def firsts(self, numbers: Sequence[int], *, close: bool = False) -> list[int]:
        """Of lines with the same form the first one, those of rare forms before the others."""
        forms = self.close if close else self.loose
        of_lines = [forms[number] for number in numbers]
        first = dict(zip(reversed(of_lines), reversed(numbers), strict=True))
        frequency = Counter(of_lines)
        return sorted(first.values(), key=lambda number: (frequency[forms[number]], number))

    def lasts(self, numbers: Sequence[int]) -> list[int]:
        """Of lines with the same loose form the last one, the very last before the others."""
        return sorted({self.loose[number]: number for number in numbers}.values(), reverse=True)

    def matching(self, patterns: Iterable[re.Pattern[bytes]], most: int) -> list[int]:
        """For each pattern the first lines in which it is found; it is looked for in lower case."""
        return [
            self._line_at(match.start())
            for pattern in patterns
            for match in islice(pattern.finditer(self._lowered), most)
        ]

    def about(self, terms: Iterable[str]) -> list[int]:
        """The lines that hold some of the terms, those with the rarest before the others."""
        weight: dict[int, float] = defaultdict(float)
        for term in sorted(terms):
            numbers = self._holding(term.encode("utf-8", "surrogatepass"))
            for number in numbers:
                weight[number] += 1 / len(numbers)
        return sorted(weight, key=lambda number: (-weight[number], number))

    def _holding(self, term: bytes) -> list[int]:
        """The lines that hold a term: so many from the start, and the last one."""
        found: dict[int, None] = {}
        place = self._lowered.find(term)
        while place >= 0 and len(found) < HITS_OF_A_TERM:
            number = self._line_at(place)
            found[number] = None
            place = self._lowered.find(term, self._starts[number + 1])
        if place >= 0:
            found[self._line_at(self._lowered.rfind(term))] = None
        return list(found)

    def _line_at(self, place: int) -> int:
        return bisect_right(self._starts, place) - 1


def severity(form: bytes) -> str:
    """What a line's form says of it: `error`, `warning` or `plain`."""
    if ERROR.search(form):
        return "error"
    return "warning" if WARNING.search(form) else "plain"


def spread(numbers: Sequence[int], most: int) -> list[int]:
    """At most so many of the numbers, in an order whose every beginning is spread over all of them."""
    order = dict.fromkeys([0, len(numbers) - 1] if numbers else [])
    parts = 2
    while len(order) < min(most, len(numbers)):
        order.update(dict.fromkeys(len(numbers) * part // parts for part in range(1, parts, 2)))
        parts *= 2
    return [numbers[index] for index in islice(order, most)]


def from_both_ends(count: int, most: int) -> list[int]:
    """The numbers below a count: first, last, second, last but one, and so on; at most so many."""
    pairs = ((index, count - 1 - index) for index in range(min(most, count + 1) // 2 + 1))
    return list(islice(dict.fromkeys(chain.from_iterable(pairs)), min(most, count)))


def around(numbers: Iterable[int], count: int, *, before: int = 0, after: int = 0) -> list[int]:
    """The numbers and those around them, below a count."""
    return [
        near for number in numbers for near in range(max(0, number - before), min(count, number + after + 1))
    ]


@dataclass(frozen=True, slots=True)
class View:
    """How the lines of a text are shown.

    Attributes:
        lines: What there is.
        tiers: What is wanted, the most important first.
        kind: What the text is.
        besides: What else is hidden in each line, in words.
        parts: Where a part of a text begins whose lines are numbered, so that one gap tells for all of it.
    """

    lines: Lines
    tiers: Sequence[Tier]
    kind: ContentKind
    besides: str = ""
    parts: frozenset[int] = frozenset()

    def fitted(self, original: str, budget: Budget) -> Condensed:
        """The lines of the first tiers that there is room for, in their old order, with a note at the end.

        A few sizes are tried, the next one worked out from the count of the one before. Where not even one
        line has room beside the note, the beginning of the original stands for it.
        """
        tokens_per_char = density(self.lines.text, budget)
        chars = budget.max_tokens / tokens_per_char
        best: Condensed | None = None
        most = 0
        for _ in range(LOOKS):
            made = self._shown(int(chars), budget.how, tokens_per_char)
            tokens = budget.tokens(made.text)
            if most < tokens <= budget.max_tokens:
                best, most = made, tokens
            if most >= FULL * budget.max_tokens or (best and best.lossless):
                break
            chars *= AIM * budget.max_tokens / tokens
        return best if best and best.kept != NOTHING else beginning(original, budget, self.kind)

    def _shown(self, max_chars: int, how: str, tokens_per_char: float) -> Condensed:
        """As much as about so many characters have room for."""
        total = len(self.lines.lines)
        room = max_chars - NOTE_CHARS
        longest = max(SHORTEST_CLIP, room // min(LINE_PART, total))
        longest = max(0, min(longest, room - 2 * GAP_CHARS - 1))
        numbers = self._filled(self._chosen(room, longest))
        text = "\n".join(self._with_gaps(numbers, longest))
        if text == self.lines.text and not self.besides:
            return Condensed(text, self.kind)
        kept = f"{len(numbers):,} of {total:,} lines" if numbers else NOTHING
        parts = [f"{total - len(numbers):,} lines" if len(numbers) < total else "", self.besides]
        hidden = " and ".join(filter(None, parts)) or "parts of long lines"
        tokens = int(max(0, len(self.lines.text) - len(text)) * tokens_per_char)
        return Condensed(f"{text}\n{note(kept, hidden, tokens, how)}", self.kind, kept=kept, hidden=hidden)

    def _chosen(self, max_chars: int, longest: int) -> list[int]:
        """The numbers of the lines that so many characters have room for, in order."""
        lines = self.lines.lines
        chosen: set[int] = set()
        used = 0
        for tier in self.tiers:
            limit = min(max_chars, used + int(tier.share * max_chars))
            for number in tier.numbers:
                if number in chosen:
                    continue
                beside = self.parts or number - 1 in chosen or number + 1 in chosen
                gaps = (not beside) + (len(lines[number]) > longest)
                cost = min(len(lines[number]), longest) + 1 + gaps * GAP_CHARS
                if used + cost <= limit:
                    chosen.add(number)
                    used += cost
        return sorted(chosen)

    def _filled(self, chosen: Sequence[int]) -> list[int]:
        """The chosen numbers and those between them that take no more room than a gap would."""
        lines = self.lines.lines
        numbers: list[int] = []
        for before, number in pairwise([-1, *chosen, len(lines)]):
            between = range(before + 1, number)
            if sum(len(lines[hidden]) + 1 for hidden in between[:GAP_CHARS]) <= GAP_CHARS:
                numbers.extend(between[:GAP_CHARS])
            numbers.append(number)
        return numbers[:-1]

    def _with_gaps(self, numbers: Sequence[int], longest: int) -> Iterator[str]:
        """The lines of these numbers, and how many others are hidden where they are."""
        lines = self.lines.lines
        hidden = after = 0
        for number in (*numbers, len(lines)):
            hidden += number - after
            if hidden and (not self.parts or number in self.parts or number == len(lines)):
                yield gap(hidden, "lines" if hidden > 1 else "line")
                hidden = 0
            if number < len(lines):
                yield clip(lines[number], longest)
            after = number + 1


def clip(line: str, max_chars: int) -> str:
    """A line, or the start and the end of one that is longer."""
    hidden = len(line) - max_chars
    if hidden <= 0:
        return line
    start = max_chars * 2 // 3
    return f"{line[:start]} {gap(hidden, 'characters')} {line[start + hidden :]}"
