"""The beginning or the end of a text, as long as a number of tokens allows.

Only as much of the text is tokenized as the cut needs. A cut never has more tokens than allowed when it is
counted by itself: the part of a text need not be tokenized like the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import TypeVar

from ctxkit.tokens._pieces import first_place, last_place
from ctxkit.tokens.encoding_counter import EncodingCounter
from ctxkit.tokens.protocol import Counter, Tokenizer

T = TypeVar("T")

CHARS_PER_TOKEN = 5
MOST_CHARS_PER_TOKEN = 8

# A place for an exact cut is looked for in so many characters, and no longer when so few tokens are left.
PLACE_CHARS = 400
NEAR_TOKENS = 40
# What a first stretch is taken to be like, so that it is short: it tells how long the next one can be.
FIRST_CHARS_PER_TOKEN = 0.75
# The share of the tokens that are left which a stretch is meant to take, so that it seldom takes more.
STRETCH = 0.93

# The last tokens of a stretch may change with what follows it.
MARGIN_TOKENS = 8

# How often a counter that can't show its tokens is asked, and what part of the budget may stay unused.
LOOKS = 12
UNUSED = 1 / 64


def head(text: str, max_tokens: int, counter: Counter) -> str:
    """The longest prefix of a text that has at most so many tokens.

    Args:
        text: Any string, of any length: the time taken depends on `max_tokens`.
        max_tokens: The limit that the prefix keeps when it is counted by itself; 0 or less leaves nothing.
        counter: Says what a token is.

    Returns:
        A prefix to which no further character could be added. Where the counter only counts and can't show
        its tokens, it is asked at most twelve times, and 1/64 of the limit may stay unused.
    """
    return _cut(_Front(text), max_tokens, counter)


def tail(text: str, max_tokens: int, counter: Counter) -> str:
    """The longest suffix of a text that has at most so many tokens.

    Args:
        text: Any string, of any length: the time taken depends on `max_tokens`.
        max_tokens: The limit that the suffix keeps when it is counted by itself; 0 or less leaves nothing.
        counter: Says what a token is.

    Returns:
        A suffix to which no further character could be added. Where the counter only counts and can't show
        its tokens, it is asked at most twelve times, and 1/64 of the limit may stay unused.
    """
    return _cut(_Back(text), max_tokens, counter)


@dataclass(slots=True)
class _Front:
    """What follows the beginning of a text that is already kept.

    Attributes:
        text: The whole.
        kept: How many characters of it are kept.
    """

    text: str
    kept: int = 0

    @property
    def size(self) -> int:
        return len(self.text) - self.kept

    def part(self, chars: int) -> str:
        return self.text[self.kept : self.kept + chars]

    def first(self, items: Sequence[T], number: int) -> Sequence[T]:
        return items[:number]

    def place(self, chars: int) -> int | None:
        """How much of so many characters can be cut off without changing a count; `None` where nothing."""
        stop = self.kept + chars
        place = last_place(self.text, max(self.kept, stop - PLACE_CHARS), stop)
        return None if place is None else place - self.kept

    def result(self) -> str:
        return self.text[: self.kept]


class _Back(_Front):
    """What stands in front of the end of a text that is already kept."""

    def part(self, chars: int) -> str:
        return self.text[max(0, self.size - chars) : self.size]

    def first(self, items: Sequence[T], number: int) -> Sequence[T]:
        return items[max(0, len(items) - number) :]

    def place(self, chars: int) -> int | None:
        start = self.size - chars
        place = first_place(self.text, start, min(start + PLACE_CHARS, self.size))
        return None if place is None else self.size - place

    def result(self) -> str:
        return self.text[len(self.text) - self.kept :]


def _cut(rest: _Front, max_tokens: int, counter: Counter) -> str:
    if max_tokens <= 0:
        return ""
    if isinstance(counter, EncodingCounter):
        max_tokens -= _keep_stretches(rest, max_tokens, counter)
    if isinstance(counter, Tokenizer):
        rest.kept += _by_tokens(rest, max_tokens, counter)
    else:
        rest.kept += _by_counts(rest, max_tokens, counter)
    return rest.result()


def _keep_stretches(rest: _Front, max_tokens: int, counter: EncodingCounter) -> int:
    """Keep stretches that end where a cut changes no count, so that their tokens add up, while many are left.

    Returns:
        The tokens of what was kept.
    """
    left = max_tokens
    chars_per_token = FIRST_CHARS_PER_TOKEN
    while left > NEAR_TOKENS and rest.size:
        chars = rest.place(min(rest.size, int(STRETCH * left * chars_per_token)))
        if chars is None:
            break
        tokens = counter.count(rest.part(chars))
        chars_per_token = min(MOST_CHARS_PER_TOKEN, chars / tokens)
        if tokens <= left:
            rest.kept += chars
            left -= tokens
    return max_tokens - left


def _by_tokens(rest: _Front, max_tokens: int, counter: Tokenizer) -> int:
    """How many further characters have so many tokens, found between tokens and then grown by characters."""

    def excess(chars: int) -> int:
        return counter.count(rest.part(chars)) - max_tokens

    tokens = _tokens_at(rest, max_tokens + MARGIN_TOKENS, counter)
    kept = min(max_tokens, len(tokens))
    chars = _whole_chars(rest.first(tokens, kept))
    while chars and (over := excess(chars)) > 0:
        kept = max(0, kept - over)
        chars = _whole_chars(rest.first(tokens, kept))
    return _grown(chars, lambda more: more <= rest.size and excess(more) <= 0)


def _tokens_at(rest: _Front, enough: int, counter: Tokenizer) -> list[bytes]:
    """All tokens of the rest, or at least so many from its near end."""
    chars = CHARS_PER_TOKEN * enough
    tokens = counter.tokens(rest.part(chars))
    while len(tokens) < enough and chars < rest.size:
        chars *= 2
        tokens = counter.tokens(rest.part(chars))
    return tokens


def _whole_chars(tokens: Sequence[bytes]) -> int:
    return len(b"".join(tokens).decode(errors="ignore"))


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


def _by_counts(rest: _Front, max_tokens: int, counter: Counter) -> int:
    """How many further characters have nearly so many tokens, found by a few counts."""
    aim = max_tokens * (1 - UNUSED / 2)
    fitting, fitting_tokens = 0, 0
    over, over_tokens = rest.size + 1, 0
    chars = min(rest.size, CHARS_PER_TOKEN * max_tokens)
    for look in range(LOOKS):
        tokens = counter.count(rest.part(chars))
        if tokens <= max_tokens:
            fitting, fitting_tokens = chars, tokens
        else:
            over, over_tokens = chars, tokens
        enough = over_tokens and max_tokens - fitting_tokens <= UNUSED * max_tokens
        if enough or over - fitting == 1:
            break
        if not over_tokens:
            chars = min(rest.size, 2 * chars)
        elif look > 2 and look % 2:
            chars = max(fitting + 1, isqrt(fitting * over))
        else:
            share = (aim - fitting_tokens) / (over_tokens - fitting_tokens)
            chars = min(over - 1, max(fitting + 1, fitting + int(share * (over - fitting))))
    return fitting
