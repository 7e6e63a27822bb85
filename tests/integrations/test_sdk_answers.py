"""Every way in which the SDKs ask for an answer works through a wrapped client, and is booked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pydantic
import pytest

import ctxkit
from ctxkit.testing import ModelServer, native, reply
from ctxkit.usage import Usage
from support.calling import CLAUDE, GPT, HI, Sdk, Waiter

SAID = "A tabby: 🐈"
ANSWER = reply(
    SAID, thinking="Hm.", tool_calls=[("search", {"query": "cats"}), ("count", {})], usage=Usage(1_000, 50)
)
USAGE = {"stream_options": {"include_usage": True}}


def booked(task: ctxkit.Task) -> list[tuple[str, int | None, int | None, tuple[str, ...]]]:
    return [
        (attempt.outcome, attempt.usage.input_tokens, attempt.usage.output_tokens, attempt.tool_calls)
        if attempt.usage
        else (attempt.outcome, None, None, attempt.tool_calls)
        for attempt in task.attempts
    ]


ONCE = [("billed", 1_000, 50, ("search", "count"))]


@pytest.fixture
def plain_answer(sdk: Sdk) -> Any:
    """What the SDK gives without ctxkit."""
    with ModelServer([ANSWER]) as server, sdk.plain(server) as client:
        return sdk.create(client).model_dump()


def test_create_gives_what_it_gives_without_ctxkit(sdk: Sdk, plain_answer: Any, task: ctxkit.Task) -> None:
    with ModelServer([ANSWER]) as server, sdk.wrapped(server, ctxkit.TokenMeter()) as client:
        assert sdk.create(client).model_dump() == plain_answer
    assert booked(task) == ONCE


@pytest.mark.parametrize("middlewares", [1, 3], ids=["observe", "balanced"])
def test_a_stream_of_events_is_the_same_and_booked(sdk: Sdk, middlewares: int, task: ctxkit.Task) -> None:
    options = {} if sdk.is_anthropic else USAGE
    with ModelServer([ANSWER]) as server, sdk.plain(server) as client:
        plain = sdk.wait.items(sdk.create(client, stream=True, **options))
    stack = ctxkit.balanced().middlewares[-middlewares:]
    with ModelServer([ANSWER]) as server, sdk.wrapped(server, *stack) as client:
        seen = sdk.wait.items(sdk.create(client, stream=True, **options))
    assert seen == plain
    assert sdk.streamed_text(seen) == SAID
    assert booked(task) == ONCE


@pytest.mark.parametrize("client", [openai.OpenAI, openai.AsyncOpenAI])
def test_a_stream_without_usage_is_billed_and_unmeasured(
    client: type[Any], wait: Waiter, task: ctxkit.Task
) -> None:
    sdk = Sdk(client, wait=wait)
    with ModelServer([ANSWER]) as server, sdk.wrapped(server, ctxkit.TokenMeter()) as wrapped:
        assert sdk.streamed_text(wait.items(sdk.create(wrapped, stream=True))) == SAID
    assert booked(task) == [("billed", None, None, ("search", "count"))]
    assert (task.totals.requests, task.totals.requests_unmeasured) == (1, 1)


def test_the_streaming_helper_works(sdk: Sdk, plain_answer: Any, task: ctxkit.Task) -> None:
    with (
        ModelServer([ANSWER]) as server,
        sdk.wrapped(server, ctxkit.TokenMeter()) as client,
        sdk.helper(client) as stream,
    ):
        sdk.wait.items(stream)
        final = sdk.final(stream)
    if sdk.is_anthropic:
        assert final.to_dict()["content"] == ctxkit_free(plain_answer)["content"]
    assert sdk.text(final) == SAID
    assert booked(task) == ONCE


def ctxkit_free(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without the keys that are empty."""
    content = [{key: value for key, value in part.items() if value is not None} for part in answer["content"]]
    return {**answer, "content": content}


