"""Values kept on a Redis server, which many processes and machines share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from ctxkit.errors import ConfigError
from ctxkit.flow import Flow, perform
from ctxkit.stores.base import LEASE_SECONDS, check_positive, poll

_LAND = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
_PUT_LEADING = (
    "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end "
    "if ARGV[3] == '' then redis.call('set', KEYS[2], ARGV[2]) "
    "else redis.call('set', KEYS[2], ARGV[2], 'PX', ARGV[3]) end return 1"
)
_GLOB = re.compile(r"([\\*?\[\]])")
SCAN_COUNT = 1_000


class RedisStore:
    """Keeps bytes on a Redis server, in the blocking and the awaiting colour.

    How much is kept is the server's own setting (`maxmemory` and `maxmemory-policy`). A value whose leader
    took longer than the lease is not kept.

    Args:
        url: The server, such as `redis://localhost:6379/0`; both colours connect when they are first used.
        client: A ready `redis.Redis`, in place of a URL.
        async_client: A ready `redis.asyncio.Redis`, for one event loop. Where there is only a blocking
            client, it runs in a thread.
        prefix: What every key on the server begins with.
        lease_seconds: After how long a leader that has not landed is taken for lost.
        timeout_seconds: How long to wait for the server, where a URL is given.

    Raises:
        ConfigError: There is neither a URL nor a client, or both; a client decodes answers to text; a limit
            is not above zero; or the package `redis` is missing.
    """

    keeps_objects = False

    def __init__(
        self,
        url: str | None = None,
        *,
        client: Any = None,
        async_client: Any = None,
        prefix: str = "ctxkit:",
        lease_seconds: float = LEASE_SECONDS,
        timeout_seconds: float = 2.0,
    ) -> None:
        check_positive(lease_seconds, "lease_seconds")
        check_positive(timeout_seconds, "timeout_seconds")
        ready = [one for one in (client, async_client) if one is not None]
        if (url is None) == (not ready):
            raise ConfigError("give RedisStore either a url or ready clients", option="url")
        if any(one.connection_pool.connection_kwargs.get("decode_responses") for one in ready):
            raise ConfigError("RedisStore needs clients with decode_responses=False", option="client")
        self._url = url
        self._client = client if url is None else _connect(url, timeout_seconds, awaiting=False)
        self._async_client = async_client
        self._timeout_seconds = timeout_seconds
        self._by_loop: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._prefix = prefix
        self._lease_milliseconds = max(int(lease_seconds * 1_000), 1)

    def get(self, key: str) -> Flow[Any]:
        """The value kept under a key; `None` where there is none, or its time is over."""
        return self._ask(lambda client: client.get(self._kept(key)))

    def put(self, key: str, value: Any, *, ttl_seconds: float | None = None, token: str = "") -> Flow[bool]:
        """Keep a value where its token, if it has one, leads; whether it is kept."""
        milliseconds = None if ttl_seconds is None else max(int(ttl_seconds * 1_000), 1)
        if not token:
            return bool((yield from self._ask(lambda it: it.set(self._kept(key), value, px=milliseconds))))
        arguments = (self._lead(key), self._kept(key), token, value, milliseconds or "")
        return bool((yield from self._ask(lambda client: client.eval(_PUT_LEADING, 2, *arguments))))

    def delete(self, key: str) -> Flow[None]:
        """Forget a key: what is kept, and who leads it."""
        yield from self._ask(lambda client: client.delete(self._kept(key), self._lead(key)))

    def keys(self, prefix: str) -> Flow[list[str]]:
        """The keys with this beginning that have a value or a leader."""
        found: set[str] = set()
        for name in (self._kept, self._lead):
            pattern, cursor = _GLOB.sub(r"\\\1", name(prefix)) + "*", None
            while cursor != 0:
                cursor, page = yield from self._ask(self._scan(cursor or 0, pattern))
                found.update(raw.decode()[len(name("")) :] for raw in page)
        return sorted(found)

    def lead(self, key: str, token: str) -> Flow[bool]:
        """Whether the caller leads the key now; `False` where another one does."""
        lease = self._lease_milliseconds
        led = yield from self._ask(lambda client: client.set(self._lead(key), token, nx=True, px=lease))
        return bool(led)

    def wait(self, key: str) -> Flow[None]:
        """Wait until nobody leads the key, or its leader is lost."""
        return poll(lambda: self._ask(lambda client: client.exists(self._lead(key))))

    def land(self, key: str, token: str) -> Flow[None]:
        """End the lead of this token; that of any other stays."""
        yield from self._ask(lambda client: client.eval(_LAND, 1, self._lead(key), token))

    def close(self) -> None:
        """Close the blocking connections that a URL opened."""
        if self._url is not None:
            self._client.close()

    async def aclose(self) -> None:
        """Close the connections that a URL opened in the running event loop."""
        import asyncio

        client = self._by_loop.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def _kept(self, key: str) -> str:
        return f"{self._prefix}kept:{key}"

    def _lead(self, key: str) -> str:
        return f"{self._prefix}lead:{key}"

    def _scan(self, cursor: int, pattern: str) -> Callable[[Any], Any]:
        return lambda client: client.scan(cursor, match=pattern, count=SCAN_COUNT)

    def _ask(self, command: Callable[[Any], Any]) -> Flow[Any]:
        """Give a command, which both colours of a client spell alike."""
        if self._url is None and self._async_client is None:
            return perform(lambda: command(self._client))
        return perform(lambda: command(self._blocking()), lambda: command(self._awaiting()))

    def _blocking(self) -> Any:
        if self._client is None:
            raise ConfigError(
                "this RedisStore has an async client alone: give it client= too", option="client"
            )
        return self._client

    def _awaiting(self) -> Any:
        """The client of the running event loop: connections belong to one."""
        if self._url is None:
            return self._async_client
        import asyncio

        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            self._by_loop[loop] = _connect(self._url, self._timeout_seconds, awaiting=True)
        return self._by_loop[loop]


def _connect(url: str, timeout_seconds: float, *, awaiting: bool) -> Any:
    """A client that gives up at once where the server is away: the tool runs without it."""
    try:
        import redis
        import redis.asyncio
        from redis.asyncio.retry import Retry as AsyncRetry
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError:
        raise ConfigError("RedisStore needs the package redis: install ctxkit[redis]", option="url") from None
    timeouts: dict[str, Any] = {"socket_timeout": timeout_seconds, "socket_connect_timeout": timeout_seconds}
    if awaiting:
        return redis.asyncio.Redis.from_url(url, retry=AsyncRetry(NoBackoff(), 0), **timeouts)
    return redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0), **timeouts)
