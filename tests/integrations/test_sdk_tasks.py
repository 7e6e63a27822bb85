"""Attempts are booked to the task they were made in, whoever else uses the same client at the same time."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import anthropic
import openai
import pytest

import ctxkit
from ctxkit.testing import Answer, ModelServer, reply
from ctxkit.usage import Usage
from support.calling import Sdk, Waiter

Body = Mapping[str, Any]
BLOCKING = [anthropic.Anthropic, openai.OpenAI]
AWAITING = [anthropic.AsyncAnthropic, openai.AsyncOpenAI]


def echo(body: Body, call: int) -> Answer:
    """Repeats the question; its number of tokens is the number that the question ends with."""
    asked = body["messages"][0]["content"]
    return reply(asked, usage=Usage(int(asked.split()[-1]), 1))


def question(number: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"Number {number}"}]


def booked(task: ctxkit.Task) -> Counter[int | None]:
    """How often each number of input tokens was booked."""
    return Counter(attempt.usage.input_tokens for attempt in task.attempts if attempt.usage)


def test_nested_tasks_keep_their_own_and_report_all(sdk: Sdk) -> None:
    with ModelServer(echo) as server, sdk.wrapped(server, ctxkit.TokenMeter()) as client:
        with ctxkit.task("outer") as outer:
            sdk.create(client, question(1))
            with ctxkit.task("inner") as inner:
                sdk.create(client, question(2))
            sdk.create(client, question(3))
        with ctxkit.task("other") as other:
            sdk.create(client, question(4))
    assert booked(outer) == {1: 1, 3: 1}
    assert booked(inner) == {2: 1}
    assert booked(other) == {4: 1}
    assert [attempt.task for attempt in inner.attempts] == ["outer / inner"]
    assert outer.report().totals.input_tokens == 6


@pytest.mark.parametrize("client", BLOCKING)
def test_threads_with_tasks_of_their_own_keep_apart(client: type[Any], wait: Waiter) -> None:
    sdk = Sdk(client, wait=wait)
    with ModelServer(echo) as server, sdk.wrapped(server, ctxkit.TokenMeter()) as wrapped:

        def work(number: int) -> ctxkit.Task:
            with ctxkit.task(f"task {number}") as task:
                sdk.create(wrapped, question(number))
                sdk.wait.items(sdk.create(wrapped, question(number), stream=True))
            return task

        with ThreadPoolExecutor(8) as pool:
            tasks = list(pool.map(work, range(8)))
    for number, task in enumerate(tasks):
        assert [attempt.task for attempt in task.attempts] == [f"task {number}"] * 2
        assert set(booked(task)) == {number}


@pytest.mark.parametrize("client", AWAITING)
def test_asyncio_tasks_with_tasks_of_their_own_keep_apart(client: type[Any], wait: Waiter) -> None:
    sdk = Sdk(client, wait=wait)
    with ModelServer(echo) as server, sdk.wrapped(server, ctxkit.TokenMeter()) as wrapped:

        async def work(number: int) -> ctxkit.Task:
            with ctxkit.task(f"task {number}") as task:
                await sdk.call(wrapped, question(number))
                async for _ in await sdk.call(wrapped, question(number), stream=True):
                    await asyncio.sleep(0)
            return task

        async def work_all() -> list[ctxkit.Task]:
            return await asyncio.gather(*map(work, range(8)))

        tasks = wait(work_all())
    for number, task in enumerate(tasks):
        assert [attempt.task for attempt in task.attempts] == [f"task {number}"] * 2
        assert set(booked(task)) == {number}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_fifty_parallel_requests_book_exactly_fifty(sdk: Sdk, streamed: bool, task: ctxkit.Task) -> None:
    with ModelServer(echo) as server, sdk.wrapped(server, *ctxkit.balanced().middlewares) as client:

        async def ask(number: int) -> None:
            answer = await sdk.call(client, question(number), stream=streamed)
            if streamed:
                async for _ in answer:
                    pass

        async def ask_all() -> None:
            await asyncio.gather(*map(ask, range(50)))

        def ask_blocking(number: int) -> None:
            answer = sdk.create(client, question(number), stream=streamed)
            if streamed:
                sdk.wait.items(answer)

        if sdk.awaits:
            sdk.wait(ask_all())
        else:
            contexts = [copy_context() for _ in range(50)]
            with ThreadPoolExecutor(10) as pool:
                list(pool.map(lambda number: contexts[number].run(ask_blocking, number), range(50)))
        assert len(server.requests) == 50
    assert len(task.attempts) == task.totals.requests == 50
    if sdk.is_anthropic or not streamed:
        assert booked(task) == Counter(range(50))
        assert task.totals.input_tokens == sum(range(50))
    assert not task.faults


def test_a_stream_is_booked_to_the_task_it_was_asked_in(sdk: Sdk) -> None:
    with ModelServer(echo) as server, sdk.wrapped(server, ctxkit.TokenMeter()) as client:
        with ctxkit.task("asked") as asked:
            finished = sdk.create(client, question(1), stream=True)
            left = sdk.create(client, question(2), stream=True)
        with ctxkit.task("read") as read:
            sdk.wait.items(finished)
            sdk.wait.items(left, 2)
            sdk.wait(left.close())
    assert [attempt.outcome for attempt in asked.attempts] == ["billed", "unknown"]
    assert not read.attempts


def test_a_stream_that_is_dropped_is_booked(sdk: Sdk, task: ctxkit.Task) -> None:
    def drop(client: Any) -> None:
        for _ in sdk.create(client, question(1), stream=True):
            break

    async def drop_async(client: Any) -> None:
        async for _ in await sdk.call(client, question(1), stream=True):
            break
        gc.collect()
        for _ in range(1_000):
            if not task.attempts:
                await asyncio.sleep(0.001)

    with ModelServer(echo) as server, sdk.wrapped(server, ctxkit.TokenMeter()) as client:
        sdk.wait((drop_async if sdk.awaits else drop)(client))
        gc.collect()
    assert [attempt.outcome for attempt in task.attempts] == ["unknown"]
