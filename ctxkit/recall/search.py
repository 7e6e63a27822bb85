"""What a model may search for: plain text, alternatives, and gaps, all in time that is linear in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

SEARCH_CHARS = 200
_ALTERNATIVE = re.compile(r"(?<!\\)\|")
_GAP = re.compile(r"(?<!\\)\.[*+]\??")
_BOUNDARY = re.compile(r"\\b")
_ESCAPED = re.compile(r"\\(\W)")

_Pieces = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Search:
    """Finds what holds all pieces of one of several alternatives, in their order; case is ignored."""

    alternatives: tuple[_Pieces, ...]

    @classmethod
    def of(cls, said: str, text: str) -> Search | None:
        """The search that a model asks for; `None` where it asks for everything.

        What stands in the text as it is spelled is searched for as such. Else `|` stands between
        alternatives, `.*` for any gap, and a backslash for the sign behind it, as in regular expressions.
        """
        said = _lower(said[:SEARCH_CHARS])
        if said in _lower(text):
            return cls(((said,),)) if said else None
        alternatives = tuple(_pieces(one) for one in _ALTERNATIVE.split(said))
        return cls(alternatives) if all(alternatives) else None

    def places(self, line: str, start: int, distance: int) -> Iterator[int]:
        """Where a line has what is searched for, from a character on, at least so many characters apart."""
        line = _lower(line)
        found = dict.fromkeys(self.alternatives, start - 1)
        while found:
            found = {
                pieces: place
                for pieces, before in found.items()
                if (place := before if before >= start else _place(pieces, line, start)) >= 0
            }
            if found:
                yield (nearest := min(found.values()))
                start = nearest + distance


def _pieces(said: str) -> _Pieces:
    pieces = (_ESCAPED.sub(r"\1", _BOUNDARY.sub("", piece)) for piece in _GAP.split(said))
    return tuple(piece for piece in pieces if piece)


def _place(pieces: _Pieces, line: str, start: int) -> int:
    """Where the pieces begin that follow each other in a line; -1 where they don't."""
    begin = -1
    for piece in pieces:
        place = line.find(piece, start)
        if place < 0:
            return -1
        begin, start = place if begin < 0 else begin, place + len(piece)
    return begin


def _lower(text: str) -> str:
    """The text in lower case, every character in its place."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(small if len(small := char.lower()) == 1 else char for char in text)
