"""`CacheToolResults` with stores that threads, tasks and processes share, and with stores that fail."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import ctxkit
from ctxkit.drive import run_async
from ctxkit.flow import Flow
from ctxkit.messages import ToolCall, ToolResult
from ctxkit.stores import MemoryStore, RedisStore, SqliteStore
from support.caching import Tool, asking, cached
from support.redis_server import free_port, redis_server

DUPLICATES = 100
Make = Callable[[], Any]


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    with redis_server() as url:
        yield url


def sqlite_store(path: str) -> Any:
    return SqliteStore(path)


def redis_store(url: str, prefix: str) -> Any:
    return RedisStore(url, prefix=prefix)


@pytest.fixture(params=["sqlite", "redis"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """How each process makes a store that it shares with the others: a function and its arguments."""
    if request.param == "sqlite":
        return sqlite_store, (str(tmp_path / "store.db"),)
    return redis_store, (request.getfixturevalue("redis_url"), f"{tmp_path}:")


@pytest.fixture(params=["memory", "sqlite", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield MemoryStore()
        return
    if request.param == "sqlite":
        made: Any = SqliteStore(tmp_path / "store.db")
    else:
        made = RedisStore(request.getfixturevalue("redis_url"), prefix=f"{tmp_path}:")
    yield made
    made.close()


def test_a_hundred_threads_at_once_run_the_tool_once(store: Any) -> None:
    tool, together = Tool(), threading.Barrier(DUPLICATES)

    def slow() -> str:
        time.sleep(0.1)
        return str(tool())

    ask = cached(slow, store=store)

    def work(_: int) -> ToolResult:
        together.wait(10)
        return ask()

    with ThreadPoolExecutor(DUPLICATES) as pool:
        results = list(pool.map(work, range(DUPLICATES)))
    assert {result.content for result in results} == {"run 1"}
    assert sum(not result.from_cache for result in results) == 1


class Remote:
    """An awaited tool that takes a moment."""

    def __init__(self, store: Any, *, seconds: float = 0.1) -> None:
        self.runs = 0
        self.store = store
        self.stack = ctxkit.Stack(ctxkit.CacheToolResults(["look"], store=store))
        self._seconds = seconds

    async def ask(self) -> ToolResult:
        return await run_async(self.stack.tool_flow(ToolCall("look", {})), self)

    async def model(self, request: ctxkit.ModelRequest) -> ctxkit.ModelResponse:
        raise NotImplementedError

    async def tool(self, call: ToolCall) -> ToolResult:
        self.runs += 1
        await asyncio.sleep(self._seconds)
        return ToolResult(f"run {self.runs}")

    async def close(self) -> None:
        if isinstance(self.store, RedisStore):
            await self.store.aclose()


def test_a_hundred_tasks_at_once_run_the_tool_once(store: Any) -> None:
    async def gather() -> list[ToolResult]:
        remote = Remote(store)
        results = await asyncio.wait_for(asyncio.gather(*(remote.ask() for _ in range(DUPLICATES))), 20)
        await remote.close()
        assert remote.runs == 1
        return results

    assert {result.content for result in asyncio.run(gather())} == {"run 1"}


def test_a_cancelled_leader_lets_the_next_one_lead(store: Any) -> None:
    async def cancel_the_first() -> ToolResult:
        remote = Remote(store, seconds=0.3)
        first = asyncio.create_task(remote.ask())
        while not remote.runs:
            await asyncio.sleep(0.01)
        second = asyncio.create_task(remote.ask())
        await asyncio.sleep(0.05)
        first.cancel()
        result = await asyncio.wait_for(second, 10)
        assert first.cancelled()
        await remote.close()
        return result

    assert asyncio.run(cancel_the_first()) == ToolResult("run 2")


def test_a_leader_that_raises_lets_the_next_one_lead(store: Any) -> None:
    ask = cached(Tool(fails=1), store=store)
    with pytest.raises(OSError, match="not now"):
        ask()
    assert [ask(), ask()] == [ToolResult("run 2"), ToolResult("run 2", from_cache=True)]


def work_in_process(make: Callable[..., Any], given: tuple[str, ...], log: str, start: Any) -> None:
    """25 threads of one process, all with the same call; each run of the tool adds a line to the log."""

    def slow() -> str:
        with Path(log).open("a") as lines:
            lines.write("run\n")
        time.sleep(0.3)
        return "seen"

    store = make(*given)
    ask = cached(slow, store=store)
    start.wait(60)
    with ThreadPoolExecutor(25) as pool:
        results = [future.result() for future in [pool.submit(ask) for _ in range(25)]]
    store.close()
    assert {result.content for result in results} == {"seen"}


def test_a_hundred_duplicates_in_four_processes_run_the_tool_once(
    shared: tuple[Callable[..., Any], tuple[str, ...]], tmp_path: Path
) -> None:
    context = get_context("spawn")
    start = context.Barrier(4)
    given = (*shared, str(tmp_path / "log"), start)
    workers = [context.Process(target=work_in_process, args=given) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert (tmp_path / "log").read_text() == "run\n"


def test_a_write_in_one_place_is_seen_in_another(
    shared: tuple[Callable[..., Any], tuple[str, ...]],
) -> None:
    make, given = shared
    tool, stores = Tool(), [make(*given), make(*given)]
    reader, writer = (
        asking(ctxkit.CacheToolResults(["look"], store=one, invalidates={"edit": lambda call: "look"}), tool)
        for one in stores
    )
    reader()
    assert writer().from_cache
    writer("edit")
    assert not reader().from_cache
    for one in stores:
        one.close()


@pytest.mark.parametrize(
    "content", [("a", "b"), {1: "a"}, {"a": {1}}, [float("nan")], b"bytes", {"a": (1,)}, 2**63]
)
def test_a_result_that_json_would_change_is_given_and_not_kept_as_bytes(
    content: Any, tmp_path: Path, task: ctxkit.Task
) -> None:
    store = SqliteStore(tmp_path / "store.db")
    ask = cached(lambda: content, store=store)
    assert not ask().from_cache and not ask().from_cache
    assert task.faults == {"CacheToolResults: look gives no plain JSON": 2}
    store.close()


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_a_result_nested_too_deeply_for_json_is_given_and_not_kept(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    ask = cached(lambda: nested(100_000), store=store)
    assert not ask().from_cache and not ask().from_cache
    store.close()


@pytest.mark.parametrize("content", ["text \ud83d", None, True, 2**63 - 1, 1.5, {"a": [1, {"b": None}]}])
def test_any_plain_json_comes_back_as_it_was(content: Any, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    ask = cached(lambda: content, store=store)
    ask()
    found = ask()
    assert found == ToolResult(content, from_cache=True)
    assert type(found.content) is type(content)
    store.close()


@pytest.mark.parametrize("value", [b"not json", b"{}", b'["a", 1, 2, 3]', b"[]", b'["a", false, "x", 0]'])
def test_what_others_wrote_into_the_store_is_no_result(value: bytes, tmp_path: Path) -> None:
    class Foreign(SqliteStore):
        def get(self, key: str) -> Flow[Any]:
            return value
            yield

    store = Foreign(tmp_path / "store.db")
    ask = cached(Tool(), store=store)
    assert [ask().content, ask().content] == ["run 1", "run 2"]
    store.close()


@pytest.mark.parametrize("colour", ["blocking", "awaiting"])
def test_a_store_that_is_away_breaks_no_call(colour: str, task: ctxkit.Task) -> None:
    store = RedisStore(f"redis://127.0.0.1:{free_port()}/0")
    cache = ctxkit.CacheToolResults(["look"], store=store, invalidates={"edit": lambda call: "look"})
    with asyncio.Runner() as runner:
        ask = asking(cache, Tool(), runner if colour == "awaiting" else None)
        assert [ask().content, ask().content, ask("edit").content] == ["run 1", "run 2", "run 3"]
        if colour == "awaiting":
            runner.run(store.aclose())
    assert task.faults == {"CacheToolResults: ConnectionError": 4}


@pytest.mark.parametrize("broken", ["put", "land", "lead"])
def test_a_store_that_fails_half_way_breaks_no_call(broken: str, task: ctxkit.Task) -> None:
    def fail(*given: Any, **options: Any) -> Any:
        raise OSError("disk full")

    store = MemoryStore(lease_seconds=0.01)
    setattr(store, broken, fail)
    ask = cached(Tool(), store=store)
    assert ask().content == "run 1"
    assert task.faults["CacheToolResults: OSError"] >= 1


def test_a_tool_that_raises_raises_even_where_the_store_fails() -> None:
    class Landless(MemoryStore):
        def land(self, key: str, token: str) -> Flow[None]:
            raise OSError("disk full")

    ask = cached(Tool(fails=1), store=Landless())
    with pytest.raises(OSError, match="not now"):
        ask()
