"""The prompt cache that a scripted model pretends to have. No price lives here."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ctxkit.messages import Block, ModelRequest
from ctxkit.tokens import block_counter_for, pieces, shape_of
from ctxkit.usage import Usage
from ctxkit.wire import wire_named

CacheRule = bool | Literal["always"]

TEXT_KINDS = frozenset({"system", "user_text", "assistant_text"})
OPENAI_MINIMUM = 1_024
OPENAI_STEP = 128


@dataclass(frozen=True, slots=True)
class Prefix:
    """The beginning of a prompt, up to the end of one of its blocks.

    Attributes:
        digest: Stands for the model and every block so far.
        tokens: What it holds, all blocks included.
        marked: Whether its last block has a `cache_control`.
    """

    digest: bytes
    tokens: int
    marked: bool


class PromptCache:
    """Says how much of a prompt was read from the cache, and how much was written to it.

    A prompt is its blocks: tool definitions, system prompt, and the parts of messages, counted as ctxkit
    counts them. Two prompts of one model share a beginning as far as their blocks are equal,
    `cache_control` aside.

    On Anthropic's wire, a beginning is kept where a `cache_control` stands (at the top level: at the
    end), and the longest one that is known is read. On OpenAI's, every beginning is kept, at no cost, and
    read from 1,024 tokens on, in steps of 128, as up to GPT-5.4.

    It is a simplification of what the providers do: entries never expire, Anthropic's minimum length and
    look-back limit are left out, all writes have the shortest lifetime.

    Source: the providers' guides to prompt caching, second hand, read on 2026-11-30.

    Args:
        rule: `True` for the rules above, `"always"` to keep every beginning on every wire without being
            asked, `False` to keep none.
    """

    def __init__(self, *, rule: CacheRule = True) -> None:
        self._rule = rule
        self._lock = threading.Lock()
        self._kept: set[bytes] = set()

    def count(self, body: Mapping[str, Any], *, wire: str) -> int:
        """The tokens of a request's prompt; the cache stays as it is."""
        return _prefixes(body, wire)[-1].tokens

    def take(self, body: Mapping[str, Any], *, wire: str) -> Usage:
        """Send one request's prompt through the cache.

        Args:
            body: The native request body.
            wire: The name of its wire.

        Returns:
            The input side of the usage, `output_tokens` unknown.
        """
        prefixes = _prefixes(body, wire)
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


def _prefixes(body: Mapping[str, Any], wire: str) -> list[Prefix]:
    request = ModelRequest(wire=wire_named(wire), body=body)
    counter = block_counter_for(request.model, wire)
    sizes: dict[Block, int] = {}
    for turn in (request.head, *request.turns):
        for block, _, tokens in pieces(turn, counter):
            if block is not None:
                sizes[block] = sizes.get(block, 0) + tokens
    in_front = shape_of(request, counter).total - sum(sizes.values())
    prefixes = [Prefix(str(request.model).encode(), 0, False)]
    for block, tokens in sizes.items():
        before = prefixes[-1]
        identity, marked = _identity(block)
        digest = hashlib.blake2b(before.digest + identity, digest_size=16).digest()
        prefixes.append(Prefix(digest, before.tokens + tokens + in_front, marked))
        in_front = 0
    if "cache_control" in body:
        prefixes[-1] = replace(prefixes[-1], marked=True)
    return prefixes


def _in_steps(tokens: int) -> int:
    return 0 if tokens < OPENAI_MINIMUM else tokens - tokens % OPENAI_STEP


def _identity(block: Block) -> tuple[bytes, bool]:
    """What equal blocks have in common, and whether this one is marked to be cached up to there."""
    bare = _without_marks(block.native)
    # A text and the block that it stands for are the same to the model.
    content = block.text if block.kind in TEXT_KINDS else bare
    return json.dumps([block.kind, content], sort_keys=True).encode(), bare != block.native


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_marks(inner) for key, inner in value.items() if key != "cache_control"}
    return [_without_marks(inner) for inner in value] if isinstance(value, list) else value
