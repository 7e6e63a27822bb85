"""`ctxkit.wrap` gives the same client back, and whatever it was made with stays in effect."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest

import ctxkit
from ctxkit.testing import ModelServer, failure, reply
from support.calling import CERTIFICATES, CLAUDE, HI, Http, Sdk, Waiter

KIN: dict[str, Callable[[], Any]] = {
    "AnthropicBedrock": lambda: anthropic.AnthropicBedrock(api_key="k", aws_region="us-east-1"),
    "AsyncAnthropicBedrock": lambda: anthropic.AsyncAnthropicBedrock(api_key="k", aws_region="us-east-1"),
    "AnthropicBedrockMantle": lambda: anthropic.AnthropicBedrockMantle(api_key="k", aws_region="us-east-1"),
    "AnthropicVertex": lambda: anthropic.AnthropicVertex(access_token="k", region="r", project_id="p"),
    "AsyncAnthropicVertex": lambda: anthropic.AsyncAnthropicVertex(
        access_token="k", region="r", project_id="p"
    ),
    "AnthropicFoundry": lambda: anthropic.AnthropicFoundry(api_key="k", resource="r"),
    "AzureOpenAI": lambda: openai.AzureOpenAI(
        api_key="k", azure_endpoint="https://r.openai.azure.com", api_version="2026-01-01"
    ),
    "AsyncAzureOpenAI": lambda: openai.AsyncAzureOpenAI(
        api_key="k", azure_endpoint="https://r.openai.azure.com", api_version="2026-01-01"
    ),
}


def test_the_same_type_comes_back_with_the_same_options(sdk: Sdk) -> None:
    options = {
        "max_retries": 7,
        "timeout": 12.5,
        "default_headers": {"x-team": "cats"},
        "default_query": {"trace": "1"},
    }
    with sdk.plain("http://127.0.0.1:1", http_client=None, **options) as client:
        wrapped = ctxkit.wrap(client, ctxkit.observe())
        assert type(wrapped) is type(client)
        assert wrapped is not client
        for name in ("api_key", "base_url", "max_retries", "timeout", "default_query"):
            assert getattr(wrapped, name) == getattr(client, name), name
        # What stands for a header to be left out has no equality.
        ours, theirs = (
            {name: value for name, value in one.default_headers.items() if isinstance(value, str)}
            for one in (wrapped, client)
        )
        assert ours == theirs


@pytest.mark.parametrize("make", KIN.values(), ids=KIN)
def test_clients_for_other_clouds_are_wrapped_too(make: Callable[[], Any], wait: Waiter) -> None:
    with wait.closing(make()) as client:
        wrapped = ctxkit.wrap(client, ctxkit.observe())
        assert type(wrapped) is type(client)
        assert (wrapped.base_url, wrapped.max_retries) == (client.base_url, client.max_retries)


@pytest.mark.parametrize(
    "make",
    [
        lambda url: anthropic.AnthropicBedrock(api_key="k", aws_region="us-east-1", base_url=url),
        lambda url: anthropic.AnthropicVertex(access_token="k", region="r", project_id="p", base_url=url),
    ],
    ids=["Bedrock", "Vertex"],
)
def test_a_call_to_another_cloud_is_sent_as_it_was_made(make: Callable[[str], Any]) -> None:
    seen = []
    for wraps in (False, True):
        with ModelServer([]) as server, make(server.url) as plain:
            client = ctxkit.wrap(plain, ctxkit.balanced()) if wraps else plain
            with pytest.raises(anthropic.InternalServerError):
                client.messages.create(model=CLAUDE, max_tokens=9, messages=HI)
            (request,) = server.requests
            seen.append((request.path, request.body))
    assert seen[0] == seen[1]


def test_azures_path_is_a_model_call(task: ctxkit.Task) -> None:
    with ModelServer([reply("Yes.")]) as server:
        plain = openai.AzureOpenAI(api_key="k", azure_endpoint=server.url, api_version="2026-01-01")
        with plain, ctxkit.wrap(plain, ctxkit.observe()) as client:
            client.chat.completions.create(model="gpt-4.1", messages=HI)
        assert server.requests[0].path == "/openai/deployments/gpt-4.1/chat/completions"
        assert server.requests[0].query == "api-version=2026-01-01"
    assert [attempt.outcome for attempt in task.attempts] == ["billed"]


def test_options_of_one_call_work_and_the_copy_is_wrapped_as_well(sdk: Sdk, task: ctxkit.Task) -> None:
    with ModelServer([reply()] * 3) as server, sdk.wrapped(server, ctxkit.TokenMeter()) as client:
        sdk.create(client.with_options(default_headers={"x-team": "cats"}))
        sdk.create(client.copy(max_retries=0))
        sdk.create(
            client, extra_headers={"x-team": "dogs"}, extra_body={"not_known": 1}, extra_query={"q": "1"}
        )
        first, _, last = server.requests
    assert first.headers["x-team"] == "cats"
    assert (last.headers["x-team"], last.json["not_known"], last.query) == ("dogs", 1, "q=1")
    assert len(task.attempts) == 3


def test_the_client_that_was_wrapped_still_works_without_the_stack(sdk: Sdk, task: ctxkit.Task) -> None:
    with ModelServer([reply()] * 2) as server, sdk.plain(server) as client:
        wrapped = ctxkit.wrap(client, ctxkit.observe())
        sdk.create(client)
        assert not task.attempts
        sdk.create(wrapped)
        assert len(task.attempts) == 1
        assert server.requests[0].body == server.requests[1].body


def test_a_wrapped_client_keeps_the_connections_of_one_that_is_gone(sdk: Sdk) -> None:
    with ModelServer([reply("Yes.")]) as server:
        url = server.url if sdk.is_anthropic else f"{server.url}/v1"
        wrapped = ctxkit.wrap(sdk.client(base_url=url, api_key="k"), ctxkit.observe())
        gc.collect()
        with sdk.wait.closing(wrapped):
            assert sdk.text(sdk.create(wrapped)) == "Yes."


def test_closing_the_wrapped_client_closes_the_connections_of_both(sdk: Sdk) -> None:
    with ModelServer([reply()]) as server, sdk.plain(server, http_client=None) as client:
        wrapped = ctxkit.wrap(client, ctxkit.observe())
        sdk.create(wrapped)
        sdk.wait(wrapped.close())
        assert wrapped.is_closed()
        assert client.is_closed()


def test_wrapping_twice_puts_one_stack_around_the_other(sdk: Sdk, task: ctxkit.Task) -> None:
    with ModelServer([reply()]) as server, sdk.wrapped(server, ctxkit.TokenMeter()) as client:
        sdk.create(ctxkit.wrap(client, ctxkit.observe()))
    assert len(task.attempts) == 2


class Ticket:
    """An authentication flow that asks for a ticket and then shows it, as OAuth does."""

    def __init__(self, library: Any) -> None:
        class Flow(library.Auth):  # type: ignore[misc, name-defined]
            requires_response_body = True

            def auth_flow(self, request: Any) -> Any:
                asked = yield library.Request("GET", request.url.join("/v1/models"))
                request.headers["authorization"] = f"Bearer {asked.json()['object']}"
                yield request

        self.flow = Flow()


def recording_hooks(http: Http) -> tuple[dict[str, Any], list[str]]:
    """Event hooks of the client's colour, and what they noted."""
    notes: list[str] = []

    def on_request(request: Any) -> None:
        request.headers["x-hook"] = "1"
        notes.append(f"> {request.method} {request.url.path}")

    def on_response(response: Any) -> None:
        notes.append(f"< {response.status_code}")

    async def on_request_async(request: Any) -> None:
        on_request(request)

    async def on_response_async(response: Any) -> None:
        on_response(response)

    if http.awaits:
        return {"request": [on_request_async], "response": [on_response_async]}, notes
    return {"request": [on_request], "response": [on_response]}, notes


