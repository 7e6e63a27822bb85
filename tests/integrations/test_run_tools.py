"""`run_tools`: all calls of one answer side by side, their results in the order of the calls."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from anthropic.types import Message
from openai.types.chat import ChatCompletion

import ctxkit
from ctxkit.errors import AttachError, BodyError, FlowError, SpendLimitReached
from ctxkit.flow import Flow, Middleware, ToolNext
from ctxkit.integrations.functions import run_tools
from ctxkit.messages import ModelResponse, ToolCall, ToolResult
from ctxkit.wire import wire_named
from support.bodies import ANTHROPIC, IMAGE, IMAGE_URL, OPENAI, WIRES, answer_body, calls, request_of

Call = tuple[str, Any]


def body_of(wire: str, *wanted: Call) -> dict[str, Any]:
    """A response that calls these tools, with the ids `call_0`, `call_1`, and so on."""
    if wire == ANTHROPIC:
        content = [
            {"type": "tool_use", "id": f"call_{number}", "name": name, "input": arguments}
            for number, (name, arguments) in enumerate(wanted)
        ]
        return answer_body(ANTHROPIC, content=content, stop_reason="tool_use")
    made = [
        calls(OPENAI, f"call_{number}", tool=name, inputs=arguments)["tool_calls"][0]
        for number, (name, arguments) in enumerate(wanted)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": made}
    return answer_body(OPENAI, choices=[{"index": 0, "message": message, "finish_reason": "tool_calls"}])


def ran(answer: Any, tools: Any, *stack: Middleware) -> list[Any]:
    """What `run_tools` gives, awaited where it has to be."""
    made = run_tools(answer, tools, ctxkit.Stack(*stack))
    return asyncio.run(made) if inspect.iscoroutine(made) else made


def shown(wire: str, result: Mapping[str, Any]) -> tuple[str, Any, bool]:
    """The call's id, the content and whether it failed, of a result in either wire."""
    if wire == ANTHROPIC:
        assert result["type"] == "tool_result"
        return result["tool_use_id"], result["content"], result.get("is_error", False)
    assert result["role"] == "tool"
    return result["tool_call_id"], result["content"], str(result["content"]).startswith("Error: ")


def add(left: int, right: int = 0) -> str:
    return str(left + right)


async def add_async(left: int, right: int = 0) -> str:
    await asyncio.sleep(0)
    return add(left, right)


def fails() -> str:
    raise FileNotFoundError("no such file")


async def fails_async() -> str:
    return fails()


TOOLS = [
    {"add": add, "fails": fails},
    {"add": add_async, "fails": fails_async},
    {"add": add, "fails": fails_async},
]
all_colours = pytest.mark.parametrize("tools", TOOLS, ids=["blocking", "async", "mixed"])
both_wires = pytest.mark.parametrize("wire", WIRES)


@all_colours
@both_wires
def test_results_come_in_the_order_of_the_calls(wire: str, tools: Any) -> None:
    wanted = [("add", {"left": number, "right": 1}) for number in range(20)]
    results = ran(body_of(wire, *wanted), tools)
    assert [shown(wire, one) for one in results] == [(f"call_{n}", str(n + 1), False) for n in range(20)]


@all_colours
@both_wires
def test_what_goes_wrong_with_one_call_is_told_to_the_model(wire: str, tools: Any) -> None:
    wanted: list[Call] = [("fails", {}), ("rm", {}), ("add", {"up": 1}), ("add", {"left": 1})]
    failed, unknown, wrong, fine = (shown(wire, one) for one in ran(body_of(wire, *wanted), tools))
    assert failed[1].endswith("FileNotFoundError: no such file")
    assert "unknown tool 'rm'; known tools: add, fails" in unknown[1]
    assert "TypeError" in wrong[1]
    assert "'up'" in wrong[1]
    assert fine == ("call_3", "1", False)
    assert failed[2] and unknown[2] and wrong[2]


@both_wires
def test_an_answer_without_calls_has_no_results(wire: str) -> None:
    assert ran(answer_body(wire), {"add": add}) == []
    assert ran(answer_body(wire), {"add": add_async}) == []


@pytest.mark.parametrize("of", [lambda body: body, Message.model_validate], ids=["dict", "sdk"])
def test_anthropics_answers_may_be_bodies_or_the_sdks_objects(of: Callable[[Any], Any]) -> None:
    answer = of(body_of(ANTHROPIC, ("add", {"left": 1, "right": 2})))
    assert ran(answer, [add]) == [{"type": "tool_result", "tool_use_id": "call_0", "content": "3"}]


