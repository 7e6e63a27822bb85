"""The `google-genai` SDK over a transport with a stack: every way to ask, in both colours."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import httpx2
import pytest

import ctxkit
from ctxkit.flow import Flow, ModelNext, done
from ctxkit.integrations.httpx import AsyncTransport as HttpxAsyncTransport
from ctxkit.integrations.httpx import Transport as HttpxTransport
from ctxkit.integrations.httpx2 import AsyncTransport, Transport
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.middleware.truncate_tool_results import TruncateToolResults
from ctxkit.usage import Usage
from ctxkit.wire import wire_named
from support.bodies import GEMINI, answer_body
from support.scripted_http import ScriptedHttp, collected, waited

genai = pytest.importorskip("google.genai")

Runner = asyncio.Runner | None
SAID = answer_body(GEMINI, "A tabby.")
PIECES = [
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "A tab"}]}, "index": 0}]},
    {**SAID, "candidates": [{"content": {"parts": [{"text": "by."}]}, "finishReason": "STOP", "index": 0}]},
]
EVENTS = (
    b"".join(b"data: " + json.dumps(piece).encode() + b"\r\n\r\n" for piece in PIECES),
    "text/event-stream",
)
ASKED: dict[str, Any] = {"model": "gemini-2.5-flash", "contents": "Any cats?"}
USED = [("billed", GEMINI, "gemini-2.5-flash", Usage(100, 10))]


def models(
    runner: Runner, server: ScriptedHttp, *middlewares: ctxkit.Middleware, library: Any = httpx2
) -> Any:
    """The SDK's `models`, its HTTP client standing on a transport with a stack."""
    stack = ctxkit.Stack(*middlewares)
    if runner is None:
        over: Any = (Transport if library is httpx2 else HttpxTransport)(stack, server.transport)
        options = genai.types.HttpOptions(httpx_client=library.Client(transport=over))
        return genai.Client(api_key="secret", http_options=options).models
    over = (AsyncTransport if library is httpx2 else HttpxAsyncTransport)(stack, server.transport)
    options = genai.types.HttpOptions(httpx_async_client=library.AsyncClient(transport=over))
    return genai.Client(api_key="secret", http_options=options).aio.models


def booked(task: ctxkit.Task) -> list[Any]:
    return [(one.outcome, one.wire, one.model, one.usage) for one in task.attempts]


@pytest.mark.parametrize("library", [httpx2, httpx], ids=lambda library: library.__name__)
def test_an_answer_in_one_piece_is_booked(runner: Runner, library: Any, task: ctxkit.Task) -> None:
    server = ScriptedHttp(SAID, library=library)
    answer = waited(
        runner, models(runner, server, ctxkit.TokenMeter(), library=library).generate_content(**ASKED)
    )
    assert answer.text == "A tabby."
    assert booked(task) == USED
    assert task.attempts[0].charge is not None


def test_a_stream_passes_chunk_by_chunk_and_is_booked(runner: Runner, task: ctxkit.Task) -> None:
    server = ScriptedHttp(EVENTS)
    stream = waited(runner, models(runner, server, ctxkit.TokenMeter()).generate_content_stream(**ASKED))
    assert [chunk.text for chunk in collected(runner, stream)] == ["A tab", "by."]
    assert server.urls() == ["/v1/models/gemini-2.5-flash:streamGenerateContent?alt=sse"]
    assert booked(task) == USED


class AnswerItself(ctxkit.Middleware):
    """Answers without asking anybody."""

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        return done(ModelResponse(request.wire, SAID, request, local=True))


def test_an_answer_of_a_middleware_reaches_the_caller_in_every_way(runner: Runner) -> None:
    server = ScriptedHttp()
    asked = models(runner, server, AnswerItself())
    assert waited(runner, asked.generate_content(**ASKED)).text == "A tabby."
    stream = waited(runner, asked.generate_content_stream(**ASKED))
    assert [chunk.text for chunk in collected(runner, stream)] == ["A tabby."]
    assert server.requests == []


def test_a_long_response_is_cut_and_the_signature_of_its_call_stays(runner: Runner) -> None:
    types = genai.types
    call = types.Part(function_call=types.FunctionCall(name="grep", args={}), thought_signature=b"signature")
    answered = types.Part.from_function_response(name="grep", response={"result": "line\n" * 4_000})
    contents = [
        types.Content(role="user", parts=[types.Part(text="Any cats?")]),
        types.Content(role="model", parts=[call]),
        types.Content(role="user", parts=[answered]),
    ]
    server, plain = ScriptedHttp(SAID), ScriptedHttp(SAID)
    asked = {"model": "gemini-2.5-flash", "contents": contents}
    waited(runner, models(runner, server, TruncateToolResults(max_tokens=200)).generate_content(**asked))
    waited(runner, models(runner, plain).generate_content(**asked))
    sent, whole = server.sent()["contents"], plain.sent()["contents"]
    assert sent[:2] == whole[:2]
    assert sent[1]["parts"][0]["thoughtSignature"]
    (made,) = sent[2]["parts"]
    assert made["functionResponse"]["response"].keys() == {"result"}
    assert len(made["functionResponse"]["response"]["result"]) < 2_000


class AskAside(ctxkit.Middleware):
    """Asks a smaller model first."""

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        aside = yield from call_next(request.side_call("gist", model="gemini-2.5-flash-lite"))
        assert aside.text == "A tabby."
        return (yield from call_next(request))


def test_a_side_call_goes_to_its_own_model_and_asks_for_no_stream(runner: Runner, task: ctxkit.Task) -> None:
    server = ScriptedHttp(SAID, EVENTS)
    asked = models(runner, server, AskAside(), ctxkit.TokenMeter())
    stream = waited(runner, asked.generate_content_stream(**ASKED))
    assert "".join(chunk.text for chunk in collected(runner, stream)) == "A tabby."
    assert server.urls() == [
        "/v1/models/gemini-2.5-flash-lite:generateContent",
        "/v1/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    ]
    assert "model" not in server.sent(0)
    assert [one.purpose for one in task.attempts] == ["gist", "main"]


def test_an_error_for_the_user_reaches_the_user(runner: Runner) -> None:
    server = ScriptedHttp()
    with pytest.raises(ctxkit.SpendLimitReached), ctxkit.task("none"):
        waited(runner, models(runner, server, ctxkit.LimitSpend(max_requests=0)).generate_content(**ASKED))
    assert server.requests == []


def test_counting_tokens_is_no_model_call(runner: Runner, task: ctxkit.Task) -> None:
    server = ScriptedHttp({"totalTokens": 4})
    assert waited(runner, models(runner, server, ctxkit.TokenMeter()).count_tokens(**ASKED)).total_tokens == 4
    assert not task.attempts


def test_the_wires_answer_is_the_sdks_answer() -> None:
    response = genai.types.GenerateContentResponse.model_validate(SAID)
    assert wire_named(GEMINI).answer(SAID)[0].text == response.text
