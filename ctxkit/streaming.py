"""The drivers that also hand on the events of a streamed answer while it arrives.

`Stream` and `AsyncStream` are two short loops; their common bookkeeping is `_StreamRun`, which does no input
or output.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import aclosing, suppress
from contextvars import copy_context
from typing import Any, Generic, Protocol, TypeVar

from ctxkit.drive import AsyncEdge, Done, Edge, advance, perform_step, perform_step_async
from ctxkit.errors import StreamAborted, StreamError
from ctxkit.flow import Flow, Step
from ctxkit.messages import ModelRequest, ModelResponse

E = TypeVar("E")
E_contra = TypeVar("E_contra", contravariant=True)
_REPLACED = (
    "a middleware replaced a streamed answer that had already gone out: set `buffers_stream = True` on it"
)


class Noted(Protocol[E_contra]):
    """An answer that is put together while its events pass."""

    def feed(self, event: E_contra) -> None:
        """Take note of an event that passed."""
        ...

    def finish(self) -> ModelResponse | None:
        """The answer built from the events noted so far; `None` where there were none."""
        ...


class Opened(Noted[E], Protocol[E]):
    """An answer that has begun to arrive."""

    def __iter__(self) -> Iterator[E]: ...

    def close(self) -> None:
        """Let go of the connection."""
        ...


class AsyncOpened(Noted[E], Protocol[E]):
    """An answer that has begun to arrive, awaited."""

    def __aiter__(self) -> AsyncGenerator[E, None]: ...

    async def close(self) -> None:
        """Let go of the connection."""
        ...


class _StreamRun(Generic[E]):
    """What both streaming drivers remember about a flow; does no input or output.

    Only the first streamed request of purpose `main` goes out to the caller as it arrives; everything
    else that the flow asks for runs to its end unseen. The flow stays in the context that it was started
    in, and so in the same task, wherever its stream is read.
    """

    def __init__(self, flow: Flow[ModelResponse], replay: Callable[[ModelResponse], Iterable[E]]) -> None:
        self.flow = flow
        self.replay = replay
        self.sent: ModelResponse | None = None
        self.held: tuple[ModelResponse | None, list[E]] | None = None
        self._context = copy_context()
        self.state: Step | Done[ModelResponse | None] = self._context.run(advance, flow)

    @property
    def over(self) -> bool:
        """Whether the flow has ended."""
        return isinstance(self.state, Done)

    def answer_request(self) -> ModelRequest | None:
        """The current step, where it is the answer that the caller waits for."""
        state = self.state
        if isinstance(state, ModelRequest) and state.purpose == "main" and state.stream:
            return state
        return None

    def resume(self, value: Any = None, error: BaseException | None = None) -> None:
        """Give the flow the outcome of its current step."""
        self.state = self._context.run(advance, self.flow, value, error)

    def hold(self, events: list[E], response: ModelResponse | None) -> ModelResponse:
        """The answer was read and is held back: what to tell the flow."""
        self.held = (response, events)
        if response is None or not response.complete:
            raise StreamAborted(response)
        return response

    def failed(self, error: BaseException) -> None:
        """The current step failed before anything went out: tell the flow.

        A held-back answer that broke off, and that no middleware minded, goes out as far as it came.
        """
        try:
            self.resume(error=error)
        except StreamAborted as aborted:
            self.state = Done(aborted.partial)

    def went_out(self, response: ModelResponse | None) -> None:
        """The answer passed to the caller, whole or in part: tell the flow."""
        if response is not None and response.complete:
            self.sent = response
            self.resume(response)
            return
        with suppress(StreamAborted, StreamError, StopIteration):
            self._context.run(self.flow.throw, StreamAborted(response))
            self._context.run(self.flow.throw, StreamError(_REPLACED))
        self.flow.close()
        self.state = Done(response)

    def pending(self) -> Step | None:
        """The next step, `None` at the flow's end; refuses what would replace an answer that went out."""
        while self.sent is not None and self.answer_request() is not None:
            self.resume(error=StreamError(_REPLACED))
        if not isinstance(self.state, Done):
            return self.state
        if self.sent is not None and self.state.value is not self.sent:
            raise StreamError(_REPLACED)
        return None

    def events(self) -> Iterable[E]:
        """The answer's events, where they did not go out as they arrived; those held back as they came."""
        assert isinstance(self.state, Done)
        answer = self.state.value
        if self.held is not None and answer is self.held[0]:
            return self.held[1]
        assert answer is not None
        return self.replay(answer)


