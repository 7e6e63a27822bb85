"""OpenAI's own tokenizer, tiktoken: the reference that every other engine is held to."""

from __future__ import annotations

from functools import cache

from ctxkit.tokens import _vocabulary
from ctxkit.tokens._vocabulary import EncodingName


class TiktokenEngine:
    """Tokenizes with tiktoken, on the vocabularies inside the package.

    Should tiktoken give up on a text, as it does on a million spaces in a row, every three bytes count as a
    token.

    Args:
        encoding: Which of the encodings; it is built on first use and then shared by the whole process.
    """

    def __init__(self, encoding: EncodingName) -> None:
        self._encoding = _vocabulary.encoding(encoding)
        self._token = cache(self._encoding.decode_single_token_bytes)

    def count(self, text: str) -> int:
        """The tokens of a text."""
        return len(self._ids(text) or _thirds(text))

    def tokens(self, text: str) -> list[bytes]:
        """The tokens of a text, as the UTF-8 bytes they stand for."""
        ids = self._ids(text)
        return list(map(self._token, ids)) if ids else _thirds(text)

    def _ids(self, text: str) -> list[int]:
        """The ids of a text; none where tiktoken gives up, at times by a panic, which is no `Exception`."""
        try:
            return self._encoding.encode(text, disallowed_special=())
        except BaseException as error:
            if type(error).__name__ in ("ValueError", "PanicException"):
                return []
            raise


def _thirds(text: str) -> list[bytes]:
    data = text.encode()
    return [data[start : start + 3] for start in range(0, len(data), 3)]
