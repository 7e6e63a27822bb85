"""`LimitSpend`: the request that would pass a task's limit is not sent."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

import ctxkit
from ctxkit.drive import run
from ctxkit.errors import ConfigError, ModelCallFailed, SpendLimitReached
from ctxkit.flow import Flow, Middleware, ModelNext, done
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.testing import ScriptedModel, native, reply
from support.bodies import ANTHROPIC, answer_body, answer_to, of_body
from support.limits import CLAUDE, ask, asked, refused, size, used


def test_a_task_may_make_so_many_requests(task: ctxkit.Task) -> None:
    limit = ctxkit.LimitSpend(max_requests=2)
    for _ in range(2):
        ask(limit, ScriptedModel([reply("hi")]))
    error = refused(limit)
    assert (error.spent, error.limit, error.unit, error.task) == (2, 2, "requests", "test")


def test_nothing_is_sent_under_a_limit_of_zero(task: ctxkit.Task) -> None:
    assert refused(ctxkit.LimitSpend(max_requests=0)).spent == 0
    assert refused(ctxkit.LimitSpend(max_tokens=0)).spent == 0
    assert refused(ctxkit.LimitSpend(max_cost_usd=0)).spent == 0


def test_a_task_may_use_so_many_tokens_the_next_request_counted(task: ctxkit.Task) -> None:
    request = asked("word " * 50)
    limit = ctxkit.LimitSpend(max_tokens=1_000 + size(request))
    ask(limit, ScriptedModel([used(900, 100)]))
    ask(limit, ScriptedModel([used(0, 1)]), request)
    error = refused(limit, request)
    assert (error.spent, error.limit, error.unit) == (1_001, 1_000 + size(request), "tokens")


def test_a_task_may_cost_so_many_dollars_the_next_request_foreseen(task: ctxkit.Task) -> None:
    request = asked("word " * 50)
    next_usd = Decimal(2) * size(request) / 1_000_000
    limit = ctxkit.LimitSpend(max_cost_usd=Decimal("1.2") + next_usd)
    ask(limit, ScriptedModel([used(100_000, 100_000)]))
    ask(limit, ScriptedModel([used(0, 0)]), request)
    ask(limit, ScriptedModel([used(1, 0)]), request)
    error = refused(limit, request)
    assert (error.spent, error.unit) == (Decimal("1.200002"), "usd")


@pytest.mark.parametrize("amount", [1, 1.0, "1", Decimal(1)])
def test_dollars_may_be_given_in_any_form(amount: Any) -> None:
    assert ctxkit.LimitSpend(max_cost_usd=amount).max_cost_usd == 1


def test_a_model_without_a_known_price_counts_as_nothing(task: ctxkit.Task) -> None:
    limit = ctxkit.LimitSpend(max_cost_usd="0.01")
    for _ in range(3):
        ask(limit, ScriptedModel([used(10_000_000, 0)]), asked(model="my-fine-tune"))


def test_the_price_depends_on_who_is_asked(task: ctxkit.Task) -> None:
    request = replace(asked(model="llama-3.3-70b-versatile"), provider="groq")
    limit = ctxkit.LimitSpend(max_cost_usd="0.5")
    ask(limit, ScriptedModel([used(1_000_000, 0)]), request)
    assert refused(limit, request).spent == Decimal("0.59")


def test_a_refusal_without_output_counts_as_a_request_and_costs_nothing(task: ctxkit.Task) -> None:
    """Anthropic's release notes: a refusal before any output is not billed, though its usage shows tokens."""
    usage = {"input_tokens": 1_000_000, "output_tokens": 1}
    body = answer_body(ANTHROPIC, content=[], stop_reason="refusal", usage=usage)
    limit = ctxkit.LimitSpend(max_cost_usd="0.5", max_requests=2)
    for _ in range(2):
        ask(limit, ScriptedModel([native(body)]))
    assert refused(limit).unit == "requests"


def test_nested_tasks_count_in_every_task_around_them(task: ctxkit.Task) -> None:
    limit = ctxkit.LimitSpend(max_requests=2)
    for name in ("first", "second"):
        with ctxkit.task(name):
            ask(limit, ScriptedModel([reply("hi")]))
    with ctxkit.task("third"):
        assert refused(limit).task == "test"


def test_a_task_has_its_limit_to_itself() -> None:
    limit = ctxkit.LimitSpend(max_requests=1)
    for name in ("first", "second"):
        with ctxkit.task(name):
            ask(limit, ScriptedModel([reply("hi")]))
            assert refused(limit).task == name


