"""The transports under plain HTTP clients: what passes, what is booked, and that nothing else changes."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from calling import CLAUDE, GPT, HI, HttpKind, Waiter

import ctxkit
from ctxkit.integrations import httpx as httpx_integration
from ctxkit.integrations import httpx2 as httpx2_integration
from ctxkit.testing import Answer, ModelServer, failure, raw, reply
from ctxkit.usage import Usage

ANSWER = reply(
    "A tabby: 🐈",
    thinking="Hm.",
    tool_calls=[("search", {"query": "cats"}), ("count", {"of": "cats"})],
    usage=Usage(1_000, 50, cache_read_tokens=400),
)
CALLS = {
    "/v1/messages": {"model": CLAUDE, "max_tokens": 100, "messages": HI},
    "/v1/chat/completions": {"model": GPT, "messages": HI, "stream_options": {"include_usage": True}},
}


@pytest.fixture(params=CALLS)
def path(request: pytest.FixtureRequest) -> str:
    """The path of each wire."""
    made: str = request.param
    return made


def content(path: str, **more: Any) -> bytes:
    return json.dumps({**CALLS[path], **more}).encode()


def post(wait: Waiter, client: Any, url: str, body: Any, **headers: str) -> Any:
    return wait(client.post(url, content=body, headers=headers))


def pieces(wait: Waiter, client: Any, url: str, body: bytes, *, take: int | None = None) -> list[bytes]:
    """The first pieces of a streamed answer, or all of them."""
    with wait.entered(client.stream("POST", url, content=body)) as response:
        return wait.items(response.aiter_bytes() if hasattr(response, "aiter_bytes") and _awaits(client)
                          else response.iter_bytes(), take)


def _awaits(client: Any) -> bool:
    return hasattr(client, "aclose")


def comparable(response: Any) -> tuple[Any, ...]:
    """What a caller sees of a response, but for its date and how its body was transferred."""
    left_out = ("date", "content-length", "content-encoding", "transfer-encoding")
    headers = [pair for pair in response.headers.multi_items() if pair[0] not in left_out]
    return response.status_code, headers, response.content


def test_httpx_and_httpx2_are_one_implementation_under_two_names() -> None:
    sources = [Path(module.__file__).read_text() for module in (httpx_integration, httpx2_integration)]
    code = [source[source.index('```python') :] for source in sources]
    assert code[0] == code[1].replace("httpx2", "httpx")


def test_an_answer_comes_as_it_would_without_ctxkit(kind: HttpKind, wait: Waiter, path: str) -> None:
    with ModelServer([ANSWER]) as server, wait.closing(kind.client()) as client:
        plain = post(wait, client, server.url + path, content(path))
        plain_request = server.requests[0]
    with ModelServer([ANSWER]) as server, wait.closing(kind.over(ctxkit.observe())) as client:
        with ctxkit.task("cats") as task:
            seen = post(wait, client, server.url + path, content(path))
        request = server.requests[0]
    assert comparable(seen) == comparable(plain)
    assert seen.headers["content-length"] == str(len(seen.content))
    assert (request.body, _without_host(request)) == (plain_request.body, _without_host(plain_request))
    (attempt,) = task.attempts
    assert (attempt.outcome, attempt.status, attempt.retry) == ("billed", 200, 0)
    assert (attempt.usage.input_tokens, attempt.usage.cache_read_tokens) == (1_000, 400)
    assert attempt.tool_calls == ("search", "count")


def _without_host(request: Any) -> dict[str, str]:
    return {name: value for name, value in request.headers.items() if name != "host"}
