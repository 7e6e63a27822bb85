"""`MemoryStore`: bounded by bytes, the least recently used dropped first."""

from __future__ import annotations

import pytest

from ctxkit.errors import ConfigError
from ctxkit.stores import MemoryStore
from support.stores import Asked


def kept(store: Asked, *keys: str) -> list[str]:
    """Which of the keys have a value."""
    return [key for key in keys if store.get(key) is not None]


def test_the_oldest_value_makes_room_for_a_new_one() -> None:
    store = Asked(MemoryStore(max_bytes=20), None)
    for key in "abc":
        store.put(key, bytes(9))
    assert kept(store, "a", "b", "c") == ["b", "c"]


def test_a_value_that_was_used_outlives_one_that_was_not() -> None:
    store = Asked(MemoryStore(max_bytes=20), None)
    store.put("a", bytes(9))
    store.put("b", bytes(9))
    store.get("a")
    store.put("c", bytes(9))
    assert kept(store, "a", "b", "c") == ["a", "c"]


def test_a_value_too_large_for_the_store_is_not_kept_and_neither_is_what_it_replaces() -> None:
    store = Asked(MemoryStore(max_bytes=20), None)
    store.put("a", b"old")
    store.put("b", b"stays")
    assert not store.put("a", bytes(20))
    assert kept(store, "a", "b") == ["b"]


def test_objects_are_kept_and_count_by_their_size() -> None:
    store = Asked(MemoryStore(max_bytes=10_000), None)
    value = {"rows": [object()]}
    assert store.put("key", value)
    assert store.get("key") is value
    assert not store.put("large", ["x" * 10_000])
    assert not store.put("large", bytearray(10_000))


def test_time_is_that_of_the_clock_it_is_given() -> None:
    now = [1_000.0]
    store = Asked(MemoryStore(clock=lambda: now[0]), None)
    store.put("key", b"value", ttl_seconds=10)
    now[0] += 9.999
    assert store.get("key") == b"value"
    now[0] += 0.001
    assert store.get("key") is None


def test_a_store_without_room_is_refused() -> None:
    with pytest.raises(ConfigError, match="max_bytes must be above zero") as raised:
        MemoryStore(max_bytes=0)
    assert raised.value.option == "max_bytes"
