"""The exact facts in a text's error lines, and which of them a summary leaves out."""

from __future__ import annotations

import re

ERROR = re.compile(r"error|exception|fail|fatal|panic|denied|refused|traceback", re.IGNORECASE)
# Runs of what paths, ids and numbers are made of; prose is cut at its blanks and marks.
WORD = re.compile(r"(?:[\w./\\:@~%+-]|(?<=\d),(?=\d))+")
NUMBER = re.compile(r"[+-]?\d[\d.,:%]+")
LINE_CHARS = 1_000
FACT_CHARS = 120


def missing_facts(text: str, summary: str, *, most: int = 20) -> list[str]:
    """Tell which paths, ids and numbers of a text's error lines do not stand in a summary of it.

    Args:
        text: The original.
        summary: What is to stand for it.
        most: How many are given at most, the first in the text first.
    """
    missing: dict[str, None] = {}
    for line in text.splitlines():
        if not ERROR.search(line, 0, LINE_CHARS):
            continue
        for match in WORD.finditer(line, 0, LINE_CHARS):
            word = match[0].strip(".:,-")
            if word not in missing and _is_fact(word) and word not in summary:
                missing[word] = None
                if len(missing) == most:
                    return list(missing)
    return list(missing)


def _is_fact(word: str) -> bool:
    """Whether a word is a path, an id or a number of some length, and no word of a sentence."""
    if not 2 <= len(word) <= FACT_CHARS:
        return False
    if NUMBER.fullmatch(word):
        return True
    has_digit = any(character.isdigit() for character in word)
    is_path = ("/" in word or "\\" in word) and any(character.isalnum() for character in word)
    return is_path or (has_digit and len(word) >= 5) or re.fullmatch(r"\w+\.\w+", word) is not None
