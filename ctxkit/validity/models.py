"""Which generation a model is of, told from its name. What changed with a generation stands with its rule."""

from __future__ import annotations

import re

Version = tuple[int, int]

# Claude's names give the family before the version since 4.0, and behind it up to 3.7.
_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_GEMINI = re.compile(r"gemini-(\d{1,2})(?:\.(\d{1,2}))?")


def claude_version(model: str | None) -> Version | None:
    """The version in a Claude model's name, such as `(4, 6)`; `None` where it shows none."""
    return _version(_CLAUDE, model)


def gemini_version(model: str | None) -> Version | None:
    """The version in a Gemini model's name, such as `(3, 0)`; `None` where it shows none."""
    return _version(_GEMINI, model)


def _version(pattern: re.Pattern[str], model: str | None) -> Version | None:
    found = pattern.search(model or "")
    return None if found is None else (int(found[1]), int(found[2] or 0))
