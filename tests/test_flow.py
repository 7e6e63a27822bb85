"""Flows stepped by hand: what a hook asks for, in which order, and what comes back to it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ctxkit.errors import ModelCallFailed
from ctxkit.flow import Flow, Middleware, ModelNext, Perform, ask_model, ask_tool, done, perform
from ctxkit.messages import ModelRequest, ModelResponse, ToolCall, ToolResult
from ctxkit.stack import Stack
from support.bodies import ANTHROPIC, answer_to, request_of, user

CALL = ToolCall("ls", {"path": "."})


def asked() -> ModelRequest:
    return request_of(ANTHROPIC, [user("hi")])


def result_of(flow: Flow[Any], outcome: Any) -> Any:
    """What a flow ends with when its current step has this outcome."""
    with pytest.raises(StopIteration) as stop:
        flow.send(outcome)
    return stop.value.value


class SetModel(Middleware):
    """Passes on a changed request, without a generator of its own."""

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        return call_next(request.edit(model="other"))


class Summarize(Middleware):
    """Asks for something of its own before it passes on."""

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        summary = yield from call_next(request.side_call("summary"))
        return (yield from call_next(request.edit(system=summary.text)))


class AnswerByItself(Middleware):
    """Never asks anybody."""

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        return done(answer_to(request, "42"))


class TurnErrorsIntoText(Middleware):
    """Handles what comes from further in."""

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        try:
            return (yield from call_next(request))
        except ModelCallFailed as failed:
            return answer_to(request, f"sorry, {failed.status}")


def test_the_innermost_flows_ask_the_driver_and_give_back_what_it_says() -> None:
    request = asked()
    model, tool = ask_model(request), ask_tool(CALL)
    assert next(model) is request
    assert next(tool) is CALL
    response, result = answer_to(request), ToolResult("a.py")
    assert result_of(model, response) is response
    assert result_of(tool, result) is result


def test_a_middleware_without_hooks_passes_everything_on() -> None:
    request = asked()
    assert next(Middleware().wrap_model_call(request, ask_model)) is request
    assert next(Middleware().wrap_tool_call(CALL, ask_tool)) is CALL


def test_a_changed_request_is_what_goes_further_in() -> None:
    request = asked()
    flow = Stack(SetModel()).model_flow(request)
    step = next(flow)
    assert isinstance(step, ModelRequest)
    assert (step.model, request.model) == ("other", "m")
    response = answer_to(step)
    assert result_of(flow, response) is response


def test_a_side_call_is_a_step_of_its_own_before_the_main_one() -> None:
    flow = Stack(Summarize()).model_flow(asked())
    side = next(flow)
    assert isinstance(side, ModelRequest)
    assert side.purpose == "summary"
    main = flow.send(answer_to(side, "in short"))
    assert isinstance(main, ModelRequest)
    assert (main.purpose, main.body["system"]) == ("main", "in short")
    assert result_of(flow, answer_to(main, "Done.")).text == "Done."


def test_side_calls_and_answers_pass_through_everything_further_in() -> None:
    side = next(Stack(Summarize(), SetModel()).model_flow(asked()))
    assert isinstance(side, ModelRequest)
    assert (side.purpose, side.model) == ("summary", "other")


def test_an_answer_without_asking_ends_the_flow_at_once() -> None:
    flow = Stack(AnswerByItself(), Summarize()).model_flow(asked())
    with pytest.raises(StopIteration) as stop:
        next(flow)
    assert stop.value.value.text == "42"


def test_an_error_arrives_where_the_hook_waits() -> None:
    flow = Stack(TurnErrorsIntoText()).model_flow(asked())
    next(flow)
    with pytest.raises(StopIteration) as stop:
        flow.throw(ModelCallFailed(529, None))
    assert stop.value.value.text == "sorry, 529"


def test_an_error_that_nobody_handles_leaves_the_flow_as_it_is() -> None:
    error = ConnectionError("reset")
    flow = Stack(TurnErrorsIntoText(), SetModel()).model_flow(asked())
    next(flow)
    with pytest.raises(ConnectionError) as raised:
        flow.throw(error)
    assert raised.value is error


def test_other_input_and_output_is_asked_for_in_both_colours() -> None:
    async def read_async() -> str:
        return "awaited"

    flow = perform(lambda: "blocked", read_async)
    step = next(flow)
    assert isinstance(step, Perform)
    assert step.blocking() == "blocked"
    assert step.awaitable is not None
    assert asyncio.run(step.awaitable()) == "awaited"  # type: ignore[arg-type]
    assert result_of(flow, "read") == "read"


def test_done_asks_for_nothing() -> None:
    with pytest.raises(StopIteration) as stop:
        next(done("value"))
    assert stop.value.value == "value"
