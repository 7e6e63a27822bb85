"""What every store does alike, blocking and awaiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from ctxkit.errors import ConfigError
from support.stores import Asked


def test_a_value_is_given_back_byte_for_byte(store: Asked) -> None:
    assert store.put("key", b"\x00\xff value")
    assert store.get("key") == b"\x00\xff value"
    assert store.get("other") is None


def test_the_value_put_last_replaces_the_one_before(store: Asked) -> None:
    store.put("key", b"old")
    store.put("key", b"new")
    assert store.get("key") == b"new"


def test_a_value_is_gone_when_its_time_is_over(store: Asked) -> None:
    store.put("short", b"value", ttl_seconds=0.2)
    store.put("long", b"value", ttl_seconds=60)
    assert store.get("short") == b"value"
    time.sleep(0.25)
    assert store.get("short") is None
    assert store.get("long") == b"value"


def test_a_deleted_value_is_gone_and_the_others_stay(store: Asked) -> None:
    store.put("key", b"value")
    store.put("other", b"value")
    store.delete("key")
    store.delete("never kept")
    assert store.get("key") is None
    assert store.get("other") == b"value"


def test_keys_are_found_by_how_they_begin_and_nothing_in_them_is_a_pattern(store: Asked) -> None:
    for key in ('"a*"1', '"a*"2', '"ab"3', "[é]?\\", "[é]x"):
        store.put(key, b"value")
    store.lead('"a*"led', "token")
    assert sorted(store.keys('"a*"')) == ['"a*"1', '"a*"2', '"a*"led']
    assert store.keys("[é]?") == ["[é]?\\"]
    assert store.keys("none") == []


def test_many_keys_are_all_found(store: Asked) -> None:
    for number in range(1_500):
        store.put(f"many {number}", b"")
    assert len(store.keys("many ")) == 1_500


def test_one_leads_until_it_lands(store: Asked) -> None:
    assert store.lead("key", "first")
    assert not store.lead("key", "second")
    assert store.lead("other", "second")
    store.land("key", "second")
    assert not store.lead("key", "second")
    store.land("key", "first")
    assert store.lead("key", "second")


def test_a_lost_leader_makes_room_for_the_next_one(store: Asked) -> None:
    store.lead("key", "lost")
    store.wait("key")
    assert store.lead("key", "next")
    store.land("key", "lost")
    assert not store.lead("key", "third")


def test_who_waits_goes_on_when_the_leader_lands_and_not_before(store: Asked) -> None:
    store.wait("key")
    store.lead("key", "token")
    landed: list[float] = []

    def land() -> None:
        landed.append(time.monotonic())
        Asked(store.store, None).land("key", "token")

    timer = threading.Timer(0.1, land)
    timer.start()
    store.wait("key")
    assert landed and time.monotonic() >= landed[0]
    timer.join()


def test_a_value_put_under_a_token_is_kept_only_while_that_token_leads(store: Asked) -> None:
    assert not store.put("key", b"no lead", token="first")
    store.lead("key", "first")
    assert not store.put("key", b"another's", token="second")
    assert store.get("key") is None
    assert store.put("key", b"its own", token="first")
    assert store.put("key", b"its own", ttl_seconds=60, token="first")
    assert store.get("key") == b"its own"


def test_deleting_a_key_ends_its_lead_and_what_that_lead_puts_later_is_not_kept(store: Asked) -> None:
    store.lead("key", "reader")
    store.delete("key")
    assert not store.put("key", b"read before", token="reader")
    assert store.get("key") is None
    assert store.lead("key", "next")


@pytest.mark.parametrize("lease_seconds", [0, -1, float("nan")])
def test_a_lease_that_makes_no_sense_is_refused(made: Callable[..., Any], lease_seconds: float) -> None:
    with pytest.raises(ConfigError, match="lease_seconds must be above zero") as raised:
        made(lease_seconds=lease_seconds)
    assert raised.value.option == "lease_seconds"
