"""`TokenMeter`: every attempt is booked to the running task, however it ends."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import replace
from decimal import Decimal
from typing import Any

import httpx
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ctxkit
from ctxkit.drive import run
from ctxkit.flow import Flow, Middleware, ModelNext, ask_model, done
from ctxkit.ledger import Attempt, Sent
from ctxkit.messages import Histories, ModelRequest, ModelResponse, ToolCall, ToolResult
from ctxkit.testing import ScriptedModel, failure, native, reply
from support.bodies import ANTHROPIC, OPENAI, WIRES, answer_body, answer_to, of_body, request_of, rounds, user
from support.streams import END, Runner, Streamed, asking

MODELS = {ANTHROPIC: "claude-sonnet-5", OPENAI: "gpt-4o"}


class Edge:
    """Answers as a function says."""

    def __init__(self, model: Callable[[ModelRequest], ModelResponse]) -> None:
        self.model = model

    def tool(self, call: ToolCall) -> ToolResult:
        raise NotImplementedError


def raising(error: BaseException) -> Edge:
    def model(request: ModelRequest) -> ModelResponse:
        raise error

    return Edge(model)


def metered(request: ModelRequest, edge: Any, *around: Middleware, meter: Middleware | None = None) -> Any:
    return run(ctxkit.Stack(*around, meter or ctxkit.TokenMeter()).model_flow(request), edge)


def booked(task: ctxkit.Task) -> Attempt:
    (attempt,) = task.attempts
    return attempt


def check_sums(attempt: Attempt) -> None:
    """The shares of an attempt add up to its usage and its charge, to the last digit."""
    assert attempt.usage is not None and attempt.charge is not None
    assert sum(share.input_tokens for share in attempt.shares) == attempt.usage.input_tokens
    assert sum(share.output_tokens for share in attempt.shares) == attempt.usage.output_tokens
    assert sum(share.cost_usd or 0 for share in attempt.shares) == attempt.charge.total_usd


@pytest.mark.parametrize("wire", WIRES)
def test_a_billed_request_is_booked_with_its_usage_its_cost_and_what_it_went_into(
    wire: str, task: ctxkit.Task
) -> None:
    request = request_of(wire, rounds(wire, ["x" * 400]), model=MODELS[wire])
    ticks = iter([100.0, 102.5])
    metered(
        request,
        ScriptedModel([native(answer_body(wire))]),
        meter=ctxkit.TokenMeter(clock=lambda: next(ticks)),
    )
    attempt = booked(task)
    assert (attempt.task, attempt.purpose, attempt.wire) == ("test", "main", wire)
    assert (attempt.outcome, attempt.status, attempt.error) == ("billed", 200, None)
    assert attempt.model == MODELS[wire]
    assert attempt.usage == ctxkit.Usage(100, 10)
    assert attempt.charge is not None
    assert attempt.charge.total_usd > 0
    assert (attempt.started, attempt.seconds) == (100.0, 2.5)
    check_sums(attempt)
    assert (attempt.turn, attempt.provider, attempt.miss_reason) == (2, None, None)
    assert [(block.kind, block.tokens > 0) for block in attempt.answered] == [("assistant_text", True)]
    assert ("tool_result", "search") in {(share.kind, share.tool) for share in attempt.shares}


@given(
    st.sampled_from(WIRES),
    st.lists(st.integers(0, 200).map(lambda words: "word " * words), max_size=5),
    st.lists(st.integers(0, 50_000), min_size=4, max_size=4),
)
def test_the_shares_add_up_whatever_was_read_from_the_cache_and_written_to_it(
    wire: str, texts: list[str], tokens: list[int]
) -> None:
    uncached, read, written, output = tokens
    usage = ctxkit.Usage(
        uncached + read + written, output, cache_read_tokens=read, cache_write_tokens=written
    )
    model = ScriptedModel([reply("Done.", tool_calls=[("search", {})], thinking="Hm.", usage=usage)])
    with ctxkit.task("test") as task:
        metered(request_of(wire, rounds(wire, texts), model=MODELS[wire]), model)
    attempt = booked(task)
    assert attempt.usage is not None
    assert (attempt.usage.input_tokens, attempt.usage.output_tokens) == (uncached + read + written, output)
    assert (attempt.usage.cache_read_tokens, attempt.usage.cache_write_tokens) == (read, written)
    check_sums(attempt)


def test_a_request_is_booked_to_the_innermost_task_and_its_path_names_them_all() -> None:
    with ctxkit.task("outer") as outer, ctxkit.task("inner") as inner:
        metered(request_of(ANTHROPIC, [user("hi")]), ScriptedModel([reply("hi")]))
    assert booked(inner).task == "outer / inner"
    assert not outer.attempts


def test_the_tools_that_an_answer_calls_are_booked(task: ctxkit.Task) -> None:
    metered(
        request_of(ANTHROPIC, [user("hi")]), ScriptedModel([reply(tool_calls=[("ls", {}), ("grep", {})])])
    )
    assert booked(task).tool_calls == ("ls", "grep")


def test_a_side_call_is_booked_under_its_purpose(task: ctxkit.Task) -> None:
    class Summarize(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            yield from call_next(request.side_call("summary"))
            return (yield from call_next(request))

    metered(request_of(ANTHROPIC, [user("hi")]), ScriptedModel([reply("short"), reply("hi")]), Summarize())
    assert task.totals.purposes == {"summary": 1, "main": 1}


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(400, "not_billed"), (401, "not_billed"), (429, "not_billed"), (529, "not_billed"), (504, "unknown")],
)
def test_an_error_status_is_booked_as_what_it_costs(status: int, outcome: str, task: ctxkit.Task) -> None:
    with pytest.raises(ctxkit.ModelCallFailed):
        metered(request_of(ANTHROPIC, [user("hi")]), ScriptedModel([failure(status)]))
    attempt = booked(task)
    assert (attempt.outcome, attempt.status, attempt.error) == (outcome, status, "ModelCallFailed")
    assert (attempt.usage, attempt.charge, attempt.shares) == (None, None, ())


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (httpx2.ConnectError("refused"), "not_billed"),
        (httpx.ConnectTimeout("slow"), "not_billed"),
        (ConnectionRefusedError(), "not_billed"),
        (ConnectionResetError(), "unknown"),
        (httpx2.ReadTimeout("slow"), "unknown"),
        (httpx.WriteError("reset"), "unknown"),
        (KeyboardInterrupt(), "unknown"),
        (asyncio.CancelledError(), "unknown"),
    ],
)
def test_an_attempt_that_ends_in_an_exception_is_booked(
    error: BaseException, outcome: str, task: ctxkit.Task
) -> None:
    with pytest.raises(type(error)):
        metered(request_of(ANTHROPIC, [user("hi")]), raising(error))
    attempt = booked(task)
    assert (attempt.outcome, attempt.status, attempt.error) == (outcome, None, type(error).__name__)
    assert attempt.model == "m"


def test_every_retry_is_an_attempt_of_its_own(task: ctxkit.Task) -> None:
    wire = request_of(ANTHROPIC, []).wire
    model = ScriptedModel([failure(429), reply("hi")])
    for retry in (0, 1):
        request = ModelRequest(wire, {"messages": [user("hi")]}, retry=retry)
        if retry:
            metered(request, model)
        else:
            with pytest.raises(ctxkit.ModelCallFailed):
                metered(request, model)
    assert [(attempt.retry, attempt.outcome) for attempt in task.attempts] == [
        (0, "not_billed"),
        (1, "billed"),
    ]
    assert (task.totals.requests, task.totals.attempts_not_billed) == (1, 1)


@pytest.mark.parametrize("taken", [1, 2])
def test_a_stream_that_the_caller_leaves_books_its_prompt_and_not_its_answer(
    runner: Runner, taken: int, task: ctxkit.Task
) -> None:
    """`message_start` has the prompt's size; its `output_tokens` is a placeholder."""
    flow = ctxkit.Stack(ctxkit.TokenMeter()).model_flow(asking())
    streamed = Streamed(runner, flow, [("Hel", "lo", END)]).start()
    for _ in range(taken):
        streamed.next()
    streamed.close()
    attempt = booked(task)
    assert (attempt.outcome, attempt.error) == ("unknown", "StreamAborted")
    assert attempt.usage == ctxkit.Usage(100, None)
    assert (attempt.charge, attempt.cut_tokens) == (None, 0)
    totals = task.totals
    assert (totals.input_tokens, totals.output_tokens, totals.requests_unmeasured) == (100, 0, 1)


