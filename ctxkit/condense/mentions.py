"""`mentions`: where what can be named is met for the first time: identifiers, paths, numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

WORD = re.compile(r"\w[\w./:@-]*+")
# What a line costs beside its characters.
LINE_CHARS = 24
NUMBER_DIGITS = 3


def mentions(lines: Sequence[str]) -> list[int]:
    """The numbers of the lines that name something for the first time, those that name most first.

    Args:
        lines: Of any text.
    """
    seen: set[str] = set()
    worth: dict[int, float] = {}
    for number, line in enumerate(lines):
        words = {word.rstrip("./:@-") for word in WORD.findall(line)}
        new = set(filter(_is_name, words - seen))
        if new:
            worth[number] = len(new) / (len(line) + LINE_CHARS)
            seen |= new
    return sorted(worth, key=lambda number: -worth[number])


def _is_name(word: str) -> bool:
    """Whether a word is such as `os.path.join`, `readFile`, `MAX_SIZE` or `1234`, and no plain word."""
    if word.isdigit():
        return len(word) >= NUMBER_DIGITS
    return not (len(word) == 1 or (word.isalpha() and word[1:].islower()))
