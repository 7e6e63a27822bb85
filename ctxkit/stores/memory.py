"""Values kept in this process, bounded by bytes, and the calls under way that others wait for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from cachetools import LRUCache

from ctxkit.flow import Flow, done, perform
from ctxkit.stores.base import LEASE_SECONDS, check_positive


@dataclass(frozen=True, slots=True)
class Lead:
    """A key that someone leads."""

    token: str
    until: float
    landed: Future[None] = field(default_factory=Future)


class MemoryStore:
    """Keeps values in memory, the least recently used dropped first. Safe for many threads.

    Values may be any object. The size of one that is not `bytes` is estimated, from what Python says of it
    and from how long it is when written out.

    Args:
        max_bytes: How much is kept, keys included.
        lease_seconds: After how long a leader that has not landed is taken for lost.
        clock: Gives the time in seconds; must never go backwards.

    Raises:
        ConfigError: A limit is not above zero.
    """

    keeps_objects = True

    def __init__(
        self,
        *,
        max_bytes: int = 64 * 1024 * 1024,
        lease_seconds: float = LEASE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check_positive(max_bytes, "max_bytes")
        check_positive(lease_seconds, "lease_seconds")
        self._lease_seconds = lease_seconds
        self._clock = clock
        self._lock = Lock()
        self._kept: LRUCache[str, tuple[Any, float, int]] = LRUCache(max_bytes, lambda entry: entry[2])
        self._leads: dict[str, Lead] = {}

    def get(self, key: str) -> Flow[Any]:
        """The value kept under a key; `None` where there is none, or its time is over."""
        with self._lock:
            value, until, _ = self._kept.get(key, (None, float("inf"), 0))
            if self._clock() >= until:
                del self._kept[key]
                value = None
        return done(value)

    def put(self, key: str, value: Any, *, ttl_seconds: float | None = None, token: str = "") -> Flow[bool]:
        """Keep a value where it fits and its token, if it has one, leads; whether it is kept."""
        size = len(key) + _size(value)
        with self._lock:
            lead = self._leads.get(key)
            if token and (lead is None or lead.token != token):
                return done(False)
            self._kept.pop(key, None)
            if size > self._kept.maxsize:
                return done(False)
            until = float("inf") if ttl_seconds is None else self._clock() + ttl_seconds
            self._kept[key] = (value, until, size)
        return done(True)

    def delete(self, key: str) -> Flow[None]:
        """Forget a key: what is kept, and who leads it."""
        with self._lock:
            self._kept.pop(key, None)
            self._end(key)
        return done(None)

    def keys(self, prefix: str) -> Flow[list[str]]:
        """The keys with this beginning that have a value or a leader."""
        with self._lock:
            return done([key for key in {*self._kept, *self._leads} if key.startswith(prefix)])

    def lead(self, key: str, token: str) -> Flow[bool]:
        """Whether the caller leads the key now; `False` where another one does."""
        with self._lock:
            known, now = self._leads.get(key), self._clock()
            if known is not None and now < known.until:
                return done(False)
            self._end(key)
            self._leads[key] = Lead(token, now + self._lease_seconds)
        return done(True)

    def wait(self, key: str) -> Flow[None]:
        """Wait until nobody leads the key, or its leader is lost."""
        with self._lock:
            lead = self._leads.get(key)
        if lead is None:
            return done(None)
        seconds = max(lead.until - self._clock(), 0)

        def wait_blocking() -> None:
            wait([lead.landed], seconds)

        async def wait_async() -> None:
            import asyncio

            await asyncio.wait([asyncio.wrap_future(lead.landed)], timeout=seconds)

        return perform(wait_blocking, wait_async)

    def land(self, key: str, token: str) -> Flow[None]:
        """End the lead of this token; that of any other stays."""
        with self._lock:
            lead = self._leads.get(key)
            if lead is not None and lead.token == token:
                self._end(key)
        return done(None)

    def _end(self, key: str) -> None:
        lead = self._leads.pop(key, None)
        if lead is not None:
            lead.landed.set_result(None)


def _size(value: Any) -> int:
    return len(value) if isinstance(value, bytes) else max(sys.getsizeof(value), len(repr(value)))
