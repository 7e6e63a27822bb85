"""`wrap`: the same client with a stack under it.

The client is copied through its own `copy`, with an HTTP client whose transport runs the stack and sends
over the transports of the HTTP client that was there before: its proxies, pools and certificates stay in
use, and its headers, cookies, hooks and authentication are taken over.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

from ctxkit.errors import AttachError
from ctxkit.flow import Middleware
from ctxkit.stack import attached_to_model

C = TypeVar("C")
_LIBRARIES = ("httpx2", "httpx")
# What an HTTP client does around its transports; the options of its constructor go by the same names.
_OPTIONS = (
    "auth",
    "base_url",
    "cookies",
    "event_hooks",
    "follow_redirects",
    "max_redirects",
    "params",
    "timeout",
    "trust_env",
)


def wrap(client: C, stack: Middleware) -> C:
    """The same client with a stack under it.

    Args:
        client: An `anthropic.Anthropic`, `AsyncAnthropic`, `openai.OpenAI`, `AsyncOpenAI` or one of their
            kin for Bedrock, Vertex, Azure or Foundry; or an `httpx2` or `httpx` client, of either colour.
        stack: A middleware or a `Stack` of them.

    Returns:
        A client of the same type with the same options; of an HTTP client's subclass, only its library's
        own part. The one given still works, without the stack; closing either closes their shared
        connections.

    Raises:
        AttachError: The client can't be wrapped, or nothing of the stack wraps model calls.
    """
    made = attached_to_model(stack)
    library = _library_of(client)
    if library is not None:
        return _wrapped_http(client, made, library)  # type: ignore[no-any-return]
    http_client = getattr(client, "_client", None)
    library = _library_of(http_client)
    if library is None:
        raise _refused(client)
    wrapped = _wrapped_http(http_client, made, library)
    try:
        return client.copy(http_client=wrapped)  # type: ignore[attr-defined, no-any-return]
    except (AttributeError, TypeError) as error:
        raise _refused(client) from error


def _refused(client: object) -> AttachError:
    kind = type(client)
    return AttachError(
        f"a {kind.__module__}.{kind.__qualname__} can't be wrapped: give its HTTP client "
        f"transport=ctxkit.integrations.httpx2.Transport(stack), or wrap the function that calls it "
        f"with ctxkit.integrations.functions"
    )


def _library_of(client: object) -> ModuleType | None:
    """The HTTP library that a client is of; only libraries that are loaded can be it."""
    for name in _LIBRARIES:
        library = sys.modules.get(name)
        if library is not None and isinstance(client, (library.Client, library.AsyncClient)):
            return library
    return None


def _wrapped_http(client: Any, stack: Middleware, library: ModuleType) -> Any:
    """An HTTP client that does all that this one does, with the stack above its transports."""
    integration = import_module(f"ctxkit.integrations.{library.__name__}")
    awaits = isinstance(client, library.AsyncClient)
    kind = library.AsyncClient if awaits else library.Client
    transport = integration.AsyncTransport if awaits else integration.Transport
    inner = integration.AsyncClientTransport if awaits else integration.ClientTransport
    options = {name: getattr(client, name) for name in _OPTIONS}
    encoding = client._default_encoding
    wrapped = kind(transport=transport(stack, inner(client)), default_encoding=encoding, **options)
    # A constructor adds the default headers again that this client may have lost since.
    wrapped.headers.clear()
    wrapped.headers.update(client.headers)
    return wrapped
