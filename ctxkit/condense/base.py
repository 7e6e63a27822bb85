"""What every condenser is given, what it gives back, and how it says what it hid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ctxkit.tokens import Counter

ContentKind = Literal[
    "json_rows",
    "json",
    "ndjson",
    "table",
    "log",
    "search_hits",
    "listing",
    "traceback",
    "test_output",
    "diff",
    "code",
    "html",
    "markdown",
    "base64",
    "text",
]
CALL_AGAIN = "call the tool again with a narrower question for the rest"
NOTE = "[ctxkit: "


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a condensed text may take, and what to keep first.

    Attributes:
        max_tokens: The most tokens of the condensed text, its note included.
        counter: Counts them.
        terms: What the running question asks about, as words in lower case.
        how: How the model gets at what is hidden, as the end of a sentence.
    """

    max_tokens: int
    counter: Counter
    terms: frozenset[str] = frozenset()
    how: str = CALL_AGAIN

    def tokens(self, text: str) -> int:
        """The tokens of a text."""
        return self.counter.count(text)

    def fits(self, text: str) -> bool:
        """Whether a text keeps within it."""
        return self.tokens(text) <= self.max_tokens


@dataclass(frozen=True, slots=True)
class Condensed:
    """What stands for a long text.

    Attributes:
        text: What the model is shown, with a note where something is hidden.
        kind: What the original was taken for.
        kept: What is shown, in words, such as `180 of 1,300 lines`.
        hidden: What is not, in words; empty where nothing is.
    """

    text: str
    kind: ContentKind
    kept: str = "all"
    hidden: str = ""

    @property
    def lossless(self) -> bool:
        """Whether nothing that has a meaning is hidden."""
        return not self.hidden


Condenser = Callable[[str, Budget], Condensed]
"""Makes a text of its kind fit: lossless steps first, and what can be spared most is hidden first.

It gets a text that `plain` has gone over, gives back one that fits the budget when it is counted again, and
gives the same for the same every time. Where even a note does not fit, it gives the longest beginning of the
text that does.
"""


def note(kept: str, hidden: str, tokens: int, how: str) -> str:
    """The line that says what is hidden and how to get it.

    Args:
        kept: What is shown, in words.
        hidden: What is not, in words.
        tokens: About how many tokens are hidden.
        how: How the model gets at it.
    """
    return (
        f"{NOTE}{kept} shown; {hidden} (about {tokens:,} tokens) hidden to save space; "
        f"the tool's result was complete: {how}]"
    )


def gap(count: int, what: str = "lines") -> str:
    """What stands where something is hidden in the middle of a text."""
    return f"[... {count:,} {what} ...]"


def plain(text: str) -> str:
    """The text with nothing in it that could pass for a note of ours."""
    return text.replace(NOTE, "(ctxkit: ") if NOTE in text else text
