"""Recorded pairs of a request and what came back: `{request, response}`, or `{request, usage}`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ctxkit.transcripts import bodies
from ctxkit.transcripts._fields import measured, moment, objects
from ctxkit.transcripts._files import Source
from ctxkit.transcripts._providers import provider_of
from ctxkit.transcripts.base import RecordedRequest, Transcript
from ctxkit.usage import Usage
from ctxkit.wire import usage_fields
from ctxkit.wire.native import string
from ctxkit.wire.usage_fields import mapping

FORMAT = "pair"
WIRES: Mapping[str, str] = {
    "messages": "anthropic_messages",
    "invoke_anthropic": "anthropic_messages",
    "chat": "openai_chat",
    "responses": "openai_responses",
    "responses_compact": "openai_responses",
    "generateContent": "gemini",
    "converse": "bedrock_converse",
}


def detect(record: Mapping[str, Any]) -> bool:
    """Whether a record holds a request and what came back."""
    return isinstance(record.get("request"), Mapping) and bool({"usage", "response"} & record.keys())


def read(source: Source) -> Iterator[Transcript]:
    """One transcript for each pair: the request's messages, then the answer."""
    for line, record in source.records():
        request = mapping(record.get("request"))
        api = string(record.get("api"))
        wire = bodies.wire_name(request) if api is None else WIRES.get(api)
        if not detect(record) or wire is None:
            source.skip(line, "not a model call with its answer" if api is None else f"{api} is no model call")
        else:
            yield _transcript(record, request, wire, path=source.path, line=line)


def _transcript(
    record: Mapping[str, Any], request: Mapping[str, Any], wire: str, *, path: str, line: int
) -> Transcript:
    messages = bodies.messages_of(request, wire)
    model = string(request.get("model")) or string(record.get("model"))
    response = mapping(record.get("response"))
    answered_by = string(record.get("response_model")) or string(response.get("model"))
    answer = RecordedRequest(
        input_messages=len(messages),
        usage=measured(_usage(record, response, wire)),
        model=answered_by,
        stop_reason=string(record.get("stop_reason")) or string(response.get("stop_reason")),
        timestamp=moment(record.get("timestamp")),
    )
    return Transcript(
        id=str(record.get("id", line)),
        format=FORMAT,
        wire=wire,
        provider=provider_of(model or answered_by, record.get("provider") or bodies.HOSTS.get(wire)),
        model=model,
        system=bodies.system_of(request, wire),
        tools=bodies.tools_of(request, wire),
        messages=[*messages, *_answers(record, response, wire)],
        requests=(answer,),
        path=path,
        line=line,
    )