def test_a_stream_that_the_caller_leaves_before_its_first_event_is_booked_as_unknown(
    runner: Runner, task: ctxkit.Task
) -> None:
    Streamed(runner, ctxkit.Stack(ctxkit.TokenMeter()).model_flow(asking()), [(END,)]).start().close()
    attempt = booked(task)
    assert (attempt.outcome, attempt.usage) == ("unknown", None)


def test_a_whole_stream_is_booked_like_a_whole_answer(runner: Runner, task: ctxkit.Task) -> None:
    flow = ctxkit.Stack(ctxkit.TokenMeter()).model_flow(asking())
    Streamed(runner, flow, [("Hel", "lo", END)]).start().rest()
    attempt = booked(task)
    assert (attempt.outcome, attempt.usage) == ("billed", ctxkit.Usage(100, 10))


def test_an_answer_that_ends_early_without_an_error_is_unknown(task: ctxkit.Task) -> None:
    edge = Edge(lambda request: ModelResponse(request.wire, {}, request, complete=False))
    metered(request_of(ANTHROPIC, [user("hi")]), edge)
    assert (booked(task).outcome, booked(task).usage) == ("unknown", None)


def test_of_an_answer_that_ends_early_the_prompt_is_booked_with_its_cache(task: ctxkit.Task) -> None:
    usage = {
        "input_tokens": 10,
        "output_tokens": 1,
        "cache_read_input_tokens": 500,
        "cache_creation_input_tokens": 90,
    }
    body = answer_body(ANTHROPIC, usage=usage)
    edge = Edge(lambda request: ModelResponse(request.wire, body, request, complete=False))
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, ["word " * 2_000]))
    metered(request, edge, ctxkit.TruncateToolResults(max_tokens=500))
    attempt = booked(task)
    assert attempt.usage == ctxkit.Usage(600, None, cache_read_tokens=500, cache_write_tokens=90)
    assert sum(share.input_tokens for share in attempt.shares) == 600
    assert (attempt.charge, attempt.cut_tokens) == (None, 0)


