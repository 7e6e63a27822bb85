"""The scripted model server: HTTP requests to answers of the script, and these to bytes."""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Iterable, Iterator
from types import TracebackType

from ctxkit.errors import ConfigError
from ctxkit.testing.answers import Answer, Script, failure, native
from ctxkit.testing.loopback import Listener, PreparedResponse, ReceivedRequest
from ctxkit.testing.other_calls import other_call, sdk_shape
from ctxkit.testing.playback import Content, Playback
from ctxkit.testing.prompt_cache import CacheRule
from ctxkit.testing.shapes import SHAPES, Shape
from ctxkit.wire import wire_for_path

EVENT_STREAM = "text/event-stream"


class ModelServer:
    """A server on loopback that answers model calls from a script, as Anthropic and OpenAI would.

    ```python
    with ModelServer([reply(tool_calls=[("search", {"query": "cats"})]), reply("Done.")]) as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="none")
    ```

    It serves `POST /v1/messages` and `POST /v1/chat/completions`, the latter for an OpenAI client with
    `base_url=f"{server.url}/v1"`, streamed where the request asks for it, and small answers to some calls
    that are no model call. A call that it can't answer gets a 500 that tells SDKs not to retry, and the
    reason is added to `errors`. It runs from its making until `close`, or as a context manager.

    Args:
        script: The answers, in the order of the calls; or a function of the request's body and the
            call's number.
        price_cache: Which `PromptCache` rule computed usage follows.
        chunk_size: Send answers in HTTP chunks of this many bytes; left out, a stream is sent event by
            event, and anything else in one piece with its length.
        gzip: Compress answers for clients that accept it.
        delay_seconds: How long to wait after each piece of an answer.

    Attributes:
        requests: Every request that arrived, in order.
        errors: What the server could not answer, one line each.

    Raises:
        ConfigError: `chunk_size` is below 1.
    """

    def __init__(
        self,
        script: Script,
        *,
        price_cache: CacheRule = True,
        chunk_size: int | None = None,
        gzip: bool = False,
        delay_seconds: float = 0.0,
    ) -> None:
        if chunk_size is not None and chunk_size < 1:
            raise ConfigError(f"chunk_size must be 1 or more, not {chunk_size}", option="chunk_size")
        self.requests: list[ReceivedRequest] = []
        self.errors: list[str] = []
        self._playback = Playback(script, price_cache=price_cache)
        self._chunk_size = chunk_size
        self._gzip = gzip
        self._delay_seconds = delay_seconds
        self._numbers = itertools.count(1)
        self._listener = Listener(self._respond, self.errors.append)

    @property
    def url(self) -> str:
        """Where it listens, such as `http://127.0.0.1:40123`."""
        return f"http://127.0.0.1:{self._listener.port}"

    def close(self) -> None:
        """Hang up on every client and free the port. Closing twice is allowed."""
        self._listener.close()

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _respond(self, request: ReceivedRequest) -> PreparedResponse:
        self.requests.append(request)
        wire = wire_for_path(request.path) if request.method == "POST" else None
        scripted = SHAPES.get(wire.name) if wire else None
        shape = scripted or sdk_shape(request)
        try:
            answer, content = self._played(request, scripted) if scripted else self._other_call(request)
            return self._prepared(request, answer, content, shape)
        except Exception as error:
            self.errors.append(f"{request.method} {request.path}: {error}")
            body = shape.error(500, str(error))
            return self._prepared(request, failure(500, headers={"x-should-retry": "false"}), body, shape)

    def _played(self, request: ReceivedRequest, shape: Shape) -> tuple[Answer, Content]:
        if not isinstance(request.json, dict):
            raise ValueError("the body of a model call must be a JSON object")
        return self._playback.play(request.json, shape)

    def _other_call(self, request: ReceivedRequest) -> tuple[Answer, Content]:
        body = other_call(request, count=self._playback.cache.count)
        return native(body), body

    def _prepared(
        self, request: ReceivedRequest, answer: Answer, content: Content, shape: Shape
    ) -> PreparedResponse:
        pieces, content_type = _written(answer, content, request, shape)
        number = f"req_{next(self._numbers)}"
        headers = {"content-type": content_type, "request-id": number, "x-request-id": number}
        headers.update({name.lower(): value for name, value in answer.headers.items()})
        if self._gzip and "gzip" in request.headers.get("accept-encoding", ""):
            pieces = list(_compressed(pieces))
            headers["content-encoding"] = "gzip"
        if self._chunk_size is not None:
            pieces = list(_cut(b"".join(pieces), self._chunk_size))
        return PreparedResponse(
            status=answer.status,
            headers=headers,
            pieces=pieces,
            chunked=self._chunk_size is not None or headers["content-type"].startswith(EVENT_STREAM),
            wait_seconds=answer.wait_seconds,
            delay_seconds=self._delay_seconds,
            after_bytes=answer.after_bytes,
        )


def _written(
    answer: Answer, content: Content, request: ReceivedRequest, shape: Shape
) -> tuple[list[bytes], str]:
    """The pieces of an answer's body, and its content type."""
    if isinstance(content, bytes):
        return [content], "application/octet-stream"
    if answer.status == 200 and isinstance(request.json, dict) and request.json.get("stream") is True:
        return list(shape.wire.events(content, request.json)), EVENT_STREAM
    return [json.dumps(content).encode()], "application/json"


def _compressed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of one gzip stream, each readable as soon as it has arrived."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    for piece in pieces:
        yield packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.flush()


def _cut(whole: bytes, size: int) -> Iterator[bytes]:
    return (whole[start : start + size] for start in range(0, len(whole), size))
