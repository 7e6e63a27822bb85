"""`LimitSpend`: the request that would pass a task's limit is not sent."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from decimal import Decimal
from typing import Any

import httpx2
import pytest

import ctxkit
from ctxkit.drive import run, run_async
from ctxkit.errors import ConfigError, ModelCallFailed, SpendLimitReached
from ctxkit.flow import Flow, Middleware, ModelNext, done
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.testing import ScriptedModel, failure, hang_up, native, reply
from ctxkit.tokens import block_counter_for, shape_of
from support.bodies import ANTHROPIC, answer_body, answer_to, of_body, request_of, user
from support.streams import END, Runner, Streamed, asking

CLAUDE = "claude-sonnet-5"  # 2 dollars a million tokens of input, 10 of output, 0.20 read from the cache


def asked(text: str = "hi", *, model: str = CLAUDE) -> ModelRequest:
    return request_of(ANTHROPIC, [user(text)], model=model)


def size(request: ModelRequest) -> int:
    return shape_of(request, block_counter_for(request.model)).total


def used(input_tokens: int, output_tokens: int, **more: int) -> Any:
    """An answer that reports so many tokens."""
    return reply("hi", usage=ctxkit.Usage(input_tokens, output_tokens, **more))


def ask(limit: Middleware, model: ScriptedModel, request: ModelRequest | None = None) -> ModelResponse:
    response: ModelResponse = run(ctxkit.Stack(limit).model_flow(request or asked()), model)
    return response


def refused(limit: Middleware, request: ModelRequest | None = None) -> SpendLimitReached:
    """The error that a limit raises instead of sending anything."""
    model = ScriptedModel([])
    with pytest.raises(SpendLimitReached) as raised:
        ask(limit, model, request)
    assert model.calls == []
    return raised.value


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


@pytest.mark.parametrize(("cached", "rate"), [(True, "0.2"), (False, "2")])
def test_a_prompt_that_is_in_the_cache_is_foreseen_at_the_price_of_reading_it(
    cached: bool, rate: str, task: ctxkit.Task
) -> None:
    request = asked("word " * 2_000)
    tokens = size(request)
    cost = Decimal(rate) * tokens / 1_000_000
    enough, short = (ctxkit.LimitSpend(max_cost_usd=2 * cost - less) for less in (0, Decimal("1e-9")))
    for limit in (enough, short):
        ask(limit, ScriptedModel([used(tokens, 0, cache_read_tokens=tokens if cached else 0)]))
    ask(enough, ScriptedModel([reply("hi")]), request)
    assert refused(short, request).spent == cost


def test_an_answer_that_nobody_was_asked_for_says_nothing_about_the_cache(task: ctxkit.Task) -> None:
    class Remembers(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            body = answer_body(ANTHROPIC, usage={"input_tokens": 0, "cache_read_input_tokens": 9_000})
            return done(ModelResponse(request.wire, body, request, local=True))

    limit = ctxkit.LimitSpend(max_cost_usd="0.003")
    run(ctxkit.Stack(limit, Remembers()).model_flow(asked()), ScriptedModel([]))
    assert refused(limit, asked("word " * 2_000)).spent == 0


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


def test_each_limit_counts_for_itself(task: ctxkit.Task) -> None:
    ask(ctxkit.LimitSpend(max_requests=1), ScriptedModel([reply("hi")]))
    ask(ctxkit.LimitSpend(max_requests=1), ScriptedModel([reply("hi")]))


def test_one_limit_around_another_does_not_count_what_that_one_refused(task: ctxkit.Task) -> None:
    outer, inner = ctxkit.LimitSpend(max_requests=1), ctxkit.LimitSpend(max_tokens=0)
    for _ in range(2):
        with pytest.raises(SpendLimitReached, match="tokens"):
            run(ctxkit.Stack(outer, inner).model_flow(asked()), ScriptedModel([]))


class Waiting:
    """Answers when it is let, and knows how many requests have arrived."""

    def __init__(self) -> None:
        self.arrived = 0
        self.may_answer = asyncio.Event()

    async def model(self, request: ModelRequest) -> ModelResponse:
        self.arrived += 1
        await self.may_answer.wait()
        return answer_to(request)

    async def tool(self, call: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("limits", [{"max_requests": 3}, {"max_tokens": 3_500}, {"max_cost_usd": "0.007"}])
def test_requests_side_by_side_do_not_pass_a_limit_together(
    limits: dict[str, Any], task: ctxkit.Task
) -> None:
    limit, edge = ctxkit.LimitSpend(**limits), Waiting()
    request = asked("word " * 995)
    assert size(request) == 1_000

    async def ask_ten() -> list[Any]:
        flows = [ctxkit.Stack(limit).model_flow(request) for _ in range(10)]
        asking = [asyncio.ensure_future(run_async(flow, edge)) for flow in flows]
        await asyncio.sleep(0)
        edge.may_answer.set()
        return await asyncio.gather(*asking, return_exceptions=True)

    outcomes = asyncio.run(ask_ten())
    assert edge.arrived == 3
    assert [type(outcome) for outcome in outcomes[3:]] == [SpendLimitReached] * 7


def test_threads_do_not_pass_a_limit_together(task: ctxkit.Task) -> None:
    limit, together = ctxkit.LimitSpend(max_requests=3), threading.Barrier(8)
    model = ScriptedModel([reply("hi")] * 8)

    def work() -> bool:
        together.wait(5)
        try:
            ask(limit, model)
        except SpendLimitReached:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(copy_context().run, work) for _ in range(8)]
        assert sum(future.result() for future in asked) == 3
    assert len(model.calls) == 3


def test_what_is_used_counts_in_the_end_and_not_what_was_foreseen(task: ctxkit.Task) -> None:
    limit = ctxkit.LimitSpend(max_tokens=5_000)
    ask(limit, ScriptedModel([used(10, 5)]), asked("word " * 3_000))
    assert refused(limit, asked("word " * 6_000)).spent == 15


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


def test_an_attempt_that_was_not_billed_counts_as_nothing(task: ctxkit.Task) -> None:
    limit = ctxkit.LimitSpend(max_requests=1)
    for _ in range(3):
        with pytest.raises(ModelCallFailed):
            ask(limit, ScriptedModel([failure(429)]))
    ask(limit, ScriptedModel([reply("hi")]))


@pytest.mark.parametrize("lost", [failure(504), hang_up(reply("hi"))])
def test_an_attempt_that_may_have_been_billed_counts_as_a_request(lost: Any, task: ctxkit.Task) -> None:
    limit = ctxkit.LimitSpend(max_requests=1)
    with pytest.raises((ModelCallFailed, ConnectionError)):
        ask(limit, ScriptedModel([lost]))
    assert refused(limit).spent == 1


def test_a_stream_that_the_caller_leaves_counts_as_far_as_it_came(runner: Runner, task: ctxkit.Task) -> None:
    limit = ctxkit.LimitSpend(max_tokens=200)
    streamed = Streamed(runner, ctxkit.Stack(limit).model_flow(asking()), [("Hel", "lo", END)]).start()
    streamed.next()
    streamed.close()
    assert refused(limit, asked("word " * 500)).spent == 110


def test_an_answer_without_usage_counts_as_a_request(task: ctxkit.Task) -> None:
    limit = ctxkit.LimitSpend(max_requests=1, max_tokens=10_000)
    ask(limit, ScriptedModel([reply("hi", usage=ctxkit.Usage(None, None))]))
    assert refused(limit).unit == "requests"


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
    ],
)
def test_limits_that_make_no_sense_are_refused_at_once(limits: dict[str, Any], option: str) -> None:
    with pytest.raises(ConfigError) as raised:
        ctxkit.LimitSpend(**limits)
    assert raised.value.option == option


def test_a_connection_that_was_never_made_counts_as_nothing(task: ctxkit.Task) -> None:
    class Unreachable:
        def model(self, request: ModelRequest) -> ModelResponse:
            raise httpx2.ConnectError("refused")

        def tool(self, call: Any) -> Any:
            raise NotImplementedError

    limit = ctxkit.LimitSpend(max_requests=1)
    for _ in range(2):
        with pytest.raises(httpx2.ConnectError):
            run(ctxkit.Stack(limit).model_flow(asked()), Unreachable())
