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

ERROR = re.compile(
    r"\b(?:error|errors|exception|traceback|fail|failed|failure|fatal|panic|critical|severe|abort(?:ed)?"
    r"|denied|refused|timed? ?out|timeout|unreachable|not found|no such|cannot|can't|unable to|invalid"
    r"|undefined|segfault|oomkilled|warn|warning)\b|[A-Z]\w*(?:Error|Exception)\b",
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
    budget = max_tokens - MARKER_TOKENS
    while budget > 0:
        made = _assemble(text, budget, counter)
        over = counter.count(made) - max_tokens
        if over <= 0:
            return made
        budget -= max(over, 8)
    return head(text, max_tokens, counter)


def _assemble(text: str, budget: int, counter: Tokenizer) -> str:
    start = _to_line_end(head(text, int(budget * START_SHARE), counter))
    end = _to_line_start(tail(text[len(start) :], int(budget * END_SHARE), counter))
    middle = text[len(start) : len(text) - len(end)]
    errors = _error_lines(middle, int(budget * ERRORS_SHARE), counter)
    kept = sum(len(line.text) for line in errors)
    hidden_lines = middle.count("\n") - len(errors)
    hidden_tokens = _estimated_tokens(text, len(middle) - kept, counter)
    marker = _marker(hidden_lines, hidden_tokens, with_errors=bool(errors))
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


def _error_lines(middle: str, budget: int, counter: Tokenizer) -> list[_Line]:
    """Lines that look like errors, the first and the last ones, each said once, in their order."""
    candidates: dict[str, _Line] = {}
    for line in (*_scan(middle, CANDIDATES), *_scan_end(middle, CANDIDATES)):
        candidates.setdefault(line.text, line)
    ordered = sorted(candidates.values(), key=lambda line: line.position)
    chosen: list[_Line] = []
    for line in _from_both_ends(ordered):
        budget -= counter.count(line.text) + 1
        if budget < 0:
            break
        chosen.append(line)
    return sorted(chosen, key=lambda line: line.position)


def _scan(text: str, most: int, offset: int = 0) -> Iterator[_Line]:
    """The first lines that look like errors; of a long line what stands around the word."""
    position = 0
    while most > 0 and (match := ERROR.search(text, position)):
        start = text.rfind("\n", 0, match.start()) + 1
        stop = text.find("\n", match.end())
        stop = len(text) if stop < 0 else stop
        if stop - start > LINE_CHARS:
            start = max(start, match.start() - LINE_CHARS // 2)
            stop = min(stop, start + LINE_CHARS)
        yield _Line(offset + start, text[start:stop].rstrip("\r"))
        position = max(stop, match.end())
        most -= 1


def _scan_end(text: str, most: int) -> Iterator[_Line]:
    """The same for the last part of a text, so that the newest errors of a long log are among them."""
    offset = max(0, len(text) - most * LINE_CHARS)
    return _scan(text[offset:], most, offset)


def _from_both_ends(lines: list[_Line]) -> Iterable[_Line]:
    """First, last, second, last but one, and so on."""
    order: list[_Line] = []
    for index in range((len(lines) + 1) // 2):
        order.append(lines[index])
        if index != len(lines) - 1 - index:
            order.append(lines[-1 - index])
    return order


def _estimated_tokens(text: str, chars: int, counter: Tokenizer) -> int:
    """About how many tokens so many characters of a text have: counted on as much of it as is quick."""
    sample = text[:COUNTED_CHARS]
    return max(1, round(counter.count(sample) * chars / len(sample)))
