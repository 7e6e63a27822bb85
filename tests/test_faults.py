"""A middleware's own fault never breaks the call, is logged and counted; what was declared gets through."""

from __future__ import annotations

from typing import Any

import pytest

import ctxkit
from ctxkit.drive import run
from ctxkit.errors import ModelCallFailed, StreamAborted
from ctxkit.flow import Flow, Middleware, ModelNext, ToolNext
from ctxkit.messages import ModelRequest, ModelResponse, ToolCall, ToolResult
from ctxkit.stack import Stack
from ctxkit.testing import ScriptedModel, both, failure, reply
from support.bodies import ANTHROPIC, answer_to, request_of, user


def asked() -> ModelRequest:
    return request_of(ANTHROPIC, [user("hi")])


class Clumsy(Middleware):
    """Fails on purpose: `before` the inner call, `after` it, or `after an error` of it."""

    def __init__(self, when: str, error: type[BaseException] = ZeroDivisionError) -> None:
        self.when = when
        self.error = error

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        if self.when == "before":
            raise self.error
        try:
            yield from call_next(request.edit(model="edited"))
        except ModelCallFailed as failed:
            if self.when == "after an error":
                raise self.error from failed
            raise
        raise self.error

    def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Flow[ToolResult]:
        raise self.error


def model_flow(*middlewares: Middleware) -> Any:
    return lambda: Stack(*middlewares).model_flow(asked())


def sent(model: ScriptedModel) -> list[str | None]:
    """The models that were asked, in order."""
    return [call.model for call in model.calls if isinstance(call, ModelRequest)]


def test_a_fault_before_the_call_lets_it_go_out_as_it_was() -> None:
    model = ScriptedModel([reply("hi")])
    assert both(model_flow(Clumsy("before")), model).text == "hi"
    assert sent(model) == ["m"]


def test_a_fault_after_the_call_gives_the_answer_and_asks_no_second_time() -> None:
    model = ScriptedModel([reply("hi")])
    assert both(model_flow(Clumsy("after")), model).text == "hi"
    assert sent(model) == ["edited"]


def test_a_fault_after_an_error_raises_that_error() -> None:
    with pytest.raises(ModelCallFailed):
        both(model_flow(Clumsy("after an error")), ScriptedModel([failure(529)]))


def test_a_fault_of_a_tool_hook_lets_the_tool_run() -> None:
    model = ScriptedModel([], tools={"ls": lambda: "a.py"})
    assert both(lambda: Stack(Clumsy("before")).tool_flow(ToolCall("ls", {})), model).content == "a.py"


def test_a_hook_that_is_no_generator_may_fail_too() -> None:
    class Broken(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            return call_next(request.edit(model=request.body["missing"]))

    assert both(model_flow(Broken()), ScriptedModel([reply("hi")])).text == "hi"


def test_a_side_call_that_fails_is_a_fault_and_not_the_users_error() -> None:
    class Summarize(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            summary = yield from call_next(request.side_call("summary"))
            return (yield from call_next(request.edit(system=summary.text)))

    model = ScriptedModel([failure(429), reply("hi")])
    assert both(model_flow(Summarize()), model).text == "hi"
    assert len(model.calls) == 2


def test_a_fault_after_a_side_call_does_not_take_its_answer_for_the_users() -> None:
    class Fumbles(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            yield from call_next(request.side_call("summary"))
            raise ZeroDivisionError

    assert both(model_flow(Fumbles()), ScriptedModel([reply("summary"), reply("hi")])).text == "hi"


def test_a_fault_after_a_retry_gives_the_answer_of_the_retry() -> None:
    class Retries(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            try:
                yield from call_next(request)
            except ModelCallFailed:
                yield from call_next(request)
            raise ZeroDivisionError

    model = ScriptedModel([failure(529), reply("hi")])
    assert both(model_flow(Retries()), model).text == "hi"
    assert len(model.calls) == 2


def test_what_was_declared_gets_through_from_every_depth() -> None:
    class Refuses(Clumsy):
        raises = (ZeroDivisionError,)

    for stack in ([Refuses("before")], [Clumsy("after", KeyError), Stack(Middleware(), Refuses("before"))]):
        with pytest.raises(ZeroDivisionError):
            both(model_flow(*stack), ScriptedModel([reply("hi")]))


@pytest.mark.parametrize("signal", [KeyboardInterrupt, SystemExit, StreamAborted])
def test_signals_are_no_faults(signal: type[BaseException], task: ctxkit.Task) -> None:
    with pytest.raises(signal):
        run(Stack(Clumsy("before", signal)).model_flow(asked()), ScriptedModel([reply("hi")]))
    assert not task.faults


def test_a_fault_of_one_middleware_leaves_the_others_at_work() -> None:
    class Renames(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            response = yield from call_next(request.edit(model="renamed"))
            return answer_to(request, f"<{response.text}>")

    for stack in (
        (Renames(), Clumsy("before")),
        (Clumsy("before"), Renames()),
        (Stack(Renames(), Clumsy("before")),),
    ):
        model = ScriptedModel([reply("hi")])
        assert both(model_flow(*stack), model).text == "<hi>"
        assert sent(model) == ["renamed"]


def test_a_fault_is_logged_once_a_task_and_counted_every_time(caplog: pytest.LogCaptureFixture) -> None:
    stack = Stack(Clumsy("before"))
    for name in ("first", "second"):
        with ctxkit.task(name) as task:
            for _ in range(3):
                run(stack.model_flow(asked()), ScriptedModel([reply("hi")]))
        assert task.faults == {"Clumsy: ZeroDivisionError": 3}
        (row,) = task.report().to_dict()["tasks"]
        assert row["faults"] == {"Clumsy: ZeroDivisionError": 3}
    assert [record.getMessage() for record in caplog.records] == [
        "Clumsy: ZeroDivisionError; the call goes on without it"
    ] * 2
    assert caplog.records[0].exc_info is not None


def test_faults_of_different_kinds_are_told_apart(
    caplog: pytest.LogCaptureFixture, task: ctxkit.Task
) -> None:
    stack = Stack(Clumsy("before", KeyError), Clumsy("after"))
    run(stack.model_flow(asked()), ScriptedModel([reply("hi")]))
    assert task.faults == {"Clumsy: KeyError": 1, "Clumsy: ZeroDivisionError": 1}
    assert len(caplog.records) == 2


def test_an_error_of_the_call_itself_does_not_look_like_the_faults_doing() -> None:
    with pytest.raises(ModelCallFailed) as raised:
        run(Stack(Clumsy("before")).model_flow(asked()), ScriptedModel([failure(529)]))
    assert raised.value.__context__ is None
