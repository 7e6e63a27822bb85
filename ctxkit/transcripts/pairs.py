"""Recorded pairs of a request and what came back: `{request, response}`, or `{request, usage, ...}`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from ctxkit.transcripts import bodies
from ctxkit.transcripts._fields import measured, moment, objects
from ctxkit.transcripts._files import Source
from ctxkit.transcripts._providers import provider_of
from ctxkit.transcripts.base import RecordedRequest, Transcript
from ctxkit.usage import Usage
from ctxkit.wire.anthropic_messages import ANTHROPIC_MESSAGES
from ctxkit.wire.bedrock_converse import BEDROCK_CONVERSE
from ctxkit.wire.gemini import GEMINI
from ctxkit.wire.native import string
from ctxkit.wire.openai_chat import OPENAI_CHAT
from ctxkit.wire.openai_responses import OPENAI_RESPONSES
from ctxkit.wire.usage_fields import mapping

FORMAT = "pair"


class AnswerReader(Protocol):
    """What of a wire is needed here."""

    @property
    def name(self) -> str:
        """Such as `anthropic_messages`."""
        ...

    def usage(self, body: Mapping[str, Any]) -> Usage | None:
        """The usage that a response body reports."""
        ...

    def stop_reason(self, body: Mapping[str, Any]) -> str | None:
        """Why the answer ended."""
        ...


APIS: Mapping[str, AnswerReader] = {
    "messages": ANTHROPIC_MESSAGES,
    "invoke_anthropic": ANTHROPIC_MESSAGES,
    "chat": OPENAI_CHAT,
    "responses": OPENAI_RESPONSES,
    "responses_compact": OPENAI_RESPONSES,
    "generateContent": GEMINI,
    "converse": BEDROCK_CONVERSE,
}
BY_NAME: Mapping[str, AnswerReader] = {wire.name: wire for wire in APIS.values()}


def detect(record: Mapping[str, Any]) -> bool:
    """Whether a record holds a request and what came back."""
    return isinstance(record.get("request"), Mapping) and bool({"usage", "response"} & record.keys())


def read(source: Source) -> Iterator[Transcript]:
    """One transcript for each pair: the request's messages, then the answer."""
    for line, record in source.records():
        wire = _wire(record)
        if wire is not None and detect(record):
            yield _transcript(record, wire, path=source.path, line=line)
        else:
            source.skip(line, "not a model call with what came back")


def _wire(record: Mapping[str, Any]) -> AnswerReader | None:
    """The wire of a pair, told by its API or else from its request; `None` where tokens were only counted."""
    api = string(record.get("api")) or ""
    if api.lower().replace("_", "").endswith("tokens"):
        return None
    return APIS.get(api) or BY_NAME.get(bodies.wire_name(mapping(record.get("request"))) or "")


def _transcript(record: Mapping[str, Any], wire: AnswerReader, *, path: str, line: int) -> Transcript:
    request = mapping(record["request"])
    response = _response(record, wire.name)
    messages = bodies.messages_of(request, wire.name)
    model = string(request.get("model")) or string(record.get("model"))
    answered = RecordedRequest(
        input_messages=len(messages),
        usage=measured(wire.usage(response)),
        model=string(record.get("response_model")) or string(response.get("model")),
        stop_reason=string(record.get("stop_reason")) or wire.stop_reason(response),
        timestamp=moment(record.get("timestamp")),
        answer_id=string(response.get("id")),
    )
    return Transcript(
        id=str(record.get("id") or line),
        format=FORMAT,
        wire=wire.name,
        provider=provider_of(model, record.get("provider", bodies.HOSTS.get(wire.name))),
        model=model,
        system=bodies.system_of(request, wire.name),
        tools=bodies.tools_of(request, wire.name),
        messages=[*messages, *_answer(record, response, wire.name)],
        requests=(answered,),
        path=path,
        line=line,
    )


def _response(record: Mapping[str, Any], wire: str) -> Mapping[str, Any]:
    """The response body, or as much of one as the record's own usage makes."""
    usage_key = "usageMetadata" if wire == "gemini" else "usage"
    return mapping(record.get("response")) or {usage_key: record.get("usage")}


def _answer(record: Mapping[str, Any], response: Mapping[str, Any], wire: str) -> list[Any]:
    """What the model said, as messages of the wire; none where the record does not say."""
    said = objects(record.get("response_output")) or objects(_said(response, wire))
    if not said or wire == "openai_responses":
        return said
    if wire == "openai_chat":
        return said[:1]
    if wire == "gemini":
        return [{"role": "model", "parts": said}]
    return [{"role": "assistant", "content": said}]


def _said(response: Mapping[str, Any], wire: str) -> Any:
    if wire == "openai_chat":
        return [choice.get("message") for choice in objects(response.get("choices"))]
    if wire == "openai_responses":
        return response.get("output")
    if wire == "gemini":
        candidates = objects(response.get("candidates"))
        return mapping(candidates[0].get("content")).get("parts") if candidates else None
    if wire == "bedrock_converse":
        return mapping(mapping(response.get("output")).get("message")).get("content")
    return response.get("content")
