"""What an HTTP transport of ctxkit does, for httpx2 and httpx alike.

The two libraries have the same classes under two names, so everything here takes the library as a value.
Only requests that are model calls are touched; their bytes are passed on as they are unless a middleware
changed something. Headers pass through, but for the length and the encoding of what was decoded.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ctxkit.errors import AttachError, BodyError, CtxkitError, ModelCallFailed
from ctxkit.flow import Middleware
from ctxkit.messages import Histories, ModelRequest, ModelResponse, Wire
from ctxkit.stack import Stack, overrides
from ctxkit.tasks import current_task
from ctxkit.wire import wire_for_path
from ctxkit.wire.growing import GrowingBodies
from ctxkit.wire.native import body_object, dumps, loads
from ctxkit.wire.sse import EventReader

_log = logging.getLogger("ctxkit")
PROVIDERS: Mapping[str, str] = {
    "api.anthropic.com": "anthropic",
    "api.openai.com": "openai",
    "openrouter.ai": "openrouter",
    "api.deepseek.com": "deepseek",
    "api.x.ai": "x-ai",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral",
}
_REWRITTEN = (b"content-length", b"content-encoding", b"transfer-encoding")
# Amazon's signature covers the body.
_SIGNED = "AWS4-"


def model_stack(stack: Middleware) -> Stack:
    """The stack of what is attached to a transport.

    Raises:
        AttachError: Nothing of it wraps model calls, or it is no middleware.
    """
    made = stack if isinstance(stack, Stack) else Stack(stack)
    if made.middlewares and not any(overrides(one, "wrap_model_call") for one in made.middlewares):
        names = ", ".join(type(one).__name__ for one in made.middlewares)
        raise AttachError(
            f"{names} wraps tool calls, and an HTTP transport sees none: "
            f"attach it with ctxkit.integrations.functions"
        )
    return made


@dataclass(frozen=True, slots=True)
class Library:
    """The classes of one HTTP library.

    Attributes:
        request: Its `Request`.
        response: Its `Response`.
        content: A byte stream of both colours over `bytes` that are at hand.
    """

    request: Any
    response: Any
    content: Any


@dataclass(frozen=True, slots=True)
class _Native:
    """An answer as it came over HTTP: the response, its decoded content, and the body read from it."""

    response: Any
    content: bytes
    body: Mapping[str, Any]


class HttpCalls:
    """Turns HTTP requests into model requests, and answers back into HTTP responses.

    Args:
        stack: What is attached.
        library: The classes of `httpx2` or `httpx`.
    """

    def __init__(self, stack: Middleware, library: Library) -> None:
        self.stack = model_stack(stack)
        self.library = library
        self.histories = Histories()
        self._bodies = GrowingBodies()

    def wire(self, request: Any) -> Wire | None:
        """The wire of a model call; `None` for every other request."""
        if request.method != "POST":
            return None
        return wire_for_path(request.url.path)

    def model_request(self, request: Any, wire: Wire, raw: bytes) -> ModelRequest:
        """The model request that an HTTP request carries; one that can't be read is passed on as it is."""
        try:
            body = self._bodies.read(raw, key=wire.messages_key)
        except BodyError as error:
            note_fault(f"{wire.name}: {type(error).__name__}", error)
            body = {}
        retry = request.headers.get("x-stainless-retry-count", "0")
        return ModelRequest(
            wire=wire,
            body=body,
            raw=raw,
            provider=provider_of(request.url.host),
            retry=int(retry) if retry.isdecimal() else 0,
            histories=self.histories,
        )

    def to_send(self, request: Any, model_request: ModelRequest) -> tuple[ModelRequest, Any]:
        """The model request that is really sent, and the HTTP request that carries it.

        Both are the caller's own where nothing was changed, and where a change can't be sent; the fault is
        counted then. A side call that can't be sent raises.
        """
        if model_request.raw is not None:
            return model_request, request
        try:
            return model_request, self._edited(request, model_request)
        except CtxkitError as error:
            if model_request.origin is None:
                raise
            note_fault(f"{model_request.wire.name} edit: {type(error).__name__}", error)
            return model_request.origin, request

    def _edited(self, request: Any, model_request: ModelRequest) -> Any:
        origin = model_request.origin
        if origin is not None and not origin.body:
            raise BodyError("the caller's body can't be read, and so it can't be changed")
        if request.headers.get("authorization", "").startswith(_SIGNED):
            raise AttachError("the request is signed, and a change would break its signature")
        headers = [(name, value) for name, value in request.headers.raw if name.lower() not in _REWRITTEN]
        return self.library.request(
            request.method,
            request.url,
            headers=headers,
            content=dumps(model_request.body),
            extensions=request.extensions,
        )

    def read_answer(self, model_request: ModelRequest, response: Any) -> ModelResponse:
        """The answer in a response that was read to its end."""
        body, complete = read_body(response.content)
        return ModelResponse(
            wire=model_request.wire,
            body=body,
            request=model_request,
            complete=complete,
            status=response.status_code,
            native=_Native(response, response.content, body),
        )

    def failed(self, response: Any) -> ModelCallFailed:
        """The error that stands for a response with an error status, read to its end."""
        try:
            body = loads(response.content)
        except BodyError:
            body = None
        return ModelCallFailed(response.status_code, body, native=self.unread(response, response.content))

    def http_response(self, answer: ModelResponse) -> Any:
        """The HTTP response that hands an answer to the caller."""
        native = answer.native
        if not isinstance(native, _Native):
            content = dumps(answer.body)
            headers = [(b"content-type", b"application/json"), _length(content)]
            return self.library.response(200, headers=headers, stream=self.library.content(content))
        changed = answer.body is not native.body
        return self.unread(native.response, dumps(answer.body) if changed else native.content)

    def unread(self, response: Any, content: bytes) -> Any:
        """A response like this one whose content can still be read, already decoded."""
        headers = [item for item in response.headers.raw if item[0].lower() not in _REWRITTEN]
        return self.library.response(
            response.status_code,
            headers=[*headers, _length(content)],
            stream=self.library.content(content),
            extensions=response.extensions,
        )

    def replay(self, answer: ModelResponse) -> Iterator[bytes]:
        """A finished answer as the bytes of an event stream."""
        return answer.wire.events(answer.body, answer.request.body)

    def stream_response(self, source: Any, response: Any) -> Any:
        """The HTTP response whose body is an event stream in the making."""
        if response is None:
            headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
            return self.library.response(200, headers=headers, stream=source)
        return self.library.response(
            response.status_code,
            headers=[item for item in response.headers.raw if item[0].lower() not in _REWRITTEN],
            stream=source,
            extensions=response.extensions,
        )


