"""What a user's loop on a real SDK sees of the scripted model server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from ctxkit.errors import ConfigError
from ctxkit.testing import ModelServer, failure, hang_up, native, raw, reply, slow
from ctxkit.tokens import counter_for
from ctxkit.usage import Usage

ASKED: dict[str, Any] = {
    "model": "claude-opus-5-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Any cats?"}],
}
CHAT: dict[str, Any] = {"model": "gpt-6-sol", "messages": [{"role": "user", "content": "Any cats?"}]}
SEARCH = reply("Let me look.", thinking="Cats?", tool_calls=[("search", {"query": "cats"})])
SENDING: list[dict[str, Any]] = [{}, {"chunk_size": 1}, {"gzip": True}, {"gzip": True, "chunk_size": 3}]


@contextmanager
def claude(server: ModelServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as client:
        yield client


@contextmanager
def gpt(server: ModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def spoken(message: Any) -> dict[str, Any]:
    """What a message says, without ids and whatever the SDK adds."""
    return {
        block.type: getattr(block, "text", None) or getattr(block, "input", None) for block in message.content
    }


SPOKEN = {"thinking": None, "text": "Let me look.", "tool_use": {"query": "cats"}}


@pytest.mark.parametrize("sending", SENDING, ids=str)
def test_a_reply_reaches_the_anthropic_sdk_however_it_is_sent(sending: dict[str, Any]) -> None:
    with ModelServer([SEARCH, SEARCH], **sending) as server, claude(server) as client:
        whole = client.messages.create(**ASKED)
        with client.messages.stream(**ASKED) as stream:
            streamed = stream.get_final_message()
    assert spoken(whole) == spoken(streamed) == SPOKEN
    assert whole.stop_reason == streamed.stop_reason == "tool_use"
    assert whole.usage.output_tokens == streamed.usage.output_tokens > 0
    assert server.errors == []


@pytest.mark.parametrize("sending", SENDING, ids=str)
def test_a_reply_reaches_the_openai_sdk_however_it_is_sent(sending: dict[str, Any]) -> None:
    with ModelServer([SEARCH, SEARCH], **sending) as server, gpt(server) as client:
        whole = client.chat.completions.create(**CHAT)
        with client.chat.completions.stream(**CHAT, stream_options={"include_usage": True}) as stream:
            streamed = stream.get_final_completion()
    for completion in (whole, streamed):
        (choice,) = completion.choices
        assert choice.finish_reason == "tool_calls"
        assert choice.message.content == "Let me look."
        assert choice.message.tool_calls is not None
        assert json.loads(choice.message.tool_calls[0].function.arguments) == {"query": "cats"}
        assert choice.message.model_extra == {
            **(choice.message.model_extra or {}),
            "reasoning_content": "Cats?",
        }
    assert whole.usage is not None
    assert streamed.usage is not None
    assert whole.usage.completion_tokens == streamed.usage.completion_tokens > 0


def test_the_anthropic_sdk_gets_its_answers_awaiting_too() -> None:
    async def talk(server: ModelServer) -> tuple[Any, Any]:
        async with anthropic.AsyncAnthropic(base_url=server.url, api_key="none", max_retries=0) as client:
            whole = await client.messages.create(**ASKED)
            async with client.messages.stream(**ASKED) as stream:
                return whole, await stream.get_final_message()

    with ModelServer([SEARCH, SEARCH], chunk_size=7) as server:
        whole, streamed = asyncio.run(talk(server))
    assert spoken(whole) == spoken(streamed) == SPOKEN


def test_the_openai_sdk_gets_its_answers_awaiting_too() -> None:
    async def talk(server: ModelServer) -> list[str | None]:
        url = f"{server.url}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
            whole = await client.chat.completions.create(**CHAT)
            parts = [
                chunk.choices[0].delta.content or ""
                async for chunk in await client.chat.completions.create(**CHAT, stream=True)
            ]
            return [whole.choices[0].message.content, "".join(parts)]

    with ModelServer([reply("None."), reply("None.")]) as server:
        assert asyncio.run(talk(server)) == ["None.", "None."]


def test_many_awaiting_calls_at_once_get_an_answer_each() -> None:
    async def talk(server: ModelServer) -> set[str]:
        async with anthropic.AsyncAnthropic(base_url=server.url, api_key="none", max_retries=0) as client:
            answers = await asyncio.gather(*(client.messages.create(**ASKED) for _ in range(20)))
            return {answer.id for answer in answers}

    with ModelServer([reply("None.")] * 20) as server:
        assert len(asyncio.run(talk(server))) == 20
    assert server.errors == []


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, anthropic.BadRequestError),
        (401, anthropic.AuthenticationError),
        (429, anthropic.RateLimitError),
        (503, anthropic.InternalServerError),
        (529, anthropic.InternalServerError),
    ],
)
def test_a_failure_is_the_anthropic_sdks_own_error(
    status: int, error: type[anthropic.APIStatusError]
) -> None:
    with ModelServer([failure(status)] * 2) as server, claude(server) as client:
        for stream in (False, True):
            with pytest.raises(error) as raised:
                client.messages.create(**ASKED, stream=stream)
            assert raised.value.status_code == status
            assert str(status) in raised.value.message
    assert server.errors == []


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, openai.BadRequestError), (429, openai.RateLimitError), (500, openai.InternalServerError)],
)
def test_a_failure_is_the_openai_sdks_own_error(status: int, error: type[openai.APIStatusError]) -> None:
    with ModelServer([failure(status)]) as server, gpt(server) as client, pytest.raises(error) as raised:
        client.chat.completions.create(**CHAT)
    assert str(status) in raised.value.message


def test_a_failure_carries_its_own_body_and_headers() -> None:
    script = [
        failure(429, {"error": "slow down"}, headers={"Retry-After": "7"}),
        failure(502, "<h1>Bad</h1>"),
    ]
    with ModelServer(script) as server, claude(server) as client:
        with pytest.raises(anthropic.RateLimitError) as limited:
            client.messages.create(**ASKED)
        with pytest.raises(anthropic.InternalServerError) as broken:
            client.messages.create(**ASKED)
    assert limited.value.body == {"error": "slow down"}
    assert limited.value.response.headers["retry-after"] == "7"
    assert broken.value.response.headers["content-type"] == "text/html"
    assert broken.value.response.text == "<h1>Bad</h1>"


def test_a_retry_of_the_sdk_gets_the_next_answer() -> None:
    script = [failure(529, headers={"retry-after-ms": "1"}), reply("None.")]
    with (
        ModelServer(script) as server,
        anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=1) as client,
    ):
        assert spoken(client.messages.create(**ASKED)) == {"text": "None."}
    assert [request.headers["x-stainless-retry-count"] for request in server.requests] == ["0", "1"]


def test_a_script_that_runs_out_says_so_once_and_is_not_retried() -> None:
    with (
        ModelServer([reply("None.")]) as server,
        anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=2) as client,
    ):
        client.messages.create(**ASKED)
        with pytest.raises(anthropic.InternalServerError, match="the script has run out: it holds 1 answers"):
            client.messages.create(**ASKED)
    assert len(server.requests) == 2
    assert server.errors == [
        "POST /v1/messages: the script has run out: it holds 1 answers, and this is call 2"
    ]


def test_a_function_as_script_sees_the_request_and_the_number_of_the_call() -> None:
    def script(body: Any, call: int) -> Any:
        return reply(f"{call}: {body['messages'][-1]['content']}")

    with ModelServer(script) as server, claude(server) as client, gpt(server) as other:
        assert spoken(client.messages.create(**ASKED)) == {"text": "0: Any cats?"}
        assert other.chat.completions.create(**CHAT).choices[0].message.content == "1: Any cats?"


def test_a_fault_in_the_script_is_told_to_the_client_and_to_the_test() -> None:
    def script(body: Any, call: int) -> Any:
        raise ValueError("no such cat")

    refused = pytest.raises(openai.InternalServerError, match="no such cat")
    with ModelServer(script) as server, gpt(server) as client, refused:
        client.chat.completions.create(**CHAT)
    assert server.errors == ["POST /v1/chat/completions: no such cat"]


@pytest.mark.parametrize("after_bytes", [0, 1, 40, 1_000_000])
def test_a_hang_up_is_a_connection_error(after_bytes: int) -> None:
    script = [hang_up(reply("None."), after_bytes=after_bytes)]
    dropped = pytest.raises(anthropic.APIConnectionError)
    with ModelServer(script) as server, claude(server) as client, dropped:
        client.messages.create(**ASKED)
    assert len(server.requests) == 1


def test_a_hang_up_cuts_a_stream_after_the_bytes_that_were_asked_for() -> None:
    script = [reply("None."), hang_up(reply("None."), after_bytes=200)]
    with ModelServer(script) as server, httpx2.Client(base_url=server.url) as client:
        url, asked = "/v1/messages", {**ASKED, "stream": True}
        whole = client.post(url, json=asked).content
        arrived = b""
        dropped = pytest.raises(httpx2.RemoteProtocolError)
        with client.stream("POST", url, json=asked) as response, dropped:
            for piece in response.iter_raw():
                arrived += piece
    assert arrived == whole[:200].replace(b"msg_0", b"msg_1")


def test_a_call_after_a_hang_up_is_answered() -> None:
    with ModelServer([hang_up(reply("None.")), reply("One.")]) as server, claude(server) as client:
        with pytest.raises(anthropic.APIConnectionError):
            client.messages.create(**ASKED)
        assert spoken(client.messages.create(**ASKED)) == {"text": "One."}


def test_a_native_body_arrives_as_it_is_with_usage_where_it_has_none() -> None:
    body = {"id": "msg_x", "content": [{"type": "text", "text": "Hi."}], "model": "m", "later": {"field": 1}}
    script = [native(body), native({**body, "usage": None}, headers={"anthropic-fast": "1"})]
    with ModelServer(script) as server, httpx2.Client(base_url=server.url) as client:
        completed = client.post("/v1/messages", json=ASKED)
        untouched = client.post("/v1/messages", json=ASKED)
    assert {**completed.json(), "usage": None} == untouched.json() == {**body, "usage": None}
    assert completed.json()["usage"]["output_tokens"] == counter_for(ASKED["model"]).count("Hi.")
    assert untouched.headers["anthropic-fast"] == "1"


def test_raw_bytes_are_sent_as_they_are() -> None:
    overloaded = (
        b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n'
    )
    script = [
        raw(overloaded, content_type="text/event-stream"),
        raw(b"\xff{", content_type="application/json"),
    ]
    with ModelServer(script) as server, claude(server) as client:
        with pytest.raises(anthropic.APIStatusError, match="busy"):
            list(client.messages.create(**ASKED, stream=True))
        with pytest.raises(ValueError):
            client.messages.create(**ASKED)


def test_usage_of_a_reply_is_reported_and_unknown_usage_is_left_out() -> None:
    reported = Usage(100, 20, cache_read_tokens=60, cache_write_tokens=30)
    script = [reply("None.", usage=reported), reply("None.", usage=Usage(None, None))]
    with ModelServer(script) as server, httpx2.Client(base_url=server.url) as client:
        first, second = (client.post("/v1/messages", json=ASKED).json() for _ in script)
    assert first["usage"]["input_tokens"] == 10
    assert first["usage"]["cache_read_input_tokens"] == 60
    assert first["usage"]["cache_creation_input_tokens"] == 30
    assert "usage" not in second


def test_every_request_is_kept_as_it_arrived() -> None:
    with ModelServer([reply("None.")]) as server, claude(server) as client:
        client.beta.messages.create(**ASKED, betas=["files-api-2025-04-14"], extra_query={"beta": "true"})
    (request,) = server.requests
    assert (request.method, request.path, request.query) == ("POST", "/v1/messages", "beta=true")
    assert request.headers["anthropic-beta"] == "files-api-2025-04-14"
    assert request.json == json.loads(request.body)
    assert request.json["messages"] == ASKED["messages"]


def test_calls_of_the_anthropic_sdk_that_are_no_model_call_are_answered() -> None:
    with ModelServer([]) as server, claude(server) as client:
        assert [model.id for model in client.models.list()] == ["scripted-model"]
        assert client.messages.count_tokens(model="m", messages=ASKED["messages"]).input_tokens > 5
        assert client.beta.files.upload(file=("a.txt", b"meow")).size_bytes > 4
        params: Any = {"custom_id": "a", "params": ASKED}
        assert client.messages.batches.create(requests=[params]).request_counts.processing == 1
    assert server.errors == []
    assert len(server.requests) == 4


def test_calls_of_the_openai_sdk_that_are_no_model_call_are_answered() -> None:
    with ModelServer([]) as server, gpt(server) as client:
        assert [model.id for model in client.models.list()] == ["scripted-model"]
        assert client.files.create(file=("a.txt", b"meow"), purpose="user_data").bytes > 4
    assert server.errors == []


def test_a_call_that_is_not_served_and_a_body_that_is_no_object_are_reported() -> None:
    with ModelServer([reply("None.")]) as server, httpx2.Client(base_url=server.url) as client:
        assert client.get("/v1/cats").status_code == 500
        assert client.post("/v1/messages", content=b"[cats").status_code == 500
    assert server.errors == [
        "GET /v1/cats: the scripted model server does not serve this call",
        "POST /v1/messages: the body of a model call must be a JSON object",
    ]


def test_a_slow_answer_runs_into_the_clients_timeout() -> None:
    script = [slow(reply("None."), seconds=30)]
    timed_out = pytest.raises(anthropic.APITimeoutError)
    with ModelServer(script) as server, claude(server) as client, timed_out:
        client.messages.create(**ASKED, timeout=0.05)


def test_answers_are_numbered_for_both_sdks() -> None:
    with ModelServer([reply("None.")] * 2) as server, claude(server) as client, gpt(server) as other:
        assert client.messages.create(**ASKED)._request_id == "req_1"
        assert other.chat.completions.create(**CHAT)._request_id == "req_2"


def test_settings_out_of_range_are_refused_at_once() -> None:
    with pytest.raises(ConfigError) as size:
        ModelServer([], chunk_size=0)
    with pytest.raises(ConfigError) as cut:
        hang_up(reply(), after_bytes=-1)
    assert (size.value.option, cut.value.option) == ("chunk_size", "after_bytes")