def test_what_an_http_client_was_made_with_stays_in_effect(http: Http, task: ctxkit.Task) -> None:
    """Headers, cookies, query, base URL, hooks, authentication, redirects and mounts, once a request."""
    seen: list[Any] = []
    for wraps in (False, True):
        hooks, notes = recording_hooks(http)
        answers = [failure(307, headers={"location": "/v1/messages", "set-cookie": "b=2"}), reply("Yes.")]
        with ModelServer(answers) as server:
            options = {
                "headers": {"x-team": "cats"},
                "cookies": {"a": "1"},
                "params": {"q": "1"},
                "base_url": f"{server.url}/v1",
                "event_hooks": hooks,
                "auth": Ticket(http.library).flow,
                "follow_redirects": True,
            }
            with http.plain(**options) as plain:
                client = ctxkit.wrap(plain, ctxkit.observe()) if wraps else plain
                assert type(client) is http.client
                response = http.post(client, "/messages", b'{"messages": []}')
                assert response.json()["content"][0]["text"] == "Yes."
                assert dict(client.cookies) == {"a": "1", "b": "2"}
            kept = ("x-team", "x-hook", "cookie", "authorization", "user-agent", "accept")
            arrived = [
                (one.method, one.path, one.query, [one.headers.get(name) for name in kept], one.body)
                for one in server.requests
            ]
            seen.append((notes, arrived))
    assert seen[0] == seen[1]
    assert [attempt.outcome for attempt in task.attempts] == ["not_billed", "billed"]


