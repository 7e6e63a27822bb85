"""The prompt cache that a scripted model pretends to have. No price lives here."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ctxkit.tokens import counter_for
from ctxkit.usage import Usage

CacheRule = bool | Literal["always"]

PROMPT_KEYS = ("tools", "functions", "system", "messages")
OPENAI_MINIMUM = 1_024
OPENAI_STEP = 128


@dataclass(frozen=True, slots=True)
class Prefix:
    """The beginning of a prompt, up to the end of one of its pieces.

    Attributes:
        digest: Stands for the model and every piece so far.
        tokens: What it holds, all pieces included.
        marked: Whether its last piece has a `cache_control`.
    """

    digest: bytes
    tokens: int
    marked: bool


class PromptCache:
    """Says how much of a prompt was read from the cache, and how much was written to it.

    A prompt is its tools, system prompt and messages, in pieces: a tool definition, a content block, a
    message without its content. Two prompts of one model share a beginning as far as their pieces are
    equal as JSON, `cache_control` aside.

    On Anthropic's wire, a beginning is kept where a `cache_control` stands (at the top level: at the
    end), and the longest one that is known is read. On OpenAI's, every beginning is kept, at no cost, and
    read from 1,024 tokens on, in steps of 128, as up to GPT-5.4.

    It is a simplification of what the providers do: entries never expire, Anthropic's minimum length and
    look-back limit are left out, all writes have the shortest lifetime, media are counted as the text of
    their JSON.

    Source: the providers' guides to prompt caching, second hand, read on 2026-11-30.

    Args:
        rule: `True` for the rules above, `"always"` to keep every beginning on every wire without being
            asked, `False` to keep none.
    """

    def __init__(self, *, rule: CacheRule = True) -> None:
        self._rule = rule
        self._lock = threading.Lock()
        self._kept: set[bytes] = set()
        self._tokens: dict[bytes, int] = {}

    def count(self, body: Mapping[str, Any]) -> int:
        """The tokens of a request's prompt; the cache stays as it is."""
        return self._prefixes(body)[-1].tokens

    def take(self, body: Mapping[str, Any], *, wire: str) -> Usage:
        """Send one request's prompt through the cache.

        Args:
            body: The native request body.
            wire: The name of its wire.

        Returns:
            The input side of the usage, `output_tokens` unknown.
        """
        prefixes = self._prefixes(body)
        unasked = self._rule == "always" or wire == "openai_chat"
        ends = [prefix for prefix in prefixes if self._rule and (unasked or prefix.marked)]
        total = prefixes[-1].tokens
        end = ends[-1].tokens if ends else 0
        with self._lock:
            known = [prefix.tokens for prefix in prefixes if prefix.digest in self._kept]
            self._kept.update(prefix.digest for prefix in ends)
        read = max((tokens for tokens in known if tokens <= end), default=0)
        if wire == "openai_chat":
            return Usage(total, None, cache_read_tokens=_in_steps(read))
        return Usage(total, None, cache_read_tokens=read, cache_write_tokens=end - read)

    def _prefixes(self, body: Mapping[str, Any]) -> list[Prefix]:
        model = body.get("model")
        count = counter_for(model).count
        prefixes = [Prefix(str(model).encode(), 0, False)]
        for piece, marked in _pieces(body):
            before = prefixes[-1]
            digest = hashlib.blake2b(before.digest + piece.encode(), digest_size=16).digest()
            if digest not in self._tokens:
                self._tokens[digest] = before.tokens + count(piece)
            prefixes.append(Prefix(digest, self._tokens[digest], marked))
        return prefixes


def _in_steps(tokens: int) -> int:
    return 0 if tokens < OPENAI_MINIMUM else tokens - tokens % OPENAI_STEP


def _pieces(body: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Every piece of a prompt as JSON text, and whether it is marked to be cached up to there."""
    items = [item for key in PROMPT_KEYS for item in _blocks(body.get(key))]
    parts = [part for item in items for part in _parts(item)]
    for index, part in enumerate(parts):
        bare = _without_marks(part)
        at_end = index == len(parts) - 1 and "cache_control" in body
        yield json.dumps(bare, sort_keys=True), at_end or bare != part


def _blocks(value: Any) -> list[Any]:
    """A text as the one block that it stands for, a list as it is."""
    return [{"type": "text", "text": value}] if isinstance(value, str) else value or []


def _parts(item: Any) -> list[Any]:
    """A message as what it is without its content, and its content blocks; anything else as it is."""
    if "role" not in item:
        return [item]
    rest = {key: value for key, value in item.items() if key != "content"}
    return [rest, *_blocks(item.get("content"))]


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_marks(inner) for key, inner in value.items() if key != "cache_control"}
    return [_without_marks(inner) for inner in value] if isinstance(value, list) else value
