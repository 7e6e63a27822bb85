"""`MemoryStore`: bounded, timed, and safe for many threads; a flight lets all who wait for it go on."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Barrier

import pytest

from ctxkit.errors import ConfigError
from ctxkit.messages import ToolResult
from ctxkit.stores import MemoryStore

FOREVER = float("inf")


def kept(store: MemoryStore, *keys: str) -> list[str]:
    """Which of the keys have a result."""
    return [key for key in keys if store.get(key, now=0) is not None]


def filled(*keys: str, max_entries: int) -> MemoryStore:
    store = MemoryStore(max_entries=max_entries)
    for key in keys:
        store.put(key, ToolResult(key), until=FOREVER)
    return store


def test_a_result_is_given_back_as_it_was_put() -> None:
    store = MemoryStore()
    result = ToolResult({"rows": [1]})
    store.put("key", result, until=FOREVER)
    assert store.get("key", now=0) is result
    assert store.get("other", now=0) is None


def test_the_result_put_last_replaces_the_one_before() -> None:
    store = filled("key", max_entries=1)
    store.put("key", ToolResult("new"), until=FOREVER)
    assert store.get("key", now=0) == ToolResult("new")


def test_a_result_is_there_until_its_moment_and_not_at_it() -> None:
    store = MemoryStore()
    store.put("key", ToolResult("value"), until=10)
    assert store.get("key", now=9.999) == ToolResult("value")
    assert store.get("key", now=10) is None
    assert store.get("key", now=0) is None


def test_the_oldest_result_makes_room_for_a_new_one() -> None:
    assert kept(filled("a", "b", "c", max_entries=2), "a", "b", "c") == ["b", "c"]


def test_a_result_that_was_used_outlives_one_that_was_not() -> None:
    store = filled("a", "b", max_entries=2)
    store.get("a", now=0)
    store.put("c", ToolResult("c"), until=FOREVER)
    assert kept(store, "a", "b", "c") == ["a", "c"]


@pytest.mark.parametrize("room", [0, -1])
def test_a_store_without_room_is_refused(room: int) -> None:
    with pytest.raises(ConfigError, match="at least 1") as raised:
        MemoryStore(max_entries=room)
    assert raised.value.option == "max_entries"


def test_the_first_to_ask_for_a_flight_leads_it_until_it_lands() -> None:
    store = MemoryStore()
    flight, leads = store.flight("key")
    assert leads
    assert store.flight("key") == (flight, False)
    flight.land()
    following, leads = store.flight("key")
    assert leads
    assert following is not flight


def test_flights_of_different_keys_are_different_flights() -> None:
    store = MemoryStore()
    assert store.flight("one")[1]
    assert store.flight("two")[1]


def test_threads_that_wait_for_a_flight_go_on_when_it_lands() -> None:
    flight, _ = MemoryStore().flight("key")
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(flight.wait().blocking) for _ in range(4)]
        assert not wait(waiting, timeout=0.02).done
        flight.land()
        assert wait(waiting, timeout=5).not_done == set()


def test_whoever_comes_after_the_landing_does_not_wait() -> None:
    flight, _ = MemoryStore().flight("key")
    flight.land()
    flight.wait().blocking()

    async def come_late() -> None:
        await asyncio.wait_for(flight.wait().awaitable(), 5)

    asyncio.run(come_late())


def test_tasks_that_wait_for_a_flight_leave_the_event_loop_free() -> None:
    flight, _ = MemoryStore().flight("key")

    async def land_beside_three() -> None:
        waiting = [asyncio.ensure_future(flight.wait().awaitable()) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        flight.land()
        await asyncio.wait_for(asyncio.gather(*waiting), 5)

    asyncio.run(land_beside_three())


def test_a_task_that_gives_up_waiting_leaves_the_flight_to_the_others() -> None:
    flight, _ = MemoryStore().flight("key")

    async def give_up_beside_another() -> None:
        patient = asyncio.ensure_future(flight.wait().awaitable())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(flight.wait().awaitable(), 0.01)
        flight.land()
        await asyncio.wait_for(patient, 5)

    asyncio.run(give_up_beside_another())


def test_a_thread_may_land_a_flight_that_a_task_waits_for() -> None:
    flight, _ = MemoryStore().flight("key")

    async def land_elsewhere() -> None:
        waiting = asyncio.ensure_future(flight.wait().awaitable())
        await asyncio.sleep(0)
        await asyncio.to_thread(flight.land)
        await asyncio.wait_for(waiting, 5)

    asyncio.run(land_elsewhere())


def test_a_flight_lands_also_where_the_event_loop_of_one_who_waited_is_gone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    flight, _ = MemoryStore().flight("key")

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(flight.wait().awaitable(), 0.001)

    asyncio.run(give_up())
    flight.land()
    assert caplog.records == []


def test_of_many_threads_exactly_one_leads() -> None:
    store = MemoryStore()
    together = Barrier(20)

    def leads() -> bool:
        together.wait(5)
        return store.flight("key")[1]

    with ThreadPoolExecutor(20) as pool:
        led = [pool.submit(leads) for _ in range(20)]
        assert sum(future.result() for future in led) == 1


def test_many_threads_may_read_and_write_at_once() -> None:
    store = MemoryStore(max_entries=8)
    together = Barrier(8)

    def work(number: int) -> bool:
        together.wait(5)
        for turn in range(300):
            key = str((number + turn) % 16)
            store.put(key, ToolResult(key), until=turn % 3)
            found = store.get(key, now=1)
            if found not in (None, ToolResult(key)):
                return False
        return len(kept(store, *map(str, range(16)))) <= 8

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
