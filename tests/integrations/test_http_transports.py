"""The transports under plain HTTP clients: what passes, what is booked, and that nothing else changes."""

from __future__ import annotations

import gc
import gzip
import json
import sys
import zlib
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx2
import pytest

import ctxkit
from ctxkit.integrations import httpx as httpx_integration
from ctxkit.integrations import httpx2 as httpx2_integration
from ctxkit.testing import Answer, ModelServer, failure, raw, reply
from ctxkit.usage import Usage
from support.calling import CALLS, CERTIFICATES, HI, Http, Waiter, headers_of

ANSWER = reply(
    "A tabby: 🐈",
    thinking="Hm.",
    tool_calls=[("search", {"query": "cats"}), ("count", {"of": "cats"})],
    usage=Usage(1_000, 50, cache_read_tokens=400),
)


class SetTemperature(ctxkit.Middleware):
    def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: ctxkit.ModelNext) -> Any:
        return call_next(request.edit(temperature=0.5))


def content(path: str, **more: Any) -> bytes:
    return json.dumps({**CALLS[path], **more}).encode()


def comparable(response: Any) -> tuple[Any, ...]:
    """What a caller sees of a response, but for its date and how its body was transferred."""
    left_out = ("date", "content-length", "content-encoding", "transfer-encoding")
    headers = [pair for pair in response.headers.multi_items() if pair[0] not in left_out]
    return response.status_code, headers, response.content, sorted(response.extensions)


def test_httpx_and_httpx2_are_one_implementation_under_two_names() -> None:
    sources = [Path(module.__file__).read_text() for module in (httpx_integration, httpx2_integration)]
    code = [source[source.index("```python") :] for source in sources]
    assert code[0] == code[1].replace("httpx2", "httpx")


def test_an_answer_comes_as_it_would_without_ctxkit(http: Http, path: str) -> None:
    with ModelServer([ANSWER]) as server, http.plain() as client:
        plain = http.post(client, server.url + path, content(path))
        plain_request = server.requests[0]
    with ModelServer([ANSWER]) as server, http.over(ctxkit.TokenMeter()) as client:
        with ctxkit.task("cats") as task:
            seen = http.post(client, server.url + path, content(path))
        request = server.requests[0]
    assert comparable(seen) == comparable(plain)
    assert seen.headers["content-length"] == str(len(seen.content))
    assert (request.body, headers_of(request)) == (plain_request.body, headers_of(plain_request))
    (attempt,) = task.attempts
    assert (attempt.outcome, attempt.status, attempt.retry) == ("billed", 200, 0)
    assert (attempt.usage.input_tokens, attempt.usage.cache_read_tokens) == (1_000, 400)
    assert attempt.tool_calls == ("search", "count")


def whole_stream(path: str, answer: Answer = ANSWER) -> bytes:
    """The bytes of one streamed answer, as they come without ctxkit."""
    with ModelServer([answer]) as server, httpx2.Client(verify=CERTIFICATES) as client:
        return client.post(server.url + path, content=content(path, stream=True)).content


@pytest.mark.parametrize(
    ("chunk_size", "gzipped"), [(None, False), (1, False), (1, True), (64, True)], ids=str
)
def test_a_stream_passes_byte_for_byte_and_is_booked_however_it_is_split(
    http: Http, path: str, chunk_size: int | None, gzipped: bool, task: ctxkit.Task
) -> None:
    with (
        ModelServer([ANSWER], chunk_size=chunk_size, gzip=gzipped) as server,
        http.over(ctxkit.TokenMeter()) as client,
    ):
        seen = http.pieces(client, server.url + path, content(path, stream=True))
    assert b"".join(seen) == whole_stream(path)
    (attempt,) = task.attempts
    assert (attempt.outcome, attempt.usage.input_tokens, attempt.usage.output_tokens) == ("billed", 1_000, 50)
    assert attempt.tool_calls == ("search", "count")
    assert not task.faults


