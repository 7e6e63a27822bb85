"""What of a native body may be written to a file: no credentials, and texts only as the user lets them be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

Redact = Callable[[str], str]

NOT_RECORDED = "[not recorded]"
# Where request bodies hold credentials, as those of hosted MCP servers.
SECRETS = frozenset({"api_key", "authorization", "authorization_token", "headers"})
ADDRESSES = frozenset({"file_uri", "file_url", "fileUri", "image_url", "server_url", "uri", "url"})
NO_TEXTS = ("data:", "http://", "https://")
# What a model or a tool fills in: its keys are nobody's protocol.
FILLED_IN = frozenset({"args", "arguments", "input", "response"})
# The protocol's own words, ids and encoded bytes, which are no texts.
WORDS = frozenset(
    {
        "anthropic_version", "call_id", "data", "detail", "effort", "encrypted_content", "enum", "file_data",
        "finish_reason", "finishReason", "format", "id", "media_type", "mime_type", "mimeType", "model",
        "modelVersion", "name", "object", "reasoning_effort", "required", "responseId", "role",
        "service_tier", "signature", "status", "stop_reason", "thoughtSignature", "tool_call_id",
        "tool_choice", "tool_use_id", "truncation", "ttl", "type", "verbosity",
    }
)  # fmt: skip


def cleaned(value: Any, redact: Redact | None = None, *, key: str = "", filled_in: bool = False) -> Any:
    """A native value without credentials, and with its texts redacted.

    Args:
        value: A part of a body, or all of it.
        redact: Gives what is written instead of a text; left out, texts stay.
        key: The key that the value stands under.
        filled_in: Whether a model or a tool filled it in: then every string of it is a text.
    """
    if isinstance(value, str):
        return _cleaned_string(value, redact, key, filled_in)
    if isinstance(value, list):
        return [cleaned(item, redact, key=key, filled_in=filled_in) for item in value]
    if not isinstance(value, dict):
        return value
    if filled_in or key == "properties":
        return {name: cleaned(item, redact, filled_in=filled_in) for name, item in value.items()}
    return {
        name: NOT_RECORDED
        if name in SECRETS
        else cleaned(item, redact, key=name, filled_in=_is_filled_in(name, item, value))
        for name, item in value.items()
    }


def _is_filled_in(name: str, value: Any, inside: dict[str, Any]) -> bool:
    """Whether a key is one of a call or a result, or holds a document that is plain text.

    The history of the Responses API is called `input`, too.
    """
    if name == "data":
        return inside.get("type") == "text"
    return name in FILLED_IN and not isinstance(value, list)


def _cleaned_string(value: str, redact: Redact | None, key: str, filled_in: bool) -> str:
    if not filled_in and key in ADDRESSES and value.startswith(NO_TEXTS):
        return value if value.startswith("data:") else _public(value)
    if redact is None or (key in WORDS and not filled_in):
        return value
    return redact(value)


def _public(url: str) -> str:
    """An address without what may let somebody in: its user and its query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return NOT_RECORDED
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
