"""One way to call the four kinds of HTTP client and the four SDK clients: one test body does for all."""

from __future__ import annotations

import asyncio
import inspect
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from importlib import import_module
from itertools import islice
from types import ModuleType
from typing import Any

import anthropic
import httpx
import httpx2
import openai

import ctxkit
from ctxkit.testing import ModelServer

CLAUDE = "claude-sonnet-5"
GPT = "gpt-4.1"
HI = [{"role": "user", "content": "Any cats?"}]
# The path and a request of each wire.
CALLS: Mapping[str, Mapping[str, Any]] = {
    "/v1/messages": {"model": CLAUDE, "max_tokens": 100, "messages": HI},
    "/v1/chat/completions": {"model": GPT, "messages": HI, "stream_options": {"include_usage": True}},
}
HTTP_KINDS = [(library, awaits) for library in (httpx2, httpx) for awaits in (False, True)]
HOWS = ["whole", "streamed", "helper"]
SDK_CLIENTS = [anthropic.Anthropic, anthropic.AsyncAnthropic, openai.OpenAI, openai.AsyncOpenAI]


# Made once, as reading the certificates takes longer than most tests.
CERTIFICATES = ssl.create_default_context()


class Waiter:
    """Gives what a call gives, waiting for it where it has to be awaited, always on the same event loop."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def __call__(self, value: Any) -> Any:
        if not inspect.isawaitable(value):
            return value
        return self._runner.run(_awaited(value), context=copy_context())

    def items(self, stream: Any, take: int | None = None) -> list[Any]:
        """The first items of a stream, or all of them."""
        if take == 0:
            return []
        if hasattr(stream, "__aiter__"):
            return self(_taken(stream, take))
        return list(islice(stream, take))

    @contextmanager
    def entered(self, manager: Any) -> Iterator[Any]:
        """The same as `with`, or `async with`."""
        if not hasattr(manager, "__aenter__"):
            with manager as value:
                yield value
            return
        value = self(manager.__aenter__())
        try:
            yield value
        finally:
            self(manager.__aexit__(None, None, None))

    @contextmanager
    def closing(self, client: Any) -> Iterator[Any]:
        """The client, closed in the end."""
        try:
            yield client
        finally:
            self(client.aclose() if hasattr(client, "aclose") else client.close())

    def close(self) -> None:
        """End the event loop."""
        self._runner.close()


async def _awaited(value: Any) -> Any:
    return await value


async def _taken(stream: AsyncIterator[Any], take: int | None) -> list[Any]:
    taken: list[Any] = []
    async for item in stream:
        taken.append(item)
        if len(taken) == take:
            break
    return taken


class Http:
    """One HTTP library in one colour."""

    def __init__(self, library: ModuleType, *, awaits: bool, wait: Waiter) -> None:
        self.library = library
        self.awaits = awaits
        self.wait = wait
        self.client: Any = library.AsyncClient if awaits else library.Client
        integration = import_module(f"ctxkit.integrations.{library.__name__}")
        self.transport: Any = integration.AsyncTransport if awaits else integration.Transport
        self._inner: Any = library.AsyncHTTPTransport if awaits else library.HTTPTransport

    def plain(self, **options: Any) -> Any:
        """A client, to be used in a `with`."""
        return self.wait.closing(self.client(**{"verify": CERTIFICATES, **options}))

    def over(self, *middlewares: ctxkit.Middleware, **options: Any) -> Any:
        """A client whose transport runs a stack, to be used in a `with`."""
        inner = self._inner(verify=CERTIFICATES)
        return self.plain(transport=self.transport(ctxkit.Stack(*middlewares), inner), **options)

    def post(self, client: Any, url: str, body: Any, **headers: str) -> Any:
        """One request."""
        return self.wait(client.post(url, content=body, headers=headers))

    def pieces(self, client: Any, url: str, body: bytes, *, take: int | None = None) -> list[bytes]:
        """The first pieces of a streamed answer, or all of them."""
        with self.wait.entered(client.stream("POST", url, content=body)) as response:
            return self.wait.items(response.aiter_bytes() if self.awaits else response.iter_bytes(), take)


class Sdk:
    """One SDK's client in one colour, asked the same question in the same ways."""

    def __init__(self, client: Callable[..., Any], *, wait: Waiter) -> None:
        self.client = client
        self.wait = wait
        self.is_anthropic = client.__module__.startswith("anthropic")
        self.module: Any = anthropic if self.is_anthropic else openai
        self.root: type[Exception] = anthropic.AnthropicError if self.is_anthropic else openai.OpenAIError
        self.awaits = client.__name__.startswith("Async")
        self.model = CLAUDE if self.is_anthropic else GPT

    def plain(self, server: ModelServer | str, **options: Any) -> Any:
        """A client as its user makes it, to be used in a `with`."""
        url = server if isinstance(server, str) else server.url
        base_url = url if self.is_anthropic else f"{url}/v1"
        if "http_client" not in options:
            kind = self.module.DefaultAsyncHttpxClient if self.awaits else self.module.DefaultHttpxClient
            options["http_client"] = kind(verify=CERTIFICATES)
        return self.wait.closing(self.client(base_url=base_url, api_key="secret", **options))

    @contextmanager
    def wrapped(self, server: ModelServer | str, *middlewares: ctxkit.Middleware, **options: Any) -> Any:
        """The same client, wrapped; closing it closes both."""
        with self.plain(server, **options) as client:
            yield ctxkit.wrap(client, ctxkit.Stack(*middlewares))

    def call(self, client: Any, messages: Sequence[Any] = HI, **options: Any) -> Any:
        """A call of the SDK's `create`, not yet awaited."""
        resource = client.messages if self.is_anthropic else client.chat.completions
        limits = {"max_tokens": 100} if self.is_anthropic else {}
        return resource.create(**{"model": self.model, "messages": messages, **limits, **options})

    def create(self, client: Any, messages: Sequence[Any] = HI, **options: Any) -> Any:
        """What the SDK's `create` gives."""
        return self.wait(self.call(client, messages, **options))

    def text(self, answer: Any) -> str:
        """The text of an answer that came in one piece."""
        if self.is_anthropic:
            return "".join(part.text for part in answer.content if part.type == "text")
        return answer.choices[0].message.content or ""

    def streamed_text(self, events: Sequence[Any]) -> str:
        """The text of the events of `create(stream=True)`."""
        if self.is_anthropic:
            return "".join(getattr(getattr(event, "delta", None), "text", "") for event in events)
        return "".join(choice.delta.content or "" for event in events for choice in event.choices)

    def helper(self, client: Any, messages: Sequence[Any] = HI, **options: Any) -> Any:
        """The SDK's streaming helper, to be used in a `with`."""
        asked = {"model": self.model, "messages": messages, **options}
        if self.is_anthropic:
            return self.wait.entered(client.messages.stream(max_tokens=100, **asked))
        asked = {"stream_options": {"include_usage": True}, **asked}
        return self.wait.entered(client.chat.completions.stream(**asked))

    def ask(self, client: Any, how: str) -> str:
        """Ask for an answer in one of the `HOWS`, and give its text."""
        if how == "whole":
            return self.text(self.create(client))
        if how == "streamed":
            return self.streamed_text(self.wait.items(self.create(client, stream=True)))
        with self.helper(client) as stream:
            self.wait.items(stream)
            return self.text(self.final(stream))

    def final(self, stream: Any) -> Any:
        """The finished answer of the helper's stream."""
        return self.wait(stream.get_final_message() if self.is_anthropic else stream.get_final_completion())


def headers_of(request: Any) -> dict[str, str]:
    """The headers of a request that arrived, but for the host, which has the server's port."""
    return {name: value for name, value in request.headers.items() if name != "host"}