def test_mounted_transports_are_used(http: Http, task: ctxkit.Task) -> None:
    def answer(request: Any) -> Any:
        return http.library.Response(200, json={"content": [], "seen": request.url.host})

    mounts = {"all://mounted": http.library.MockTransport(answer)}
    with http.plain(mounts=mounts) as plain:
        client = ctxkit.wrap(plain, ctxkit.observe())
        assert http.post(client, "https://mounted/v1/messages", b"{}").json()["seen"] == "mounted"
    assert len(task.attempts) == 1


def test_the_timeouts_of_an_http_client_stay_in_effect(http: Http) -> None:
    def answer(request: Any) -> Any:
        return http.library.Response(200, json=request.extensions["timeout"])

    timeout = http.library.Timeout(7.0, read=3.0)
    with http.plain(timeout=timeout, transport=http.library.MockTransport(answer)) as plain:
        client = ctxkit.wrap(plain, ctxkit.observe())
        assert http.post(client, "https://host/v1/messages", b"{}").json() == timeout.as_dict()


def test_the_headers_and_the_encoding_of_an_http_client_are_taken_over(http: Http) -> None:
    def answer(request: Any) -> Any:
        return http.library.Response(200, content=b"\xe9", headers={"x-seen": " ".join(request.headers)})

    seen = []
    for wraps in (False, True):
        transport = http.library.MockTransport(answer)
        with http.plain(transport=transport, default_encoding="latin-1") as plain:
            del plain.headers["accept-encoding"]
            client = ctxkit.wrap(plain, ctxkit.observe()) if wraps else plain
            response = http.post(client, "https://host/v1/messages", b"{}")
            seen.append((response.headers["x-seen"], response.text))
    assert seen[0] == seen[1]


def test_an_http_client_in_use_can_be_wrapped_and_used_in_a_with(http: Http) -> None:
    with ModelServer([reply()] * 2) as server, http.plain() as plain:
        http.post(plain, f"{server.url}/v1/messages", b'{"messages": []}')
        with http.wait.entered(ctxkit.wrap(plain, ctxkit.observe())) as client:
            assert http.post(client, f"{server.url}/v1/messages", b'{"messages": []}').status_code == 200
        assert plain.is_closed


def test_the_sdks_custom_http_client_is_sent_through(sdk: Sdk) -> None:
    kind = httpx2.AsyncClient if sdk.awaits else httpx2.Client
    http_client = kind(verify=CERTIFICATES, headers={"x-team": "cats"}, timeout=33)
    with (
        ModelServer([reply()]) as server,
        sdk.wrapped(server, ctxkit.TokenMeter(), http_client=http_client) as client,
    ):
        assert client.timeout == httpx2.Timeout(33)
        sdk.create(client)
        assert server.requests[0].headers["x-team"] == "cats"


def test_openai_over_the_older_httpx_is_wrapped_too(task: ctxkit.Task) -> None:
    with ModelServer([reply("Yes.")]) as server, httpx.Client(verify=CERTIFICATES) as http_client:
        plain = openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", http_client=http_client)  # type: ignore[arg-type]
        client = ctxkit.wrap(plain, ctxkit.observe())
        answer = client.chat.completions.create(model="gpt-4.1", messages=HI)  # type: ignore[arg-type]
    assert answer.choices[0].message.content == "Yes."
    assert len(task.attempts) == 1


class Settled(anthropic.Anthropic):
    """A client whose constructor takes nothing, so that the SDK itself can't copy it."""

    def __init__(self) -> None:
        super().__init__(api_key="k")


@pytest.mark.parametrize(
    "thing",
    [object(), anthropic, "client", httpx2, anthropic.Anthropic],
    ids=["object", "package", "text", "library", "class"],
)
def test_what_cant_be_wrapped_is_refused_with_the_way_that_works(thing: Any) -> None:
    with pytest.raises(ctxkit.AttachError, match=r"ctxkit\.integrations\.functions"):
        ctxkit.wrap(thing, ctxkit.observe())


def test_a_part_of_a_client_and_a_client_that_cant_be_copied_are_refused() -> None:
    with Settled() as client:
        for thing in (client, client.messages):
            with pytest.raises(ctxkit.AttachError, match=r"ctxkit\.integrations\.functions"):
                ctxkit.wrap(thing, ctxkit.observe())


def test_a_stack_for_tool_calls_only_is_refused(sdk: Sdk) -> None:
    with sdk.plain("http://127.0.0.1:1") as client:
        with pytest.raises(ctxkit.AttachError, match=r"CacheToolResults .* ctxkit\.integrations\.functions"):
            ctxkit.wrap(client, ctxkit.CacheToolResults(["search"]))
        both = ctxkit.Stack(ctxkit.CacheToolResults(["search"]), ctxkit.TokenMeter())
        assert type(ctxkit.wrap(client, both)) is type(client)
