"""Counters of text: how many tokens a string is. Blocks are counted in `blocks`, requests in `shape`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Protocol, get_args

from ctxkit.errors import ConfigError
from ctxkit.tokens import _vocabulary
from ctxkit.tokens._vocabulary import EncodingName

PIECE_CHARS = 200_000

# A tokenizer never joins a newline with what follows, unless that is whitespace or a slash: a cut there
# changes no count. Without such a newline a piece ends where it is full.
_PIECES = re.compile(rf".{{0,{PIECE_CHARS - 1}}}\n(?=[^\s/])|.{{1,{PIECE_CHARS}}}", re.DOTALL)
_SURROGATES = re.compile("[\ud800-\udfff]")

# The models of OpenAI that came before o200k_base. Read from `tiktoken.model` 0.14.0 on 2026-11-30.
_CL100K_MODELS = ("gpt-4-", "gpt-3.5-", "gpt-35-")


class Counter(Protocol):
    """Anything that counts tokens; the same text must give the same count every time."""

    @property
    def name(self) -> str:
        """Tells this counter from others: counts are kept under it."""
        ...

    def count(self, text: str) -> int:
        """The tokens of a text."""
        ...


class Tokenizer(Counter, Protocol):
    """A counter that can also show its tokens, so that a text can be cut between them."""

    def tokens(self, text: str) -> list[bytes]:
        """The tokens of a text, as the UTF-8 bytes they stand for."""
        ...


class TiktokenCounter:
    """Counts with one of OpenAI's encodings, whatever the text holds and without ever downloading one.

    The name of a control token, such as `<|endoftext|>`, is plain text here. A lone surrogate is counted
    as U+FFFD. A text of more than 200,000 characters is counted in pieces, cut after a newline where that
    changes nothing, and in the middle of a line only where it has no such newline. Should tiktoken give up
    on a piece, as it does on a million spaces in a row, every three bytes of it count as a token.

    Args:
        encoding: `o200k_base` or `cl100k_base`.

    Raises:
        ConfigError: There is no such encoding.
    """

    def __init__(self, encoding: EncodingName = "o200k_base") -> None:
        if encoding not in get_args(EncodingName):
            known = ", ".join(get_args(EncodingName))
            raise ConfigError(f"unknown encoding {encoding!r}; known encodings: {known}", option="encoding")
        self.name = encoding

    def count(self, text: str) -> int:
        """The tokens of a text."""
        return sum(len(self._ids(piece) or _thirds(piece)) for piece in _pieces(text))

    def tokens(self, text: str) -> list[bytes]:
        """The tokens of a text, as the UTF-8 bytes they stand for; as many as `count` says."""
        decode = _vocabulary.encoding(self.name).decode_tokens_bytes
        tokens: list[bytes] = []
        for piece in _pieces(text):
            ids = self._ids(piece)
            tokens += decode(ids) if ids else _thirds(piece)
        return tokens

    def _ids(self, piece: str) -> list[int]:
        """The ids of a piece; none where tiktoken gives up, at times by a panic, which is no `Exception`."""
        try:
            return _vocabulary.encoding(self.name).encode(piece, disallowed_special=())
        except BaseException as error:
            if type(error).__name__ in ("ValueError", "PanicException"):
                return []
            raise


def counter_for(model: str | None) -> TiktokenCounter:
    """The counter that comes nearest to a model's own, shared by the whole process.

    Args:
        model: A model's name, also as a router or a fine-tune spells it; `None` where it is unknown.

    Returns:
        `cl100k_base` for GPT-4 and GPT-3.5 as they were before GPT-4o, and `o200k_base` for all others:
        exact for OpenAI's, an estimate for everyone else's.
    """
    name = (model or "").rpartition("/")[2].removeprefix("ft:").partition(":")[0]
    return COUNTERS["cl100k_base" if f"{name}-".startswith(_CL100K_MODELS) else "o200k_base"]


COUNTERS: Mapping[str, TiktokenCounter] = {
    counter.name: counter for counter in map(TiktokenCounter, get_args(EncodingName))
}


def _pieces(text: str) -> Iterable[str]:
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _SURROGATES.sub("\ufffd", text)
    return _PIECES.findall(text) if len(text) > PIECE_CHARS else filter(None, (text,))


def _thirds(piece: str) -> list[bytes]:
    data = piece.encode()
    return [data[start : start + 3] for start in range(0, len(data), 3)]
