"""An HTTP server that is a function: answers in the order of the calls, and what was asked."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Sequence
from contextvars import copy_context
from types import ModuleType
from typing import Any

import httpx2


class ScriptedHttp:
    """A client's transport that gives one answer after the other, without a network.

    Args:
        answers: For each call, a body sent as JSON, or bytes with their content type.
        library: `httpx2` or `httpx`.

    Attributes:
        requests: What was asked, in order.
    """

    def __init__(self, *answers: Any, library: ModuleType = httpx2) -> None:
        self.requests: list[Any] = []
        self._answers = iter(answers)
        self._library: Any = library

    @property
    def transport(self) -> Any:
        """The transport, of both colours."""
        return self._library.MockTransport(self._answer)

    def client(self, *, awaits: bool = False, **options: Any) -> Any:
        """A client over the transport."""
        kind = self._library.AsyncClient if awaits else self._library.Client
        return kind(transport=self.transport, **options)

    def sent(self, place: int = -1) -> Any:
        """The JSON of a request that was sent."""
        return json.loads(self.requests[place].content)

    def urls(self) -> list[str]:
        """The paths and queries that were asked for."""
        return [request.url.raw_path.decode() for request in self.requests]

    def _answer(self, request: Any) -> Any:
        self.requests.append(request)
        answer = next(self._answers)
        if isinstance(answer, tuple):
            content, content_type = answer
            return self._library.Response(200, headers={"content-type": content_type}, content=content)
        return self._library.Response(200, json=answer)


def waited(runner: asyncio.Runner | None, value: Any) -> Any:
    """What a call gives, awaited where there is a loop to await on."""
    if runner is None or not inspect.isawaitable(value):
        return value

    async def wait() -> Any:
        return await value

    return runner.run(wait(), context=copy_context())


def collected(runner: asyncio.Runner | None, stream: Any) -> Sequence[Any]:
    """All items of a stream."""
    if runner is None:
        return list(stream)

    async def collect() -> list[Any]:
        return [item async for item in stream]

    return runner.run(collect(), context=copy_context())