def test_a_stream_is_read_when_it_is_split_at_any_one_byte(path: str, task: ctxkit.Task) -> None:
    stream = whole_stream(path, reply("🐈", usage=Usage(9, 2)))
    splits = [[stream[:where], stream[where:]] for where in range(len(stream) + 1)]
    waiting = iter(splits)

    def answer(_: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, content=iter(next(waiting)))

    transport = httpx2_integration.Transport(ctxkit.TokenMeter(), httpx2.MockTransport(answer))
    with httpx2.Client(transport=transport) as client:
        for _ in splits:
            seen = client.post(f"https://host{path}", content=content(path, stream=True))
            assert seen.content == stream
    booked = {(one.outcome, one.usage.input_tokens, one.usage.output_tokens) for one in task.attempts}
    assert booked == {("billed", 9, 2)}
    assert not task.faults


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "identity"])
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_compressed_answer_is_read_and_its_headers_tell_the_truth(
    http: Http, encoding: str, streamed: bool, task: ctxkit.Task
) -> None:
    whole = b'{"content":[],"usage":{"input_tokens":9,"output_tokens":2}}'
    said = whole_stream("/v1/messages", reply("Yes.", usage=Usage(9, 2))) if streamed else whole
    packed = {"gzip": gzip.compress, "deflate": zlib.compress, "identity": bytes}[encoding](said)
    kind = "text/event-stream" if streamed else "application/json"
    headers = {"content-type": kind, "content-encoding": encoding, "x-limit": "7"}
    path = "/v1/messages"
    with ModelServer([Answer(packed, headers=headers)]) as server, http.over(ctxkit.TokenMeter()) as client:
        seen = http.post(client, server.url + path, content(path, stream=streamed))
    assert seen.content == said
    assert (seen.headers["content-type"], seen.headers["x-limit"]) == (kind, "7")
    assert "content-encoding" not in seen.headers
    (attempt,) = task.attempts
    assert (attempt.usage.input_tokens, attempt.usage.output_tokens) == (9, 2)


def test_the_callers_own_bytes_are_sent_when_nothing_changes(http: Http, path: str) -> None:
    body = content(path, not_known={"a": [1.50, 1e3]}).replace(b", ", b" ,\t") + b"\n"
    with ModelServer([reply()]) as server, http.over(*ctxkit.balanced().middlewares) as client:
        http.post(client, server.url + path, body, authorization="Bearer secret")
        request = server.requests[0]
    assert request.body == body
    assert request.headers["content-length"] == str(len(body))
    assert request.headers["authorization"] == "Bearer secret"


def test_an_edited_request_is_valid_and_keeps_what_was_not_edited(http: Http, path: str) -> None:
    body = content(path, not_known=[1], text="\ud800")
    with ModelServer([reply()]) as server, http.over(SetTemperature()) as client:
        seen = http.post(client, server.url + path, body, authorization="Bearer secret")
        request = server.requests[0]
    assert seen.status_code == 200
    assert request.json == {**json.loads(body), "temperature": 0.5}
    assert request.headers["content-length"] == str(len(request.body))
    assert request.headers["authorization"] == "Bearer secret"
    assert "transfer-encoding" not in request.headers


def test_a_request_that_comes_in_pieces_can_be_edited(http: Http, path: str) -> None:
    whole = content(path)

    def blocking() -> Any:
        yield from (whole[:10], whole[10:])

    async def awaiting() -> Any:
        for piece in blocking():
            yield piece

    for middleware, sent in ((ctxkit.TokenMeter(), {}), (SetTemperature(), {"temperature": 0.5})):
        with ModelServer([reply()]) as server, http.over(middleware) as client:
            http.post(client, server.url + path, awaiting() if http.awaits else blocking())
            assert server.requests[0].json == {**json.loads(whole), **sent}
            assert server.errors == []


def test_a_body_that_cant_be_read_goes_out_as_it_is_and_the_fault_is_counted(http: Http, path: str) -> None:
    truncated, compressed = b'{"model": "m", "messages": [', gzip.compress(content(path))
    bodies = [truncated, b"", b"[1, 2]", b"\xff\x00", compressed]
    stack = (SetTemperature(), *ctxkit.balanced().middlewares)
    with ModelServer([]) as server, http.over(*stack) as client:
        for body in bodies:
            with ctxkit.task("cats") as task:
                assert http.post(client, server.url + path, body).status_code == 500
            assert [attempt.outcome for attempt in task.attempts] == ["not_billed"]
            assert any("BodyError" in where for where in task.faults)
        assert [request.body for request in server.requests] == bodies


