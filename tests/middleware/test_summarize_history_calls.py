"""`SummarizeHistory` among other middlewares, in every colour, and behind the real SDK clients."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from threading import Event, Thread
from typing import Any

import pytest

import ctxkit
from ctxkit.drive import run_async
from ctxkit.flow import Flow, done
from ctxkit.messages import ModelRequest
from ctxkit.middleware.summarize_history import SummarizeHistory
from ctxkit.stores.memory import MemoryStore
from ctxkit.testing import ModelServer, ScriptedModel, failure, reply
from ctxkit.testing.answers import Answer
from support.bodies import ANTHROPIC, OPENAI, user
from support.calling import HOWS, SDK_CLIENTS, Sdk, Waiter
from support.compacting import SMALL, TOOLS, WORDS, grown, loop, native, request, sent, step, texts
from support.streams import END, Runner, Streamed
from support.summaries import AsyncEdge, Edge

NOTE = "[ctxkit: a model's summary"
CLEARED = "tokens cleared"


@pytest.fixture
def wait() -> Iterator[Waiter]:
    waiter = Waiter()
    yield waiter
    waiter.close()


def test_a_meter_further_in_books_the_side_call_to_its_purpose(task: ctxkit.Task) -> None:
    stack = ctxkit.Stack(SummarizeHistory(**SMALL), ctxkit.TokenMeter())
    sent(stack, Edge(), loop(ANTHROPIC, 6))
    assert [attempt.purpose for attempt in task.attempts] == ["summary", "main"]


def test_a_limit_further_in_stops_the_side_call(task: ctxkit.Task) -> None:
    stack, edge = ctxkit.Stack(SummarizeHistory(**SMALL), ctxkit.LimitSpend(max_requests=1)), Edge()
    sent(stack, edge, [user("hi")])
    with pytest.raises(ctxkit.SpendLimitReached):
        sent(stack, edge, loop(ANTHROPIC, 6))
    assert not edge.side


def test_a_streamed_answer_passes_as_it_arrives_behind_a_side_call_that_is_none(runner: Runner) -> None:
    scripted = ScriptedModel([reply("A summary.")])
    asked = request(ANTHROPIC, loop(ANTHROPIC, 6), stream=True)
    flow = ctxkit.Stack(SummarizeHistory(**SMALL)).model_flow(asked)
    streamed = Streamed(runner, flow, [("It is ", "sunny.", END)], model=scripted).start()
    assert streamed.next() == "It is "
    assert streamed.rest() == ["sunny.", END]
    (side,) = scripted.calls
    assert isinstance(side, ModelRequest)
    assert not side.stream
    assert "A summary." in texts(native(streamed.asked[0]))


def test_equal_requests_in_flight_start_one_side_call_awaited() -> None:
    edge, store = Edge(), MemoryStore()

    async def three() -> list[ModelRequest]:
        stack = ctxkit.Stack(SummarizeHistory(store=store, **SMALL))
        flows = [stack.model_flow(request(ANTHROPIC, loop(ANTHROPIC, 6))) for _ in range(3)]
        answers = await asyncio.gather(*(run_async(flow, AsyncEdge(edge)) for flow in flows))
        return [answer.request for answer in answers]

    made = [native(one) for one in asyncio.run(three())]
    assert len(edge.side) == 1
    assert made[0] == made[1] == made[2]
    assert NOTE in texts(made[0])


def test_equal_requests_in_flight_start_one_side_call_blocking() -> None:
    started, go_on = Event(), Event()

    def write(asked: ModelRequest) -> str:
        started.set()
        assert go_on.wait(10)
        return "A summary."

    edge, store = Edge(write), MemoryStore()
    threads = [
        Thread(target=lambda: sent(SummarizeHistory(store=store, **SMALL), edge, loop(ANTHROPIC, 6)))
        for _ in range(2)
    ]
    threads[0].start()
    assert started.wait(10)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert len(edge.side) == 1
    assert native(edge.main[0]) == native(edge.main[1])


class Interrupt(BaseException):
    """Ends a call from outside, as a keyboard does."""


@pytest.mark.parametrize("ending", [Interrupt, GeneratorExit])
def test_a_call_that_is_ended_from_outside_leaves_the_others_free_to_begin(
    ending: type[BaseException],
) -> None:
    store = MemoryStore(lease_seconds=0.01)
    stack = ctxkit.Stack(SummarizeHistory(store=store, **SMALL))
    flow = stack.model_flow(request(ANTHROPIC, loop(ANTHROPIC, 6)))
    assert next(flow).purpose == "summary"  # type: ignore[union-attr]
    with pytest.raises(ending):
        flow.throw(ending())
    edge = Edge()
    sent(stack, edge, loop(ANTHROPIC, 6))
    assert len(edge.side) == 1


class BrokenStore(MemoryStore):
    """Fails whatever it is asked."""

    def get(self, key: str) -> Flow[Any]:
        raise OSError("gone")

    lead = put = land = get  # type: ignore[assignment]


def test_a_store_that_fails_breaks_nothing_and_the_same_bytes_are_sent_in_this_process(
    task: ctxkit.Task,
) -> None:
    edge = Edge()
    settings = {**SMALL, "every_requests": 100}
    made = grown(SummarizeHistory(store=BrokenStore(), **settings), edge, 9)
    assert len(edge.side) == 1
    assert NOTE in texts(made[-1])
    assert made[-1][: len(made[-2])] == made[-2]
    assert task.faults["SummarizeHistory: OSError"] >= 1


def test_what_can_not_be_read_from_the_store_is_written_anew(task: ctxkit.Task) -> None:
    class Spoilt(MemoryStore):
        """Gives back something else than what was kept."""

        def get(self, key: str) -> Flow[Any]:
            return done(b"{}")

    edge = Edge()
    assert NOTE in texts(sent(SummarizeHistory(store=Spoilt(), **SMALL), edge, loop(ANTHROPIC, 6)))
    assert len(edge.side) == 1
    assert "SummarizeHistory: KeyError" in task.faults


def script(body: Mapping[str, Any], call: int) -> Answer:
    """A model that summarises when it is asked to, and else says how much it was sent."""
    last = json.dumps(body["messages"][-1])
    return reply("The parser was read." if "Sum it up." in last else f"{len(body['messages'])} messages.")


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("kind", SDK_CLIENTS)
def test_the_real_sdks_get_their_answers_to_the_summarised_history(
    kind: Any, how: str, wait: Waiter, task: ctxkit.Task
) -> None:
    sdk = Sdk(kind, wait=wait)
    wire = ANTHROPIC if sdk.is_anthropic else OPENAI
    middleware = SummarizeHistory(instructions="Sum it up.", **SMALL)
    with ModelServer(script) as server, sdk.wrapped(server, middleware, ctxkit.TokenMeter()) as client:
        for _ in range(2):
            assert asked(sdk, client, how, loop(wire, 6), wire) == "6 messages."
        assert server.errors == []
        first, *mains = server.requests
    assert len(mains) == 2
    assert mains[0].body == mains[1].body
    assert "The parser was read." in texts(mains[0].json["messages"])
    assert len(first.json["messages"]) >= len(loop(wire, 6))
    assert [attempt.purpose for attempt in task.attempts] == ["summary", "main", "main"]


def asked(sdk: Sdk, client: Any, how: str, messages: list[Any], wire: str) -> str:
    """Ask in one of the `HOWS`, and give the answer's text."""
    if how == "whole":
        return sdk.text(sdk.create(client, messages, tools=TOOLS[wire]))
    if how == "streamed":
        return sdk.streamed_text(sdk.wait.items(sdk.create(client, messages, tools=TOOLS[wire], stream=True)))
    with sdk.helper(client, messages) as stream:
        sdk.wait.items(stream)
        return sdk.text(sdk.final(stream))


