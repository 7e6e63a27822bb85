"""`CacheToolResults`: an equal call gets the earlier result, and nothing else is ever reused."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import ctxkit
from ctxkit.drive import run_async
from ctxkit.errors import ConfigError
from ctxkit.flow import Flow
from ctxkit.messages import ToolCall, ToolResult
from ctxkit.stores import MemoryStore
from ctxkit.testing import ScriptedModel, both
from support.caching import Clock, Tool, asking, cached


def test_an_equal_call_gets_the_earlier_result_and_the_tool_does_not_run() -> None:
    ask = cached(tool := Tool())
    assert ask(city="Paris") == ToolResult("run 1")
    assert ask(city="Paris") == ToolResult("run 1", from_cache=True)
    assert ask(city="Rome") == ToolResult("run 2")
    assert len(tool.inputs) == 2


def test_blocking_and_awaiting_calls_reuse_alike() -> None:
    def flow() -> Any:
        stack = ctxkit.Stack(ctxkit.CacheToolResults(["look"]))
        yield from stack.tool_flow(ToolCall("look", {}))
        return (yield from stack.tool_flow(ToolCall("look", {})))

    model = ScriptedModel([], tools={"look": lambda: "seen"})
    assert both(flow, model) == ToolResult("seen", from_cache=True)
    assert len(model.calls) == 1


def test_a_tool_that_is_not_named_always_runs() -> None:
    ask = cached(Tool(), "look")
    assert [ask("write").content, ask("write").content] == ["run 1", "run 2"]


@pytest.mark.parametrize("tools", ["look", ["look"], {"look": 60}])
def test_tools_may_be_named_in_any_way(tools: Any) -> None:
    ask = asking(ctxkit.CacheToolResults(tools), Tool())
    assert [ask().content, ask().content, ask("loo").content] == ["run 1", "run 1", "run 2"]


def test_a_result_is_reused_for_its_time_to_live_and_no_longer() -> None:
    clock = Clock()
    ask = cached(Tool(), ttl_seconds=60, clock=clock)
    ask()
    clock.now += 59
    assert ask().content == "run 1"
    clock.now += 1
    assert ask().content == "run 2"


def test_the_time_to_live_begins_when_the_result_is_there() -> None:
    clock = Clock()

    def slow() -> str:
        clock.now += 100
        return "done"

    ask = cached(slow, ttl_seconds=60, clock=clock)
    ask()
    assert ask().from_cache


def test_patterns_have_a_time_to_live_of_their_own_and_the_first_that_matches_counts() -> None:
    clock = Clock()
    tools = {"geo_now": 10, "geo_*": 1_000, "map?": 100}
    ask = asking(ctxkit.CacheToolResults(tools, clock=clock), Tool())
    for name in ("geo_now", "geo_city", "map1", "map12"):
        ask(name)
    clock.now += 99
    reused = {name for name in ("geo_now", "geo_city", "map1", "map12") if ask(name).from_cache}
    assert reused == {"geo_city", "map1"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}),
        ({"rows": [{"a": 1, "b": 2}]}, {"rows": [{"b": 2, "a": 1}]}),
        ({"places": ("Paris", "Rome")}, {"places": ["Paris", "Rome"]}),
    ],
)
def test_the_order_of_keys_makes_no_difference(one: dict[str, Any], other: dict[str, Any]) -> None:
    ask = cached(Tool())
    ask(**one)
    assert ask(**other).from_cache


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, "1"), (1, True), (0, None), ([1, 2], [2, 1]), ("a", "A"), ("", None), (1, 1.5), (2**70, 2**70 + 1)],
)
def test_arguments_that_differ_are_different_calls(one: Any, other: Any) -> None:
    ask = cached(Tool())
    ask(value=one)
    assert not ask(value=other).from_cache


@pytest.mark.parametrize("text", ["\ud83d", "<|endoftext|>", "\x00", "é🐈"])
def test_arguments_may_be_any_text(text: str) -> None:
    ask = cached(Tool())
    ask(text=text)
    assert ask(text=text).from_cache
    assert not ask(text=f"{text} ").from_cache


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [b"bytes", {1, 2}, object(), float("nan"), float("inf"), nested(100_000)],
    ids=["bytes", "set", "object", "nan", "inf", "nested"],
)
def test_a_call_whose_arguments_cannot_be_compared_runs_as_if_there_were_no_cache(
    value: Any, task: ctxkit.Task
) -> None:
    ask = cached(Tool())
    assert [ask(value=value).content, ask(value=value).content] == ["run 1", "run 2"]
    assert not task.faults


def test_arguments_are_the_same_however_a_function_gets_them() -> None:
    calls: list[str] = []

    @ctxkit.Stack(ctxkit.CacheToolResults(["get_weather"])).tool
    def get_weather(city: str, units: str = "C") -> str:
        calls.append(city)
        return f"Sunny in {city}, {units}."

    same = [get_weather("Paris", "F"), get_weather("Paris", units="F"), get_weather(units="F", city="Paris")]
    assert set(same) == {"Sunny in Paris, F."}
    assert calls == ["Paris"]


def test_a_result_that_is_an_error_is_not_kept() -> None:
    results = iter([ToolResult("no access", is_error=True), ToolResult("seen")])
    ask = cached(lambda: next(results))
    assert [ask().content, ask().content, ask().content] == ["no access", "seen", "seen"]


def test_a_tool_that_raises_raises_and_runs_again() -> None:
    ask = cached(Tool(fails=1))
    with pytest.raises(OSError, match="not now"):
        ask()
    assert ask() == ToolResult("run 2")


def test_nothing_that_is_done_to_a_result_reaches_what_is_kept() -> None:
    ask = cached(lambda: {"rows": [1]})
    for _ in range(3):
        found = ask().content
        assert found == {"rows": [1]}
        found["rows"].append(2)


def test_a_result_that_cannot_be_copied_is_given_and_not_kept(task: ctxkit.Task) -> None:
    ask = cached(lambda: threading.Lock())
    first, second = ask(), ask()
    assert first.content is not second.content
    assert task.faults == {"CacheToolResults: TypeError": 2}


def test_what_a_tool_gives_besides_text_is_reused_too() -> None:
    values = iter([None, "never given"])
    ask = cached(lambda: next(values))
    assert [ask().content, ask().content] == [None, None]


def test_namespaces_do_not_see_each_others_results() -> None:
    tool, store = Tool(), MemoryStore()
    anna, bert = (cached(tool, namespace=name, store=store) for name in ("anna", "bert"))
    assert [anna().content, bert().content, anna().content] == ["run 1", "run 2", "run 1"]


def test_instances_share_results_through_one_store_alone() -> None:
    tool, store = Tool(), MemoryStore()
    assert [cached(tool, store=store)().content for _ in range(2)] == ["run 1", "run 1"]
    assert [cached(tool)().content for _ in range(2)] == ["run 2", "run 3"]


def test_a_store_that_says_it_is_empty_is_used_all_the_same() -> None:
    class Sized(MemoryStore):
        def __len__(self) -> int:
            return 0

    tool, store = Tool(), Sized()
    assert [cached(tool, store=store)().content for _ in range(2)] == ["run 1", "run 1"]


def test_twenty_threads_at_once_run_the_tool_once() -> None:
    waiting = threading.Semaphore(0)

    class Watched(MemoryStore):
        def wait(self, key: str) -> Flow[None]:
            waiting.release()
            return super().wait(key)

    def slow() -> str:
        for _ in range(19):
            assert waiting.acquire(timeout=5)
        return tool()

    tool, together = Tool(), threading.Barrier(20)
    ask = cached(slow, store=Watched())

    def work(_: int) -> ToolResult:
        together.wait(5)
        return ask()

    with ThreadPoolExecutor(20) as pool:
        results = list(pool.map(work, range(20)))
    assert {result.content for result in results} == {"run 1"}
    assert sum(not result.from_cache for result in results) == 1


class Remote:
    """An awaited tool that answers when it is let."""

    def __init__(self) -> None:
        self.runs = 0
        self.may_end = asyncio.Event()
        self.stack = ctxkit.Stack(ctxkit.CacheToolResults(["look"]))

    async def ask(self) -> ToolResult:
        return await run_async(self.stack.tool_flow(ToolCall("look", {})), self)

    async def model(self, request: ctxkit.ModelRequest) -> ctxkit.ModelResponse:
        raise NotImplementedError

    async def tool(self, call: ToolCall) -> ToolResult:
        self.runs += 1
        await self.may_end.wait()
        return ToolResult(f"run {self.runs}")

    async def asked(self, times: int) -> list[asyncio.Task[ToolResult]]:
        """So many calls under way: the first runs, the others wait for it."""
        asked = [asyncio.create_task(self.ask()) for _ in range(times)]
        for _ in range(3):
            await asyncio.sleep(0)
        return asked


def test_twenty_tasks_at_once_run_the_tool_once() -> None:
    async def gather() -> list[ToolResult]:
        remote = Remote()
        asked = await remote.asked(20)
        remote.may_end.set()
        return await asyncio.wait_for(asyncio.gather(*asked), 5)

    results = asyncio.run(gather())
    assert results == [ToolResult("run 1"), *[ToolResult("run 1", from_cache=True)] * 19]


def test_calls_that_overlap_do_not_share_one_object() -> None:
    async def gather() -> list[ToolResult]:
        stack = ctxkit.Stack(ctxkit.CacheToolResults(["look"]))
        edge = ScriptedModel([], tools={"look": lambda: ["row"]}).awaiting
        call = ToolCall("look", {})
        return await asyncio.gather(*(run_async(stack.tool_flow(call), edge) for _ in range(3)))

    contents = [result.content for result in asyncio.run(gather())]
    assert contents == [["row"]] * 3
    assert len({id(content) for content in contents}) == 3


def test_a_call_that_waits_for_one_that_is_cancelled_runs_itself() -> None:
    async def cancel_the_first() -> tuple[ToolResult, int]:
        remote = Remote()
        first, second = await remote.asked(2)
        first.cancel()
        remote.may_end.set()
        result = await asyncio.wait_for(second, 5)
        assert first.cancelled()
        return result, remote.runs

    assert asyncio.run(cancel_the_first()) == (ToolResult("run 2"), 2)


def test_a_call_that_is_cancelled_while_it_waits_leaves_the_others_alone() -> None:
    async def cancel_the_second() -> tuple[list[ToolResult], int]:
        remote = Remote()
        first, second, third = await remote.asked(3)
        second.cancel()
        await asyncio.sleep(0)
        remote.may_end.set()
        return await asyncio.wait_for(asyncio.gather(first, third), 5), remote.runs

    expected = [ToolResult("run 1"), ToolResult("run 1", from_cache=True)]
    assert asyncio.run(cancel_the_second()) == (expected, 1)


def test_where_the_call_that_runs_fails_the_next_one_runs_and_the_rest_wait_for_it() -> None:
    tool, together = Tool(fails=1), threading.Barrier(8)
    ask = cached(tool)

    def work(_: int) -> str:
        together.wait(5)
        try:
            return str(ask().content)
        except OSError as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        outcomes = sorted(pool.map(work, range(8)))
    assert outcomes == ["not now", *["run 2"] * 7]


def test_a_call_that_ended_just_after_the_store_was_asked_is_not_run_again() -> None:
    class Late(MemoryStore):
        """Before the first call leads, an equal one begins and ends."""

        def lead(self, key: str, token: str) -> Flow[bool]:
            if (asked := self.__dict__.setdefault("asked", [])) == []:
                asked.append(key)
                ask()
            return super().lead(key, token)

    ask = cached(tool := Tool(), store=Late())
    assert ask() == ToolResult("run 1", from_cache=True)
    assert len(tool.inputs) == 1


@pytest.mark.parametrize("tools", [[], {}])
def test_a_cache_for_no_tool_is_refused(tools: Any) -> None:
    with pytest.raises(ConfigError, match="at least one tool") as raised:
        ctxkit.CacheToolResults(tools)
    assert raised.value.option == "tools"


@pytest.mark.parametrize("ttl", [0, -1, float("nan")])
def test_a_time_to_live_that_makes_no_sense_is_refused(ttl: float) -> None:
    for make in (
        lambda: ctxkit.CacheToolResults(["look"], ttl_seconds=ttl),
        lambda: ctxkit.CacheToolResults({"look": ttl}),
    ):
        with pytest.raises(ConfigError, match="'look' must be above zero") as raised:
            make()
        assert raised.value.option == "ttl_seconds"
