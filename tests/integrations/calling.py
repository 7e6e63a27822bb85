"""One way to call the four kinds of HTTP client and the four SDK clients, so that one test body does for all."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
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
        self._runner.close()


async def _awaited(value: Any) -> Any:
    return await value


async def _taken(stream: AsyncIterator[Any], take: int | None) -> list[Any]:
    taken: list[Any] = []
    if take == 0:
        return taken
    async for item in stream:
        taken.append(item)
        if len(taken) == take:
            break
    return taken


@dataclass(frozen=True)
class HttpKind:
    """One HTTP library in one colour."""

    library: ModuleType
    awaits: bool

    def __str__(self) -> str:
        return f"{self.library.__name__}-{'async' if self.awaits else 'blocking'}"

    @property
    def client(self) -> Any:
        return self.library.AsyncClient if self.awaits else self.library.Client

    def over(self, stack: ctxkit.Middleware, **options: Any) -> Any:
        """A client whose transport runs the stack."""
        integration = import_module(f"ctxkit.integrations.{self.library.__name__}")
        transport = integration.AsyncTransport if self.awaits else integration.Transport
        return self.client(transport=transport(stack), **options)


HTTP_KINDS = [HttpKind(library, awaits) for library in (httpx2, httpx) for awaits in (False, True)]


@dataclass(frozen=True)
class Sdk:
    """One SDK's client in one colour, asked the same question in the same ways."""

    client: Callable[..., Any]
    wire: str
    errors: ModuleType

    def __str__(self) -> str:
        return self.client.__name__

    @property
    def awaits(self) -> bool:
        return self.client.__name__.startswith("Async")

    @property
    def is_anthropic(self) -> bool:
        return self.errors is anthropic

    @property
    def root(self) -> type[Exception]:
        return self.errors.AnthropicError if self.is_anthropic else self.errors.OpenAIError

    @property
    def model(self) -> str:
        return CLAUDE if self.is_anthropic else GPT

    def plain(self, server: ModelServer | str, **options: Any) -> Any:
        """A client as its user makes it."""
        url = server if isinstance(server, str) else server.url
        return self.client(base_url=url if self.is_anthropic else f"{url}/v1", api_key="secret", **options)

    def wrapped(self, server: ModelServer | str, stack: ctxkit.Middleware, **options: Any) -> Any:
        """The same client, wrapped."""
        return ctxkit.wrap(self.plain(server, **options), stack)

    def create(self, client: Any, messages: Sequence[Any] = HI, **options: Any) -> Any:
        """A call of the SDK's `create`."""
        create = client.messages.create if self.is_anthropic else client.chat.completions.create
        options = {"model": self.model, "messages": messages, **options}
        return create(**({"max_tokens": 100} if self.is_anthropic else {}), **options)

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
        """The context manager of the SDK's streaming helper."""
        options = {"model": self.model, "messages": messages, **options}
        if self.is_anthropic:
            return client.messages.stream(max_tokens=100, **options)
        return client.chat.completions.stream(**options)

    def final(self, stream: Any) -> Any:
        """The finished answer of the helper's stream."""
        return stream.get_final_message() if self.is_anthropic else stream.get_final_completion()


_anthropic = partial(Sdk, wire="anthropic_messages", errors=anthropic)
_openai = partial(Sdk, wire="openai_chat", errors=openai)
SDKS = [
    _anthropic(anthropic.Anthropic),
    _anthropic(anthropic.AsyncAnthropic),
    _openai(openai.OpenAI),
    _openai(openai.AsyncOpenAI),
]
