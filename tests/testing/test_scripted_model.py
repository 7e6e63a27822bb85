"""The fakes for flows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ctxkit.drive import run, run_async
from ctxkit.errors import ConfigError, ModelCallFailed, UnknownToolError
from ctxkit.flow import Flow, Perform, ask_model, ask_tool
from ctxkit.messages import ModelRequest, ModelResponse, ToolCall, ToolResult
from ctxkit.testing import ScriptedModel, both, failure, hang_up, raw, reply, slow
from ctxkit.wire import wire_named

SEARCH = reply("Let me look.", tool_calls=[("search", {"query": "cats"})])


def asked(text: str = "Any cats?", *, wire: str = "anthropic_messages") -> ModelRequest:
    messages = [{"role": "user", "content": text}]
    return ModelRequest(wire_named(wire), {"model": "m", "messages": messages})


def loop(request: ModelRequest) -> Flow[ModelResponse]:
    """A loop of two model calls with the tools of the first one between them."""
    response = yield from ask_model(request)
    text = ""
    for call in response.tool_calls:
        result = yield from ask_tool(call)
        text += result.content
    return (yield from ask_model(asked(text, wire=request.wire.name)))


@pytest.mark.parametrize("wire", ["anthropic_messages", "openai_chat"])
def test_a_flow_gets_its_answers_and_its_tools(wire: str) -> None:
    model = ScriptedModel([SEARCH, reply("None.")], tools={"search": lambda query: f"no {query}"})
    response = run(loop(asked(wire=wire)), model)
    assert response.text == "None."
    assert response.status == 200
    first, tool, second = model.calls
    assert isinstance(first, ModelRequest)
    assert isinstance(tool, ToolCall)
    assert isinstance(second, ModelRequest)
    assert tool.input == {"query": "cats"}
    assert second.body["messages"] == [{"role": "user", "content": "no cats"}]


def test_the_same_edge_can_be_awaited() -> None:
    model = ScriptedModel([SEARCH, reply("None.")], tools={"search": lambda query: f"no {query}"})
    assert asyncio.run(run_async(loop(asked()), model.awaiting)).text == "None."
    assert len(model.calls) == 3


def test_a_flow_can_be_stepped_by_hand() -> None:
    model = ScriptedModel([reply("None.")])
    flow = ask_model(asked())
    step = next(flow)
    assert isinstance(step, ModelRequest)
    with pytest.raises(StopIteration) as stop:
        flow.send(model.model(step))
    assert stop.value.value.text == "None."


def test_a_tool_may_give_back_a_result_of_its_own() -> None:
    model = ScriptedModel([], tools={"search": lambda query: ToolResult(query, is_error=True)})
    assert model.tool(ToolCall("search", {"query": "cats"})) == ToolResult("cats", is_error=True)


def test_what_a_tool_raises_passes_through() -> None:
    model = ScriptedModel([], tools={"search": lambda query: query.missing})
    with pytest.raises(AttributeError):
        model.tool(ToolCall("search", {"query": "cats"}))


def test_a_tool_nobody_offers_is_refused_by_name() -> None:
    model = ScriptedModel([], tools={"read": print})
    with pytest.raises(UnknownToolError, match="known tools: read") as raised:
        model.tool(ToolCall("search", {}))
    assert raised.value.tool == "search"


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (failure(400, {"error": "no"}), 400, {"error": "no"}),
        (failure(502, "<h1>Bad gateway</h1>"), 502, None),
        (raw(b"[]", content_type="application/json"), 200, None),
    ],
)
def test_a_failure_arrives_as_the_error_that_middlewares_see(answer: Any, status: int, body: Any) -> None:
    with pytest.raises(ModelCallFailed) as raised:
        ScriptedModel([answer]).model(asked())
    assert (raised.value.status, raised.value.body) == (status, body)


def test_raw_json_is_an_answer() -> None:
    model = ScriptedModel([raw(b'{"content": []}', content_type="application/json")])
    assert model.model(asked()).body == {"content": []}


def test_a_hang_up_is_a_connection_error() -> None:
    with pytest.raises(ConnectionError):
        ScriptedModel([hang_up(reply("None."), after_bytes=5)]).model(asked())


def test_a_slow_answer_takes_no_time() -> None:
    assert ScriptedModel([slow(reply("None."), seconds=3_600)]).model(asked()).text == "None."


def test_a_script_that_runs_out_fails_the_test() -> None:
    model = ScriptedModel([reply("None.")])
    model.model(asked())
    with pytest.raises(AssertionError, match="it holds 1 answers, and this is call 2"):
        model.model(asked())


def test_a_wire_without_scripted_answers_is_refused() -> None:
    class Unknown:
        name = "gemini"

    request: Any = ModelRequest(Unknown(), {})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no answers for wire 'gemini'"):
        ScriptedModel([reply("None.")]).model(request)


def test_both_runs_a_flow_in_both_colours_and_gives_back_the_outcome() -> None:
    colours: list[str] = []

    async def awaited() -> None:
        colours.append("awaiting")

    def flow() -> Flow[ModelResponse]:
        yield Perform(lambda: colours.append("blocking"), awaited)
        return (yield from loop(asked()))

    model = ScriptedModel([SEARCH, reply("None.")], tools={"search": lambda query: query})
    assert both(flow, model).text == "None."
    assert sorted(colours) == ["awaiting", "blocking"]
    assert len(model.calls) == 3


def test_both_raises_what_both_colours_raise() -> None:
    with pytest.raises(ModelCallFailed) as raised:
        both(lambda: ask_model(asked()), ScriptedModel([failure(529)]))
    assert raised.value.status == 529


def test_both_compares_what_responses_hold() -> None:
    def flow() -> Flow[list[ModelResponse]]:
        first = yield from ask_model(asked())
        second = yield from ask_model(asked())
        return [first, second]

    assert [response.text for response in both(flow, ScriptedModel([reply("a"), reply("b")]))] == ["a", "b"]


def _answer_by(colour: str) -> Flow[str]:
    return colour
    yield


def _ask_by(colour: str) -> Flow[str]:
    yield from ask_model(asked(colour))
    return "the same"


def _raise_by(colour: str) -> Flow[str]:
    raise ValueError(colour)
    yield


@pytest.mark.parametrize(
    ("flow", "differs"), [(_answer_by, "outcome"), (_ask_by, "calls"), (_raise_by, "outcome")]
)
def test_both_tells_the_two_colours_apart(flow: Callable[[str], Flow[str]], differs: str) -> None:
    colours = iter(["one", "other"])
    with pytest.raises(AssertionError, match=f"^{differs}: blocking gave .*, and awaiting "):
        both(lambda: flow(next(colours)), ScriptedModel([reply("None.")]))