@pytest.mark.parametrize("of", [lambda body: body, ChatCompletion.model_validate], ids=["dict", "sdk"])
def test_openais_answers_may_be_bodies_or_the_sdks_objects(of: Callable[[Any], Any]) -> None:
    answer = of(body_of(OPENAI, ("add", {"left": 1, "right": 2})))
    assert ran(answer, [add]) == [{"role": "tool", "tool_call_id": "call_0", "content": "3"}]


@both_wires
def test_an_answer_may_be_a_model_response(wire: str) -> None:
    response = ModelResponse(wire_named(wire), body_of(wire, ("add", {"left": 1})), request_of(wire, []))
    assert [shown(wire, one)[1] for one in ran(response, {"add": add})] == ["1"]


@pytest.mark.parametrize("answer", [{}, {"outputs": []}, "text", None])
def test_what_is_no_answer_is_refused(answer: Any) -> None:
    for tools in TOOLS[:2]:
        with pytest.raises(BodyError, match="answer"):
            ran(answer, tools)


def test_what_the_provider_ran_is_not_run_again() -> None:
    body = body_of(ANTHROPIC, ("add", {"left": 1}))
    body["content"].insert(0, {"type": "server_tool_use", "id": "s", "name": "add", "input": {"left": 5}})
    assert [result["tool_use_id"] for result in ran(body, [add])] == ["call_0"]


@pytest.mark.parametrize("arguments", ['{"left": 1, "ri', "[1]", "7"])
def test_a_call_whose_arguments_cannot_be_read_is_not_run_without_them(arguments: str) -> None:
    """An answer that ends at `max_tokens` may end in the middle of a call."""
    body = body_of(OPENAI, ("list_all", {}))
    body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = arguments
    cache = ctxkit.CacheToolResults(["list_all"])
    for tool in (lambda left=0, right=0: "everything", add_async):
        ((_, content, failed),) = (shown(OPENAI, one) for one in ran(body, {"list_all": tool}, cache))
        assert failed
        assert "the arguments of list_all are no JSON object; the tool was not run" in content


def test_a_custom_tool_gets_its_text() -> None:
    custom = {"id": "call_0", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}
    message = {"role": "assistant", "content": None, "tool_calls": [custom]}
    body = answer_body(OPENAI, choices=[{"index": 0, "message": message, "finish_reason": "tool_calls"}])
    assert [shown(OPENAI, one)[1] for one in ran(body, {"shell": lambda input: f"$ {input}"})] == ["$ ls -l"]


@pytest.mark.parametrize("arguments", ["", "{}", " {} "])
def test_a_call_without_arguments_is_run(arguments: str) -> None:
    body = body_of(OPENAI, ("now", {}))
    body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = arguments
    assert [shown(OPENAI, one)[1] for one in ran(body, {"now": lambda: "12:00"})] == ["12:00"]


@dataclass
class Hit:
    path: str


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", "text"),
        ("", ""),
        (None, "null"),
        ({"a": 1}, '{"a":1}'),
        ([1, 2], "[1,2]"),
        ([], "[]"),
        (Hit("a.py"), '{"path":"a.py"}'),
        ({1, 2}, "{1, 2}"),
        (
            [{"type": "text", "text": "see"}, IMAGE, IMAGE_URL],
            [{"type": "text", "text": "see"}, IMAGE, IMAGE_URL],
        ),
        ([{"type": "file", "name": "a.py"}], '[{"type":"file","name":"a.py"}]'),
        ([{"type": "text", "lines": 3}], '[{"type":"text","lines":3}]'),
    ],
)
@both_wires
def test_whatever_a_tool_gives_back_becomes_content(wire: str, value: Any, content: Any) -> None:
    """A text as it is, content parts as they are, and everything else as JSON, a tool's own records too."""
    (result,) = ran(body_of(wire, ("get", {})), {"get": lambda: value})
    assert shown(wire, result)[1] == content
    json.dumps(result)


class Watching(Middleware):
    """Writes down the calls it sees, and may change them or their results."""

    def __init__(self, *, call: Mapping[str, Any] | None = None, result: ToolResult | None = None) -> None:
        self.calls: list[ToolCall] = []
        self.call = call or {}
        self.result = result

    def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Flow[ToolResult]:
        self.calls.append(call)
        result = yield from call_next(replace(call, **self.call))
        return self.result or result