def test_a_shared_limit_counts_what_all_tasks_use_and_what_none_does() -> None:
    limit = ctxkit.LimitSpend(max_requests=3, scope="shared")
    ask(limit, ScriptedModel([reply("hi")]))
    for name in ("first", "second"):
        with ctxkit.task(name):
            ask(limit, ScriptedModel([reply("hi")]))
    with ctxkit.task("outer"), ctxkit.task("inner"):
        error = refused(limit)
    assert (error.spent, error.limit, error.task) == (3, 3, "inner")


def test_each_limit_counts_for_itself(task: ctxkit.Task) -> None:
    ask(ctxkit.LimitSpend(max_requests=1), ScriptedModel([reply("hi")]))
    ask(ctxkit.LimitSpend(max_requests=1), ScriptedModel([reply("hi")]))


def test_one_limit_around_another_does_not_count_what_that_one_refused(task: ctxkit.Task) -> None:
    outer, inner = ctxkit.LimitSpend(max_requests=1), ctxkit.LimitSpend(max_tokens=0)
    for _ in range(2):
        with pytest.raises(SpendLimitReached, match="tokens"):
            run(ctxkit.Stack(outer, inner).model_flow(asked()), ScriptedModel([]))


def test_a_request_that_a_task_further_out_refuses_counts_in_none(task: ctxkit.Task) -> None:
    outer = ctxkit.LimitSpend(max_requests=1)
    ask(outer, ScriptedModel([reply("hi")]))
    with ctxkit.task("inner"):
        for _ in range(2):
            error = refused(outer)
            assert (error.task, error.spent) == ("test", 1)


def test_side_calls_count_too(task: ctxkit.Task) -> None:
    class Summarize(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            yield from call_next(request.side_call("summary"))
            return (yield from call_next(request))

    limit = ctxkit.LimitSpend(max_requests=2)
    run(ctxkit.Stack(Summarize(), limit).model_flow(asked()), ScriptedModel([reply("short"), reply("hi")]))
    assert refused(limit).spent == 2


def test_an_answer_that_nobody_was_asked_for_counts_as_nothing(task: ctxkit.Task) -> None:
    class Remembers(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            return done(ModelResponse(request.wire, answer_to(request).body, request, local=True))

    limit = ctxkit.LimitSpend(max_requests=1, max_tokens=150)
    for _ in range(3):
        run(ctxkit.Stack(limit, Remembers()).model_flow(asked()), ScriptedModel([]))
    ask(limit, ScriptedModel([reply("hi")]))


def test_a_request_that_cannot_be_counted_is_sent_as_it_is(task: ctxkit.Task) -> None:
    """The provider refuses it anyway, and a limit must not be in the way of that answer."""
    limit = ctxkit.LimitSpend(max_tokens=10)
    assert task.faults == {}
    request = of_body(ANTHROPIC, {"model": CLAUDE, "messages": "hi"})

    class Refuses:
        def model(self, request: ModelRequest) -> ModelResponse:
            raise ModelCallFailed(400, None)

        def tool(self, call: Any) -> Any:
            raise NotImplementedError

    with pytest.raises(ModelCallFailed):
        run(ctxkit.Stack(limit).model_flow(request), Refuses())
    assert task.faults == {"LimitSpend: BodyError": 1}


def test_the_error_says_what_to_do() -> None:
    with ctxkit.task("fix-bug"):
        error = refused(ctxkit.LimitSpend(max_requests=0))
    assert "task 'fix-bug' has used 0 of 0 requests; the next request was not sent" in str(error)
    assert "Raise LimitSpend's limit, or end the task" in str(error)


@pytest.mark.parametrize(
    ("limits", "option"),
    [
        ({}, "max_requests"),
        ({"max_requests": -1}, "max_requests"),
        ({"max_tokens": 5, "max_cost_usd": -1}, "max_cost_usd"),
        ({"max_cost_usd": "a dollar"}, "max_cost_usd"),
        ({"max_cost_usd": float("nan")}, "max_cost_usd"),
        ({"max_requests": 1, "finish_tokens": -1}, "finish_tokens"),
        ({"max_requests": 1, "scope": "process"}, "scope"),
        ({"max_requests": 1, "on_limit": "stop"}, "on_limit"),
        ({"max_requests": 1, "reserve": "best"}, "reserve"),
    ],
)
def test_limits_that_make_no_sense_are_refused_at_once(limits: dict[str, Any], option: str) -> None:
    with pytest.raises(ConfigError) as raised:
        ctxkit.LimitSpend(**limits)
    assert raised.value.option == option
