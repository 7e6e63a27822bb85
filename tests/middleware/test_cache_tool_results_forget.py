"""`CacheToolResults`: what a write makes out of date is never given again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import ctxkit
from ctxkit.messages import ToolCall, ToolResult
from ctxkit.stores import MemoryStore
from support.caching import Tool, asking


def editing(forget: Callable[[ToolCall], Any], tool: Callable[..., Any], **options: Any) -> Any:
    """A cache of reads whose results a call of `edit_file` makes out of date."""
    cache = ctxkit.CacheToolResults(["read_*", "list"], invalidates={"edit_*": forget}, **options)
    return asking(cache, tool)


def reused(
    ask: Callable[..., ToolResult], edit: dict[str, Any], *reads: tuple[str, dict[str, Any]]
) -> list[bool]:
    """Which of the reads are given again after a write."""
    for name, given in reads:
        ask(name, **given)
    ask("edit_file", **edit)
    return [ask(name, **given).from_cache for name, given in reads]


READS = (
    ("read_file", {"path": "a"}),
    ("read_file", {"path": "a", "lines": [1, 2]}),
    ("read_file", {"paths": ["b", "a"]}),
    ("read_file", {"path": "b"}),
    ("read_head", {"path": "a"}),
)


@pytest.mark.parametrize(
    ("forget", "left"),
    [
        (lambda call: ("read_file", call.input["path"]), [False, False, False, True, True]),
        (lambda call: ("read_file", "a", [1, 2]), [True, False, True, True, True]),
        (lambda call: ("read_file", lambda given: given.get("path") == "b"), [True, True, True, False, True]),
        (lambda call: "read_file", [False, False, False, False, True]),
        (lambda call: ["read_head", ("read_file", "b")], [True, True, False, False, False]),
        (lambda call: [], [True] * 5),
        (lambda call: None, [True] * 5),
    ],
    ids=["value", "values", "predicate", "tool", "several", "empty", "none"],
)
def test_a_write_forgets_what_it_says_and_nothing_else(forget: Any, left: list[bool]) -> None:
    assert reused(editing(forget, Tool()), {"path": "a"}, *READS) == left


def test_a_write_that_fails_forgets_too() -> None:
    def tool(**given: Any) -> str:
        if "text" in given:
            raise OSError("half written")
        return "text"

    ask = editing(lambda call: "read_file", tool)
    ask("read_file", path="a")
    with pytest.raises(OSError, match="half written"):
        ask("edit_file", path="a", text="new")
    assert not ask("read_file", path="a").from_cache


@pytest.mark.parametrize(
    "forget",
    [
        lambda call: ("read_file", call.input["missing"]),
        lambda call: ("read_file", lambda given: given["missing"]),
    ],
    ids=["rule", "predicate"],
)
def test_where_a_rule_fails_everything_is_forgotten(forget: Any, task: ctxkit.Task) -> None:
    ask = editing(forget, Tool())
    assert reused(ask, {"path": "a"}, *READS) == [False] * 5
    assert task.faults == {"CacheToolResults: KeyError": 1}


def test_every_rule_that_matches_is_followed() -> None:
    rules = {"edit_*": lambda call: "read_file", "*_file": lambda call: "list"}
    ask = asking(ctxkit.CacheToolResults(["read_file", "list"], invalidates=rules), Tool())  # type: ignore[arg-type]
    # `read_file` matches the second pattern: its calls are writes, and are not kept.
    ask("list")
    ask("read_file", path="a")
    assert not ask("list").from_cache


def test_a_write_leaves_other_namespaces_alone() -> None:
    store = MemoryStore()
    anna, bert = (editing(lambda call: "list", Tool(), namespace=name, store=store) for name in ("a", "b"))
    anna("list")
    bert("list")
    anna("edit_file")
    assert [anna("list").from_cache, bert("list").from_cache] == [False, True]


def test_a_read_that_a_write_overtakes_is_not_kept() -> None:
    reading, written = threading.Event(), threading.Event()
    texts = iter(["old", "new"])

    def tool(**given: Any) -> str:
        if "path" not in given:
            return "written"
        text = next(texts)
        if text == "old":
            reading.set()
            assert written.wait(5)
        return text

    ask = editing(lambda call: "read_file", tool)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask, "read_file", path="a")
        assert reading.wait(5)
        ask("edit_file")
        written.set()
        assert first.result(5).content == "old"
    assert ask("read_file", path="a") == ToolResult("new")
    assert ask("read_file", path="a") == ToolResult("new", from_cache=True)


def test_a_dropped_write_asks_for_nothing_more() -> None:
    cache = ctxkit.CacheToolResults(["look"], invalidates={"edit": lambda call: "look"})
    flow = ctxkit.Stack(cache).tool_flow(ToolCall("edit", {}))
    assert isinstance(next(flow), ToolCall)
    flow.close()
    with pytest.raises(StopIteration):
        next(flow)
