"""Which paths of a URL are model calls, and what they say about one. No host is known here.

Any prefix is allowed, as gateways add their own: `/v1/messages`, `/proxy/v1/chat/completions`. Read from the
`anthropic` SDK 2.14.0, the `openai` SDK 3.57.0 and `google-genai` 3.6.1 on 2026-11-30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ctxkit.messages import Framing, Wire
from ctxkit.wire.anthropic_messages import ANTHROPIC_MESSAGES
from ctxkit.wire.gemini import GEMINI
from ctxkit.wire.openai_chat import OPENAI_CHAT
from ctxkit.wire.openai_responses import OPENAI_RESPONSES

# What is added to a thread of OpenAI's Assistants is a message, too, but no model call.
_MESSAGES = r"^(?!.*/threads/).*/messages$"
_BEDROCK = r"/model/(?P<model>.*\banthropic\..+)/invoke(?P<stream>-with-response-stream)?$"
_VERTEX_CLAUDE = (
    r"/publishers/anthropic/models/(?P<model>(?!count-tokens:)[^/:]+)"
    r":(?:rawPredict|(?P<stream>streamRawPredict))$"
)
_CHAT = r"(?:/deployments/(?P<model>[^/]+))?/chat/completions$"
_RESPONSES = r"(?:/deployments/(?P<model>[^/]+))?/responses$"
_GEMINI = (
    r"/(?:models|tunedModels|endpoints)/(?P<model>[^/:]+)"
    r":(?:generateContent|(?P<stream>streamGenerateContent))$"
)
_PATTERNS: Mapping[re.Pattern[str], Wire] = {
    re.compile(_MESSAGES): ANTHROPIC_MESSAGES,
    re.compile(_BEDROCK): ANTHROPIC_MESSAGES,
    re.compile(_VERTEX_CLAUDE): ANTHROPIC_MESSAGES,
    re.compile(_CHAT): OPENAI_CHAT,
    re.compile(_RESPONSES): OPENAI_RESPONSES,
    re.compile(_GEMINI): GEMINI,
}
SERVER_SENT = "alt=sse"
# What asks for a stream, and what stands in its place where the answer is to come in one piece.
_IN_ONE_PIECE: Mapping[str, str] = {
    "-with-response-stream": "",
    "streamRawPredict": "rawPredict",
    "streamGenerateContent": "generateContent",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What the URL of a model call says.

    Attributes:
        wire: The wire of the request and of its answer.
        model: The model, or Azure's deployment, where the path names it.
        stream: How a stream's events stand in its bytes, where it asks for one; the body may ask, too.
    """

    wire: Wire
    model: str | None = None
    stream: Framing | None = None


def endpoint_of(path: str, query: str = "") -> Endpoint | None:
    """What a URL says, `None` where a POST to it is no model call.

    Counting tokens, batches and compaction are none. Bedrock is known where the model's name says that it is
    Anthropic's; its Converse API is not.
    """
    for pattern, wire in _PATTERNS.items():
        if match := pattern.search(path):
            said = match.groupdict()
            return Endpoint(wire, said.get("model"), _framing(said.get("stream"), query))
    return None


def _framing(asked: str | None, query: str) -> Framing | None:
    if asked is None:
        return None
    if asked == "streamGenerateContent" and SERVER_SENT not in query.split("&"):
        return "json"
    return "aws" if asked == "-with-response-stream" else "sse"


def wire_for_path(path: str) -> Wire | None:
    """The wire of a URL path, `None` where a POST to it is no model call."""
    endpoint = endpoint_of(path)
    return None if endpoint is None else endpoint.wire


def readdressed(target: str, *, model: str | None = None, stream: bool) -> str:
    """The path and query of the same call to another model, or of one that asks for no stream.

    Args:
        target: A path and query that name a model, percent-encoded.
        model: The model, percent-encoded; left out, it stays.
        stream: Whether a streamed answer is asked for, if it was.
    """
    path, _, query = target.partition("?")
    (match,) = (match for pattern in _PATTERNS if (match := pattern.search(path)))
    asked = match.groupdict().get("stream")
    if asked and not stream:
        path = path.removesuffix(asked) + _IN_ONE_PIECE[asked]
        query = "&".join(part for part in query.split("&") if part != SERVER_SENT)
    if model is not None:
        path = path[: match.start("model")] + model + path[match.end("model") :]
    return f"{path}?{query}" if query else path
