"""Pure functions that make a long text short and keep what matters of it.

`condense` tells what a text is and hands it to the function of its kind; each kind has a file of its own.
"""

from __future__ import annotations

import logging
from importlib import import_module

from ctxkit.condense.base import CALL_AGAIN, Budget, Condensed, Condenser, ContentKind, plain
from ctxkit.condense.clean import clean, tidy
from ctxkit.condense.room import fits
from ctxkit.condense.terms import terms
from ctxkit.condense.truncate import MIN_TOKENS, truncate
from ctxkit.errors import ConfigError
from ctxkit.tokens import Counter, counter_for

__all__ = [
    "CALL_AGAIN",
    "MIN_TOKENS",
    "Budget",
    "Condensed",
    "Condenser",
    "ContentKind",
    "condense",
    "truncate",
]

# The kinds that have a condenser of their own: `condense_<kind>` in the module of that name.
CONDENSERS: frozenset[ContentKind] = frozenset(
    {
        "code",
        "diff",
        "log",
        "search_hits",
        "listing",
        "traceback",
        "test_output",
        "html",
        "markdown",
        "text",
        "base64",
        "json_rows",
        "json",
        "ndjson",
        "table",
    }
)
# Whose lines mean the same without white space at their ends, and when one stands for many like it.
LINE_KINDS: frozenset[ContentKind] = frozenset(
    {"log", "search_hits", "listing", "traceback", "test_output", "text"}
)

_log = logging.getLogger("ctxkit")


def condense(
    text: str,
    *,
    max_tokens: int,
    query: str | None = None,
    kind: ContentKind | None = None,
    counter: Counter | None = None,
    how: str = CALL_AGAIN,
) -> Condensed:
    """Shorten a tool result to a number of tokens by what kind of content it is.

    A text that is short enough is returned as it is. Else what means nothing goes first, such as colours and
    repeated lines; if that is not enough, what can be spared most of its kind is hidden, and a note says so.
    The same arguments give the same result, and condensing that again changes nothing.

    Args:
        text: Anything, in any length.
        max_tokens: The most tokens of the result, the note included.
        query: What the user asks for; lines, rows and parts that have to do with it are kept.
        kind: What the text is; told from the text where left out.
        counter: Counts tokens; OpenAI's `o200k_base` where left out.
        how: How the model gets at what is hidden, as the end of a sentence.

    Raises:
        ConfigError: `max_tokens` is below 100, too few to say what is hidden.
    """
    if max_tokens < MIN_TOKENS:
        raise ConfigError(
            f"max_tokens must be at least {MIN_TOKENS}, it is {max_tokens}", option="max_tokens"
        )
    budget = Budget(max_tokens, counter or counter_for(None), terms(query), how)
    if fits(text, budget):
        return Condensed(text, kind or "text")
    text = clean(plain(text))
    kind = kind or _detected(text)
    if kind in LINE_KINDS:
        text = tidy(text)
    if fits(text, budget):
        return Condensed(text, kind)
    return _by_kind(text, kind, budget) or _truncated(text, kind, budget)


def _detected(text: str) -> ContentKind:
    # Its patterns take long to compile, and most results are short enough.
    from ctxkit.condense.detect import detect

    return detect(text)


def _by_kind(text: str, kind: ContentKind, budget: Budget) -> Condensed | None:
    """What the function of the kind makes of a text; `None` where there is none or it fails."""
    if kind not in CONDENSERS:
        return None
    try:
        made = _condenser(kind)(text, budget)
    except Exception:
        _log.warning("a text taken for %s could not be condensed as such", kind, exc_info=True)
        return None
    return made if budget.fits(made.text) else None


def _condenser(kind: ContentKind) -> Condenser:
    module = import_module(f"ctxkit.condense.{kind}")
    condenser: Condenser = getattr(module, f"condense_{kind}")
    return condenser


def _truncated(text: str, kind: ContentKind, budget: Budget) -> Condensed:
    """The start, the end and the lines that look like errors."""
    shown = truncate(text, max_tokens=budget.max_tokens, counter=budget.counter, how=budget.how)
    return Condensed(shown, kind, kept="start, end and lines that look like errors", hidden="the rest")
