"""`RedisStore`: one URL or ready clients, in both colours, against a real server."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
import redis
import redis.asyncio

from ctxkit.errors import ConfigError
from ctxkit.stores import RedisStore
from support.redis_server import free_port
from support.stores import Asked


def test_ready_clients_serve_both_colours_and_stay_the_users(redis_url: str) -> None:
    async def close(client: Any) -> None:
        await client.aclose()

    with redis.Redis.from_url(redis_url) as client, asyncio.Runner() as runner:
        async_client = redis.asyncio.Redis.from_url(redis_url)
        store = RedisStore(client=client, async_client=async_client, prefix="ready:")
        Asked(store, None).put("key", b"value")
        assert Asked(store, runner).get("key") == b"value"
        Asked(store, runner).close()
        assert client.get("ready:kept:key") == b"value"
        runner.run(close(async_client))


def test_a_blocking_client_alone_serves_awaiting_flows_too(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client, asyncio.Runner() as runner:
        store = Asked(RedisStore(client=client, prefix="blocking:"), runner)
        store.put("key", b"value")
        assert store.get("key") == b"value"


def test_an_async_client_alone_refuses_blocking_flows(redis_url: str) -> None:
    store = RedisStore(async_client=redis.asyncio.Redis.from_url(redis_url))
    with pytest.raises(ConfigError, match="async client alone"):
        Asked(store, None).get("key")


def test_each_event_loop_has_connections_of_its_own(redis_url: str) -> None:
    store = RedisStore(redis_url, prefix="loops:")
    for _ in range(2):
        with asyncio.Runner() as runner:
            asked = Asked(store, runner)
            asked.put("key", b"value")
            assert asked.get("key") == b"value"
            asked.close()
            asked.close()


def test_stores_of_different_prefixes_do_not_see_each_other(redis_url: str) -> None:
    one, other = (Asked(RedisStore(redis_url, prefix=prefix), None) for prefix in ("one:", "other:"))
    one.put("key", b"value")
    assert other.get("key") is None
    one.close()
    other.close()


def test_a_server_that_is_away_fails_at_once() -> None:
    store = Asked(RedisStore(f"redis://127.0.0.1:{free_port()}/0"), None)
    with pytest.raises(redis.ConnectionError):
        store.get("key")


def test_a_client_that_decodes_answers_is_refused() -> None:
    client = redis.Redis(decode_responses=True)
    with pytest.raises(ConfigError, match="decode_responses=False"):
        RedisStore(client=client)


def test_neither_or_both_of_url_and_clients_are_refused() -> None:
    for options in ({}, {"url": "redis://localhost", "client": redis.Redis()}):
        with pytest.raises(ConfigError, match="either a url or ready clients"):
            RedisStore(**options)


def test_a_url_without_the_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ConfigError, match=r"install ctxkit\[redis\]"):
        RedisStore("redis://localhost")
