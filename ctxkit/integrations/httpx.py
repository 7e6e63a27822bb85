"""Transports for every library that is built on `httpx`, such as SDKs of before 2026.

```python
import httpx
from ctxkit.integrations.httpx import Transport

client = httpx.Client(transport=Transport(stack))
```
"""

from __future__ import annotations

import httpx

from ctxkit.flow import Middleware
from ctxkit.integrations import _transport as shared
from ctxkit.integrations._http import Library


class _Content(shared.Content, httpx.SyncByteStream, httpx.AsyncByteStream):
    pass


class _EventStream(shared.EventStream, httpx.SyncByteStream):
    pass


class _AsyncEventStream(shared.AsyncEventStream, httpx.AsyncByteStream):
    pass


LIBRARY = Library(httpx.Request, httpx.Response, _Content)


class Transport(shared.Transport, httpx.BaseTransport):
    """A blocking transport that runs a stack around every model call.

    Args:
        stack: A middleware or a `Stack` of them.
        inner: The transport that really sends; a new `httpx.HTTPTransport` where left out.

    Raises:
        AttachError: Nothing of the stack wraps model calls.
    """

    _library = LIBRARY
    _events = _EventStream

    def __init__(self, stack: Middleware, inner: httpx.BaseTransport | None = None) -> None:
        super().__init__(stack, inner or httpx.HTTPTransport())


class AsyncTransport(shared.AsyncTransport, httpx.AsyncBaseTransport):
    """An awaiting transport that runs a stack around every model call.

    Args:
        stack: A middleware or a `Stack` of them.
        inner: The transport that really sends; a new `httpx.AsyncHTTPTransport` where left out.

    Raises:
        AttachError: Nothing of the stack wraps model calls.
    """

    _library = LIBRARY
    _events = _AsyncEventStream

    def __init__(self, stack: Middleware, inner: httpx.AsyncBaseTransport | None = None) -> None:
        super().__init__(stack, inner or httpx.AsyncHTTPTransport())


class ClientTransport(shared.ClientTransport, httpx.BaseTransport):
    """The transports of a client that is there already."""


class AsyncClientTransport(shared.AsyncClientTransport, httpx.AsyncBaseTransport):
    """The transports of an awaiting client that is there already."""