def test_an_answer_that_a_middleware_made_costs_nothing_and_is_not_booked(task: ctxkit.Task) -> None:
    class Remembers(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            return done(ModelResponse(request.wire, answer_to(request).body, request, local=True))

    request = request_of(ANTHROPIC, [user("hi")])
    assert (
        run(ctxkit.Stack(ctxkit.TokenMeter(), Remembers()).model_flow(request), ScriptedModel([])).text
        == "Done."
    )
    assert not task.attempts


def test_an_answer_without_usage_is_a_request_nobody_measured(task: ctxkit.Task) -> None:
    metered(request_of(OPENAI, [user("hi")]), ScriptedModel([native(answer_body(OPENAI, usage=None))]))
    attempt = booked(task)
    assert (attempt.outcome, attempt.usage, attempt.charge) == ("billed", None, None)
    assert task.totals.requests_unmeasured == 1


def test_a_model_without_a_known_price_costs_none_and_keeps_its_tokens(task: ctxkit.Task) -> None:
    body = answer_body(ANTHROPIC, model="my-fine-tune")
    metered(request_of(ANTHROPIC, [user("hi")]), ScriptedModel([native(body)]))
    attempt = booked(task)
    assert attempt.charge is None
    assert sum(share.input_tokens for share in attempt.shares) == 100
    assert task.totals.requests_unpriced == 1
    assert task.report().totals.to_dict()["cost_usd"] is None


def test_the_price_depends_on_who_is_asked(task: ctxkit.Task) -> None:
    request = replace(request_of(OPENAI, [user("hi")]), provider="groq")
    body = answer_body(
        OPENAI, model="llama-3.3-70b-versatile", usage={"prompt_tokens": 1_000_000, "completion_tokens": 0}
    )
    metered(request, ScriptedModel([native(body)]))
    assert task.totals.cost_usd == Decimal("0.59")


def test_a_refusal_without_output_is_free(task: ctxkit.Task) -> None:
    """Anthropic's release notes: a refusal before any output is not billed, though its usage shows tokens."""
    body = answer_body(
        ANTHROPIC, content=[], stop_reason="refusal", usage={"input_tokens": 106, "output_tokens": 1}
    )
    metered(request_of(ANTHROPIC, [user("hi")]), ScriptedModel([native(body)]))
    assert task.totals.known_cost_usd == Decimal(0)
    assert not task.totals.is_lower_bound


@pytest.mark.parametrize(
    "body",
    [{"content": "text"}, {"content": 7}, {"content": ["text"]}, {"content": [{"type": "text", "text": 7}]}],
)
def test_an_answer_that_makes_no_sense_was_billed_all_the_same(body: Any, task: ctxkit.Task) -> None:
    metered(request_of(ANTHROPIC, [user("hi")]), ScriptedModel([native({**answer_body(ANTHROPIC), **body})]))
    attempt = booked(task)
    assert (attempt.outcome, attempt.usage, attempt.tool_calls) == ("billed", ctxkit.Usage(100, 10), ())
    check_sums(attempt)
    assert not task.faults


class Cools(Middleware):
    """Changes something that is no part of the prompt."""

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        return call_next(request.edit(temperature=0))


def test_a_request_that_makes_no_sense_is_booked_too(task: ctxkit.Task) -> None:
    stack = ctxkit.Stack(Cools(), ctxkit.TokenMeter())
    run(stack.wrap_model_call(of_body(ANTHROPIC, {"messages": 7}), ask_model), Edge(answer_to))
    attempt = booked(task)
    assert (attempt.outcome, attempt.cut_tokens) == ("billed", 0)
    check_sums(attempt)
    assert not task.faults


def test_what_was_cut_from_a_request_is_counted(task: ctxkit.Task) -> None:
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, ["word " * 2_000]))
    metered(request, ScriptedModel([reply("hi"), reply("hi")]), ctxkit.TruncateToolResults(max_tokens=500))
    metered(request, ScriptedModel([reply("hi")]), Cools())
    cut, cooled = task.attempts
    assert 1_400 < cut.cut_tokens < 2_000
    assert cooled.cut_tokens == 0