class Stream(Generic[E]):
    """A flow whose answer goes out as events, blocking: `start` it, then iterate.

    Args:
        flow: What the middlewares do.
        edge: Runs everything but the answer itself.
        open_stream: Sends the answer's request and returns when its first byte may be read.
        replay: Turns an answer that was not streamed into events.
        buffered: Whether the answer is held back until the flow has ended.
    """

    def __init__(
        self,
        flow: Flow[ModelResponse],
        edge: Edge,
        *,
        open_stream: Callable[[ModelRequest], Opened[E]],
        replay: Callable[[ModelResponse], Iterable[E]],
        buffered: bool = False,
    ) -> None:
        self._run = _StreamRun(flow, replay)
        self._edge = edge
        self._open = open_stream
        self._buffered = buffered
        self._events = self._iterate()
        self._started = False
        self.opened: Opened[E] | None = None

    def start(self) -> None:
        """Run up to the first byte of the answer, which is then `opened`, or to the flow's end."""
        while (step := self._run.pending()) is not None:
            asked = self._run.answer_request()
            try:
                if asked is None:
                    value = perform_step(step, self._edge)
                elif self._buffered:
                    value = self._hold(self._open(asked))
                else:
                    self.opened = self._open(asked)
                    return
            except BaseException as error:
                self._run.failed(error)
            else:
                self._run.resume(value)

    def __iter__(self) -> Iterator[E]:
        return self._events

    def close(self) -> None:
        """Hang up: what arrived is booked, the connection let go. Safe at any time and more than once."""
        if self.opened is not None and not self._started:
            self._started = True
            self._run.went_out(self.opened.finish())
        self._events.close()
        if self.opened is not None:
            self.opened.close()

    def _iterate(self) -> Generator[E, None, None]:
        self._started = True
        if self.opened is None or self._run.over:
            yield from self._run.events()
            return
        try:
            for event in self.opened:
                self.opened.feed(event)
                yield event
        finally:
            self._run.went_out(self.opened.finish())
            while (step := self._run.pending()) is not None:
                try:
                    value = perform_step(step, self._edge)
                except BaseException as error:
                    self._run.resume(error=error)
                else:
                    self._run.resume(value)

    def _hold(self, opened: Opened[E]) -> ModelResponse:
        events: list[E] = []
        try:
            for event in opened:
                opened.feed(event)
                events.append(event)
        finally:
            opened.close()
        self.opened = opened
        return self._run.hold(events, opened.finish())


class AsyncStream(Generic[E]):
    """A flow whose answer goes out as events, awaiting; its arguments are those of `Stream`, awaited."""

    def __init__(
        self,
        flow: Flow[ModelResponse],
        edge: AsyncEdge,
        *,
        open_stream: Callable[[ModelRequest], Awaitable[AsyncOpened[E]]],
        replay: Callable[[ModelResponse], Iterable[E]],
        buffered: bool = False,
    ) -> None:
        self._run = _StreamRun(flow, replay)
        self._edge = edge
        self._open = open_stream
        self._buffered = buffered
        self._events = self._iterate()
        self._started = False
        self.opened: AsyncOpened[E] | None = None

    async def start(self) -> None:
        """Run up to the first byte of the answer, which is then `opened`, or to the flow's end."""
        while (step := self._run.pending()) is not None:
            asked = self._run.answer_request()
            try:
                if asked is None:
                    value = await perform_step_async(step, self._edge)
                elif self._buffered:
                    value = await self._hold(await self._open(asked))
                else:
                    self.opened = await self._open(asked)
                    return
            except BaseException as error:
                self._run.failed(error)
            else:
                self._run.resume(value)

    def __aiter__(self) -> AsyncIterator[E]:
        return self._events

    async def close(self) -> None:
        """Hang up: what arrived is booked, the connection let go. Safe at any time and more than once."""
        if self.opened is not None and not self._started:
            self._started = True
            self._run.went_out(self.opened.finish())
        await self._events.aclose()
        if self.opened is not None:
            await self.opened.close()

    async def _iterate(self) -> AsyncGenerator[E, None]:
        self._started = True
        if self.opened is None or self._run.over:
            for event in self._run.events():
                yield event
            return
        try:
            async with aclosing(aiter(self.opened)) as events:
                async for event in events:
                    self.opened.feed(event)
                    yield event
        finally:
            self._run.went_out(self.opened.finish())
            while (step := self._run.pending()) is not None:
                try:
                    value = await perform_step_async(step, self._edge)
                except BaseException as error:
                    self._run.resume(error=error)
                else:
                    self._run.resume(value)

    async def _hold(self, opened: AsyncOpened[E]) -> ModelResponse:
        events: list[E] = []
        try:
            async for event in opened:
                opened.feed(event)
                events.append(event)
        finally:
            await opened.close()
        self.opened = opened
        return self._run.hold(events, opened.finish())