def test_messages_that_cant_be_read_go_out_as_they_are(http: Http, path: str, task: ctxkit.Task) -> None:
    bodies = [content(path, messages=bad) for bad in (3, [3], [{"role": "user", "content": 3}])]
    with ModelServer([reply(usage=Usage(5, 2))] * 3) as server:
        with http.over(*ctxkit.balanced().middlewares) as client:
            for body in bodies:
                assert http.post(client, server.url + path, body).status_code == 200
        assert [request.body for request in server.requests] == bodies
    assert [attempt.usage.input_tokens for attempt in task.attempts] == [5, 5, 5]


def test_an_edit_that_is_no_json_is_left_out_and_counted(http: Http, path: str) -> None:
    class AddSet(ctxkit.Middleware):
        def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: ctxkit.ModelNext) -> Any:
            return call_next(request.edit(metadata={1, 2}))

    with ModelServer([reply()]) as server, http.over(AddSet()) as client, ctxkit.task("cats") as task:
        seen = http.post(client, server.url + path, content(path))
        assert server.requests[0].body == content(path)
    assert seen.status_code == 200
    assert sum(task.faults.values()) == 1


def with_large_result(path: str) -> bytes:
    """A request that `balanced` would cut."""
    large = "a line of text\n" * 9_000
    if path == "/v1/messages":
        call: Any = {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "1", "name": "read", "input": {}}],
        }
        result: Any = {"type": "tool_result", "tool_use_id": "1", "content": large}
        return content(path, messages=[*HI, call, {"role": "user", "content": [result]}])
    function = {"name": "read", "arguments": "{}"}
    call = {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]}
    return content(path, messages=[*HI, call, {"role": "tool", "tool_call_id": "1", "content": large}])


def test_a_signed_request_is_never_changed(http: Http, path: str) -> None:
    """Amazon's signature (version 4) covers the body: a changed one would be refused."""
    body = with_large_result(path)
    signature = "AWS4-HMAC-SHA256 Credential=key/20261130/us-east-1/bedrock/aws4_request, Signature=1"
    booked = []
    with ModelServer([reply()] * 2) as server, http.over(*ctxkit.balanced().middlewares) as client:
        for authorization in ("Bearer secret", signature):
            with ctxkit.task("cats") as task:
                http.post(client, server.url + path, body, authorization=authorization)
            booked.append((task.attempts[0].cut_tokens > 0, sum(task.faults.values())))
        assert len(server.requests[0].body) < len(body)
        assert server.requests[1].body == body
    assert booked == [(True, 0), (False, 1)]


def test_a_side_call_that_cant_be_sent_leaves_the_call_alone(
    http: Http, path: str, task: ctxkit.Task
) -> None:
    class AskFirst(ctxkit.Middleware):
        def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: ctxkit.ModelNext) -> Any:
            yield from call_next(request.side_call("summary", metadata={1, 2}))
            return (yield from call_next(request))

    with ModelServer([reply()]) as server, http.over(AskFirst(), ctxkit.TokenMeter()) as client:
        assert http.post(client, server.url + path, content(path)).status_code == 200
        assert [request.body for request in server.requests] == [content(path)]
    assert task.faults == {"AskFirst: BodyError": 1}


HOSTS = {
    "api.anthropic.com": "anthropic",
    "api.openai.com": "openai",
    "team.openai.azure.com": "azure",
    "localhost": None,
}


@pytest.mark.parametrize(("host", "provider"), HOSTS.items())
def test_the_provider_is_told_from_the_host(host: str, provider: str | None) -> None:
    seen: list[str | None] = []

    class Look(ctxkit.Middleware):
        def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: ctxkit.ModelNext) -> Any:
            seen.append(request.provider)
            return call_next(request)

    upstream = httpx2.MockTransport(lambda request: httpx2.Response(200, json={}))
    with httpx2.Client(transport=httpx2_integration.Transport(Look(), upstream)) as client:
        client.post(f"https://{host}/v1/messages", content=content("/v1/messages"))
    assert seen == [provider]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_an_answer_that_cant_be_unpacked_raises_what_it_raises_without_ctxkit(
    http: Http, streamed: bool, task: ctxkit.Task
) -> None:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    path = "/v1/messages"
    for wraps in (False, True):
        with ModelServer([Answer(b"not gzip", headers=headers)]) as server, http.plain() as plain:
            client = ctxkit.wrap(plain, ctxkit.observe()) if wraps else plain
            with pytest.raises(http.library.DecodingError):
                http.post(client, server.url + path, content(path, stream=streamed))
    assert [attempt.outcome for attempt in task.attempts] == ["unknown"]