def test_the_streaming_helper_may_be_left_early(sdk: Sdk, task: ctxkit.Task) -> None:
    with ModelServer([ANSWER] * 2) as server, sdk.wrapped(server, ctxkit.TokenMeter()) as client:
        with sdk.helper(client) as stream:
            assert len(sdk.wait.items(stream, 2)) == 2
        with sdk.helper(client):
            pass
    assert [attempt.outcome for attempt in task.attempts] == ["unknown", "unknown"]


@pytest.mark.parametrize("client", [anthropic.Anthropic, anthropic.AsyncAnthropic])
def test_the_text_stream_and_the_beta_stream_work(client: type[Any], wait: Waiter, task: ctxkit.Task) -> None:
    sdk = Sdk(client, wait=wait)
    asked = {"model": CLAUDE, "max_tokens": 9, "messages": HI}
    with ModelServer([ANSWER] * 3) as server, sdk.wrapped(server, ctxkit.TokenMeter()) as wrapped:
        with wait.entered(wrapped.messages.stream(**asked)) as stream:
            assert "".join(wait.items(stream.text_stream)) == SAID
        with wait.entered(wrapped.beta.messages.stream(**asked)) as stream:
            assert sdk.text(wait(stream.get_final_message())) == SAID
        answer = wait(wrapped.beta.messages.create(**asked, betas=["context-1m-2025-08-07"]))
        assert sdk.text(answer) == SAID
        assert server.requests[-1].headers["anthropic-beta"] == "context-1m-2025-08-07"
    assert booked(task) == ONCE * 3


def counting_tools(awaits: bool) -> tuple[list[Any], list[str]]:
    """A tool for the SDK's runner, and the arguments it was called with."""
    asked: list[str] = []

    def search(query: str) -> str:
        """Search for something.

        Args:
            query: What to search for.
        """
        asked.append(query)
        return "One cat."

    async def search_async(query: str) -> str:
        return search(query)

    if awaits:
        search_async.__doc__ = search.__doc__
        return [anthropic.beta_async_tool(search_async, name="search")], asked
    return [anthropic.beta_tool(search)], asked


@pytest.mark.parametrize("client", [anthropic.Anthropic, anthropic.AsyncAnthropic])
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_the_tool_runner_runs_its_loop(
    client: type[Any], streamed: bool, wait: Waiter, task: ctxkit.Task
) -> None:
    sdk = Sdk(client, wait=wait)
    tools, asked = counting_tools(awaits=client is anthropic.AsyncAnthropic)
    script = [
        reply("Let me look.", tool_calls=[("search", {"query": "cats"})]),
        reply(tool_calls=[("search", {"query": "dogs"})]),
        reply("Just one."),
    ]
    with ModelServer(script) as server, sdk.wrapped(server, *ctxkit.balanced().middlewares) as wrapped:
        options = {"stream": True} if streamed else {}
        runner = wrapped.beta.messages.tool_runner(
            model=CLAUDE, max_tokens=9, messages=HI, tools=tools, **options
        )
        final = wait(runner.until_done())
        assert server.requests[-1].json["messages"][-1]["content"][0]["content"] == "One cat."
    assert sdk.text(final) == "Just one."
    assert asked == ["cats", "dogs"]
    assert [attempt.outcome for attempt in task.attempts] == ["billed"] * 3
    assert task.report().to_dict()["totals"]["by_tool"]["search"]["calls"] == 2


def test_raw_responses_pass_the_upstreams_headers_through(sdk: Sdk, task: ctxkit.Task) -> None:
    header = "request-id" if sdk.is_anthropic else "x-request-id"
    with ModelServer([ANSWER] * 3) as server, sdk.wrapped(server, ctxkit.TokenMeter()) as client:
        resource = client.messages if sdk.is_anthropic else client.chat.completions
        asked = {"model": sdk.model, "messages": HI, "max_tokens": 100}
        response = sdk.wait(resource.with_raw_response.create(**asked))
        assert response.headers[header] == "req_1"
        answer = sdk.wait(response.parse())
        assert (sdk.text(answer), answer._request_id) == (SAID, "req_1")
        response = sdk.wait(resource.with_raw_response.create(**asked, stream=True))
        assert response.headers[header] == "req_2"
        assert sdk.streamed_text(sdk.wait.items(sdk.wait(response.parse()))) == SAID
        with sdk.wait.entered(resource.with_streaming_response.create(**asked)) as response:
            assert response.headers[header] == "req_3"
            assert sdk.text(sdk.wait(response.parse())) == SAID
    assert len(task.attempts) == 3


