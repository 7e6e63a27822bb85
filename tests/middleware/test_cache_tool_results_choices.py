"""`CacheToolResults`: which tools, which calls, what the model is told, and what was saved."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import ctxkit
from ctxkit.errors import ConfigError
from ctxkit.ledger import Reuse
from ctxkit.messages import ToolCall, ToolResult
from ctxkit.stores import MemoryStore
from support.caching import Clock, Tool, asking, cached

READ_ONLY = {"readOnlyHint": True}
LISTED = [
    {"name": "look", "annotations": READ_ONLY},
    {"name": "write", "annotations": {"readOnlyHint": False}},
    {"name": "odd", "annotations": {"readOnlyHint": "yes"}},
    {"name": "unsaid", "annotations": {}},
    {"name": "bare"},
]


@pytest.mark.parametrize(
    "tools",
    [
        LISTED,
        {"tools": LISTED},
        {str(tool["name"]): tool.get("annotations") for tool in LISTED},
        [
            SimpleNamespace(name="look", annotations=SimpleNamespace(readOnlyHint=True)),
            SimpleNamespace(name="write", annotations=SimpleNamespace(readOnlyHint=None)),
            SimpleNamespace(name="bare", annotations=None),
        ],
    ],
    ids=["list", "answer", "mapping", "objects"],
)
def test_only_tools_declared_read_only_are_cached(tools: Any) -> None:
    """Model Context Protocol: `readOnlyHint` is false where it is left out."""
    assert ctxkit.CacheToolResults(tools, ttl_seconds=60).tools == {"look": 60}


def test_names_times_and_annotations_may_be_mixed() -> None:
    assert ctxkit.CacheToolResults(["geo_*", *LISTED], ttl_seconds=60).tools == {"geo_*": 60, "look": 60}
    mixed = {"geo_*": 10, "look": READ_ONLY}
    assert ctxkit.CacheToolResults(mixed, ttl_seconds=60).tools == {"geo_*": 10, "look": 60}


def test_a_list_without_any_read_only_tool_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one tool"):
        ctxkit.CacheToolResults(LISTED[1:])


def test_a_call_that_bypasses_the_cache_runs_and_changes_nothing_that_is_kept() -> None:
    ask = cached(Tool(), bypass=lambda call: bool(call.input.get("fresh")))
    assert [ask(fresh=True).content, ask(fresh=True).content] == ["run 1", "run 2"]
    assert [ask().content, ask().content] == ["run 3", "run 3"]


def test_a_bypass_that_fails_breaks_no_call(task: ctxkit.Task) -> None:
    ask = cached(Tool(), bypass=lambda call: call.input["missing"])
    assert ask() == ToolResult("run 1")
    assert task.faults == {"CacheToolResults: KeyError": 1}


def test_errors_are_kept_where_that_is_asked_for_and_stay_errors() -> None:
    results = iter([ToolResult("no such city", is_error=True)])
    ask = cached(lambda: next(results), keep_errors=True)
    ask()
    assert ask() == ToolResult("no such city", is_error=True, from_cache=True)


def test_what_a_tool_raises_is_not_kept_even_where_errors_are() -> None:
    ask = cached(Tool(fails=1), keep_errors=True)
    with pytest.raises(OSError, match="not now"):
        ask()
    assert ask() == ToolResult("run 2")


def test_the_model_is_told_how_old_a_text_is_where_that_is_asked_for() -> None:
    clock = Clock()
    ask = cached(Tool(), say_cached=True, clock=clock)
    assert ask().content == "run 1"
    clock.now += 12
    said = "run 1\n[The result of an equal call 12 seconds ago, given again.]"
    assert [ask().content, ask().content] == [said, said]
    clock.now -= 100
    assert ask().content.endswith("[The result of an equal call 0 seconds ago, given again.]")


def test_what_is_no_text_is_given_as_it_is_even_where_the_model_is_told() -> None:
    ask = cached(lambda: {"rows": [1]}, say_cached=True)
    assert [ask().content, ask().content] == [{"rows": [1]}, {"rows": [1]}]


def test_what_was_saved_is_counted_by_tool_and_task(task: ctxkit.Task) -> None:
    clock = Clock()

    def slow(**given: Any) -> str:
        clock.now += 1.5
        return "done"

    cache = ctxkit.CacheToolResults(["look", "find"], clock=clock)
    ask = asking(cache, slow)
    ask("look")
    assert cache.stats() == {}
    with ctxkit.task("inner") as inner:
        for name in ("look", "look", "find", "find"):
            ask(name)
    ask("look")
    assert cache.stats() == {"look": Reuse(3, 4.5), "find": Reuse(1, 1.5)}
    assert inner.reused == {"look": Reuse(2, 3.0), "find": Reuse(1, 1.5)}
    assert task.reused == {"look": Reuse(1, 1.5)}


def test_the_report_tells_what_was_saved_by_results_given_again(task: ctxkit.Task) -> None:
    clock = Clock()

    def slow(**given: Any) -> str:
        clock.now += 1.5
        return "done"

    ask = asking(ctxkit.CacheToolResults(["look", "find"], clock=clock), slow)
    ask("look")
    with ctxkit.task("inner"):
        for name in ("look", "find", "find"):
            ask(name)
    ask("look")
    report = task.report()
    assert [row["reused"] for row in report.to_dict()["tasks"]] == [
        {"look": {"times": 1, "seconds_saved": 1.5}},
        {"look": {"times": 1, "seconds_saved": 1.5}, "find": {"times": 1, "seconds_saved": 1.5}},
    ]
    assert "2 earlier results of look given again, which saved 3.0 s of runs" in str(report)
    assert "1 earlier result of find given again, which saved 1.5 s of runs" in str(report)


def test_a_clock_that_goes_back_saves_no_negative_time() -> None:
    clock = Clock()

    def set_back() -> str:
        clock.now -= 100
        return "done"

    cache = ctxkit.CacheToolResults(["look"], clock=clock)
    ask = asking(cache, set_back)
    ask()
    ask()
    assert cache.stats() == {"look": Reuse(1, 0)}


def test_any_object_is_kept_in_memory() -> None:
    ask = cached(lambda: ("a", {1, 2}))
    assert [ask().content, ask()] == [("a", {1, 2}), ToolResult(("a", {1, 2}), from_cache=True)]


def test_a_dropped_call_asks_for_nothing_more_and_its_lease_runs_out() -> None:
    clock = Clock()
    cache = ctxkit.CacheToolResults(["look"], store=MemoryStore(lease_seconds=60, clock=clock))
    flow = ctxkit.Stack(cache).tool_flow(ToolCall("look", {}))
    assert isinstance(next(flow), ToolCall)
    flow.close()
    clock.now += 60
    assert asking(cache, Tool())() == ToolResult("run 1")
