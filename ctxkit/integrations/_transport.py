"""The two transports, blocking and awaiting, without the base classes of an HTTP library.

`httpx2` and `httpx` mix these into their own base classes. What happens to a request is in `_http`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from functools import partial
from typing import Any

from ctxkit.drive import run, run_async
from ctxkit.errors import AttachError, CtxkitError, ModelCallFailed
from ctxkit.flow import Middleware
from ctxkit.integrations._http import HttpCalls, Library, StreamReader, for_caller
from ctxkit.messages import ModelRequest, ModelResponse, ToolCall, ToolResult
from ctxkit.streaming import AsyncStream, Stream

_NO_TOOLS = "an HTTP transport runs no tools: a middleware asked for the tool {name!r}"


class Opened(StreamReader):
    """A streamed answer that has begun to arrive, blocking."""

    def __iter__(self) -> Iterator[bytes]:
        return self.response.iter_bytes()  # type: ignore[no-any-return]

    def close(self) -> None:
        """Let go of the connection."""
        self.response.close()


class AsyncOpened(StreamReader):
    """A streamed answer that has begun to arrive, awaited."""

    def __aiter__(self) -> AsyncGenerator[bytes, None]:
        return self.response.aiter_bytes()  # type: ignore[no-any-return]

    async def close(self) -> None:
        """Let go of the connection."""
        await self.response.aclose()


class Transport:
    """Runs a stack around every model call that passes, blocking."""

    _library: Library
    _events: Any

    def __init__(self, stack: Middleware, inner: Any) -> None:
        self._calls = HttpCalls(stack, self._library)
        self._inner = inner

    def handle_request(self, request: Any) -> Any:
        """Send one HTTP request; what is no model call passes through untouched."""
        endpoint = self._calls.endpoint(request)
        if endpoint is None:
            return self._inner.handle_request(request)
        model_request = self._calls.model_request(request, endpoint, request.read())
        flow = self._calls.stack.model_flow(model_request)
        edge = _Edge(self._calls, self._inner, request)
        try:
            if not model_request.stream:
                return self._calls.http_response(run(flow, edge))
            stream = Stream(
                flow,
                edge,
                open_stream=edge.open,
                replay=partial(self._calls.replay, model_request),
                buffered=self._calls.stack.buffers_stream,
            )
            stream.start()
        except Exception as error:
            return _for_caller(error, self._calls)
        opened = stream.opened
        return self._calls.stream_response(
            self._events(stream), opened.response if isinstance(opened, Opened) else None, model_request
        )

    def close(self) -> None:
        """Close what it stands in front of."""
        self._inner.close()


class AsyncTransport:
    """Runs a stack around every model call that passes, awaiting."""

    _library: Library
    _events: Any

    def __init__(self, stack: Middleware, inner: Any) -> None:
        self._calls = HttpCalls(stack, self._library)
        self._inner = inner

    async def handle_async_request(self, request: Any) -> Any:
        """Send one HTTP request; what is no model call passes through untouched."""
        endpoint = self._calls.endpoint(request)
        if endpoint is None:
            return await self._inner.handle_async_request(request)
        model_request = self._calls.model_request(request, endpoint, await request.aread())
        flow = self._calls.stack.model_flow(model_request)
        edge = _AsyncEdge(self._calls, self._inner, request)
        try:
            if not model_request.stream:
                return self._calls.http_response(await run_async(flow, edge))
            stream = AsyncStream(
                flow,
                edge,
                open_stream=edge.open,
                replay=partial(self._calls.replay, model_request),
                buffered=self._calls.stack.buffers_stream,
            )
            await stream.start()
        except Exception as error:
            return _for_caller(error, self._calls)
        opened = stream.opened
        return self._calls.stream_response(
            self._events(stream), opened.response if isinstance(opened, AsyncOpened) else None, model_request
        )

    async def aclose(self) -> None:
        """Close what it stands in front of."""
        await self._inner.aclose()


def _for_caller(error: Exception, calls: HttpCalls) -> Any:
    """The provider's error response as it came; everything else is raised."""
    if isinstance(error, ModelCallFailed) and error.native is not None:
        return error.native
    raise for_caller(error) if isinstance(error, (CtxkitError, *calls.stack.raises)) else error


class _Edge:
    """Sends over the inner transport, blocking."""

    def __init__(self, calls: HttpCalls, inner: Any, request: Any) -> None:
        self._calls = calls
        self._inner = inner
        self._request = request

    def model(self, request: ModelRequest) -> ModelResponse:
        sent, response = self._send(request)
        response.read()
        return self._calls.read_answer(sent, response)

    def open(self, request: ModelRequest) -> Opened:
        return Opened(*self._send(request))

    def tool(self, call: ToolCall) -> ToolResult:
        raise AttachError(_NO_TOOLS.format(name=call.name))

    def _send(self, request: ModelRequest) -> tuple[ModelRequest, Any]:
        sent, http_request = self._calls.to_send(self._request, request)
        response = self._inner.handle_request(http_request)
        if response.status_code >= 300:
            response.read()
            raise self._calls.failed(sent, response)
        return sent, response


class _AsyncEdge:
    """Sends over the inner transport, awaiting."""

    def __init__(self, calls: HttpCalls, inner: Any, request: Any) -> None:
        self._calls = calls
        self._inner = inner
        self._request = request

    async def model(self, request: ModelRequest) -> ModelResponse:
        sent, response = await self._send(request)
        await response.aread()
        return self._calls.read_answer(sent, response)

    async def open(self, request: ModelRequest) -> AsyncOpened:
        return AsyncOpened(*await self._send(request))

    async def tool(self, call: ToolCall) -> ToolResult:
        raise AttachError(_NO_TOOLS.format(name=call.name))

    async def _send(self, request: ModelRequest) -> tuple[ModelRequest, Any]:
        sent, http_request = self._calls.to_send(self._request, request)
        response = await self._inner.handle_async_request(http_request)
        if response.status_code >= 300:
            await response.aread()
            raise self._calls.failed(sent, response)
        return sent, response


class EventStream:
    """The body of a streamed response, blocking."""

    def __init__(self, stream: Stream[bytes]) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._stream)

    def close(self) -> None:
        """Hang up."""
        self._stream.close()


class AsyncEventStream:
    """The body of a streamed response, awaited."""

    def __init__(self, stream: AsyncStream[bytes]) -> None:
        self._stream = stream

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    async def aclose(self) -> None:
        """Hang up."""
        await self._stream.close()


class Content:
    """Bytes at hand as the body of a response, of both colours."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __iter__(self) -> Iterator[bytes]:
        yield self._content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content

    def close(self) -> None:
        """Nothing to let go of."""

    async def aclose(self) -> None:
        """Nothing to let go of."""


class ClientTransport:
    """The transports of a client that is there already, blocking: its proxies, pools and certificates.

    The client itself is left out: what it does around its transports (authentication, redirects, hooks) is
    the outer client's work, once.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def handle_request(self, request: Any) -> Any:
        """Send one HTTP request."""
        return self._client._transport_for_url(request.url).handle_request(request)

    def close(self) -> None:
        """Close the client."""
        self._client.close()


class AsyncClientTransport:
    """The transports of a client that is there already, awaiting."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def handle_async_request(self, request: Any) -> Any:
        """Send one HTTP request."""
        return await self._client._transport_for_url(request.url).handle_async_request(request)

    async def aclose(self) -> None:
        """Close the client."""
        await self._client.aclose()
