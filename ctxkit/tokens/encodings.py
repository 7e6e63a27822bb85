"""Which tokenizer a model has, read from its name however a router, a cloud or a fine-tune spells it.

One dated table; nothing is downloaded, and tiktoken's own registry is not asked: it knows no model younger
than itself. No text is counted here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ctxkit.tokens._vocabulary import EncodingName

ClaudeFamily = Literal["v3", "v4.7", "v4.8"]


@dataclass(frozen=True, slots=True)
class Tokenization:
    """How the texts of a model are counted.

    Attributes:
        encoding: OpenAI's encoding that is the model's own or comes nearest.
        claude: The tokenizer family of a Claude model; `None` for all others.
        own: Whether `encoding`, or `claude` where there is one, is known to be the model's own tokenizer.
        source: Where that is known from.
    """

    encoding: EncodingName = "o200k_base"
    claude: ClaudeFamily | None = None
    own: bool = False
    source: str = "nothing is published, so OpenAI's newest encoding is taken as it is"


_OPENAI = "tiktoken.model of tiktoken 0.14.0, read on 2026-11-30"
_CTOK = "README of ctok 1.3.0, read on 2026-11-30"
_NEWEST_CLAUDE = "unverified: nothing is published for this generation, so the newest known family is taken"

# A name begins where nothing of another name stands before it, and a prefix ends where no version goes on.
# The o-series is too short to be looked for behind a hyphen: other vendors end their names in `-o1`.
_RULES: tuple[tuple[str, Tokenization], ...] = (
    (
        r"(?<![a-z])(?:gpt-(?:4|3\.5|35)(?![a-z0-9.])|text-embedding-(?:3|ada)-|(?:davinci|babbage)-002)",
        Tokenization("cl100k_base", own=True, source=_OPENAI),
    ),
    (
        r"(?<![a-z])(?:(?:chat)?gpt-(?:4o|4\.[15]|5)(?![0-9])|gpt-oss)|(?<![a-z0-9-])o[134](?![a-z0-9.])",
        Tokenization("o200k_base", own=True, source=_OPENAI),
    ),
    (
        r"(?<![a-z])gemini",
        Tokenization(source="81 recorded requests without tools, two of them large, read on 2026-11-30"),
    ),
)
_CLAUDE = r"(?<![a-z])claude(?![a-z])"
# `claude-3-5-sonnet`, `claude-opus-4.7`, `claude-v2:1`, but not the date of `claude-opus-4-20250514`.
_CLAUDE_VERSION = r"claude[a-z-]*?-v?(\d{1,2})(?:[.-](\d{1,2}))?(?!\d)"
_CLAUDE_FAMILIES: tuple[tuple[tuple[int, int], Tokenization], ...] = (
    ((5, 1), Tokenization(claude="v4.8", source=_NEWEST_CLAUDE)),
    ((4, 8), Tokenization(claude="v4.8", own=True, source=_CTOK)),
    ((4, 7), Tokenization(claude="v4.7", own=True, source=_CTOK)),
    ((3, 0), Tokenization(claude="v3", own=True, source=_CTOK)),
    ((0, 0), Tokenization(claude="v3", source="older than ctok's oldest family, which is taken")),
)


@lru_cache(maxsize=1_024)
def tokenization_of(model: str | None) -> Tokenization:
    """How the texts of a model are counted.

    Args:
        model: A model's name as it was sent to whomever: `openai/gpt-4`, `gpt-35-turbo`, `ft:gpt-4o:acme`,
            `us.anthropic.claude-sonnet-4-5-20250929-v1:0`, `claude-opus-4-5@20251101`; `None` where it is
            unknown.
    """
    name = (model or "").lower()
    if re.search(_CLAUDE, name):
        return _claude(name)
    for pattern, tokenization in _RULES:
        if re.search(pattern, name):
            return tokenization
    return Tokenization()


def _claude(name: str) -> Tokenization:
    version = re.search(_CLAUDE_VERSION, name)
    if version is None:
        return _CLAUDE_FAMILIES[0][1]
    number = int(version[1]), int(version[2] or 0)
    return next(tokenization for since, tokenization in _CLAUDE_FAMILIES if number >= since)
