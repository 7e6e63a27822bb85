"""The beginning or the end of a text, as long as a number of tokens allows.

Only as much of the text is tokenized as the cut needs, and a cut is counted again before it is given out:
the part of a text need not be tokenized like the whole.
"""

from __future__ import annotations

from collections.abc import Callable

from ctxkit.tokens.counters import Tokenizer

CHARS_PER_TOKEN = 5

# The last tokens of a stretch may change with what follows it.
MARGIN_TOKENS = 8

# Where the first, or the last, so many of a whole number of things are.
_End = Callable[[int, int], slice]


def head(text: str, max_tokens: int, counter: Tokenizer) -> str:
    """The longest prefix of a text that has at most so many tokens.

    Args:
        text: Any string, of any length: the time taken depends on `max_tokens`.
        max_tokens: The limit that the prefix keeps when it is counted by itself; 0 or less leaves nothing.
        counter: Says what a token is.

    Returns:
        A prefix to which no further character could be added.
    """
    return _cut(text, max_tokens, counter, lambda whole, part: slice(part))


def tail(text: str, max_tokens: int, counter: Tokenizer) -> str:
    """The longest suffix of a text that has at most so many tokens.

    Args:
        text: Any string, of any length: the time taken depends on `max_tokens`.
        max_tokens: The limit that the suffix keeps when it is counted by itself; 0 or less leaves nothing.
        counter: Says what a token is.

    Returns:
        A suffix to which no further character could be added.
    """
    return _cut(text, max_tokens, counter, lambda whole, part: slice(max(0, whole - part), whole))


def _cut(text: str, max_tokens: int, counter: Tokenizer, end: _End) -> str:
    def part(chars: int) -> str:
        return text[end(len(text), chars)]

    def excess(chars: int) -> int:
        return counter.count(part(chars)) - max_tokens

    if max_tokens <= 0:
        return ""
    tokens = _tokens_at(text, max_tokens + MARGIN_TOKENS, counter, end)
    kept = min(max_tokens, len(tokens))
    chars = _whole_chars(tokens[end(len(tokens), kept)])
    while chars and (over := excess(chars)) > 0:
        kept = max(0, kept - over)
        chars = _whole_chars(tokens[end(len(tokens), kept)])
    return part(_grown(chars, lambda more: more <= len(text) and excess(more) <= 0))


def _grown(size: int, fits: Callable[[int], bool]) -> int:
    """A size that fits while the next one does not, searched for in steps that double, then halve."""
    step = 1
    while fits(size + step):
        size += step
        step *= 2
    while step := step // 2:
        if fits(size + step):
            size += step
    return size


def _tokens_at(text: str, enough: int, counter: Tokenizer, end: _End) -> list[bytes]:
    """All tokens of the text, or at least so many from its beginning or end."""
    chars = CHARS_PER_TOKEN * enough
    tokens = counter.tokens(text[end(len(text), chars)])
    while len(tokens) < enough and chars < len(text):
        chars *= 2
        tokens = counter.tokens(text[end(len(text), chars)])
    return tokens


def _whole_chars(tokens: list[bytes]) -> int:
    return len(b"".join(tokens).decode(errors="ignore"))