def test_outermost_it_books_the_users_own_requests_only(task: ctxkit.Task) -> None:
    class AsksTwice(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            yield from call_next(request)
            return (yield from call_next(request))

    request = request_of(ANTHROPIC, [user("hi")])
    model = ScriptedModel([reply("one"), reply("two")])
    run(ctxkit.Stack(ctxkit.TokenMeter(), AsksTwice()).model_flow(request), model)
    assert len(model.calls) == 2
    assert len(task.attempts) == 1


def test_outermost_it_books_what_was_sent_after_every_edit(task: ctxkit.Task) -> None:
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, ["word " * 2_000]))
    stack = ctxkit.Stack(ctxkit.TokenMeter(), ctxkit.TruncateToolResults(max_tokens=500))
    run(stack.model_flow(request), ScriptedModel([reply("hi")]))
    assert 1_400 < booked(task).cut_tokens < 2_000


def test_a_request_that_a_limit_further_in_refused_is_no_billed_request(task: ctxkit.Task) -> None:
    stack = ctxkit.Stack(ctxkit.TokenMeter(), ctxkit.LimitSpend(max_requests=0))
    with pytest.raises(ctxkit.SpendLimitReached):
        run(stack.model_flow(request_of(ANTHROPIC, [user("hi")])), ScriptedModel([]))
    assert (booked(task).outcome, task.totals.requests) == ("not_billed", 0)