def _length(content: bytes) -> tuple[bytes, bytes]:
    return b"content-length", str(len(content)).encode()


def provider_of(host: str) -> str | None:
    """The provider behind a host, as the price list calls it; `None` where the host does not say."""
    if host.endswith((".openai.azure.com", ".services.ai.azure.com")):
        return "azure"
    return PROVIDERS.get(host)


def read_body(content: bytes) -> tuple[dict[str, Any], bool]:
    """The JSON object in an answer and whether there was one."""
    try:
        return body_object(loads(content)), True
    except BodyError:
        return {}, False


def note_fault(where: str, error: Exception) -> None:
    """Count a fault of ctxkit's own and log it once a task."""
    if current_task().book_fault(where):
        _log.warning("%s; the call goes on without ctxkit's view of it", where, exc_info=error)


def for_caller(error: Exception) -> Exception:
    """An error of a middleware in a shape that an SDK passes on instead of retrying it as a lost connection.

    The SDKs raise what derives from their own root as it is (read from `anthropic` 2.14.0 and `openai`
    3.57.0 on 2026-11-30), so the roots of the loaded SDKs are mixed into the error's class.
    """
    roots = (("anthropic", "AnthropicError"), ("openai", "OpenAIError"))
    loaded = (getattr(sys.modules[module], name) for module, name in roots if module in sys.modules)
    kinds = tuple(kind for kind in loaded if not isinstance(error, kind))
    own = type(error)
    if kinds:
        with suppress(TypeError):
            error.__class__ = type(own.__name__, (own, *kinds), {"__module__": own.__module__})
    return error


class StreamReader:
    """Reads a streamed answer while its bytes pass by; whatever goes wrong here, the bytes still pass."""

    def __init__(self, model_request: ModelRequest, response: Any) -> None:
        self.model_request = model_request
        self.response = response
        self._events = EventReader()
        self._accumulator = model_request.wire.accumulator()
        self._is_events = "text/event-stream" in response.headers.get("content-type", "text/event-stream")
        self._content: list[bytes] = []

    def feed(self, data: bytes) -> None:
        """Take note of bytes that passed."""
        if not self._is_events:
            self._content.append(data)
            return
        for event in self._events.feed(data):
            try:
                self._accumulator.feed(event.data if event.data == "[DONE]" else loads(event.data))
            except Exception as error:
                note_fault(f"{self.model_request.wire.name} stream: {type(error).__name__}", error)

    def finish(self) -> ModelResponse | None:
        """The answer from the bytes so far."""
        try:
            body, complete = self._read()
        except Exception as error:
            note_fault(f"{self.model_request.wire.name} stream: {type(error).__name__}", error)
            return None
        if body is None:
            return None
        return ModelResponse(
            wire=self.model_request.wire,
            body=body,
            request=self.model_request,
            complete=complete,
            status=self.response.status_code,
        )

    def _read(self) -> tuple[dict[str, Any] | None, bool]:
        if self._is_events:
            return self._accumulator.finish(), self._accumulator.complete
        return read_body(b"".join(self._content))
