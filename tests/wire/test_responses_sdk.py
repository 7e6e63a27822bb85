"""The `openai` SDK's `responses` under a stack: every way to ask, in both colours."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai
import pydantic
import pytest

import ctxkit
from ctxkit.flow import Flow, ModelNext, done
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.middleware.truncate_tool_results import TruncateToolResults
from ctxkit.usage import Usage
from ctxkit.wire import wire_named
from support.bodies import RESPONSES, answer_body
from support.scripted_http import ScriptedHttp, collected, waited

Runner = asyncio.Runner | None
SAID = answer_body(RESPONSES, "A tabby.")
EVENTS = b"".join(wire_named(RESPONSES).events(SAID, {})), "text/event-stream; charset=utf-8"
CALLED = {"type": "function_call", "call_id": "a", "name": "grep", "arguments": "{}"}
LONG = {"type": "function_call_output", "call_id": "a", "output": "line\n" * 4_000}
ASKED: dict[str, Any] = {"model": "gpt-4o", "input": "Any cats?"}


@contextmanager
def wrapped(runner: Runner, server: ScriptedHttp, *middlewares: ctxkit.Middleware) -> Iterator[Any]:
    kind = openai.OpenAI if runner is None else openai.AsyncOpenAI
    http_client = server.client(awaits=runner is not None)
    client: Any = kind(api_key="secret", max_retries=0, http_client=http_client)
    yield ctxkit.wrap(client, ctxkit.Stack(*middlewares))
    waited(runner, client.close())


def booked(task: ctxkit.Task) -> list[Any]:
    return [(one.outcome, one.wire, one.model, one.usage) for one in task.attempts]


USED = [("billed", RESPONSES, "gpt-4o", Usage(100, 10))]


def test_an_answer_in_one_piece_is_booked(runner: Runner, task: ctxkit.Task) -> None:
    server = ScriptedHttp(SAID)
    with wrapped(runner, server, ctxkit.TokenMeter()) as client:
        answer = waited(runner, client.responses.create(**ASKED))
    assert answer.output_text == "A tabby."
    assert server.sent() == ASKED
    assert booked(task) == USED
    assert "user_text" in {share.kind for share in task.attempts[0].shares}


def test_a_stream_passes_event_by_event_and_is_booked(runner: Runner, task: ctxkit.Task) -> None:
    server = ScriptedHttp(EVENTS)
    with wrapped(runner, server, ctxkit.TokenMeter()) as client:
        stream = waited(runner, client.responses.create(**ASKED, stream=True))
        events = collected(runner, stream)
    assert (
        "".join(event.delta for event in events if event.type == "response.output_text.delta") == "A tabby."
    )
    assert booked(task) == USED


def streamed(runner: Runner, client: Any, **more: Any) -> Any:
    """The response that the SDK's streaming helper ends with."""
    if runner is None:
        with client.responses.stream(**ASKED, **more) as stream:
            return stream.get_final_response()

    async def stream_it() -> Any:
        async with client.responses.stream(**ASKED, **more) as stream:
            return await stream.get_final_response()

    return waited(runner, stream_it())


def test_the_streaming_helper_gets_its_response(runner: Runner, task: ctxkit.Task) -> None:
    with wrapped(runner, ScriptedHttp(EVENTS), ctxkit.TokenMeter()) as client:
        assert streamed(runner, client).output_text == "A tabby."
    assert booked(task) == USED


class Cat(pydantic.BaseModel):
    """What the model is to answer with."""

    kind: str


def test_an_answer_is_parsed(runner: Runner, task: ctxkit.Task) -> None:
    server = ScriptedHttp(answer_body(RESPONSES, '{"kind": "tabby"}'))
    with wrapped(runner, server, ctxkit.TokenMeter()) as client:
        answer = waited(runner, client.responses.parse(**ASKED, text_format=Cat))
    assert answer.output_parsed == Cat(kind="tabby")
    assert server.sent()["text"]["format"]["type"] == "json_schema"
    assert booked(task) == USED


class AnswerItself(ctxkit.Middleware):
    """Answers without asking anybody."""

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        return done(ModelResponse(request.wire, SAID, request, local=True))


def test_an_answer_of_a_middleware_is_streamed_to_the_caller(runner: Runner) -> None:
    server = ScriptedHttp()
    with wrapped(runner, server, AnswerItself()) as client:
        stream = waited(runner, client.responses.create(**ASKED, stream=True))
        events = collected(runner, stream)
        assert [event.sequence_number for event in events] == list(range(len(events)))
        assert events[-1].response.output_text == "A tabby."
        assert streamed(runner, client).output_text == "A tabby."
    assert server.requests == []


def test_a_long_output_is_cut_and_everything_else_stays_as_it_was(runner: Runner) -> None:
    reasoning = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gAAA"}
    items = [{"role": "user", "content": "Any cats?"}, reasoning, CALLED, LONG]
    server = ScriptedHttp(SAID)
    with wrapped(runner, server, TruncateToolResults(max_tokens=200)) as client:
        waited(runner, client.responses.create(model="gpt-4o", input=items, store=False))
    sent = server.sent()
    assert sent["input"][:3] == items[:3]
    assert sent["input"][3].keys() == LONG.keys()
    assert len(sent["input"][3]["output"]) < 2_000
    assert sent["store"] is False


def test_a_stream_that_breaks_off_is_booked_and_its_usage_is_unknown(
    runner: Runner, task: ctxkit.Task
) -> None:
    events, content_type = EVENTS
    broken = events.partition(b"event: response.completed")[0], content_type
    with wrapped(runner, ScriptedHttp(broken), ctxkit.TokenMeter()) as client:
        collected(runner, waited(runner, client.responses.create(**ASKED, stream=True)))
    assert [(one.outcome, one.usage) for one in task.attempts] == [("unknown", None)]


@pytest.mark.parametrize("path", ["/responses/compact", "/responses/input_tokens"])
def test_what_is_no_model_call_passes_untouched(path: str, task: ctxkit.Task) -> None:
    server = ScriptedHttp({"object": "response.input_tokens", "input_tokens": 7})
    with wrapped(None, server, ctxkit.TokenMeter()) as client:
        client.post(path, body=ASKED, cast_to=object)
    assert server.sent() == ASKED
    assert not task.attempts