def test_a_streamed_answer_asked_for_twice_books_the_one_that_was_sent(
    runner: Runner, task: ctxkit.Task
) -> None:
    class AsksTwice(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            yield from call_next(request)
            return (yield from call_next(request))

    flow = ctxkit.Stack(AsksTwice(), ctxkit.TokenMeter()).model_flow(asking())
    with pytest.raises(ctxkit.StreamError):
        Streamed(runner, flow, [("hi", END)]).start().rest()
    assert [attempt.outcome for attempt in task.attempts] == ["billed", "not_billed"]


class TestWhatWasSent:
    """Each attempt says what it sent, by what it has in common with the one before it."""

    def ask(self, histories: Histories, texts: list[str], *around: Middleware, **more: Any) -> None:
        request = request_of(ANTHROPIC, rounds(ANTHROPIC, texts), histories=histories)
        metered(request, ScriptedModel([reply("hi")]), *around, **more)

    def sent(self, task: ctxkit.Task) -> list[Sent]:
        return [attempt.sent for attempt in task.attempts if attempt.sent is not None]

    def test_an_attempt_is_compared_with_the_one_before_it(self, task: ctxkit.Task) -> None:
        meter, histories = ctxkit.TokenMeter(), Histories()
        for texts in (["one"], ["one", "two"], ["other"]):
            self.ask(histories, texts, meter=meter)
        ids = [attempt.id for attempt in task.attempts]
        assert len({*ids}) == 3
        assert [sent.after for sent in self.sent(task)] == [None, *ids[:2]]
        assert [(sent.kept, len(sent.added)) for sent in self.sent(task)] == [(0, 3), (3, 2), (2, 1)]
        assert [sent.change and sent.change.by for sent in self.sent(task)] == [None, None, "caller"]
        assert [attempt.turn for attempt in task.attempts] == [2, 3, 2]

    def test_what_a_middleware_changed_is_told_from_what_the_caller_did(self, task: ctxkit.Task) -> None:
        meter, histories, texts = ctxkit.TokenMeter(), Histories(), ["word " * 2_000]
        self.ask(histories, texts, meter=meter)
        cut = ctxkit.TruncateToolResults(max_tokens=500)
        self.ask(histories, [*texts, "two"], cut, meter=meter)
        self.ask(histories, [*texts, "two", "three"], cut, meter=meter)
        _, second, third = self.sent(task)
        assert second.change is not None
        assert (second.change.by, second.change.middleware) == ("middleware", "TruncateToolResults")
        assert third.change is None

    def test_an_attempt_that_was_not_billed_is_nothing_to_compare_with(self, task: ctxkit.Task) -> None:
        meter, histories = ctxkit.TokenMeter(), Histories()
        self.ask(histories, ["one"], meter=meter)
        request = request_of(ANTHROPIC, rounds(ANTHROPIC, ["other"]), histories=histories)
        with pytest.raises(ctxkit.ModelCallFailed):
            metered(request, ScriptedModel([failure(429)]), meter=meter)
        self.ask(histories, ["one", "two"], meter=meter)
        first, refused, third = task.attempts
        assert refused.sent is not None and third.sent is not None
        assert refused.sent.after == third.sent.after == first.id
        assert third.sent.change is None

    def test_a_side_call_is_not_compared_with_the_users_own_requests(self, task: ctxkit.Task) -> None:
        class Summarize(Middleware):
            def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
                yield from call_next(request.side_call("summary", messages=[user("Sum up.")]))
                return (yield from call_next(request))

        meter, histories = ctxkit.TokenMeter(), Histories()
        for texts in (["one"], ["one", "two"]):
            request = request_of(ANTHROPIC, rounds(ANTHROPIC, texts), histories=histories)
            metered(request, ScriptedModel([reply("short"), reply("hi")]), Summarize(), meter=meter)
        side, main, side_again, main_again = self.sent(task)
        assert (side.after, main.after) == (None, None)
        assert [attempt.id for attempt in task.attempts][:2] == [side_again.after, main_again.after]
        assert (side_again.change, main_again.change) == (None, None)

    def test_loops_side_by_side_in_one_task_are_each_compared_with_themselves(
        self, task: ctxkit.Task
    ) -> None:
        meter, histories = ctxkit.TokenMeter(), Histories()
        for texts in (["one"], ["other"], ["one", "two"], ["other", "two"]):
            self.ask(histories, texts, meter=meter)
        assert [(sent.kept, len(sent.added)) for sent in self.sent(task)] == [(0, 3), (2, 1), (3, 2), (3, 2)]

    def test_no_prompt_is_kept_in_memory_for_it(self, task: ctxkit.Task) -> None:
        request = request_of(ANTHROPIC, rounds(ANTHROPIC, ["one"]))
        gone = weakref.ref(request.turns[-1])
        metered(request, ScriptedModel([reply("hi")]), meter=ctxkit.TokenMeter())
        del request
        gc.collect()
        assert gone() is None

    def test_threads_that_share_a_task_book_each_attempt_after_the_one_that_it_names(
        self, task: ctxkit.Task
    ) -> None:
        meter, histories = ctxkit.TokenMeter(), Histories()
        threads = [
            threading.Thread(
                target=copy_context().run,
                args=(self.ask, histories, ["one"] * number),
                kwargs={"meter": meter},
            )
            for number in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seen: set[str | None] = {None}
        for attempt in task.attempts:
            assert attempt.sent is not None
            assert attempt.sent.after in seen
            seen.add(attempt.id)
        assert len(seen) == 9

    def test_of_a_request_that_makes_no_sense_it_says_nothing(self, task: ctxkit.Task) -> None:
        stack = ctxkit.Stack(ctxkit.TokenMeter())
        run(stack.wrap_model_call(of_body(ANTHROPIC, {"messages": 7}), ask_model), Edge(answer_to))
        assert (booked(task).sent, booked(task).turn) == (None, None)


def test_why_the_cache_was_missed_and_who_was_asked_are_booked(task: ctxkit.Task) -> None:
    missed = {"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 9}}
    request = replace(request_of(ANTHROPIC, [user("hi")]), provider="anthropic")
    metered(request, ScriptedModel([native(answer_body(ANTHROPIC, diagnostics=missed))]))
    assert (booked(task).miss_reason, booked(task).provider) == ("tools_changed", "anthropic")
