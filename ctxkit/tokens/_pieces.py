"""Any string made safe and quick to tokenize: valid Unicode, no endless runs, pieces of a bounded length."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

PIECE_CHARS = 200_000

# Where a text can be cut so that the tokens of its parts are those of the whole, for both encodings: between
# a letter and what can't continue a word, in front of a space, and after a newline, unless whitespace or a
# slash follows. Left of such a place a piece of the encoding's pattern always ends, and none looks behind.
_PLACE = (
    r"(?<=[A-Za-z])(?=[0-9])"
    r"|(?<=[^\W\d_])(?=[\t\n\r -&(-/:-@\[-`{-~，。、：；！？「」])"
    r"|(?<=[!-~])(?= )"
    r"|(?<=\n)(?=[^\s/])"
)
_FIRST_PLACE = re.compile(_PLACE)
_LAST_PLACE = re.compile(rf"(?s:.+)(?:{_PLACE})")
_PIECES = re.compile(rf"(?s:.{{1,{PIECE_CHARS}}})(?:{_PLACE})|(?s:.{{1,{PIECE_CHARS}}})")
_SURROGATES = re.compile("[\ud800-\udfff]")

# A run of one character that is at least twice a window long holds a whole window.
WINDOW = 4_096
# In a run, tokens of the same length follow one another, but for its ends; so long a part of it is as many
# tokens wherever it is cut out.
PERIOD = 384
END_CHARS = 2 * PERIOD


def readable(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, which no encoding has a token for."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text)
    return text


def pieces(text: str) -> Iterable[str]:
    """The text in pieces of at most 200,000 characters, cut where that changes no count, if anywhere."""
    return _PIECES.findall(text) if len(text) > PIECE_CHARS else filter(None, (text,))


def first_place(text: str, start: int, stop: int) -> int | None:
    """The first place between two positions at which a cut changes no count."""
    found = _FIRST_PLACE.search(text, start, stop)
    return found.start() if found else None


def last_place(text: str, start: int, stop: int) -> int | None:
    """The last place between two positions at which a cut changes no count."""
    found = _LAST_PLACE.match(text, start, stop)
    return found.end() if found else None


def shortened(text: str) -> tuple[str, list[tuple[str, int]]]:
    """The text with its long runs of one character made short.

    Returns:
        The shorter text, and for each run its character and how many times `PERIOD` of it were left out.
    """
    parts: list[str] = []
    left_out: list[tuple[str, int]] = []
    position = 0
    for start, stop in _runs(text):
        periods = (stop - start - END_CHARS) // PERIOD
        parts.append(text[position : stop - periods * PERIOD])
        left_out.append((text[start], periods))
        position = stop
    return "".join((*parts, text[position:])), left_out


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Where the runs of one character are that are at least two windows long, and some shorter ones."""
    stop = 0
    for window in range(0, len(text) - WINDOW + 1, WINDOW):
        if window < stop:
            continue
        character = text[window]
        if (
            text[window + WINDOW - 1] == character
            and text.count(character, window, window + WINDOW) == WINDOW
        ):
            start = stop + len(text[stop:window].rstrip(character))
            stop = _end_of_run(text, window + WINDOW)
            yield start, stop


def _end_of_run(text: str, position: int) -> int:
    run = text[position - 1] * WINDOW
    while text.startswith(run, position):
        position += WINDOW
    rest = text[position : position + WINDOW]
    return position + len(rest) - len(rest.lstrip(run[0]))
