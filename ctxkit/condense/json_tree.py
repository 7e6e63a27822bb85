"""A JSON value as a shorter JSON value: all keys as long as there is room, and no value cut in half."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Any

from ctxkit.condense.base import Budget, Condensed, ContentKind, gap, note
from ctxkit.condense.choice import chosen_rows, with_gaps
from ctxkit.condense.fitting import fair, fitted
from ctxkit.condense.json_text import written
from ctxkit.condense.lines import Lines, Tier, clip, from_both_ends, severity
from ctxkit.condense.mentions import mentions
from ctxkit.condense.room import beginning, density

# Below this depth what does not fit is told by its size alone; so much room is left for what tells it.
DEEPEST = 12
SHAPE_CHARS = 24
# An item of a list is shown with at least so many characters, or not at all.
ITEM_CHARS = 120
# The names of keys that are left out take such a part of the room of an object.
NAMES_PART = 8
# No string is cut shorter.
SHORTEST = 12
# A string of more lines is cut by lines where it has so much room; no line takes more than such a part of it.
TEXT_LINES, TEXT_CHARS, TEXT_PART = 5, 300, 4
KEPT = "JSON of the same shape"


class Shortener:
    """Makes JSON values shorter, and counts what it hides.

    Every part of a value gets the same room, and what one does not need goes to the others. Of the items of
    a list that has no room for all, the first and the last are shown, and those that hold a term or an error.

    Args:
        terms: What the running question asks about, in lower case.

    Attributes:
        strings: How many strings were cut.
        items: How many items of lists were left out.
        keys: How many keys were left out, those inside what is told by its size alone not counted.
        parts: How many objects and lists are told by their size alone.
    """

    def __init__(self, terms: Iterable[str]) -> None:
        self._terms = [term.encode(errors="ignore") for term in sorted(terms)]
        self.strings = self.items = self.keys = self.parts = 0

    @property
    def hidden(self) -> str:
        """What was hidden so far, in words."""
        counts = [
            (self.keys, "keys"),
            (self.items, "items of lists"),
            (self.parts, "inner parts"),
            (self.strings, "parts of long strings"),
        ]
        return ", ".join(f"{count:,} {what}" for count, what in counts if count)

    def shortened(self, value: Any, chars: int, depth: int = 0) -> Any:
        """A value of the same kind that is written in about so many characters, or in as few as it can be."""
        if isinstance(value, str):
            return self._cut(value, chars)
        if not isinstance(value, (dict, list)) or len(written(value)) <= chars:
            return value
        if depth == DEEPEST or chars < 2 * SHAPE_CHARS:
            self.parts += 1
            return shape(value)
        return (
            self._object(value, chars, depth + 1)
            if isinstance(value, dict)
            else self._list(value, chars, depth + 1)
        )

    def _cut(self, text: str, chars: int) -> str:
        if len(written(text)) <= chars:
            return text
        if text.count("\n") >= TEXT_LINES and chars >= TEXT_CHARS:
            self.strings += 1
            return self._text(text, chars)
        # What has to be escaped takes more room than its characters.
        share = len(text) / len(written(text))
        keep = max(SHORTEST, int((chars - SHAPE_CHARS - 2) * share))
        hidden = len(text) - keep
        said = gap(hidden, "characters")
        if hidden <= len(said):
            return text
        self.strings += 1
        start = keep * 2 // 3
        return f"{text[:start]} {said} {text[start + hidden :]}"

    def _text(self, text: str, chars: int) -> str:
        """A longer text by lines: both ends, what the question asks about, and those that name something."""
        lines = Lines(text)
        count = len(lines.lines)
        longest = chars // TEXT_PART
        sizes = [min(len(written(line)), longest) for line in lines.lines]
        tiers = [
            Tier(from_both_ends(count, 2)),
            Tier(lines.about(term.decode() for term in self._terms)[:chars], share=0.3),
            Tier(mentions(lines.lines), share=0.6),
            Tier(range(count)),
        ]
        numbers = chosen_rows(sizes, tiers, chars)
        return "\n".join(
            with_gaps(numbers, count, lambda number: clip(lines.lines[number], longest), "lines")
        )

    def _object(self, value: dict[str, Any], chars: int, depth: int) -> dict[str, Any]:
        forms = [written(part) for part in value.values()]
        names = [len(written(key)) + 2 for key in value]
        least = [name + min(len(form), SHAPE_CHARS) for name, form in zip(names, forms, strict=True)]
        smallest = sorted(range(len(forms)), key=lambda number: least[number])
        room = chars - 2
        if sum(least) > room:
            room -= chars // NAMES_PART
        chosen = self._chosen(forms, least, room, smallest)
        self.keys += len(forms) - len(chosen)
        room -= sum(names[number] for number in chosen)
        most = fair([len(forms[number]) for number in chosen], room)
        parts = list(value.items())
        made = {key: self.shortened(part, most, depth) for key, part in (parts[number] for number in chosen)}
        if len(made) < len(parts):
            left = ", ".join(key for key in value if key not in made)
            made.setdefault(gap(len(parts) - len(made), "more keys"), left[: chars // NAMES_PART])
        return made

    def _list(self, value: list[Any], chars: int, depth: int) -> list[Any]:
        forms = [written(part) for part in value]
        least = [1 + min(len(form), ITEM_CHARS) for form in forms]
        ends = from_both_ends(len(forms), chars)
        chosen = self._chosen(forms, least, chars - 2, ends)
        self.items += len(forms) - len(chosen)
        most = fair([len(forms[number]) for number in chosen], chars - 2 - len(chosen))
        made: list[Any] = []
        after = 0
        for number in [*chosen, len(forms)]:
            if number > after:
                made.append(gap(number - after, "items" if number - after > 1 else "item"))
            if number < len(forms):
                made.append(self.shortened(value[number], most, depth))
            after = number + 1
        return made

    def _chosen(
        self, forms: Sequence[bytes], least: Sequence[int], room: int, others: Sequence[int]
    ) -> list[int]:
        """The numbers of those parts that there is room for, in order: first, last, what matters, others."""
        if sum(least) <= room:
            return list(range(len(forms)))
        room -= SHAPE_CHARS
        chosen = []
        ends = from_both_ends(len(forms), 2)
        for number in dict.fromkeys(chain(ends, self._wanted(forms, room), others)):
            if least[number] <= room:
                chosen.append(number)
                room -= least[number] + SHAPE_CHARS // 2
        return sorted(chosen)

    def _wanted(self, forms: Sequence[bytes], most: int) -> list[int]:
        """The numbers of what holds a term, and then of what tells of an error; at most so many of each."""
        lowered = [form.lower() for form in forms]
        about = (number for number, form in enumerate(lowered) if any(term in form for term in self._terms))
        errors = (number for number, form in enumerate(lowered) if severity(form) == "error")
        return [*islice(about, max(0, most)), *islice(errors, max(0, most))]


def as_tree(value: Any, short: str, text: str, budget: Budget, kind: ContentKind) -> Condensed:
    """A value that does not fit as a shorter one.

    Args:
        value: Of the text.
        short: It as JSON without white space.
        text: Its beginning stands for it where there is no room for a note.
        budget: How much may be shown.
        kind: What the text is.
    """
    tokens_per_char = density(short, budget)

    def made(chars: int) -> Condensed | None:
        if chars < 2 * SHAPE_CHARS:
            return None
        shortener = Shortener(budget.terms)
        shown = written(shortener.shortened(value, chars)).decode()
        tokens = int(max(0, len(short) - len(shown)) * tokens_per_char)
        said = note(KEPT, shortener.hidden, tokens, budget.how)
        return Condensed(f"{shown}\n{said}", kind, KEPT, shortener.hidden)

    return fitted(made, short, budget) or beginning(text, budget, kind)


def shape(value: dict[str, Any] | list[Any]) -> str:
    """How much an object or a list holds, in words."""
    what = "key" if isinstance(value, dict) else "item"
    return gap(len(value), what if len(value) == 1 else f"{what}s")
