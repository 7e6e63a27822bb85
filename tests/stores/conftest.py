"""What tests of stores share: a Redis server, and each kind of store in both colours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxkit.stores import MemoryStore, RedisStore, SqliteStore
from support.redis_server import redis_server
from support.stores import Asked


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The URL of a real server, started once."""
    with redis_server() as url:
        yield url


@pytest.fixture(params=["memory", "sqlite", "redis"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Any]:
    """Makes a store of one kind; two that it makes share what they keep, but for those in memory."""
    if request.param == "memory":
        return MemoryStore
    if request.param == "sqlite":
        return lambda **options: SqliteStore(tmp_path / "store.db", **options)
    url = request.getfixturevalue("redis_url")
    return lambda **options: RedisStore(url, prefix=f"{tmp_path}:", **options)


@pytest.fixture
def store(made: Callable[..., Any], runner: asyncio.Runner | None) -> Iterator[Asked]:
    """A store of each kind, asked blocking and awaiting."""
    asked = Asked(made(lease_seconds=0.4), runner)
    yield asked
    asked.close()
