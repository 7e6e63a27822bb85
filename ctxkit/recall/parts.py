"""Parts of a long text: a range of lines, or the lines that a search finds, bounded by tokens.

Every answer that is not the whole text begins with a line that says what it is and how to go on. Time is
linear in the text, whatever is searched for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxkit.condense.base import NOTE, plain
from ctxkit.recall.search import Search
from ctxkit.tokens import Counter
from ctxkit.tokens.cut import head

# What the first line of an answer may take.
NOTE_TOKENS = 60
# Of a longer line a search shows what stands around each place.
LINE_CHARS = 400
BEFORE_CHARS = 100
# No token of a text that is worth reading is longer.
MOST_CHARS_PER_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Part:
    """What of a text is asked for.

    Attributes:
        first_line: The first line, from 1.
        last_line: The last line; `None` for the end of the text.
        search: What a line must hold to be shown; empty for every line.
        first_char: The first character of the first line, from 1.
    """

    first_line: int = 1
    last_line: int | None = None
    search: str = ""
    first_char: int = 1

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Part:
        """The part that a model's arguments ask for; what can't be read is left out."""
        search = given.get("search")
        first = max(_whole(given.get("first_line")) or 1, 1)
        last = _whole(given.get("last_line"))
        return cls(
            first,
            None if last is None else max(last, first),
            search if isinstance(search, str) else "",
            max(_whole(given.get("first_char")) or 1, 1),
        )


def read(text: str, part: Part, *, max_tokens: int, counter: Counter) -> str:
    """A part of a text; the text itself where all of it is asked for and fits.

    Args:
        text: The whole text. What could pass for a note of ours in it is defused.
        part: What is asked for.
        max_tokens: The most tokens of what comes back; at least 100.
        counter: Counts them.
    """
    text = plain(text)
    if part == Part() and len(head(text, max_tokens, counter)) == len(text):
        return text
    lines = text.split("\n")
    if part.first_line > len(lines):
        return f"{NOTE}the text ends with line {len(lines)}]"
    search = Search.of(part.search, text)
    room = max_tokens - NOTE_TOKENS
    if search is None:
        return _range(lines, part, room, counter)
    return _found(lines, part, search, room, counter)


def _range(lines: Sequence[str], part: Part, room: int, counter: Counter) -> str:
    last = min(part.last_line or len(lines), len(lines))
    wanted = "\n".join(lines[part.first_line - 1 : last])[part.first_char - 1 :]
    shown = head(wanted, room, counter)
    if len(shown) == len(wanted):
        return f"{NOTE}lines {part.first_line} to {last} of {len(lines)}]\n{shown}"
    whole, newline, _ = shown.rpartition("\n")
    if newline:
        last = part.first_line + whole.count("\n")
        said = f"lines {part.first_line} to {last} of {len(lines)}; go on with first_line={last + 1}"
        return f"{NOTE}{said}]\n{whole}"
    char = part.first_char + len(shown)
    said = f"a part of line {part.first_line} of {len(lines)}"
    return f"{NOTE}{said}; go on with first_line={part.first_line}, first_char={char}]\n{shown}"


@dataclass(frozen=True, slots=True)
class _Hit:
    """A place that a search found: its line and its first character there, both from 1, and what to show."""

    line: int
    char: int
    text: str


def _found(lines: Sequence[str], part: Part, search: Search, room: int, counter: Counter) -> str:
    hits = _hits(lines, part, search)
    taken: list[_Hit] = []
    chars = 0
    while chars < room * MOST_CHARS_PER_TOKEN and (hit := next(hits, None)):
        taken.append(hit)
        chars += len(hit.text)
    if not taken:
        return f"{NOTE}nothing has that in it: a search is for plain text, with | between alternatives]"
    spelled = "\n".join(hit.text for hit in taken)
    shown = head(spelled, room, counter)
    if len(shown) == len(spelled):
        rest = next(hits, None)
    else:
        # The last one was cut, and is shown again, but for one that never fits.
        count = max(shown.count("\n"), 1)
        shown, rest, taken = "\n".join(shown.split("\n")[:count]), (*taken, None)[count], taken[:count]
    more = "no more" if rest is None else f"go on with {_from(rest)}"
    return f"{NOTE}hits: {len(taken)}, {more}]\n{shown}"


def _hits(lines: Sequence[str], part: Part, search: Search) -> Iterator[_Hit]:
    """Every line that is short enough, and what stands around every place of the others."""
    last = min(part.last_line or len(lines), len(lines))
    for number in range(part.first_line, last + 1):
        line, end = lines[number - 1], 0
        start = part.first_char - 1 if number == part.first_line else 0
        for place in search.places(line, start, LINE_CHARS):
            if len(line) <= LINE_CHARS:
                yield _Hit(number, 1, f"{number}: {line}")
                break
            begin = max(place - BEFORE_CHARS, end)
            end = place + LINE_CHARS - BEFORE_CHARS
            yield _Hit(number, place + 1, f"{number}, character {begin + 1}: {line[begin:end]}")


def _from(hit: _Hit) -> str:
    return f"first_line={hit.line}" + (f", first_char={hit.char}" if hit.char > 1 else "")


def _whole(value: Any) -> int | None:
    """A whole number, also where a model wrote it as a text."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return value if isinstance(value, int) else None