@pytest.mark.parametrize("kind", SDK_CLIENTS)
def test_the_side_call_reads_the_warm_beginning_from_the_prompt_cache(
    kind: Any, wait: Waiter, task: ctxkit.Task
) -> None:
    """The scripted server bills by the rules of each provider's cache: marks, or every beginning."""
    sdk = Sdk(kind, wait=wait)
    wire = ANTHROPIC if sdk.is_anthropic else OPENAI
    middleware = SummarizeHistory(**{**SMALL, "start_tokens": 9_000})
    long = WORDS * 10
    raw = [*loop(wire, 0), *(one for number in range(9) for one in step(wire, f"step_{number}", long))]
    more = {"cache_control": {"type": "ephemeral"}} if sdk.is_anthropic else {}
    with ModelServer(script) as server, sdk.wrapped(server, middleware, ctxkit.TokenMeter()) as client:
        for steps in range(10):
            length = len(loop(wire, steps))
            sdk.create(client, raw[:length], tools=TOOLS[wire], extra_body=more)
            sides = [attempt for attempt in task.attempts if attempt.purpose == "summary"]
            if sides:
                break
        assert server.errors == []
    usage, before = sides[0].usage, task.attempts[-3].usage
    assert usage is not None and before is not None and before.input_tokens is not None
    assert usage.cache_read_tokens >= 0.9 * before.input_tokens


def test_a_side_call_that_fails_over_http_leaves_the_callers_call_alone(
    wait: Waiter, task: ctxkit.Task
) -> None:
    sdk = Sdk(SDK_CLIENTS[0], wait=wait)
    script = [failure(529, headers={"x-should-retry": "false"}), reply("It is here.")]
    middleware = SummarizeHistory(**SMALL)
    with ModelServer(script) as server, sdk.wrapped(server, middleware, ctxkit.TokenMeter()) as client:
        assert asked(sdk, client, "whole", loop(ANTHROPIC, 8), ANTHROPIC) == "It is here."
        assert CLEARED in texts(server.requests[-1].json["messages"])
    assert [attempt.status for attempt in task.attempts] == [529, 200]