@all_colours
@both_wires
def test_a_middleware_sees_the_call_with_its_id_and_may_change_it(wire: str, tools: Any) -> None:
    watching = Watching(call={"name": "add", "input": {"left": 40, "right": 2}})
    (result,) = ran(body_of(wire, ("sum", {"left": 1})), tools, watching)
    assert shown(wire, result) == ("call_0", "42", False)
    assert watching.calls == [ToolCall("sum", {"left": 1}, "call_0")]


@both_wires
def test_a_result_that_a_middleware_calls_a_failure_is_one(wire: str) -> None:
    for tools in TOOLS[:2]:
        (result,) = ran(
            body_of(wire, ("add", {"left": 1})), tools, Watching(result=ToolResult("not now", is_error=True))
        )
        assert shown(wire, result)[2]


@all_colours
def test_what_a_middleware_declares_reaches_the_caller_and_not_the_model(tools: Any) -> None:
    class Refuses(Middleware):
        raises = (SpendLimitReached,)

        def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Any:
            raise SpendLimitReached(spent=1, limit=1, unit="requests", task="t")

    with pytest.raises(SpendLimitReached):
        ran(body_of(ANTHROPIC, ("add", {"left": 1}), ("add", {"left": 2})), tools, Refuses())


@all_colours
def test_a_hook_that_is_written_wrongly_reaches_its_author_and_not_the_model(tools: Any) -> None:
    class Forgets(Middleware):
        def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Any:
            yield from call_next(call)

    with pytest.raises(FlowError, match="end the hook with `return response`"):
        ran(body_of(ANTHROPIC, ("add", {"left": 1})), tools, Forgets())


def test_what_only_wraps_model_calls_is_refused() -> None:
    with pytest.raises(AttachError, match="TokenMeter wraps model calls"):
        run_tools(body_of(ANTHROPIC), {"add": add}, ctxkit.TokenMeter())


def test_without_a_stack_the_tools_are_run_as_they_are() -> None:
    (result,) = run_tools(body_of(ANTHROPIC, ("add", {"left": 1})), [add])
    assert result["content"] == "1"


def test_blocking_tools_run_at_the_same_time() -> None:
    """Each waits until all have begun: one after the other, none would ever end."""
    together = threading.Barrier(4, timeout=30)

    def meet() -> str:
        together.wait()
        return "met"

    results = ran(body_of(ANTHROPIC, *[("meet", {})] * 4), {"meet": meet})
    assert [result["content"] for result in results] == ["met"] * 4


def test_async_and_blocking_tools_run_at_the_same_time() -> None:
    async def everything() -> list[Any]:
        opened = asyncio.Event()
        loop = asyncio.get_running_loop()

        async def waits() -> str:
            await opened.wait()
            return "waited"

        def opens() -> str:
            loop.call_soon_threadsafe(opened.set)
            return "opened"

        body = body_of(ANTHROPIC, ("waits", {}), ("opens", {}))
        made: list[Any] = await run_tools(body, {"waits": waits, "opens": opens})
        return made

    assert [result["content"] for result in asyncio.run(everything())] == ["waited", "opened"]


@pytest.mark.parametrize("count", [1, 3])
def test_tools_run_in_the_task_of_the_caller(count: int, task: ctxkit.Task) -> None:
    def where() -> str:
        return ctxkit.current_task().name

    async def where_async() -> str:
        return where()

    for tools in ({"where": where}, {"where": where_async}, {"where": where, "other": where_async}):
        results = ran(body_of(ANTHROPIC, *[("where", {})] * count), tools)
        assert [result["content"] for result in results] == ["test"] * count


RESPONSES_ANSWER = {
    "object": "response",
    "output": [
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"at": "a"}'},
        {"type": "custom_tool_call", "id": "ct_1", "call_id": "c2", "name": "shout", "input": "louder"},
    ],
}
GEMINI_ANSWER = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"at": "a"}}}]}}
    ]
}


def test_the_calls_of_a_responses_answer_give_output_items() -> None:
    tools = {"look": lambda at: f"seen {at}", "shout": lambda input: input.upper()}
    results = run_tools(RESPONSES_ANSWER, tools)
    assert [(item["type"], item["call_id"]) for item in results] == [
        ("function_call_output", "c1"),
        ("custom_tool_call_output", "c2"),
    ]
    assert results[0]["output"] == "seen a"


def test_the_calls_of_a_gemini_answer_give_function_responses() -> None:
    (part,) = run_tools(GEMINI_ANSWER, {"look": lambda at: f"seen {at}"})
    assert part["functionResponse"]["name"] == "look"
    assert "seen a" in str(part["functionResponse"]["response"])
