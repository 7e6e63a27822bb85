"""`RecallToolResults` where a loop answers the tool by itself: as a function, and around tool functions."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

import ctxkit
from ctxkit.drive import run
from ctxkit.integrations import functions
from ctxkit.messages import ToolCall
from ctxkit.middleware.recall_tool_results import REPEATED, UNKNOWN, RecallToolResults
from ctxkit.middleware.truncate_tool_results import TruncateToolResults
from ctxkit.originals import RECALL_TOOL, Originals
from ctxkit.recall import definition
from ctxkit.testing import ScriptedModel
from support.bodies import ALL_WIRES, ANTHROPIC, OPENAI
from support.recalling import TOOLS, Caller, Model, answer, reading, searching

LONG = "\n".join(f"line {number} of a long result" for number in range(2_000))
NOBODY = ScriptedModel([])


@pytest.fixture(autouse=True)
def own_task(task: ctxkit.Task) -> None:
    """What is read is counted by task."""


def test_the_function_is_one_that_any_loop_can_run() -> None:
    originals = Originals()
    function = RecallToolResults(originals).function
    handle = run(originals.keep(LONG), NOBODY)
    assert function.__name__ == RECALL_TOOL
    assert function.__doc__
    assert function(handle, 2, 2) == "[ctxkit: lines 2 to 2 of 2000]\nline 1 of a long result"
    assert function(handle="r-0") == UNKNOWN


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_the_definition_names_the_arguments_of_the_function(wire: str) -> None:
    recall = RecallToolResults(Originals())
    native: Any = recall.tool(wire)
    named = native.get("function", native)
    schema = named.get("input_schema") or named["parameters"]
    assert list(schema["properties"]) == list(inspect.signature(recall.function).parameters)
    assert native == definition(wire)


def test_either_of_them_tells_that_the_originals_can_be_read() -> None:
    assert not RecallToolResults(Originals()).originals.recallable
    one, other = RecallToolResults(Originals()), RecallToolResults(Originals())
    one.tool()
    other.function
    assert one.originals.recallable and other.originals.recallable


@pytest.mark.parametrize("wire", ALL_WIRES)
@pytest.mark.parametrize("answers", [True, False])
def test_where_the_caller_has_the_tool_its_calls_are_the_callers(wire: str, answers: bool) -> None:
    recall = RecallToolResults(Originals(), answers=answers)
    own = recall.tool(wire)
    tools = [{"functionDeclarations": [own]}] if wire == "gemini" else [*TOOLS[wire], own]
    model = Model(answer(wire, "", [reading(1, "r-0")]))
    request = Caller(wire, tools=tools).request()
    response = run(ctxkit.Stack(recall).model_flow(request), model)
    assert model.requests == [request]
    assert [call.name for call in response.tool_calls] == [RECALL_TOOL]


def test_a_tool_that_the_caller_put_there_makes_the_originals_recallable() -> None:
    recall = RecallToolResults(Originals(), answers=False)
    request = Caller(OPENAI, tools=[definition(OPENAI)]).request()
    run(ctxkit.Stack(recall).model_flow(request), Model(answer(OPENAI, "Done.")))
    assert recall.originals.recallable


def test_without_answers_nothing_is_added_and_no_stream_is_held_back() -> None:
    recall = RecallToolResults(Originals(), answers=False)
    model, request = Model(answer(OPENAI, "Done.")), Caller(OPENAI).request()
    run(ctxkit.Stack(recall).model_flow(request), model)
    assert model.requests == [request]
    assert not ctxkit.Stack(recall).buffers_stream
    assert ctxkit.Stack(RecallToolResults(Originals())).buffers_stream


def test_around_a_dispatcher_it_answers_its_own_tool_and_passes_on_the_others() -> None:
    originals = Originals()
    recall = RecallToolResults(originals)
    recall.tool()

    def run_tool(name: str, input: dict[str, Any]) -> str:
        return f"{LONG} by {name}"

    stack = ctxkit.Stack(recall, TruncateToolResults(max_tokens=200, originals=originals))
    wrapped = functions.wrap_tool(run_tool, stack)
    short = wrapped("search", {"query": "x"})
    handle = short.partition('handle="')[2].partition('"')[0]
    assert handle == originals.handle(f"{LONG} by search")
    assert wrapped(RECALL_TOOL, {"handle": handle, "search": "by search"}).endswith("long result by search")


def test_what_is_read_is_not_cut_again() -> None:
    originals = Originals()
    recall = RecallToolResults(originals, max_tokens=3_000)
    handle = run(originals.keep(LONG), NOBODY)
    call = ToolCall(RECALL_TOOL, {"handle": handle})
    for stack in (
        ctxkit.Stack(recall, TruncateToolResults(max_tokens=200)),
        ctxkit.Stack(TruncateToolResults(max_tokens=200), recall),
    ):
        given = run(stack.tool_flow(call), NOBODY).content
        assert len(given) > 5_000
        assert "go on with first_line=" in given


def test_all_tools_of_an_answer_run_side_by_side_with_it() -> None:
    originals = Originals()
    recall = RecallToolResults(originals)
    handle = run(originals.keep(LONG), NOBODY)

    async def search(query: str) -> str:
        return query

    body = answer(ANTHROPIC, "", [reading(1, handle, last_line=1), searching(1)])
    given = asyncio.run(functions.run_tools(body, [search, recall.function], ctxkit.Stack(recall)))
    assert [block["content"] for block in given] == [
        "[ctxkit: lines 1 to 1 of 2000]\nline 0 of a long result",
        "number 1",
    ]


def test_a_loop_that_reads_the_same_part_on_and_on_is_told_so() -> None:
    originals = Originals()
    function = RecallToolResults(originals, max_repeats=2).function
    handle = run(originals.keep(LONG), NOBODY)
    given = [function(handle, first_line=5, last_line=5) for _ in range(3)]
    assert [text == REPEATED for text in given] == [False, False, True]
    assert function(handle, first_line=6, last_line=6) != REPEATED
    with ctxkit.task("another"):
        assert function(handle, first_line=5, last_line=5) == given[0]


def test_what_was_read_long_ago_may_be_read_again() -> None:
    originals = Originals()
    function = RecallToolResults(originals, max_repeats=1).function
    handle = run(originals.keep(LONG), NOBODY)
    first = function(handle, last_line=1)
    for line in range(2, 30):
        function(handle, last_line=line)
    assert function(handle, last_line=1) == first
