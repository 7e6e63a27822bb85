"""`CacheToolResults`: gives a tool's earlier result again instead of running it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Mapping
from copy import deepcopy
from dataclasses import replace
from fnmatch import fnmatchcase
from math import isfinite

from ctxkit.errors import BodyError, ConfigError
from ctxkit.flow import Flow, Middleware, ToolNext
from ctxkit.messages import ToolCall, ToolResult
from ctxkit.stores.memory import MemoryStore
from ctxkit.wire.native import dumps


class CacheToolResults(Middleware):
    """Gives a tool's earlier result again instead of running it, for tools that are named to be cached.

    Equal means the same tool and the same arguments, whatever their order. Calls that are equal and
    overlap run once, and all get that result. What failed is never kept, and a call whose arguments
    can't be compared runs as if there were no cache.

    Args:
        tools: The tools whose results may be reused; `*` and `?` match as in file names. A mapping gives
            each its own time to live in seconds.
        ttl_seconds: How long a result may be reused.
        namespace: Keeps the results of users, or of working copies, apart.
        store: Where results are kept; a store in memory of its own where left out.
        clock: Gives the time in seconds; must never go backwards.

    Raises:
        ConfigError: No tool is named, or a time to live is not above zero.
    """

    def __init__(
        self,
        tools: Collection[str] | Mapping[str, float],
        *,
        ttl_seconds: float = 300.0,
        namespace: str = "",
        store: MemoryStore | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if isinstance(tools, str):
            tools = [tools]
        self.tools = dict(tools) if isinstance(tools, Mapping) else dict.fromkeys(tools, ttl_seconds)
        if not self.tools:
            raise ConfigError("name at least one tool whose results may be reused", option="tools")
        for pattern, ttl in self.tools.items():
            if not ttl > 0:
                raise ConfigError(f"the time to live of {pattern!r} must be above zero", option="ttl_seconds")
        self.namespace = namespace
        self.store = MemoryStore() if store is None else store
        self._clock = clock

    def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Flow[ToolResult]:
        """Give what is kept, wait for an equal call that runs, or run it and keep the result."""
        ttl = self._ttl(call.name)
        key = self._key(call)
        if ttl is None or key is None:
            return (yield from call_next(call))
        while True:
            kept = self._kept(key)
            if kept is not None:
                return kept
            flight, leads = self.store.flight(key)
            if leads:
                break
            yield flight.wait()
        try:
            # An equal call may have ended since the store was asked.
            result = self._kept(key)
            if result is None:
                result = yield from call_next(call)
                if not result.is_error:
                    own = replace(result, content=deepcopy(result.content))
                    self.store.put(key, own, until=self._clock() + ttl)
        finally:
            flight.land()
        return result

    def _kept(self, key: Hashable) -> ToolResult | None:
        kept = self.store.get(key, now=self._clock())
        return None if kept is None else replace(kept, content=deepcopy(kept.content), from_cache=True)

    def _ttl(self, tool: str) -> float | None:
        return next((ttl for pattern, ttl in self.tools.items() if fnmatchcase(tool, pattern)), None)

    def _key(self, call: ToolCall) -> Hashable | None:
        """What equal calls have in common; `None` where the arguments are no plain JSON."""
        try:
            return self.namespace, call.name, dumps(_sorted(call.input))
        except (BodyError, RecursionError):
            return None


def _sorted(value: object) -> object:
    """The value with the keys of every object in one order; raises `BodyError` where it is no plain JSON."""
    if isinstance(value, Mapping):
        return {str(key): _sorted(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, (list, tuple)):
        return [_sorted(item) for item in value]
    if value is None or isinstance(value, (str, int)) or (isinstance(value, float) and isfinite(value)):
        return value
    raise BodyError(f"a {type(value).__name__} is no plain JSON")
