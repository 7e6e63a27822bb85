"""Streamed answers without HTTP, and the two streaming drivers behind one face.

An answer's events are plain strings; the last one of a whole answer is `END`. An exception among them is
raised where it stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextvars import copy_context
from typing import Any

from ctxkit.flow import Flow, ask_model
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.streaming import AsyncStream, Stream
from ctxkit.testing import ScriptedModel
from support.bodies import ANTHROPIC, answer_to, request_of, user

END = "END"
Events = Sequence[str | BaseException]
Runner = asyncio.Runner | None


def asking(text: str = "hi") -> ModelRequest:
    """A request that asks for a streamed answer."""
    return request_of(ANTHROPIC, [user(text)], stream=True)


def said(request: ModelRequest, text: str) -> ModelResponse:
    """An answer that says a text."""
    return answer_to(request, text)


class FakeOpened:
    """An answer that has begun to arrive.

    Attributes:
        given: The events that were given out so far.
        closed: How often the connection was let go.
    """

    def __init__(self, request: ModelRequest, events: Events) -> None:
        self.request = request
        self.events = events
        self.given: list[str] = []
        self.closed = 0
        self._noted: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for event in self.events:
            if isinstance(event, BaseException):
                raise event
            self.given.append(event)
            yield event

    def feed(self, event: str) -> None:
        self._noted.append(event)

    def finish(self) -> ModelResponse | None:
        if not self._noted:
            return None
        complete = self._noted[-1] == END
        text = "".join(event for event in self._noted if event != END)
        body = said(self.request, text).body
        return ModelResponse(self.request.wire, body, self.request, complete=complete)

    def close(self) -> None:
        self.closed += 1


class AsyncFakeOpened(FakeOpened):
    """The same, awaited."""

    async def __aiter__(self) -> AsyncIterator[str]:
        for event in iter(self):
            await asyncio.sleep(0)
            yield event

    async def close(self) -> None:  # type: ignore[override]
        super().close()


class Streamed:
    """One streaming driver, driven step by step; awaited where there is a runner.

    Attributes:
        asked: The requests that were opened as streams, in order.
        opened: What answered them; `None` for one that failed.
    """

    def __init__(
        self,
        runner: Runner,
        flow: Flow[ModelResponse],
        answers: Sequence[Events | Exception],
        *,
        model: ScriptedModel | None = None,
        buffered: bool = False,
    ) -> None:
        self.asked: list[ModelRequest] = []
        self.opened: list[FakeOpened] = []
        self._runner = runner
        self._answers = list(answers)
        edge = model or ScriptedModel([])
        replay: Callable[[ModelResponse], list[str]] = lambda answer: [f"replayed {answer.text}", END]  # noqa: E731
        self._stream: Any
        if runner is None:
            self._stream = Stream(flow, edge, open_stream=self._open, replay=replay, buffered=buffered)
        else:
            self._stream = AsyncStream(
                flow, edge.awaiting, open_stream=self._open_async, replay=replay, buffered=buffered
            )

    def start(self) -> Streamed:
        self._wait(self._stream.start)
        return self

    def next(self) -> str:
        if self._runner is None:
            return next(iter(self._stream))
        return self._run(_next(self._stream))

    def rest(self) -> list[str]:
        if self._runner is None:
            return list(self._stream)
        return self._run(_rest(self._stream))

    def close(self) -> None:
        self._wait(self._stream.close)

    def _wait(self, step: Callable[[], Any]) -> None:
        if self._runner is None:
            step()
        else:
            self._run(step())

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        assert self._runner is not None
        return self._runner.run(coroutine, context=copy_context())

    def _open(self, request: ModelRequest, kind: type[FakeOpened] = FakeOpened) -> Any:
        self.asked.append(request)
        events = self._answers.pop(0)
        if isinstance(events, Exception):
            raise events
        self.opened.append(kind(request, events))
        return self.opened[-1]

    async def _open_async(self, request: ModelRequest) -> Any:
        await asyncio.sleep(0)
        return self._open(request, AsyncFakeOpened)


class Watching:
    """A hook that writes down how its call ended."""

    def __init__(self) -> None:
        self.outcomes: list[Any] = []

    def __call__(self, request: ModelRequest) -> Flow[ModelResponse]:
        try:
            response = yield from ask_model(request)
        except BaseException as error:
            self.outcomes.append(error)
            raise
        self.outcomes.append(response)
        return response


async def _next(stream: AsyncStream[str]) -> str:
    return await anext(aiter(stream))


async def _rest(stream: AsyncStream[str]) -> list[str]:
    return [event async for event in stream]
