"""Claude's tokens by ctok, which rebuilds the tokenizers from what the API counts: the extra `claude`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ctxkit.tokens._pieces import readable
from ctxkit.tokens.encodings import ClaudeFamily
from ctxkit.tokens.protocol import Counter
from ctxkit.tokens.text_kinds import samples

EXACT_CHARS = 16_000

TokenCount = Callable[[str, str], int]


@dataclass(frozen=True, slots=True)
class Family:
    """How ctok counts one family.

    Attributes:
        version: What ctok calls it.
        frame: What it adds to a text as the only message of a request.
    """

    version: str
    frame: int


# Read from the README of ctok 1.3.0 on 2026-11-30.
FAMILIES: Mapping[ClaudeFamily, Family] = {
    "v3": Family("3.0", frame=7),
    "v4.7": Family("4.7", frame=11),
    "v4.8": Family("4.8", frame=6),
}


class CtokCounter:
    """Counts Claude's tokens: exactly up to 16,000 characters, and of a longer text by samples.

    ctok takes about 3 ms for 1,000 characters. A longer text is counted by `base`, and a sample of it by
    both: what is different there is taken to be different in the whole.

    Args:
        family: The model's tokenizer family.
        token_count: `ctok.token_count`: gives the tokens of a text for a version, its frame included.
        base: Counts the longer texts.
        exact: Whether the family is known to be that of the model.
    """

    def __init__(
        self, family: ClaudeFamily, *, token_count: TokenCount, base: Counter, exact: bool = True
    ) -> None:
        self.name = f"ctok-{family}"
        self.exact = exact
        self._family = FAMILIES[family]
        self._token_count = token_count
        self._base = base

    def count(self, text: str) -> int:
        """The tokens of a text, without the frame of a message."""
        if not text:
            return 0
        if len(text) <= EXACT_CHARS:
            return self._exactly(text)
        parts = samples(text)
        ratio = sum(map(self._exactly, parts)) / sum(map(self._base.count, parts))
        return round(ratio * self._base.count(text))

    def _exactly(self, text: str) -> int:
        return self._token_count(readable(text), self._family.version) - self._family.frame
