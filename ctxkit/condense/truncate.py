"""`truncate`: the start, the end and the lines that look like errors of any text, within a token limit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ctxkit.errors import ConfigError
from ctxkit.tokens import Tokenizer, counter_for, head, tail

MIN_TOKENS = 100
START_SHARE, ERRORS_SHARE, END_SHARE = 0.45, 0.25, 0.30
MARKER_TOKENS = 60
COUNTED_CHARS = 1_000_000
LINE_CHARS = 400
# How many error lines are looked at from either end of what is left out.
CANDIDATES = 200

# No part of it may repeat without bound: a result can be megabytes of one letter.
ERROR = re.compile(
    r"(?:error|exception|failure|failed|traceback)s?\b"
    r"|\b(?:fail|fatal|panic|critical|severe|abort(?:ed)?|denied|refused|timed? ?out|timeout|unreachable"
    r"|not found|no such|cannot|can't|unable to|invalid|undefined|segfault|oomkilled|warn|warning)\b",
    re.IGNORECASE,
)


def truncate(text: str, *, max_tokens: int, counter: Tokenizer | None = None) -> str:
    """Shorten a text to a number of tokens: its start, its end and the lines that look like errors stay.

    The same text and limit give the same result, a result is never over the limit, and one that is short
    enough is returned as it is. What is left out is said where it stood. Takes time in proportion to the
    text, a second or so for 50 MB.

    Args:
        text: Anything, in any length.
        max_tokens: The most tokens of the result.
        counter: Counts and cuts; OpenAI's `o200k_base` where left out.

    Raises:
        ConfigError: `max_tokens` is below 100, too few to say what was left out.
    """
    if max_tokens < MIN_TOKENS:
        raise ConfigError(f"max_tokens must be at least {MIN_TOKENS}, it is {max_tokens}", option="max_tokens")
    counter = counter or counter_for(None)
    if len(head(text, max_tokens, counter)) == len(text):
        return text
    tokens_per_char = _tokens_per_char(text, counter)
    budget = max_tokens - MARKER_TOKENS
    while budget > 0:
        made = _assemble(text, budget, tokens_per_char, counter)
        over = counter.count(made) - max_tokens
        if over <= 0:
            return made
        budget -= max(over, 8)
    return head(text, max_tokens, counter)


def _assemble(text: str, budget: int, tokens_per_char: float, counter: Tokenizer) -> str:
    least = len(head(text, int(budget * START_SHARE), counter))
    end = _to_line_start(tail(text[least:], int(budget * END_SHARE), counter))
    stop = len(text) - len(end)
    errors, used = _error_lines(text, least, stop, int(budget * ERRORS_SHARE), counter)
    # What the errors leave of their share goes to the start.
    rest = budget - int(budget * END_SHARE) - used
    start = _to_line_end(head(text[:stop], rest, counter))
    errors = [line for line in errors if line.position >= len(start)]
    hidden = stop - len(start) - sum(len(line.text) for line in errors)
    lines = text.count("\n", len(start), stop) - len(errors)
    marker = _marker(lines, max(1, round(hidden * tokens_per_char)), with_errors=bool(errors))
    found = "".join(f"{line.text}\n" for line in errors)
    closing = "[... end of those lines ...]\n" if errors else ""
    return f"{start}{_break(start)}{marker}\n{found}{closing}{end}"


def _marker(lines: int, tokens: int, *, with_errors: bool) -> str:
    what = f"{lines:,} lines (about {tokens:,} tokens)" if lines > 1 else f"about {tokens:,} tokens"
    tail_note = "; lines of it that look like errors follow" if with_errors else ""
    return (
        f"[... {what} of this result left out here to save space; the tool's result was complete: "
        f"call it again with a narrower question for the rest{tail_note} ...]"
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
    position: int
    text: str


def _error_lines(
    text: str, start: int, stop: int, budget: int, counter: Tokenizer
) -> tuple[list[_Line], int]:
    """Lines that look like errors, the first and the last ones, each said once, and their tokens."""
    last = max(start, stop - CANDIDATES * LINE_CHARS)
    candidates: dict[str, _Line] = {}
    for line in (*_scan(text, start, stop), *_scan(text, last, stop)):
        candidates.setdefault(line.text, line)
    chosen: list[_Line] = []
    used = 0
    for line in _from_both_ends(sorted(candidates.values(), key=lambda line: line.position)):
        tokens = counter.count(line.text) + 1
        if used + tokens > budget:
            break
        chosen.append(line)
        used += tokens
    return sorted(chosen, key=lambda line: line.position), used


def _scan(text: str, position: int, stop: int) -> Iterator[_Line]:
    """The first lines between two positions that look like errors; of a long line what stands around."""
    for _ in range(CANDIDATES):
        match = ERROR.search(text, position, stop)
        if match is None:
            return
        first = max(text.rfind("\n", position, match.start()) + 1, position)
        end = text.find("\n", match.end(), stop)
        end = stop if end < 0 else end
        if end - first > LINE_CHARS:
            first = max(first, match.start() - LINE_CHARS // 2)
            end = min(end, first + LINE_CHARS)
        yield _Line(first, text[first:end].rstrip("\r"))
        position = max(end, match.end())


def _from_both_ends(lines: list[_Line]) -> Iterable[_Line]:
    """First, last, second, last but one, and so on."""
    for index in range((len(lines) + 1) // 2):
        yield lines[index]
        if index != len(lines) - 1 - index:
            yield lines[-1 - index]


def _tokens_per_char(text: str, counter: Tokenizer) -> float:
    """How many tokens a character of a text has, worked out on as much of it as is quick."""
    sample = text[:COUNTED_CHARS]
    return counter.count(sample) / len(sample)