class Cat(pydantic.BaseModel):
    name: str


@pytest.mark.parametrize("client", [openai.OpenAI, openai.AsyncOpenAI])
def test_openais_parse_gives_the_parsed_object(client: type[Any], wait: Waiter, task: ctxkit.Task) -> None:
    sdk = Sdk(client, wait=wait)
    with ModelServer([reply('{"name": "Tom"}')] * 2) as server:
        with sdk.wrapped(server, ctxkit.TokenMeter()) as wrapped:
            asked = {"model": GPT, "messages": HI, "response_format": Cat}
            answer = wait(wrapped.chat.completions.parse(**asked))
            assert answer.choices[0].message.parsed == Cat(name="Tom")
            with wait.entered(wrapped.chat.completions.stream(**asked)) as stream:
                wait.items(stream)
                final = wait(stream.get_final_completion())
            assert final.choices[0].message.parsed == Cat(name="Tom")
        assert server.requests[0].json["response_format"]["type"] == "json_schema"
    assert len(task.attempts) == 2


NOT_KNOWN = {
    "anthropic": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": CLAUDE,
        "content": [{"type": "hologram", "data": "x"}, {"type": "text", "text": "Yes."}],
        "stop_reason": "bored",
        "usage": {"input_tokens": 7, "output_tokens": 3, "not_known": 1},
        "not_known": {"a": 1},
    },
    "openai": {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": GPT,
        "choices": [
            {
                "index": 0,
                "finish_reason": "bored",
                "message": {"role": "narrator", "content": "Yes.", "hologram": "x"},
            }
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "not_known": 1},
        "not_known": {"a": 1},
    },
}


def test_what_ctxkit_does_not_know_passes_and_is_booked(sdk: Sdk, task: ctxkit.Task) -> None:
    body = NOT_KNOWN["anthropic" if sdk.is_anthropic else "openai"]
    history = [*HI, {"role": "narrator", "content": [{"type": "hologram", "data": "x"}]}]
    with ModelServer([native(body)]) as server, sdk.wrapped(server, *ctxkit.balanced().middlewares) as client:
        answer = sdk.create(client, history, extra_body={"not_known": [1]})
        assert server.requests[0].json["messages"] == history
        assert server.requests[0].json["not_known"] == [1]
    assert answer.model_extra == {"not_known": {"a": 1}}
    assert sdk.text(answer) == "Yes."
    assert booked(task) == [("billed", 7, 3, ())]
    assert not task.faults


# No lone surrogates: the SDKs themselves refuse to send them.
STRANGE = ["<|endoftext|>" * 50, "", "\x00", "é" * 3]


@pytest.mark.parametrize("edit", [ctxkit.observe, ctxkit.balanced])
def test_tool_results_can_be_anything(sdk: Sdk, edit: Callable[[], ctxkit.Stack], task: ctxkit.Task) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    history: list[Any] = [*HI]
    for number, content in enumerate([*STRANGE, [], [image] if sdk.is_anthropic else None]):
        call_id = f"call_{number}"
        if sdk.is_anthropic:
            call = {"type": "tool_use", "id": call_id, "name": "search", "input": {}}
            result = {"type": "tool_result", "tool_use_id": call_id, "content": content}
            history += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        else:
            function = {"name": "search", "arguments": "{}"}
            call = {"id": call_id, "type": "function", "function": function}
            history.append({"role": "assistant", "tool_calls": [call]})
            history.append({"role": "tool", "tool_call_id": call_id, "content": content})
    with ModelServer([reply("Yes.")] * 2) as server:
        with sdk.plain(server) as client:
            sdk.create(client, history)
        with sdk.wrapped(server, *edit().middlewares) as client:
            assert sdk.text(sdk.create(client, history)) == "Yes."
        assert server.requests[0].body == server.requests[1].body
    assert [attempt.outcome for attempt in task.attempts] == ["billed"]
    assert not task.faults
