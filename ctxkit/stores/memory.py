"""Results kept in this process, bounded, and the calls under way that others wait for."""

from __future__ import annotations

from collections.abc import Awaitable, Hashable
from concurrent.futures import Future
from threading import Lock

from cachetools import LRUCache

from ctxkit.errors import ConfigError
from ctxkit.flow import Perform
from ctxkit.messages import ToolResult


class Flight:
    """A call under way. The one that leads lands it; the others wait."""

    def __init__(self, store: MemoryStore, key: Hashable) -> None:
        self._store = store
        self._key = key
        self._landed: Future[None] = Future()

    def wait(self) -> Perform:
        """The step that waits until the call has ended, however it did."""
        return Perform(self._landed.result, self._wait_async)

    def _wait_async(self) -> Awaitable[None]:
        import asyncio

        return asyncio.shield(asyncio.wrap_future(self._landed))

    def land(self) -> None:
        """The call has ended: let the others go on."""
        self._store.landed(self._key)
        self._landed.set_result(None)


class MemoryStore:
    """Keeps tool results in memory, the least recently used dropped first. Safe for many threads.

    Args:
        max_entries: How many results are kept.

    Raises:
        ConfigError: There is no room for even one result.
    """

    def __init__(self, *, max_entries: int = 1_024) -> None:
        if max_entries < 1:
            raise ConfigError(f"max_entries must be at least 1, it is {max_entries}", option="max_entries")
        self._lock = Lock()
        self._kept: LRUCache[Hashable, tuple[ToolResult, float]] = LRUCache(max_entries)
        self._flights: dict[Hashable, Flight] = {}

    def get(self, key: Hashable, *, now: float) -> ToolResult | None:
        """The result kept under a key; `None` where there is none, or its time is over."""
        with self._lock:
            entry = self._kept.get(key)
            if entry is None:
                return None
            result, until = entry
            if now < until:
                return result
            del self._kept[key]
            return None

    def put(self, key: Hashable, result: ToolResult, *, until: float) -> None:
        """Keep a result until a moment of the caller's clock."""
        with self._lock:
            self._kept[key] = (result, until)

    def flight(self, key: Hashable) -> tuple[Flight, bool]:
        """The call under way for a key, and whether the caller is the one to make it."""
        with self._lock:
            known = self._flights.get(key)
            if known is not None:
                return known, False
            made = self._flights[key] = Flight(self, key)
            return made, True

    def landed(self, key: Hashable) -> None:
        """The call for a key has ended."""
        with self._lock:
            self._flights.pop(key, None)
