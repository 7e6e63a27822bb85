"""Recorded HTTP traffic as runs: its model calls alone, and of them only the bodies.

Headers, keys and addresses are looked at here and go no further.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from ctxkit.errors import BodyError
from ctxkit.transcripts import bodies
from ctxkit.transcripts._files import GZIP_MAGIC, Source
from ctxkit.transcripts._providers import PROVIDERS
from ctxkit.transcripts._runs import API_OF, Runs, pair
from ctxkit.transcripts.base import Transcript
from ctxkit.wire.framing import reader_for
from ctxkit.wire.native import loads
from ctxkit.wire.paths import Endpoint, endpoint_of
from ctxkit.wire.usage_fields import mapping

UNREADABLE = "the answer of a model call can't be read"


@dataclass(frozen=True, slots=True)
class Exchange:
    """An HTTP request and its answer.

    Attributes:
        line: Where it stands in its file.
        method: Such as `POST`.
        url: Its address.
        request: The content of the request.
        status: The HTTP status; `None` where there was no answer.
        answer: The content of the answer.
        content_type: Of the answer.
        when: When it was sent, as the file says.
    """

    line: int
    method: str
    url: str
    request: bytes
    status: int | None
    answer: bytes
    content_type: str
    when: Any = None


def runs(source: Source, exchanges: Iterable[Exchange], *, format: str) -> Iterator[Transcript]:
    """The runs that the model calls of a recording make up; every other request is passed over.

    A call that failed is left out, and an answer that can't be read is reported.
    """
    found = Runs()
    for exchange in exchanges:
        for one in _call(source, exchange):
            found.add(format, replace(one, id=source.name, format=format))
    yield from (transcript for transcript, _ in found.end(format))


def _call(source: Source, exchange: Exchange) -> Iterator[Transcript]:
    address = _address(exchange.url)
    endpoint = endpoint_of(unquote(address.path), address.query)
    request = mapping(_parsed(exchange.request))
    failed = exchange.status is None or exchange.status >= 400
    if exchange.method != "POST" or endpoint is None or failed or bodies.wire_name(request) is None:
        return
    answer = _answer(exchange, endpoint)
    if answer is None:
        source.skip(exchange.line, UNREADABLE)
    record = {
        "api": API_OF[endpoint.wire.name],
        "request": request,
        "response": answer,
        "model": endpoint.model,
        "provider": _provider(address.hostname or ""),
        "timestamp": exchange.when,
    }
    yield from pair(source, exchange.line, record)


def _address(url: str) -> SplitResult:
    """The parts of an address, none of them where it is none."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _answer(exchange: Exchange, endpoint: Endpoint) -> Mapping[str, Any] | None:
    """The body of an answer, put together where it was streamed; `None` where there is none to be read."""
    content = unpacked(exchange.answer)
    events = reader_for(exchange.content_type, endpoint.stream)
    if events is None:
        return mapping(_parsed(content)) or None
    accumulator = endpoint.wire.accumulator()
    for event in events.feed(content):
        accumulator.feed(event.data if event.data == "[DONE]" else _parsed(event.data))
    return accumulator.finish()


def unpacked(content: bytes) -> bytes:
    """What gzip packed, as it was before; everything else as it is."""
    if not content.startswith(GZIP_MAGIC):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        return b""


def _parsed(content: bytes | str) -> Any:
    try:
        return loads(content)
    except BodyError:
        return None


def _provider(host: str) -> str | None:
    """Who is asked, where a part of the host's name says so."""
    return next((part for part in reversed(host.split(".")) if part in PROVIDERS), None)
