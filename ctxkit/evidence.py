"""What a recorded run took from its tool results: the strings that it could know from nowhere else.

It is exact and asks no model: a path, an id, a number, an identifier or a quoted string that the model says,
that an earlier tool result holds, and that neither the tools, the system prompt nor the user handed it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ctxkit.messages import Block, Kind, Turn

GIVEN: frozenset[Kind] = frozenset({"tool_definition", "system", "user_text"})
SAID: frozenset[Kind] = frozenset({"assistant_text", "tool_call"})
WORD = re.compile(r"\w+")
# A path, a date, an address: words that are tied together, each by one sign.
COMPOUND = re.compile(r"\w+(?:[^\w\s]\w+)+")
# Two words or more in quotes. What is escaped may be spelled otherwise where it was found.
QUOTED = re.compile(r'"(\w[^"\\\n]{0,118}\w)"')
ESCAPED_SPACE = re.compile(r"\\[nrt]")
# A word by itself stands for something where it is no word of a language.
MADE_UP = re.compile(r"\d|_|[^\W\d_A-Z][A-Z]")
NAME_CHARS = 4
NUMBER_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Need:
    """A string that the model took from a tool result.

    Attributes:
        string: What it said.
        source: The first tool result that holds it.
        turn: The index of the turn in which it said it.
    """

    string: str
    source: Block
    turn: int


def needs(head: Turn, turns: Sequence[Turn]) -> Iterator[Need]:
    """What each turn of the model took from tool results, in the order of the turns.

    Args:
        head: What stands before the first turn: tool definitions and the system prompt.
        turns: The turns of a run. A string that is said in several of them is needed in each.
    """
    given, found = _Index(), _Index()
    for block in head.blocks:
        given.add(block)
    for number, turn in enumerate(turns):
        for string in sorted(strings(_said(turn))):
            source = None if given.first(string) else found.first(string)
            if source is not None:
                yield Need(string, source, number)
        for block in turn.blocks:
            if block.kind in GIVEN:
                given.add(block)
            elif block.kind == "tool_result":
                found.add(block)


def strings(text: str) -> set[str]:
    """The paths, ids, numbers, identifiers and quoted strings in a text."""
    quoted = {string for string in QUOTED.findall(text) if " " in string}
    return {*filter(_is_telling, WORD.findall(text)), *COMPOUND.findall(text), *quoted}


def holds(text: str, string: str) -> bool:
    """Whether a string stands in a text, and not only as a part of a longer word."""
    at = text.find(string)
    while at >= 0:
        end = at + len(string)
        if not _is_word(text[max(0, at - 1) : at]) and not _is_word(text[end : end + 1]):
            return True
        at = text.find(string, at + 1)
    return False


def _is_word(character: str) -> bool:
    return character == "_" or character.isalnum()


def _is_telling(word: str) -> bool:
    if word.isdigit():
        return len(word) >= NUMBER_DIGITS
    return len(word) >= NAME_CHARS and MADE_UP.search(word) is not None


def _said(turn: Turn) -> str:
    """The words of a turn and the arguments of its calls; these are JSON, in which a line end is escaped."""
    texts = "\n".join(block.text for block in turn.blocks if block.kind in SAID)
    return ESCAPED_SPACE.sub(" ", texts)


class _Index:
    """Finds the blocks that hold a string, by its first word."""

    def __init__(self) -> None:
        self._blocks: dict[str, list[Block]] = {}

    def add(self, block: Block) -> None:
        for word in set(WORD.findall(block.text)):
            self._blocks.setdefault(word, []).append(block)

    def first(self, string: str) -> Block | None:
        """The first block that holds it."""
        blocks = self._blocks.get(WORD.findall(string)[0], [])
        return next((block for block in blocks if holds(block.text, string)), None)
