"""What `LimitSpend` reserves for requests in flight, and what takes its place when they end."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from decimal import Decimal
from typing import Any

import httpx2
import pytest

import ctxkit
from ctxkit.drive import run, run_async
from ctxkit.errors import ModelCallFailed, SpendLimitReached
from ctxkit.flow import Flow, Middleware, ModelNext, done
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.middleware.limit_spend import ASSUMED_OUTPUT_TOKENS
from ctxkit.testing import ScriptedModel, failure, hang_up, reply
from ctxkit.tokens.calibration import CALIBRATION
from support.bodies import ANTHROPIC, OPENAI, WIRES, answer_body, answer_to, request_of, user
from support.limits import CLAUDE, ask, asked, refused, size, used, worst
from support.streams import END, Runner, Streamed, asking

MARK = {"type": "ephemeral"}


def continued(request: ModelRequest, text: str = "Go on.") -> ModelRequest:
    """The next request of the same conversation."""
    messages = [*request.body["messages"], {"role": "assistant", "content": "Done."}, user(text)]
    return request_of(ANTHROPIC, messages, model=CLAUDE, histories=request.histories)


@pytest.mark.parametrize(
    ("proven", "rate"),
    [({"cache_read_tokens": 1_500}, "0.2"), ({"cache_write_tokens": 1_500}, "2.5"), ({}, "2")],
)
def test_a_prompt_is_foreseen_in_the_cache_as_far_as_the_last_answer_proves(
    proven: dict[str, int], rate: str, task: ctxkit.Task
) -> None:
    first = asked("word " * 2_000)
    answer, later = used(size(first), 1_000, **proven), continued(first)
    spent = 2 * (size(first) - 1_500) + Decimal(rate) * 1_500 + 10 * 1_000
    needed = 2 * (size(later) - 1_500) + Decimal("0.2" if proven else "2") * 1_500
    enough = ctxkit.LimitSpend(max_cost_usd=(spent + needed) / 1_000_000)
    short = ctxkit.LimitSpend(max_cost_usd=(spent + needed) / 1_000_000 - Decimal("1e-9"))
    for limit in (enough, short):
        ask(limit, ScriptedModel([answer]), first)
    ask(enough, ScriptedModel([reply("hi")]), later)
    assert refused(short, later).spent == spent / 1_000_000


def test_another_conversation_has_nothing_in_the_cache(task: ctxkit.Task) -> None:
    other = asked("other " * 2_001)
    almost = Decimal(2 * size(other) - 1) / 1_000_000
    limit = ctxkit.LimitSpend(max_cost_usd=Decimal("0.002") + almost)
    ask(limit, ScriptedModel([used(10_000, 0, cache_read_tokens=10_000)]), asked("word " * 2_000))
    assert refused(limit, other).spent == Decimal("0.002")


def test_an_answer_that_nobody_was_asked_for_says_nothing_about_the_cache(task: ctxkit.Task) -> None:
    class Remembers(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            body = answer_body(ANTHROPIC, usage={"input_tokens": 0, "cache_read_input_tokens": 9_000})
            return done(ModelResponse(request.wire, body, request, local=True))

    limit = ctxkit.LimitSpend(max_cost_usd="0.003")
    run(ctxkit.Stack(limit, Remembers()).model_flow(asked()), ScriptedModel([]))
    assert refused(limit, asked("word " * 2_000)).spent == 0


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


def side_by_side(limit: Middleware, request: ModelRequest) -> tuple[int, list[Any]]:
    """How many of ten requests were sent that were made at once, and what became of all ten."""
    edge = Waiting()

    async def ask_ten() -> list[Any]:
        flows = [ctxkit.Stack(limit).model_flow(request) for _ in range(10)]
        asking = [asyncio.ensure_future(run_async(flow, edge)) for flow in flows]
        await asyncio.sleep(0)
        edge.may_answer.set()
        return await asyncio.gather(*asking, return_exceptions=True)

    outcomes = asyncio.run(ask_ten())
    return edge.arrived, outcomes


@pytest.mark.parametrize("unit", ["requests", "tokens", "usd"])
def test_the_worst_case_of_requests_in_flight_is_reserved(unit: str, task: ctxkit.Task) -> None:
    request = asked("word " * 995, max_tokens=500)
    tokens = 2 * worst(request, 500) + size(request)
    usd = Decimal(2 * (2 * CALIBRATION.count(request).high + size(request)) + 10 * 1_000) / 1_000_000
    limits: dict[str, Any] = {"requests": 3, "tokens": tokens, "usd": usd}
    name = {"requests": "max_requests", "tokens": "max_tokens", "usd": "max_cost_usd"}[unit]
    sent, outcomes = side_by_side(ctxkit.LimitSpend(**{name: limits[unit]}), request)
    assert sent == 3
    assert [type(outcome) for outcome in outcomes[3:]] == [SpendLimitReached] * 7
    less = limits[unit] - (1 if unit != "usd" else Decimal("1e-9"))
    sent, outcomes = side_by_side(ctxkit.LimitSpend(**{name: less}), request)
    assert sent == 2
    assert (outcomes[2].spent, outcomes[2].unit) == (0, unit)
    assert "reserved for other requests in flight" in outcomes[2].__notes__[0]


def test_a_request_alone_is_not_refused_for_the_longest_answer_that_it_allows(task: ctxkit.Task) -> None:
    request = asked("word " * 995, max_tokens=64_000)
    limit = ctxkit.LimitSpend(max_tokens=5_000, max_cost_usd="0.01")
    for _ in range(2):
        ask(limit, ScriptedModel([used(1_000, 50)]), request)


def test_where_only_the_expected_is_reserved_more_requests_fit_side_by_side(task: ctxkit.Task) -> None:
    request = asked("word " * 995, max_tokens=64_000)
    limits = {"max_tokens": 7 * size(request)}
    assert side_by_side(ctxkit.LimitSpend(**limits), request)[0] == 1
    sent, outcomes = side_by_side(ctxkit.LimitSpend(**limits, reserve="expected"), request)
    assert sent == 7
    assert outcomes[9].__notes__[0].startswith(f"{7 * size(request)} tokens are reserved")


def reserved_usd(request: ModelRequest) -> Decimal:
    """What is reserved in dollars for a request, as a second one beside it gets to know."""
    with ctxkit.task("reserved"):
        limit = ctxkit.LimitSpend(max_cost_usd=Decimal("4.4") * size(request) / 1_000_000)
        _, outcomes = side_by_side(limit, request)
    return Decimal(outcomes[9].__notes__[0].split()[0])


@pytest.mark.parametrize(
    ("body", "input_rate"),
    [
        ({}, "2"),
        ({"cache_control": MARK}, "2.5"),
        ({"cache_control": {**MARK, "ttl": "1h"}}, "4"),
        ({"system": [{"type": "text", "text": "Be brief.", "cache_control": {**MARK, "ttl": "1h"}}]}, "4"),
        ({"inference_geo": "us"}, "2.2"),
        ({"service_tier": "priority"}, "2"),
    ],
    ids=["unmarked", "by itself", "an hour", "a marked block", "in the US", "a tier without a price"],
)
def test_the_worst_case_has_the_dearest_price_that_the_request_may_have(
    body: dict[str, Any], input_rate: str
) -> None:
    request = asked("word " * 995, max_tokens=500, **body)
    output_rate = Decimal(11 if "inference_geo" in body else 10)
    usd = Decimal(input_rate) * CALIBRATION.count(request).high + output_rate * 500
    assert reserved_usd(request) == usd / 1_000_000


def test_openai_may_write_what_it_pleases_to_its_cache() -> None:
    request = request_of(OPENAI, [user("word " * 995)], model="gpt-5.6-sol", max_completion_tokens=0)
    assert reserved_usd(request) == Decimal(5 * CALIBRATION.count(request).high) / 1_000_000


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


def test_a_stream_that_the_caller_leaves_keeps_its_worst_case(runner: Runner, task: ctxkit.Task) -> None:
    kept = worst(asking(), ASSUMED_OUTPUT_TOKENS)
    request = asked("word " * 500)
    for room, fits in ((size(request), True), (size(request) - 1, False)):
        limit = ctxkit.LimitSpend(max_tokens=kept + room, max_requests=2)
        streamed = Streamed(runner, ctxkit.Stack(limit).model_flow(asking()), [("Hel", "lo", END)]).start()
        streamed.next()
        streamed.close()
        if fits:
            ask(limit, ScriptedModel([reply("hi")]), request)
            assert (refused(limit).spent, refused(limit).unit) == (2, "requests")
        else:
            error = refused(limit, request)
            assert (error.spent, error.unit) == (0, "tokens")
            assert error.__notes__[0].startswith(f"{kept} tokens")


def test_an_answer_that_is_no_json_keeps_its_worst_case(task: ctxkit.Task) -> None:
    class Broken:
        def model(self, request: ModelRequest) -> ModelResponse:
            return ModelResponse(request.wire, {}, request, complete=False)

        def tool(self, call: Any) -> Any:
            raise NotImplementedError

    request = asked(max_tokens=700)
    limit = ctxkit.LimitSpend(max_tokens=worst(request, 700))
    run(ctxkit.Stack(limit).model_flow(request), Broken())
    assert refused(limit, request).__notes__[0].startswith(f"{worst(request, 700)} tokens")


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_that_reports_no_usage_counts_as_counted_here(wire: str, task: ctxkit.Task) -> None:
    request = request_of(wire, [user("word " * 500)])
    said = reply("word " * 300, usage=ctxkit.Usage(None, None))
    limit = ctxkit.LimitSpend(max_tokens=size(request) + 1)
    ask(limit, ScriptedModel([said]), request)
    assert refused(limit, request).spent == size(request) + 301


def test_a_malformed_answer_that_reports_no_usage_counts_as_its_request(task: ctxkit.Task) -> None:
    request = asked("word " * 500)
    limit = ctxkit.LimitSpend(max_tokens=size(request))
    run(ctxkit.Stack(limit).model_flow(request), Says({"content": 5}))
    assert refused(limit, request).spent == size(request)


class Says:
    """Answers with a body."""

    def __init__(self, body: Any) -> None:
        self.body = body

    def model(self, request: ModelRequest) -> ModelResponse:
        return ModelResponse(request.wire, self.body, request)

    def tool(self, call: Any) -> Any:
        raise NotImplementedError


def test_an_answer_without_usage_counts_as_a_request(task: ctxkit.Task) -> None:
    limit = ctxkit.LimitSpend(max_requests=1, max_tokens=10_000)
    ask(limit, ScriptedModel([reply("hi", usage=ctxkit.Usage(None, None))]))
    assert refused(limit).unit == "requests"


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
