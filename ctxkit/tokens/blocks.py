"""Counters of blocks: each block is counted once, however many requests it is sent in."""

from __future__ import annotations

import threading

from cachetools import LRUCache

from ctxkit.errors import ConfigError
from ctxkit.messages import Block
from ctxkit.tokens.counters import COUNTERS, Counter, counter_for

# The upper end of the providers' formulas, for one image or document. A later issue replaces it.
IMAGE_TOKENS = 1_600

# Of a longer text only the first and the last half of so many characters are counted, and the rest is taken
# to be like them: counting takes a second for every 13 MB.
COUNTED_CHARS = 1_000_000

# One remembered count with its digest: the most that tracemalloc shows on CPython 3.11, at any fill.
ENTRY_BYTES = 448


class BlockCounter:
    """Counts blocks and remembers the counts by digest, the most recently used ones longest.

    One may serve many threads.

    Args:
        counter: Counts the text.
        max_bytes: How much memory the remembered counts may take.

    Raises:
        ConfigError: There is no room for even one count.
    """

    def __init__(self, counter: Counter, *, max_bytes: int = 16_000_000) -> None:
        if max_bytes < ENTRY_BYTES:
            raise ConfigError(f"max_bytes is {max_bytes}, below {ENTRY_BYTES}", option="max_bytes")
        self._counter = counter
        self._lock = threading.Lock()
        self._counts: LRUCache[bytes, int] = LRUCache(max_bytes // ENTRY_BYTES)

    @property
    def name(self) -> str:
        """The name of the counter within."""
        return self._counter.name

    def count(self, block: Block) -> int:
        """The tokens of a block: those of its text, and `IMAGE_TOKENS` for each image or document.

        A text of more than a million characters is estimated from its first and its last half million.
        """
        with self._lock:
            known = self._counts.get(block.digest)
        if known is None:
            known = self._text(block.text) + IMAGE_TOKENS * block.images
            with self._lock:
                self._counts[block.digest] = known
        return known

    def _text(self, text: str) -> int:
        if len(text) <= COUNTED_CHARS:
            return self._counter.count(text)
        half = COUNTED_CHARS // 2
        sample = self._counter.count(text[:half]) + self._counter.count(text[-half:])
        return round(sample * len(text) / COUNTED_CHARS)


def block_counter_for(model: str | None) -> BlockCounter:
    """The block counter over `counter_for(model)`, shared by the whole process."""
    return _BLOCK_COUNTERS[counter_for(model).name]


_BLOCK_COUNTERS = {name: BlockCounter(counter) for name, counter in COUNTERS.items()}
