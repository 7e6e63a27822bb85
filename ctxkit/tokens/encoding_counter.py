"""Counters over OpenAI's encodings, whichever library tokenizes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import get_args

from ctxkit.errors import ConfigError
from ctxkit.tokens._pieces import END_CHARS, PERIOD, pieces, readable, shortened
from ctxkit.tokens._vocabulary import EncodingName
from ctxkit.tokens.protocol import Engine
from ctxkit.tokens.tiktoken_engine import TiktokenEngine


class EncodingCounter:
    """Counts with one of OpenAI's encodings, whatever the text holds and without ever downloading one.

    The name of a control token, such as `<|endoftext|>`, is plain text here. A lone surrogate is counted
    as U+FFFD. A text of more than 200,000 characters is counted in pieces, cut where that changes nothing,
    and elsewhere only where it has no such place, which adds at most two tokens a cut. A run of thousands
    of one character, such as megabytes of spaces, is counted from a short part of it, and right to the
    token for every character there is. Many threads may count at once, and none waits for another.

    Args:
        encoding: `o200k_base` or `cl100k_base`.
        engine: Loads the library that tokenizes, on the first count.
        exact: Whether the encoding is known to be the own one of the model that is counted for.

    Raises:
        ConfigError: There is no such encoding.
    """

    def __init__(
        self, encoding: EncodingName, *, engine: Callable[[EncodingName], Engine], exact: bool = True
    ) -> None:
        if encoding not in get_args(EncodingName):
            known = ", ".join(get_args(EncodingName))
            raise ConfigError(f"unknown encoding {encoding!r}; known encodings: {known}", option="encoding")
        self.name = encoding
        self.exact = exact
        self._load = engine

    @cached_property
    def engine(self) -> Engine:
        """The library that tokenizes; it is loaded when this is first asked for."""
        return self._load(self.name)

    def count(self, text: str) -> int:
        """The tokens of a text."""
        text, left_out = shortened(readable(text))
        total = sum(map(self.engine.count, pieces(text)))
        for character, periods in left_out:
            total += periods * self._tokens_of_a_period(character)
        return total

    def tokens(self, text: str) -> list[bytes]:
        """The tokens of a text, as the UTF-8 bytes they stand for; as many as `count` says."""
        return [token for piece in pieces(readable(text)) for token in self.engine.tokens(piece)]

    def _tokens_of_a_period(self, character: str) -> int:
        longer, shorter = character * (END_CHARS + PERIOD), character * END_CHARS
        return self.engine.count(longer) - self.engine.count(shorter)


class TiktokenCounter(EncodingCounter):
    """Counts with one of OpenAI's encodings by tiktoken, the reference.

    Args:
        encoding: `o200k_base` or `cl100k_base`.

    Raises:
        ConfigError: There is no such encoding.
    """

    def __init__(self, encoding: EncodingName = "o200k_base") -> None:
        super().__init__(encoding, engine=TiktokenEngine)
