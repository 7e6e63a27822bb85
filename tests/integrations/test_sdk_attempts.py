"""Every HTTP attempt of an SDK is booked for what it was, and its errors stay the SDK's own."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import httpx2
import openai
import pytest

import ctxkit
from ctxkit.testing import Answer, ModelServer, failure, hang_up, raw, reply, slow
from ctxkit.usage import Usage
from support.calling import CERTIFICATES, Sdk, Waiter

AT_ONCE = {"retry-after-ms": "1"}
ANSWER = reply("A tabby.", tool_calls=[("search", {"query": "cats"})], usage=Usage(1_000, 50))


def outcomes(task: ctxkit.Task) -> list[tuple[str, int | None, str | None]]:
    return [(attempt.outcome, attempt.status, attempt.error) for attempt in task.attempts]


def test_every_retry_is_an_attempt_and_refused_ones_cost_nothing(sdk: Sdk, task: ctxkit.Task) -> None:
    script = [failure(429, headers=AT_ONCE), failure(529, headers=AT_ONCE), reply("Yes.")]
    with ModelServer(script) as server, sdk.wrapped(server, ctxkit.TokenMeter()) as client:
        assert sdk.text(sdk.create(client)) == "Yes."
    assert outcomes(task) == [
        ("not_billed", 429, "ModelCallFailed"),
        ("not_billed", 529, "ModelCallFailed"),
        ("billed", 200, None),
    ]
    assert [attempt.retry for attempt in task.attempts] == [0, 1, 2]
    assert (task.totals.requests, task.totals.attempts_not_billed) == (1, 2)


def test_an_attempt_that_timed_out_may_have_been_billed(sdk: Sdk, task: ctxkit.Task) -> None:
    script = [slow(reply(), seconds=30), reply("Yes.")]
    options = {"timeout": httpx2.Timeout(30, read=0.05), "max_retries": 0}
    with ModelServer(script) as server, sdk.wrapped(server, ctxkit.TokenMeter(), **options) as client:
        with pytest.raises(sdk.module.APITimeoutError):
            sdk.create(client)
        assert sdk.text(sdk.create(client.with_options(timeout=30))) == "Yes."
    assert outcomes(task) == [("unknown", None, "ReadTimeout"), ("billed", 200, None)]
    assert (task.totals.requests, task.totals.requests_unmeasured) == (2, 1)


def test_an_attempt_that_never_left_was_not_billed(sdk: Sdk, task: ctxkit.Task) -> None:
    with ModelServer([]) as server:
        url = server.url
    with (
        sdk.wrapped(url, ctxkit.TokenMeter(), max_retries=0) as client,
        pytest.raises(sdk.module.APIConnectionError),
    ):
        sdk.create(client)
    assert outcomes(task) == [("not_billed", None, "ConnectError")]


def test_a_gateways_timeout_may_have_been_billed(sdk: Sdk, task: ctxkit.Task) -> None:
    with (
        ModelServer([failure(504)]) as server,
        sdk.wrapped(server, ctxkit.TokenMeter(), max_retries=0) as client,
        pytest.raises(sdk.module.InternalServerError),
    ):
        sdk.create(client)
    assert outcomes(task) == [("unknown", 504, "ModelCallFailed")]


@pytest.mark.parametrize("after_bytes", [0, 40])
def test_an_answer_that_breaks_off_is_unknown_and_raises_as_ever(
    sdk: Sdk, after_bytes: int, task: ctxkit.Task
) -> None:
    script = [hang_up(ANSWER, after_bytes=after_bytes)]
    with (
        ModelServer(script) as server,
        sdk.wrapped(server, ctxkit.TokenMeter(), max_retries=0) as client,
        pytest.raises(sdk.module.APIConnectionError) as caught,
    ):
        sdk.create(client)
    assert isinstance(caught.value.__cause__, httpx2.RemoteProtocolError)
    assert outcomes(task) == [("unknown", None, "RemoteProtocolError")]


def test_a_stream_that_breaks_off_books_what_it_showed(sdk: Sdk, task: ctxkit.Task) -> None:
    broken = hang_up(ANSWER, after_bytes=900 if sdk.is_anthropic else 200)
    raised: list[BaseException] = []
    for wraps in (False, True):
        with ModelServer([broken]) as server, sdk.plain(server) as plain:
            client = ctxkit.wrap(plain, ctxkit.observe()) if wraps else plain
            stream = sdk.create(client, stream=True)
            with pytest.raises((httpx2.RemoteProtocolError, openai.APIConnectionError)) as caught:
                sdk.wait.items(stream)
            raised.append(caught.value)
            sdk.wait(stream.close())
    plain_error, error = raised
    assert (type(error), str(error)) == (type(plain_error), str(plain_error))
    (attempt,) = task.attempts
    assert (attempt.outcome, attempt.status, attempt.error) == ("unknown", 200, "StreamAborted")
    assert attempt.usage == (Usage(1_000, None) if sdk.is_anthropic else None)
    assert task.totals.requests_unmeasured == 1


def test_a_stream_that_is_left_books_what_it_showed_at_every_event(sdk: Sdk) -> None:
    with ModelServer(lambda body, call: ANSWER) as server, sdk.wrapped(server, ctxkit.TokenMeter()) as client:
        options = {} if sdk.is_anthropic else {"stream_options": {"include_usage": True}}
        stream = sdk.create(client, stream=True, **options)
        events = sdk.wait.items(stream)
        for taken in range(len(events)):
            with ctxkit.task("left") as task:
                stream = sdk.create(client, stream=True, **options)
                assert len(sdk.wait.items(stream, taken)) == taken
                sdk.wait(stream.close())
            (attempt,) = task.attempts
            finished = not sdk.is_anthropic and taken == len(events) - 1
            assert attempt.outcome == ("billed" if finished else "unknown"), taken
            assert attempt.usage == (Usage(1_000, None) if sdk.is_anthropic and taken else None)
            assert task.totals.requests_unmeasured == 1


@pytest.mark.parametrize("client", [anthropic.AsyncAnthropic, openai.AsyncOpenAI])
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_call_that_is_cancelled_is_unknown_and_leaks_nothing(
    client: type[Any], streamed: bool, wait: Waiter, task: ctxkit.Task
) -> None:
    sdk = Sdk(client, wait=wait)

    async def cancel(client: Any, server: ModelServer) -> None:
        seen = len(server.requests)
        arrived = asyncio.Event()
        asking = asyncio.create_task(ask(client, arrived))
        while len(server.requests) == seen:
            await asyncio.sleep(0.001)
        if streamed:
            await arrived.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert asyncio.all_tasks() == {asyncio.current_task()}

    async def ask(client: Any, arrived: asyncio.Event) -> None:
        async for _ in await sdk.call(client, stream=streamed):
            arrived.set()

    limits = httpx2.Limits(max_connections=1)
    script = [ANSWER if streamed else slow(ANSWER, seconds=30)] * 2
    with ModelServer(script, delay_seconds=30) as server:
        http_client = httpx2.AsyncClient(verify=CERTIFICATES, limits=limits, timeout=5)
        with sdk.wrapped(server, ctxkit.TokenMeter(), http_client=http_client) as client:
            wait(cancel(client, server))
            wait(cancel(client, server))
    assert [attempt.outcome for attempt in task.attempts] == ["unknown", "unknown"]
    assert [attempt.status for attempt in task.attempts] == ([200] * 2 if streamed else [None] * 2)


ERROR_EVENTS = {
    True: b'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":9,'
    b'"output_tokens":1},"content":[]}}\n\nevent: error\ndata: {"type":"error","error":{"type":'
    b'"overloaded_error","message":"Overloaded"}}\n\n',
    False: b'data: {"choices":[{"index":0,"delta":{"content":"A"}}]}\n\n'
    b'data: {"error":{"message":"Overloaded","type":"server_error"}}\n\n',
}


def test_an_error_event_reaches_the_caller_as_the_sdks_own_error(sdk: Sdk, task: ctxkit.Task) -> None:
    answer = raw(ERROR_EVENTS[sdk.is_anthropic], content_type="text/event-stream")
    raised: list[BaseException] = []
    for wraps in (False, True):
        with ModelServer([answer]) as server, sdk.plain(server) as plain:
            client = ctxkit.wrap(plain, ctxkit.observe()) if wraps else plain
            with pytest.raises(sdk.module.APIError) as caught:
                sdk.wait.items(sdk.create(client, stream=True))
            raised.append(caught.value)
    plain_error, error = raised
    assert (type(error), str(error)) == (type(plain_error), str(plain_error))
    assert "Overloaded" in str(error)
    (attempt,) = task.attempts
    assert (attempt.outcome, attempt.status) == ("unknown", 200)
    assert attempt.usage == (Usage(9, None) if sdk.is_anthropic else None)


STOP = {"x-should-retry": "false", "x-limit": "7"}
FAILURES = {
    "400": failure(400, headers=STOP),
    "401": failure(401, headers=STOP),
    "404 with a body of its own": failure(404, {"error": {"message": "no such model"}}, headers=STOP),
    "429": failure(429, headers={**STOP, "retry-after": "9"}),
    "529": failure(529, headers=STOP),
    "502 in HTML": failure(502, "<h1>Bad gateway</h1>", headers=STOP),
    "500 that is empty": Answer(b"", 500, STOP),
}


def test_error_answers_raise_what_they_raise_without_ctxkit(sdk: Sdk) -> None:
    answers = list(FAILURES.values())
    for streamed in (False, True):
        raised: list[list[Any]] = []
        for wraps in (False, True):
            with ModelServer(answers) as server, sdk.plain(server) as plain:
                client = ctxkit.wrap(plain, ctxkit.balanced()) if wraps else plain
                raised.append([_raised(sdk, client, stream=streamed) for _ in answers])
        for name, expected, seen in zip(FAILURES, *raised, strict=True):
            assert seen == expected, name


def _raised(sdk: Sdk, client: Any, **options: Any) -> tuple[Any, ...]:
    with pytest.raises(sdk.module.APIStatusError) as caught:
        sdk.create(client, **options)
    error = caught.value
    headers = {name: value for name, value in error.response.headers.items() if name != "date"}
    return type(error), str(error), error.status_code, error.body, headers, error.request_id


@pytest.mark.parametrize(
    "answer",
    [
        raw(b"<h1>Hello</h1>", content_type="text/html"),
        raw(b'{"id": "msg_1", "content": [', content_type="application/json"),
    ],
    ids=["HTML", "cut off"],
)
def test_a_200_that_is_no_answer_does_what_it_does_without_ctxkit(
    sdk: Sdk, answer: Answer, task: ctxkit.Task
) -> None:
    seen: list[Any] = []
    for wraps in (False, True):
        with ModelServer([answer]) as server, sdk.plain(server, max_retries=0) as plain:
            client = ctxkit.wrap(plain, ctxkit.observe()) if wraps else plain
            outcome: Any = None
            try:
                outcome = sdk.create(client)
            except Exception as error:
                outcome = type(error), str(error)
            seen.append(outcome)
    assert seen[0] == seen[1]
    assert outcomes(task) == [("unknown", 200, None)]
    assert task.totals.requests_unmeasured == 1
