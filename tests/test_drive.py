"""`run` and `run_async` take a flow to its end, and refuse flows that are written wrongly."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest

from ctxkit.drive import run, run_async
from ctxkit.errors import FlowError, ModelCallFailed
from ctxkit.flow import Flow, ask_model, ask_tool, compute, done, perform
from ctxkit.messages import ModelRequest, ToolCall
from ctxkit.testing import ScriptedModel, both, failure, reply
from support.bodies import ANTHROPIC, request_of, user


def asked(text: str = "hi") -> ModelRequest:
    return request_of(ANTHROPIC, [user(text)])


async def awaited(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


def test_a_flow_gets_what_it_asks_for_in_order() -> None:
    def flow() -> Flow[list[Any]]:
        first = yield from ask_model(asked())
        tool = yield from ask_tool(ToolCall("ls", {}))
        other = yield from perform(lambda: "io", lambda: awaited("io"))
        second = yield from ask_model(asked("again"))
        return [first.text, tool.content, other, second.text]

    model = ScriptedModel([reply("one"), reply("two")], tools={"ls": lambda: "a.py"})
    assert both(flow, model) == ["one", "a.py", "io", "two"]
    assert [type(step).__name__ for step in model.calls] == ["ModelRequest", "ToolCall", "ModelRequest"]


def test_a_flow_may_ask_for_nothing() -> None:
    assert both(lambda: done("answer"), ScriptedModel([])) == "answer"


def test_what_has_no_async_form_runs_in_a_thread_where_a_flow_is_awaited() -> None:
    def flow() -> Flow[int]:
        return (yield from perform(threading.get_ident))

    here = threading.get_ident()
    assert run(flow(), ScriptedModel([])) == here
    assert asyncio.run(run_async(flow(), ScriptedModel([]).awaiting)) != here


def test_only_large_work_leaves_the_event_loop() -> None:
    def flow(size: int) -> Flow[int]:
        return (yield from compute(threading.get_ident, size=size))

    here = threading.get_ident()
    assert run(flow(10_000_000), ScriptedModel([])) == here
    assert asyncio.run(run_async(flow(1_000), ScriptedModel([]).awaiting)) == here
    assert asyncio.run(run_async(flow(10_000_000), ScriptedModel([]).awaiting)) != here


def test_errors_arrive_in_the_flow_which_may_go_on() -> None:
    def failing() -> Any:
        raise OSError("disk")

    async def failing_async() -> Any:
        failing()

    def flow() -> Flow[str]:
        heard = []
        for step in (ask_model(asked()), ask_tool(ToolCall("gone", {})), perform(failing, failing_async)):
            try:
                yield from step
            except (ModelCallFailed, LookupError, OSError) as error:
                heard.append(type(error).__name__)
        response = yield from ask_model(asked())
        return f"{' '.join(heard)} {response.text}"

    assert (
        both(flow, ScriptedModel([failure(529), reply("fine")]))
        == "ModelCallFailed UnknownToolError OSError fine"
    )


def test_an_error_that_the_flow_lets_through_is_raised() -> None:
    with pytest.raises(ModelCallFailed) as raised:
        both(lambda: ask_model(asked()), ScriptedModel([failure(400)]))
    assert raised.value.status == 400


@pytest.mark.parametrize("signal", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_signals_arrive_in_the_flow_too_so_that_it_can_let_go(signal: type[BaseException]) -> None:
    released = []

    def raising() -> Any:
        raise signal

    async def raising_async() -> Any:
        raise signal

    def flow() -> Flow[None]:
        try:
            yield from perform(raising, raising_async)
        finally:
            released.append(signal)

    with pytest.raises(signal):
        run(flow(), ScriptedModel([]))
    coroutine = run_async(flow(), ScriptedModel([]).awaiting)
    with pytest.raises(signal):
        coroutine.send(None)
    assert released == [signal, signal]


def test_a_task_that_is_cancelled_while_it_waits_tells_its_flow() -> None:
    heard: list[BaseException] = []

    def flow() -> Flow[None]:
        try:
            yield from perform(lambda: None, lambda: asyncio.sleep(60))
        except BaseException as error:
            heard.append(error)
            raise

    async def cancel() -> None:
        running = asyncio.create_task(run_async(flow(), ScriptedModel([]).awaiting))
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancel())
    assert isinstance(heard[0], asyncio.CancelledError)


def yields_a_flow() -> Generator[Any, Any, Any]:
    response = yield ask_model(asked())
    return response


def yields_nothing() -> Generator[Any, Any, Any]:
    yield


def returns_a_flow() -> Generator[Any, Any, Any]:
    yield from ask_model(asked())
    return ask_model(asked())


@pytest.mark.parametrize(
    ("flow", "fix"),
    [
        (yields_a_flow, r"yielded a generator: write `yield from call_next\(...\)`, not `yield call_next"),
        (yields_nothing, r"yielded a NoneType: write `yield from call_next\(...\)`"),
        (returns_a_flow, r"write `return \(yield from call_next\(request\)\)`"),
    ],
)
def test_a_forgotten_yield_from_is_refused_with_the_fix(flow: Callable[[], Any], fix: str) -> None:
    with pytest.raises(FlowError, match=fix):
        both(flow, ScriptedModel([reply("hi")]))


def test_a_flow_that_is_refused_is_closed() -> None:
    released = []

    def flow() -> Generator[Any, Any, Any]:
        try:
            yield "nonsense"
        finally:
            released.append(True)

    with pytest.raises(FlowError):
        run(flow(), ScriptedModel([]))
    assert released == [True]
