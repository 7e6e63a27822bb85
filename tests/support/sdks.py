"""The real SDKs as judges of a stream: what they make of its bytes."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx2
import openai
import pytest


def of_anthropic(stream: bytes) -> dict[str, Any]:
    """The message that `anthropic` accumulates from a stream."""
    client = anthropic.Anthropic(api_key="none", max_retries=0, http_client=_answering(stream))
    asked: Any = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]}
    with client, client.beta.messages.stream(**asked) as events:
        return events.get_final_message().to_dict(mode="json")


def of_openai(stream: bytes) -> dict[str, Any]:
    """The completion that `openai` accumulates from a stream."""
    client = openai.OpenAI(api_key="none", max_retries=0, http_client=_answering(stream))
    with client, client.chat.completions.stream(model="m", messages=[]) as events:
        return events.get_final_completion().to_dict(mode="json")


def of_responses(stream: bytes) -> dict[str, Any]:
    """The response that `openai` accumulates from a stream."""
    client = openai.OpenAI(api_key="none", max_retries=0, http_client=_answering(stream))
    with client, client.responses.stream(model="m", input="hi") as events:
        return events.get_final_response().to_dict(mode="json")


def of_gemini(stream: bytes) -> list[dict[str, Any]]:
    """The responses that `google-genai` reads from a stream."""
    genai = pytest.importorskip("google.genai")
    options = genai.types.HttpOptions(httpx_client=_answering(stream))
    client = genai.Client(api_key="none", http_options=options)
    read = client.models.generate_content_stream(model="m", contents="hi")
    left_out = {"sdk_http_response"}
    return [one.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=left_out) for one in read]


def _answering(stream: bytes) -> httpx2.Client:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=stream)

    return httpx2.Client(transport=httpx2.MockTransport(answer))
