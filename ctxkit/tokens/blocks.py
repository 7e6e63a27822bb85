"""Counters of blocks: each block is counted once, however many requests it is sent in."""

from __future__ import annotations

import threading
from hashlib import blake2b

from cachetools import LRUCache

from ctxkit.errors import ConfigError
from ctxkit.messages import Block
from ctxkit.tokens.counters import Counter, counter_for
from ctxkit.tokens.structure import Structure, structure_for

# Of a longer text only the first and the last half of so many characters are counted, and the rest is taken
# to be like them: counting takes a second for every 13 MB.
COUNTED_CHARS = 1_000_000

# One remembered count with its key: the most that tracemalloc shows on CPython 3.11, at any fill.
ENTRY_BYTES = 456


class CountMemory:
    """Keeps counts, the most recently used ones longest; many threads and counters may share it.

    Args:
        max_bytes: How much memory the counts may take.

    Raises:
        ConfigError: There is no room for even one count.
    """

    def __init__(self, *, max_bytes: int = 32_000_000) -> None:
        if max_bytes < ENTRY_BYTES:
            raise ConfigError(f"max_bytes is {max_bytes}, below {ENTRY_BYTES}", option="max_bytes")
        self._lock = threading.Lock()
        self._counts: LRUCache[bytes, int] = LRUCache(max_bytes // ENTRY_BYTES)

    def get(self, key: bytes) -> int | None:
        """The count under a key; `None` where there is none, or none any more."""
        with self._lock:
            return self._counts.get(key)

    def put(self, key: bytes, count: int) -> None:
        """Keep a count; those used longest ago make room for it."""
        with self._lock:
            self._counts[key] = count


class BlockCounter:
    """Counts blocks as a model's provider renders them, and remembers the counts. Many threads may use one.

    Args:
        counter: Counts text.
        structure: Says what of a block is text, and what it costs besides.
        memory: Where counts are kept; one of its own where left out.

    Attributes:
        name: Tells this counter from others: the names of the counter and the structure.
        structure: As given.
    """

    def __init__(
        self,
        counter: Counter,
        structure: Structure | None = None,
        *,
        memory: CountMemory | None = None,
    ) -> None:
        self.structure = structure or structure_for(None, None)
        self.name = f"{counter.name} {self.structure.name}"
        self._counter = counter
        self._memory = memory or CountMemory()
        self._key = blake2b(self.name.encode(), digest_size=8).digest()

    def count(self, block: Block) -> int:
        """The tokens of a block, with its frame and its media."""
        # What is the same in JSON may still be framed by its kind.
        key = b"%b%b%b" % (self._key, block.digest, block.kind.encode())
        known = self._memory.get(key)
        if known is None:
            known = self.structure.tokens(block, self.count_text)
            self._memory.put(key, known)
        return known

    def count_said(self, block: Block) -> int:
        """The tokens of a block's text alone."""
        return self.count(block) - self.structure.beside(block)

    def count_text(self, text: str) -> int:
        """The tokens of a text, which is not remembered.

        One of more than a million characters is estimated from its first and its last half million.
        """
        if len(text) <= COUNTED_CHARS:
            return self._counter.count(text)
        half = COUNTED_CHARS // 2
        sample = self._counter.count(text[:half]) + self._counter.count(text[-half:])
        return round(sample * len(text) / COUNTED_CHARS)


def block_counter_for(model: str | None, wire: str | None = None) -> BlockCounter:
    """The counter of a model's blocks, shared by the whole process.

    Args:
        model: Its name; `None` where it is unknown.
        wire: The name of the wire that its requests are in; `None` where that is unknown.
    """
    counter, structure = counter_for(model), structure_for(model, wire)
    with _lock:
        return _shared.setdefault(
            (counter.name, structure.name), BlockCounter(counter, structure, memory=_memory)
        )


_lock = threading.Lock()
_memory = CountMemory()
_shared: dict[tuple[str, str], BlockCounter] = {}
