"""What ctxkit is asked to raise reaches the caller as itself; what it does wrong by itself never does."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

import ctxkit
from ctxkit.testing import ModelServer, reply
from support.calling import HOWS, Http, Sdk

ANSWER = reply("A tabby.")
Next = ctxkit.ModelNext


@pytest.mark.parametrize("how", HOWS)
def test_a_spend_limit_reaches_the_caller_as_itself_and_nothing_is_sent(
    sdk: Sdk, how: str, task: ctxkit.Task
) -> None:
    stack = (ctxkit.LimitSpend(max_requests=1), ctxkit.TokenMeter())
    with ModelServer([ANSWER]) as server, sdk.wrapped(server, *stack) as client:
        assert sdk.ask(client, how) == "A tabby."
        with pytest.raises(ctxkit.SpendLimitReached) as caught:
            sdk.ask(client, how)
        assert len(server.requests) == 1
    error = caught.value
    assert isinstance(error, sdk.root)
    assert (error.spent, error.limit, error.unit, error.task) == (1, 1, "requests", "test")
    assert "has used 1 of 1 requests" in str(error)
    assert type(error).__name__ == "SpendLimitReached"
    assert len(task.attempts) == 1


class Refusal(Exception):
    """An exception whose constructor can't be called with its arguments alone."""

    def __init__(self, *, reason: str) -> None:
        super().__init__("refused")
        self.reason = reason


class Refuse(ctxkit.Middleware):
    """Raises what it was made with, and counts how often it was asked."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.raises = (type(error),)
        self.asked = 0

    def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: Next) -> Any:
        self.asked += 1
        raise self.error from LookupError("why")


def permission_error() -> PermissionError:
    error = PermissionError(13, "not today", "budget.txt")
    error.add_note("Ask the owner.")
    return error


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("make", [permission_error, lambda: Refusal(reason="late")], ids=["builtin", "own"])
def test_what_a_middleware_is_meant_to_raise_reaches_the_caller_once(
    sdk: Sdk, how: str, make: Callable[[], Exception]
) -> None:
    refuse = Refuse(make())
    with ModelServer([]) as server, sdk.wrapped(server, refuse) as client:
        with pytest.raises(type(refuse.error)) as caught:
            sdk.ask(client, how)
        assert not server.requests
    error: Any = caught.value
    assert isinstance(error, sdk.root)
    assert str(error) == str(refuse.error)
    assert error.args == refuse.error.args
    assert vars(error) == vars(refuse.error)
    assert isinstance(error.__cause__, LookupError)
    if isinstance(error, PermissionError):
        assert (error.errno, error.filename) == (13, "budget.txt")
    assert any(entry.name == "wrap_model_call" for entry in caught.traceback)
    assert refuse.asked == 1


class Sealed(Exception):
    """An exception that nothing can be derived from."""

    def __init_subclass__(cls) -> None:
        raise TypeError("sealed")


def test_what_no_sdk_error_can_be_made_of_is_raised_as_it_is(http: Http) -> None:
    refuse = Refuse(Sealed("no"))
    with http.over(refuse) as client, pytest.raises(Sealed) as caught:
        http.post(client, "http://127.0.0.1:1/v1/messages", b"{}")
    assert caught.value is refuse.error


@pytest.mark.parametrize("how", ["streamed", "helper"])
def test_what_is_raised_after_a_stream_reaches_the_caller_behind_its_last_event(
    sdk: Sdk, how: str, task: ctxkit.Task
) -> None:
    class RefuseAfterwards(ctxkit.Middleware):
        raises = (PermissionError,)

        def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: Next) -> Any:
            yield from call_next(request)
            raise PermissionError("no more")

    stack = (RefuseAfterwards(), ctxkit.TokenMeter())
    with (
        ModelServer([ANSWER]) as server,
        sdk.wrapped(server, *stack) as client,
        pytest.raises(PermissionError, match="no more"),
    ):
        sdk.ask(client, how)
    assert [attempt.outcome for attempt in task.attempts] == ["billed"]


class YieldsWrongly(ctxkit.Middleware):
    def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: Next) -> Any:
        response = yield call_next(request)
        return response


class ForgetsYield(ctxkit.Middleware):
    def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: Next) -> Any:
        return call_next(request).text
        yield


class RunsATool(ctxkit.Middleware):
    raises = (ctxkit.AttachError,)

    def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: Next) -> Any:
        yield ctxkit.ToolCall("search", {})
        return (yield from call_next(request))


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(
    ("middleware", "kind", "message"),
    [
        (YieldsWrongly(), ctxkit.FlowError, "yield from call_next"),
        (ForgetsYield(), ctxkit.FlowError, "yield from call_next"),
        (RunsATool(), ctxkit.AttachError, "'search'"),
    ],
    ids=["yields wrongly", "forgets to yield", "runs a tool"],
)
def test_a_mistake_in_a_hook_is_told_with_the_way_to_right_it(
    sdk: Sdk, how: str, middleware: ctxkit.Middleware, kind: type[Exception], message: str
) -> None:
    with ModelServer([]) as server, sdk.wrapped(server, middleware) as client:
        with pytest.raises(kind, match=message) as caught:
            sdk.ask(client, how)
        assert isinstance(caught.value, sdk.root)
        assert not server.requests


class FailsBefore(ctxkit.Middleware):
    def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: Next) -> Any:
        raise ValueError("before")


class FailsAfter(ctxkit.Middleware):
    def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: Next) -> Any:
        yield from call_next(request)
        raise ValueError("after")


class FailsAroundErrors(ctxkit.Middleware):
    """Works until the call inside it fails or is left."""

    def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: Next) -> Any:
        try:
            return (yield from call_next(request))
        except BaseException:
            raise ValueError("around") from None


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("middleware", [FailsBefore(), FailsAfter()], ids=["before", "after"])
def test_a_fault_of_a_middleware_never_breaks_the_call(
    sdk: Sdk,
    how: str,
    middleware: ctxkit.Middleware,
    task: ctxkit.Task,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "ctxkit")
    stack = (ctxkit.TruncateToolResults(), middleware, ctxkit.TokenMeter())
    with ModelServer([ANSWER] * 2) as server, sdk.wrapped(server, *stack) as client:
        assert sdk.ask(client, how) == "A tabby."
        assert sdk.ask(client, how) == "A tabby."
        assert len(server.requests) == 2
    assert task.faults == {f"{type(middleware).__name__}: ValueError": 2}
    assert len([record for record in caplog.records if record.name == "ctxkit"]) == 1
    assert [attempt.outcome for attempt in task.attempts] == ["billed", "billed"]


def test_a_fault_while_a_stream_is_left_never_reaches_the_caller(sdk: Sdk, task: ctxkit.Task) -> None:
    stack = (FailsAroundErrors(), ctxkit.TokenMeter())
    with ModelServer([ANSWER]) as server, sdk.wrapped(server, *stack) as client:
        stream = sdk.create(client, stream=True)
        assert len(sdk.wait.items(stream, 2)) == 2
        sdk.wait(stream.close())
    assert task.faults == {"FailsAroundErrors: ValueError": 1}
    assert [attempt.outcome for attempt in task.attempts] == ["unknown"]
