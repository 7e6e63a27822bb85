"""Transports for every library that is built on `httpx2`, such as the `anthropic` and `openai` SDKs.

```python
import httpx2
from ctxkit.integrations.httpx2 import Transport

client = httpx2.Client(transport=Transport(stack))
```
"""

from __future__ import annotations

import httpx2

from ctxkit.flow import Middleware
from ctxkit.integrations import _transport as shared
from ctxkit.integrations._http import Library


class _Content(shared.Content, httpx2.SyncByteStream, httpx2.AsyncByteStream):
    pass


class _EventStream(shared.EventStream, httpx2.SyncByteStream):
    pass


class _AsyncEventStream(shared.AsyncEventStream, httpx2.AsyncByteStream):
    pass


LIBRARY = Library(httpx2.Request, httpx2.Response, _Content)


class Transport(shared.Transport, httpx2.BaseTransport):
    """A blocking transport that runs a stack around every model call.

    Args:
        stack: A middleware or a `Stack` of them.
        inner: The transport that really sends; a new `httpx2.HTTPTransport` where left out.

    Raises:
        AttachError: Nothing of the stack wraps model calls.
    """

    _library = LIBRARY
    _events = _EventStream

    def __init__(self, stack: Middleware, inner: httpx2.BaseTransport | None = None) -> None:
        super().__init__(stack, inner or httpx2.HTTPTransport())


class AsyncTransport(shared.AsyncTransport, httpx2.AsyncBaseTransport):
    """An awaiting transport that runs a stack around every model call.

    Args:
        stack: A middleware or a `Stack` of them.
        inner: The transport that really sends; a new `httpx2.AsyncHTTPTransport` where left out.

    Raises:
        AttachError: Nothing of the stack wraps model calls.
    """

    _library = LIBRARY
    _events = _AsyncEventStream

    def __init__(self, stack: Middleware, inner: httpx2.AsyncBaseTransport | None = None) -> None:
        super().__init__(stack, inner or httpx2.AsyncHTTPTransport())


class ClientTransport(shared.ClientTransport, httpx2.BaseTransport):
    """The transports of a client that is there already."""


class AsyncClientTransport(shared.AsyncClientTransport, httpx2.AsyncBaseTransport):
    """The transports of an awaiting client that is there already."""