FAILURES = {
    "400": failure(400),
    "401 with two cookies": failure(401, headers={"set-cookie": "a=1", "www-authenticate": "Bearer"}),
    "429": failure(429, headers={"retry-after": "9"}),
    "529": failure(529),
    "502 in HTML": failure(502, "<h1>Bad gateway</h1>"),
    "500 that is empty": Answer(b"", 500),
    "200 in HTML": raw(b"<h1>Hello</h1>", content_type="text/html"),
    "200 cut off": raw(b'{"id": "msg_1", "content": [', content_type="application/json"),
    "200 with a list": raw(b"[]", content_type="application/json"),
    "200 with strange JSON": raw(
        b'{"content": 3, "usage": [], "choices": {}}', content_type="application/json"
    ),
    "stream of strange events": raw(
        b'data: 3\n\ndata: {"type":"content_block_start","index":"x","content_block":{}}\n\n'
        b'data: {"type":"content_block_start","index":1,"content_block":{}}\n\n'
        b'data: {"choices":[{"index":[]}]}\n\ndata: {"choices":[{"index":"x"},{"index":0}]}\n\ndata: {oh\n\n',
        content_type="text/event-stream",
    ),
}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_whatever_the_upstream_says_the_caller_gets_it_unchanged(
    http: Http, path: str, streamed: bool
) -> None:
    body = content(path, stream=streamed)
    answers = list(FAILURES.values())
    with ModelServer(answers) as server, http.plain() as client:
        plain = [comparable(http.post(client, server.url + path, body)) for _ in answers]
    with ModelServer(answers) as server, http.over(*ctxkit.balanced().middlewares) as client:
        for name, expected in zip(FAILURES, plain, strict=True):
            with ctxkit.task(name) as task:
                assert comparable(http.post(client, server.url + path, body)) == expected, name
            (attempt,) = task.attempts
            assert attempt.status == expected[0]
            assert attempt.outcome in (("not_billed",) if attempt.status >= 300 else ("unknown", "billed"))
            assert task.totals.cost_usd == 0


def test_a_stream_that_is_left_leaves_no_generator_of_ctxkits_behind(wait: Waiter) -> None:
    """A generator that only the garbage collector ends may hold on to its connection until then."""

    async def left_behind(client: httpx2.AsyncClient, url: str) -> list[str]:
        names: list[str] = []
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(finalizer=lambda generator: names.append(generator.__qualname__))
        asked = client.stream("POST", url, content=content("/v1/messages", stream=True))
        async with asked as response, aclosing(response.aiter_bytes()) as pieces:
            await anext(pieces)
        gc.collect()
        sys.set_asyncgen_hooks(*hooks)
        return names

    seen = []
    for wraps in (False, True):
        with ModelServer([ANSWER]) as server, wait.closing(httpx2.AsyncClient(verify=CERTIFICATES)) as plain:
            client = ctxkit.wrap(plain, ctxkit.observe()) if wraps else plain
            seen.append(wait(left_behind(client, f"{server.url}/v1/messages")))
    assert seen[0] == seen[1]


def test_redirects_are_followed_by_the_client_as_ever(http: Http) -> None:
    answers = [failure(307, headers={"location": "/proxy/v1/messages"}), reply()]
    stack = (SetTemperature(), ctxkit.TokenMeter())
    with ModelServer(answers) as server, http.over(*stack, follow_redirects=True) as client:
        with ctxkit.task("cats") as task:
            seen = http.post(client, f"{server.url}/v1/messages", content("/v1/messages"))
        assert [request.path for request in server.requests] == ["/v1/messages", "/proxy/v1/messages"]
        assert all(request.json["temperature"] == 0.5 for request in server.requests)
    assert (seen.status_code, len(seen.history)) == (200, 1)
    assert [attempt.outcome for attempt in task.attempts] == ["not_billed", "billed"]


def test_a_transport_for_tool_calls_only_is_refused(http: Http) -> None:
    with pytest.raises(ctxkit.AttachError, match=r"ctxkit\.integrations\.functions"):
        http.transport(ctxkit.CacheToolResults(tools=["search"]))
    with pytest.raises(ctxkit.AttachError, match="takes instances"):
        http.transport(ctxkit.TokenMeter)
