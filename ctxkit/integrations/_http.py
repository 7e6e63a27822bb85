"""What an HTTP transport of ctxkit does, for httpx2 and httpx alike.

The two libraries have the same classes under two names, so everything here takes the library as a value.
Only requests that are model calls are touched; their bytes are passed on as they are unless a middleware
changed something. Headers pass through, but for the length and the encoding of what was decoded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ctxkit.errors import AttachError, BodyError, CtxkitError, ModelCallFailed
from ctxkit.flow import Middleware
from ctxkit.messages import Histories, ModelRequest, ModelResponse
from ctxkit.stack import attached_to_model
from ctxkit.tasks import note_fault
from ctxkit.wire.framing import CONTENT_TYPES, reader_for, reframed
from ctxkit.wire.growing import GrowingBodies
from ctxkit.wire.native import body_object, dumps, loads
from ctxkit.wire.paths import Endpoint, endpoint_of, readdressed

PROVIDERS: Mapping[str, str] = {
    "api.anthropic.com": "anthropic",
    "api.openai.com": "openai",
    "openrouter.ai": "openrouter",
    "api.deepseek.com": "deepseek",
    "api.x.ai": "x-ai",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral",
}
# Hosts that name a region or a resource in front.
CLOUDS: Mapping[str, str] = {
    ".openai.azure.com": "azure",
    ".services.ai.azure.com": "azure",
    ".cognitiveservices.azure.com": "azure",
    ".amazonaws.com": "aws",
    "googleapis.com": "google",
}
_REWRITTEN = (b"content-length", b"content-encoding", b"transfer-encoding")
# Amazon's signature covers the body.
_SIGNED = "AWS4-"


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
        self.stack = attached_to_model(stack)
        self.library = library
        self.histories = Histories()
        self._bodies = GrowingBodies()

    def endpoint(self, request: Any) -> Endpoint | None:
        """What the URL of a model call says; `None` for every other request."""
        return _endpoint(request.url) if request.method == "POST" else None

    def model_request(self, request: Any, endpoint: Endpoint, raw: bytes) -> ModelRequest:
        """The model request that an HTTP request carries; one that can't be read is passed on as it is."""
        wire = endpoint.wire
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
            url_model=endpoint.model,
            url_stream=endpoint.stream,
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
        if request.headers.get("authorization", "").startswith(_SIGNED):
            raise AttachError("the request is signed, and a change would break its signature")
        headers = [(name, value) for name, value in request.headers.raw if name.lower() not in _REWRITTEN]
        return self.library.request(
            request.method,
            _readdressed(request.url, model_request),
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

    def failed(self, model_request: ModelRequest, response: Any) -> ModelCallFailed:
        """The error that stands for a response with an error status, read to its end."""
        try:
            body = loads(response.content)
        except BodyError:
            body = None
        native = self.unread(response, response.content)
        return ModelCallFailed(response.status_code, body, native=native, request=model_request)

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

    def replay(self, asked: ModelRequest, answer: ModelResponse) -> Iterator[bytes]:
        """A finished answer as the bytes of the event stream that the caller asked for."""
        return reframed(answer.wire.events(answer.body, asked.body), asked.url_stream or "sse")

    def stream_response(self, source: Any, response: Any, asked: ModelRequest) -> Any:
        """The HTTP response whose body is an event stream in the making."""
        if response is None:
            content_type = CONTENT_TYPES[asked.url_stream or "sse"]
            headers = [(b"content-type", content_type.encode())]
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
    clouds = (cloud for suffix, cloud in CLOUDS.items() if host.endswith(suffix))
    return PROVIDERS.get(host) or next(clouds, None)


def _endpoint(url: Any) -> Endpoint | None:
    return endpoint_of(url.path, url.query.decode())


def _readdressed(url: Any, model_request: ModelRequest) -> Any:
    """The URL of a request that may be meant for another model, or for an answer in one piece."""
    asked = _endpoint(url)
    model, stream = model_request.url_model, model_request.url_stream
    if asked is None or (asked.model, asked.stream) == (model, stream):
        return url
    spelled = None if model is None or model == asked.model else quote(model, safe=":@")
    target = readdressed(url.raw_path.decode(), model=spelled, stream=stream is not None)
    return url.copy_with(raw_path=target.encode())


def read_body(content: bytes) -> tuple[dict[str, Any], bool]:
    """The JSON object in an answer and whether there was one."""
    try:
        return body_object(loads(content)), True
    except BodyError:
        return {}, False


def for_caller(error: Exception) -> Exception:
    """An error of a middleware in a shape that an SDK passes on instead of retrying it as a lost connection.

    The SDKs raise what derives from their own root as it is (read from `anthropic` 2.14.0 and `openai`
    3.57.0 on 2026-11-30), so it is made again with the roots of the loaded SDKs among its bases.
    """
    roots = (("anthropic", "AnthropicError"), ("openai", "OpenAIError"))
    loaded = (getattr(sys.modules[module], name) for module, name in roots if module in sys.modules)
    missing = tuple(root for root in loaded if not isinstance(error, root))
    own = type(error)
    try:
        kind: Any = type(own.__name__, (own, *missing), {"__module__": own.__module__})
    except TypeError:
        return error
    # The constructor is left out, as nobody knows its arguments; what it set is copied.
    made = kind.__new__(kind, *error.__reduce__()[1])
    made.args = error.args
    vars(made).update(vars(error))
    made.__cause__ = error.__cause__
    return made.with_traceback(error.__traceback__)  # type: ignore[no-any-return]


class StreamReader:
    """Reads a streamed answer while its bytes pass by; whatever goes wrong here, the bytes still pass."""

    def __init__(self, model_request: ModelRequest, response: Any) -> None:
        self.model_request = model_request
        self.response = response
        content_type = response.headers.get("content-type", "text/event-stream")
        self._events = reader_for(content_type, model_request.url_stream)
        self._accumulator = model_request.wire.accumulator()
        self._content: list[bytes] = []

    def feed(self, data: bytes) -> None:
        """Take note of bytes that passed."""
        if self._events is None:
            self._content.append(data)
            return
        for event in self._events.feed(data):
            try:
                self._accumulator.feed(event.data if event.data == "[DONE]" else loads(event.data))
            except Exception as error:
                note_fault(f"{self.model_request.wire.name} stream: {type(error).__name__}", error)

    def finish(self) -> ModelResponse | None:
        """The answer from the bytes so far."""
        if self._events is not None:
            body, complete = self._accumulator.finish(), self._accumulator.complete
        else:
            body, complete = read_body(b"".join(self._content))
        if body is None:
            return None
        return ModelResponse(
            wire=self.model_request.wire,
            body=body,
            request=self.model_request,
            complete=complete,
            status=self.response.status_code,
        )
