"""Calls that are no model call pass through byte for byte and are never booked."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import ctxkit
from ctxkit.testing import ModelServer, reply
from support.calling import CLAUDE, HI, Http, Sdk


class Refuse(ctxkit.Middleware):
    """Would stop every model call."""

    raises = (PermissionError,)

    def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: ctxkit.ModelNext) -> Any:
        raise PermissionError


def upload() -> tuple[str, io.BytesIO, str]:
    """A file to upload, which is read while it is sent."""
    return "cat.txt", io.BytesIO(b"tabby" * 9), "text/plain"


ANTHROPIC_CALLS: dict[str, Callable[[Any], Any]] = {
    "files": lambda client: client.beta.files.upload(file=upload()),
    "batches": lambda client: client.messages.batches.create(
        requests=[{"custom_id": "a", "params": {"model": CLAUDE, "max_tokens": 9, "messages": HI}}]
    ),
    "count_tokens": lambda client: client.messages.count_tokens(model=CLAUDE, messages=HI),
    "models": lambda client: client.models.list(),
}
OPENAI_CALLS: dict[str, Callable[[Any], Any]] = {
    "files": lambda client: client.files.create(file=upload(), purpose="user_data"),
    "models": lambda client: client.models.list(),
    "embeddings": lambda client: client.with_options(max_retries=0).embeddings.create(
        model="text-embedding-3-small", input="cats"
    ),
    "threads": lambda client: client.with_options(max_retries=0).post(
        "/threads/thread_1/messages", body={"role": "user", "content": "Hi"}, cast_to=object
    ),
    "stored completions": lambda client: client.with_options(max_retries=0).post(
        "/chat/completions/c_1", body={"metadata": {}}, cast_to=object
    ),
}


def outcome(sdk: Sdk, client: Any, call: Callable[[Any], Any]) -> Any:
    """What a call gives, in a form that can be compared."""
    try:
        answer = sdk.wait(call(client))
    except sdk.module.APIStatusError as error:
        return type(error), error.body
    return answer.model_dump() if hasattr(answer, "model_dump") else answer


def test_other_calls_pass_untouched_and_are_not_booked(sdk: Sdk, task: ctxkit.Task) -> None:
    calls = ANTHROPIC_CALLS if sdk.is_anthropic else OPENAI_CALLS
    for name, call in calls.items():
        seen = []
        for wraps in (False, True):
            with ModelServer([]) as server, sdk.plain(server) as plain:
                client = ctxkit.wrap(plain, ctxkit.Stack(Refuse(), ctxkit.TokenMeter())) if wraps else plain
                given = outcome(sdk, client, call)
                (request,) = server.requests
                seen.append((given, request.method, request.path, _without_boundary(request)))
        assert seen[0] == seen[1], name
    assert not task.attempts
    assert not task.faults


def _without_boundary(request: Any) -> bytes:
    """The body, the random boundary of a multipart body taken out."""
    boundary = re.search("boundary=(.+)", request.headers.get("content-type", ""))
    return request.body.replace(boundary[1].encode(), b"--") if boundary else request.body


def test_a_body_that_comes_in_pieces_is_never_read_ahead(http: Http, task: ctxkit.Task) -> None:
    given: list[bytes] = []

    def blocking() -> Iterator[bytes]:
        for piece in (b"one", b"two"):
            given.append(piece)
            yield piece

    async def awaiting() -> Any:
        for piece in blocking():
            yield piece

    def answer(request: Any) -> Any:
        assert given == []
        return http.library.Response(200, content=b"seen")

    class Unread(http.library.BaseTransport, http.library.AsyncBaseTransport):  # type: ignore[misc, name-defined]
        def handle_request(self, request: Any) -> Any:
            return answer(request)

        async def handle_async_request(self, request: Any) -> Any:
            return answer(request)

    transport = http.transport(ctxkit.Stack(Refuse()), Unread())
    with http.plain(transport=transport) as client:
        body = awaiting() if http.awaits else blocking()
        assert http.post(client, "https://host/v1/files", body).content == b"seen"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_only_a_post_is_a_model_call(http: Http, method: str, task: ctxkit.Task) -> None:
    transport = http.library.MockTransport(lambda request: http.library.Response(200, text=request.method))
    with http.plain(transport=transport) as plain:
        client = ctxkit.wrap(plain, ctxkit.Stack(Refuse()))
        for path in ("/v1/messages", "/v1/chat/completions"):
            response = http.wait(client.request(method, f"https://host{path}"))
            assert response.status_code == 200
    assert not task.attempts


def test_a_compressed_answer_that_is_no_model_answer_is_not_even_unpacked(http: Http) -> None:
    with ModelServer([], gzip=True) as server, http.plain() as plain:
        client = ctxkit.wrap(plain, ctxkit.observe())
        response = http.wait(client.get(f"{server.url}/v1/models"))
        assert response.headers["content-encoding"] == "gzip"
        assert response.json()["object"] == "list"


def test_model_calls_and_other_calls_share_one_client(sdk: Sdk, task: ctxkit.Task) -> None:
    with ModelServer([reply("Yes.")] * 2) as server, sdk.wrapped(server, ctxkit.TokenMeter()) as client:
        assert sdk.text(sdk.create(client)) == "Yes."
        sdk.wait(client.models.list())
        assert sdk.text(sdk.create(client)) == "Yes."
        assert len(server.requests) == 3
    assert len(task.attempts) == 2
