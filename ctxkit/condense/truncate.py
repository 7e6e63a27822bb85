"""`truncate`: the start, the end and the lines that look like errors of any text, within a token limit."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from ctxkit.condense.base import CALL_AGAIN
from ctxkit.errors import ConfigError
from ctxkit.tokens import Counter, counter_for, head, tail

MIN_TOKENS = 100
START_SHARE, ERRORS_SHARE, END_SHARE = 0.45, 0.25, 0.30
MARKER_TOKENS = 60
COUNTED_CHARS = 1_000_000
# What is shown of a longer error line, and how many such lines are looked at from either end.
LINE_CHARS = 400
CANDIDATES = 200

# In lower case. The first stand for errors at the end of a longer word, too: `AssertionError`.
ENDINGS = "error|exception|failure|failed|traceback"
WORDS = (
    "fail|fatal|panic|critical|severe|abort|aborted|denied|refused|timed out|timedout|time out|timeout"
    "|unreachable|not found|no such|cannot|can't|unable to|invalid|undefined|segfault|oomkilled|warn|warning"
)
# Every alternative begins with a letter, which the engine looks for at once: several times quicker than
# `\b` in front, and a result can be 50 MB.
ERROR = re.compile(
    "|".join(
        [
            *(rf"{ending}s?\b" for ending in ENDINGS.split("|")),
            *(rf"{word}(?<=\b{word})\b" for word in WORDS.split("|")),
        ]
    )
)


def truncate(text: str, *, max_tokens: int, counter: Counter | None = None, how: str = CALL_AGAIN) -> str:
    """Shorten a text to a number of tokens: its start, its end and the lines that look like errors stay.

    The same text and limit give the same result, a result is never over the limit, and one that is short
    enough is returned as it is. What is left out is said where it stood. Takes time in proportion to the
    text, a few seconds for 50 MB.

    Args:
        text: Anything, in any length.
        max_tokens: The most tokens of the result.
        counter: Counts and cuts; OpenAI's `o200k_base` where left out.
        how: How the model gets at the rest, as the end of a sentence.

    Raises:
        ConfigError: `max_tokens` is below 100, too few to say what was left out.
    """
    if max_tokens < MIN_TOKENS:
        raise ConfigError(
            f"max_tokens must be at least {MIN_TOKENS}, it is {max_tokens}", option="max_tokens"
        )
    counter = counter or counter_for(None)
    if len(head(text, max_tokens, counter)) == len(text):
        return text
    return _cut(text, max_tokens, counter, how)


def _cut(text: str, max_tokens: int, counter: Counter, how: str) -> str:
    tokens_per_char = _tokens_per_char(text, counter)
    candidates: list[_Line] | None = None
    budget = max_tokens - MARKER_TOKENS
    while budget > 0:
        for_errors, for_end = int(budget * ERRORS_SHARE), int(budget * END_SHARE)
        least = len(head(text, int(budget * START_SHARE), counter))
        end = _to_line_start(tail(text[least:], for_end, counter))
        stop = len(text) - len(end)
        if candidates is None:
            candidates = _candidates(text, least, stop, max_chars=2 * for_errors)
        errors, used = _chosen(candidates, for_errors, counter)
        # What the errors leave of their share goes to the start.
        start = _to_line_end(head(text[:stop], budget - for_end - used, counter))
        made = _assembled(text, start, errors, end, tokens_per_char, how)
        over = counter.count(made) - max_tokens
        if over <= 0:
            return made
        budget -= max(over, 8)
    return head(text, max_tokens, counter)


def _assembled(text: str, start: str, errors: list[_Line], end: str, tokens_per_char: float, how: str) -> str:
    stop = len(text) - len(end)
    errors = [line for line in errors if line.position + len(line.text) > len(start)]
    hidden = stop - len(start) - sum(len(line.text) for line in errors)
    lines = text.count("\n", len(start), stop) - sum(line.whole for line in errors)
    marker = _marker(lines, max(1, round(hidden * tokens_per_char)), how, with_errors=bool(errors))
    found = "".join(f"{line.text}\n" for line in errors)
    closing = "[... end of those lines ...]\n" if errors else ""
    return f"{start}{_break(start)}{marker}\n{found}{closing}{end}"


def _marker(lines: int, tokens: int, how: str, *, with_errors: bool) -> str:
    what = f"{lines:,} lines (about {tokens:,} tokens)" if lines > 1 else f"about {tokens:,} tokens"
    tail_note = "; lines of it that look like errors follow" if with_errors else ""
    return (
        f"[... {what} of this result left out here to save space; the tool's result was complete: "
        f"{how}{tail_note} ...]"
    )


def _break(start: str) -> str:
    return "" if not start or start.endswith("\n") else "\n"


def _to_line_end(start: str) -> str:
    """Without its last line where that one is cut, unless that would lose too much."""
    whole = start[: start.rfind("\n") + 1]
    return whole if len(whole) > len(start) // 2 else start


def _to_line_start(end: str) -> str:
    """Without its first line where that one is cut, unless that would lose too much."""
    whole = end[end.find("\n") + 1 :]
    return whole if len(whole) > len(end) // 2 else end


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that looks like an error, or what stands around the error in a long one."""

    position: int
    text: str
    whole: bool


def _candidates(text: str, start: int, stop: int, *, max_chars: int) -> list[_Line]:
    """Lines between two positions that look like errors, the first and the last ones, each said once."""
    # The one character that is longer in lower case.
    lowered = text.replace("\u0130", "I").lower()
    last = max(start, stop - CANDIDATES * LINE_CHARS)
    chars = min(LINE_CHARS, max_chars)
    firsts = islice(_scan(text, lowered, start, stop, chars), CANDIDATES)
    lasts = deque(_scan(text, lowered, last, stop, chars), maxlen=CANDIDATES)
    found: dict[str, _Line] = {}
    for line in (*firsts, *lasts):
        found.setdefault(line.text, line)
    return sorted(found.values(), key=lambda line: line.position)


def _chosen(candidates: list[_Line], budget: int, counter: Counter) -> tuple[list[_Line], int]:
    """The candidates that fit, the outermost before the others, and their tokens."""
    chosen: list[_Line] = []
    used = 0
    for line in _from_both_ends(candidates):
        tokens = counter.count(line.text) + 1
        if used + tokens <= budget:
            chosen.append(line)
            used += tokens
    return sorted(chosen, key=lambda line: line.position), used


def _scan(text: str, lowered: str, position: int, stop: int, max_chars: int) -> Iterator[_Line]:
    """The lines between two positions that look like errors, of a long one what stands around."""
    while match := ERROR.search(lowered, position, stop):
        first = max(text.rfind("\n", position, match.start()) + 1, position)
        farthest = min(stop, match.end() + max_chars)
        end = text.find("\n", match.end(), farthest)
        end = farthest if end < 0 else end
        whole = end - first <= max_chars
        if not whole:
            first = max(first, match.start() - max_chars // 4)
            end = min(end, first + max_chars)
        yield _Line(first, text[first:end].rstrip("\r"), whole)
        position = max(end, match.end())


def _from_both_ends(lines: list[_Line]) -> Iterable[_Line]:
    """First, last, second, last but one, and so on."""
    for index in range((len(lines) + 1) // 2):
        yield lines[index]
        if index != len(lines) - 1 - index:
            yield lines[-1 - index]


def _tokens_per_char(text: str, counter: Counter) -> float:
    """How many tokens a character of a text has, worked out on as much of it as is quick."""
    sample = text[:COUNTED_CHARS]
    return counter.count(sample) / len(sample)
