"""The same bodies at other addresses: Azure, Amazon Bedrock, Google Vertex, and gateways."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import openai
import pytest

import ctxkit
from ctxkit.flow import Flow, ModelNext, done
from ctxkit.integrations.httpx2 import Transport
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.middleware.truncate_tool_results import TruncateToolResults
from ctxkit.usage import Usage
from ctxkit.wire import wire_named
from ctxkit.wire.framing import AwsEventReader, reframed
from support.bodies import ANTHROPIC, GEMINI, OPENAI, RESPONSES, answer_body, calls, results, user
from support.recorded import events_of
from support.scripted_http import ScriptedHttp

HI = [user("Any cats?")]
BEDROCK_MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
BEDROCK = f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{BEDROCK_MODEL}"
VERTEX = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers"
GOOGLE = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash"


class Watch(ctxkit.Middleware):
    """Keeps the requests that pass."""

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        self.requests.append(request)
        return call_next(request)


def seen(watch: Watch) -> list[tuple[str, str | None, str | None, bool]]:
    return [(one.wire.name, one.provider, one.model, one.stream) for one in watch.requests]


def events(wire: str) -> bytes:
    return b"".join(wire_named(wire).events(answer_body(wire), {}))


def test_azures_deployments_are_recognised() -> None:
    server, watch = ScriptedHttp(answer_body(OPENAI), answer_body(RESPONSES)), Watch()
    plain = openai.AzureOpenAI(
        azure_endpoint="https://mine.openai.azure.com",
        api_version="2025-01-01",
        api_key="secret",
        http_client=server.client(),
    )
    with ctxkit.wrap(plain, watch) as client:
        client.chat.completions.create(model="prod", messages=HI)
        client.responses.create(model="prod", input="Any cats?")
    assert server.urls() == [
        "/openai/deployments/prod/chat/completions?api-version=2025-01-01",
        "/openai/responses?api-version=2025-01-01",
    ]
    assert seen(watch) == [(OPENAI, "azure", "prod", False), (RESPONSES, "azure", "prod", False)]


def test_claude_on_azure_is_recognised() -> None:
    server, watch = ScriptedHttp(answer_body(ANTHROPIC)), Watch()
    plain = anthropic.AnthropicFoundry(resource="mine", api_key="secret", http_client=server.client())
    with ctxkit.wrap(plain, watch) as client:
        client.messages.create(model="claude-sonnet-5", max_tokens=9, messages=HI)
    assert seen(watch) == [(ANTHROPIC, "azure", "claude-sonnet-5", False)]


def test_claude_on_vertex_is_named_by_the_address(task: ctxkit.Task) -> None:
    stream = events(ANTHROPIC), "text/event-stream"
    server, watch = ScriptedHttp(answer_body(ANTHROPIC), stream), Watch()
    plain = anthropic.AnthropicVertex(
        region="us-east5", project_id="p", access_token="secret", http_client=server.client()
    )
    asked: Any = {"model": "claude-sonnet-4-5@20250929", "max_tokens": 9, "messages": HI}
    with ctxkit.wrap(plain, ctxkit.Stack(watch, ctxkit.TokenMeter())) as client:
        client.messages.create(**asked)
        with client.messages.stream(**asked) as streamed:
            assert streamed.get_final_text() == "Done."
    model = asked["model"]
    assert seen(watch) == [(ANTHROPIC, "google", model, False), (ANTHROPIC, "google", model, True)]
    assert [one.usage for one in task.attempts] == [Usage(100, 10)] * 2


def test_claude_on_bedrock_is_named_by_the_address_and_edited_like_any_other() -> None:
    server, watch = ScriptedHttp(answer_body(ANTHROPIC)), Watch()
    plain = anthropic.AnthropicBedrock(aws_region="us-east-1", api_key="secret", http_client=server.client())
    messages: Any = [*HI, calls(ANTHROPIC, "a"), *results(ANTHROPIC, {"a": "line\n" * 4_000})]
    with ctxkit.wrap(plain, ctxkit.Stack(TruncateToolResults(max_tokens=200), watch)) as client:
        client.messages.create(model=BEDROCK_MODEL, max_tokens=9, messages=messages)
    assert seen(watch) == [(ANTHROPIC, "aws", BEDROCK_MODEL, False)]
    assert server.sent().keys() == {"messages", "max_tokens", "anthropic_version"}
    assert len(server.sent()["messages"][2]["content"][0]["content"]) < 2_000


def posted(server: ScriptedHttp, stack: ctxkit.Middleware, url: str, body: Any) -> Any:
    """The response to a request over a transport with a stack."""
    with server.client() as client:
        client._transport = Transport(stack, server.transport)
        return client.post(url, json=body)


CLAUDE = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": HI}


def test_a_stream_of_bedrock_passes_byte_for_byte_and_is_booked(task: ctxkit.Task) -> None:
    messages = b"".join(reframed([events(ANTHROPIC)], "aws"))
    server = ScriptedHttp((messages, "application/vnd.amazon.eventstream"))
    response = posted(server, ctxkit.TokenMeter(), f"{BEDROCK}/invoke-with-response-stream", CLAUDE)
    assert response.content == messages
    assert json.loads(server.requests[0].content) == CLAUDE
    assert [(one.outcome, one.usage) for one in task.attempts] == [("billed", Usage(100, 10))]


def test_a_stream_of_gemini_that_is_an_array_passes_and_is_booked(task: ctxkit.Task) -> None:
    array = json.dumps([answer_body(GEMINI)]).encode()
    server = ScriptedHttp((array, "application/json; charset=UTF-8"))
    body = {"contents": [{"parts": [{"text": "Any cats?"}]}]}
    response = posted(server, ctxkit.TokenMeter(), f"{GOOGLE}:streamGenerateContent", body)
    assert response.content == array
    assert [(one.outcome, one.usage) for one in task.attempts] == [("billed", Usage(100, 10))]
    assert task.attempts[0].model == "gemini-2.5-flash"


class AnswerItself(ctxkit.Middleware):
    """Answers without asking anybody."""

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        return done(ModelResponse(request.wire, answer_body(request.wire.name), request, local=True))


def test_an_answer_of_a_middleware_is_framed_as_it_was_asked_for() -> None:
    array = posted(ScriptedHttp(), AnswerItself(), f"{GOOGLE}:streamGenerateContent", {"contents": []})
    assert array.headers["content-type"] == "application/json; charset=utf-8"
    assert array.json() == [answer_body(GEMINI)]
    messages = posted(ScriptedHttp(), AnswerItself(), f"{BEDROCK}/invoke-with-response-stream", CLAUDE)
    assert messages.headers["content-type"] == "application/vnd.amazon.eventstream"
    read = [json.loads(event.data) for event in AwsEventReader().feed(messages.content)]
    assert read == events_of(events(ANTHROPIC))


@pytest.mark.parametrize(
    "url",
    [
        f"{BEDROCK}/converse",
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.amazon.nova-pro-v1:0/invoke",
        f"{VERTEX}/anthropic/models/count-tokens:rawPredict",
        f"{GOOGLE}:countTokens",
    ],
)
def test_what_cannot_be_edited_or_is_no_model_call_passes_untouched(url: str, task: ctxkit.Task) -> None:
    server = ScriptedHttp({"anything": 1})
    assert posted(server, ctxkit.TokenMeter(), url, CLAUDE).json() == {"anything": 1}
    assert server.sent() == CLAUDE
    assert not task.attempts


@pytest.mark.parametrize(
    ("host", "provider"),
    [
        ("mine.openai.azure.com", "azure"),
        ("mine.cognitiveservices.azure.com", "azure"),
        ("bedrock-runtime.eu-west-1.amazonaws.com", "aws"),
        ("aiplatform.googleapis.com", "google"),
        ("generativelanguage.googleapis.com", "google"),
        ("api.openai.com", "openai"),
        ("gateway.example.com", None),
    ],
)
@pytest.mark.parametrize(
    ("path", "wire"),
    [("/v1/messages", ANTHROPIC), ("/v1/chat/completions", OPENAI), ("/proxy/v1/responses", RESPONSES)],
)
def test_a_gateway_of_any_name_is_recognised_by_its_paths(
    host: str, provider: str | None, path: str, wire: str
) -> None:
    server, watch = ScriptedHttp(answer_body(wire)), Watch()
    body = {"model": "m", wire_named(wire).messages_key: HI}
    posted(server, watch, f"https://{host}{path}", body)
    assert seen(watch) == [(wire, provider, "m", False)]
