"""The shared corpus: one transcript a line, in one of seven formats, with its requests beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxkit.transcripts import inspect_messages
from ctxkit.transcripts._fields import dollars, measured, objects, unmeasured_requests
from ctxkit.transcripts._files import Source
from ctxkit.transcripts._providers import provider_of
from ctxkit.transcripts.base import RecordedRequest, Transcript
from ctxkit.transcripts.codex import codex_usage
from ctxkit.transcripts.pi import pi_usage
from ctxkit.usage import Usage
from ctxkit.wire import usage_fields
from ctxkit.wire.native import string
from ctxkit.wire.usage_fields import known, mapping

FORMAT = "corpus"
INSPECT = "inspect-messages"
WIRES: Mapping[str, str] = {
    "anthropic-messages": "anthropic_messages",
    "openai-chat": "openai_chat",
    "openai-chat-functions": "openai_chat",
    "openai-responses": "openai_responses",
    "gemini-contents": "gemini",
    "bedrock-converse": "bedrock_converse",
    INSPECT: "openai_chat",
}
PLACEHOLDER_FAMILIES = "claude_code"  # their output is what stood there when the answer began


def detect(record: Mapping[str, Any]) -> bool:
    """Whether a record is a line of the corpus."""
    return {"id", "family", "format", "messages", "meta"} <= record.keys()


def read(source: Source) -> Iterator[Transcript]:
    """The transcripts of a file, one at a time."""
    for line, record in source.records():
        wire = WIRES.get(str(record.get("format")))
        messages = record.get("messages")
        if not detect(record) or wire is None or not isinstance(messages, list):
            source.skip(line, "not a line of the corpus: its format is unknown or it has no messages")
            continue
        yield _transcript(record, wire, messages, path=source.path, line=line)


def _transcript(
    record: Mapping[str, Any], wire: str, messages: Sequence[Any], *, path: str, line: int
) -> Transcript:
    meta = mapping(record["meta"])
    usage = record.get("usage")
    tools: Sequence[Any] = objects(record.get("tools"))
    if isinstance(usage, list):
        requests = tuple(_request(entry, record, len(messages)) for entry in objects(usage))
    else:
        requests = unmeasured_requests(messages, wire)
    if record["format"] == INSPECT:
        messages = inspect_messages.messages(messages)
        tools = inspect_messages.tools(tools)
    model = string(record.get("model"))
    return Transcript(
        id=str(record["id"]),
        format=FORMAT,
        wire=wire,
        provider=provider_of(model, meta.get("provider")),
        model=model,
        system=record.get("system"),
        tools=tools,
        messages=messages,
        requests=requests,
        incomplete=string(meta.get("incomplete")),
        path=path,
        line=line,
        meta={**meta, "family": record["family"]},
    )


def _request(entry: Mapping[str, Any], record: Mapping[str, Any], last: int) -> RecordedRequest:
    native = mapping(entry.get("usage"))
    sent = known(entry.get("input_messages", entry.get("message")))
    stop_reason = string(entry.get("stop_reason"))
    placeholder = str(record["family"]).startswith(PLACEHOLDER_FAMILIES) and stop_reason is None
    cost = entry.get("cost", native.get("cost"))
    return RecordedRequest(
        input_messages=last if sent is None else min(sent, last),
        usage=measured(_usage(native, str(record["format"]))),
        model=string(entry.get("model")),
        stop_reason=stop_reason,
        recorded_cost_usd=dollars(mapping(cost).get("total", cost)),
        output_known=not placeholder,
    )


def _usage(native: Mapping[str, Any], format: str) -> Usage | None:
    if "last_token_usage" in native:
        return codex_usage(native["last_token_usage"])
    if "cacheRead" in native:
        return pi_usage(native)
    shapes = {
        "anthropic-messages": usage_fields.anthropic,
        "openai-responses": usage_fields.openai_responses,
        "gemini-contents": usage_fields.gemini,
        "bedrock-converse": usage_fields.bedrock_converse,
        INSPECT: inspect_messages.inspect_usage,
    }
    return shapes.get(format, usage_fields.openai_chat)(native)
