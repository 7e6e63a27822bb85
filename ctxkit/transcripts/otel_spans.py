"""OpenTelemetry's spans of generative AI: each call of a model, turned into chat messages.

Source: the `gen_ai` attributes of the semantic conventions and the JSON schemas of their messages, read on
2026-11-30. Spans often leave out what was sent and said; their usage counts all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ctxkit.transcripts._fields import measured, objects
from ctxkit.transcripts._files import Source
from ctxkit.transcripts._providers import provider_of
from ctxkit.transcripts._runs import Runs
from ctxkit.transcripts._spans import Span, is_export, parsed, spans_of
from ctxkit.transcripts.base import RecordedRequest, Transcript
from ctxkit.usage import Usage
from ctxkit.wire.native import string, text
from ctxkit.wire.usage_fields import count, inclusive, known

FORMAT = "otel"
WIRE = "openai_chat"
CALLS = frozenset({"call_llm", "chat", "generate_content", "text_completion"})
WITHOUT_MESSAGES = "what was sent is not in these spans"
WITHOUT_TOOLS = "the tool definitions are not in these spans"
FIRST = datetime.min.replace(tzinfo=UTC)


def otel_usage(attributes: Mapping[str, Any]) -> Usage | None:
    """The tokens of a span, whose `input_tokens` hold the cached ones too."""
    named = {
        name.removeprefix("gen_ai.usage."): value
        for name, value in attributes.items()
        if name.startswith("gen_ai.usage.")
    }
    written = max(count(named, "cache_write.input_tokens"), count(named, "cache_creation.input_tokens"))
    return inclusive(
        named,
        input_tokens=known(named.get("input_tokens")),
        output_tokens=known(named.get("output_tokens")),
        cache_read_tokens=count(named, "cache_read.input_tokens"),
        cache_write_tokens=written,
        reasoning_tokens=count(named, "reasoning.output_tokens"),
    )


def detect(record: Mapping[str, Any]) -> bool:
    """Whether a record holds spans."""
    return is_export(record)


def read(source: Source) -> Iterator[Transcript]:
    """The runs that the calls of each conversation, or else of each trace, make up."""
    calls = [
        span
        for line, record in source.records()
        for span in spans_of(line, record)
        if span.attributes.get("gen_ai.operation.name") in CALLS
    ]
    if not calls:
        source.skip(None, "spans without a model call")
    runs, names = Runs(), dict[str, None]()
    for span in sorted(calls, key=lambda one: one.started or FIRST):
        one = _transcript(span, source)
        names[one.id] = None
        runs.add(one.id, one)
    for name in names:
        yield from (transcript for transcript, _ in runs.end(name))


def _transcript(span: Span, source: Source) -> Transcript:
    named = span.attributes
    model = string(named.get("gen_ai.request.model"))
    messages = _messages(named.get("gen_ai.input.messages"))
    instructions = parsed(named.get("gen_ai.system_instructions"))
    if instructions:
        system = {"role": "system", "content": _text(objects(instructions)) or text(instructions)}
        messages = [system, *messages]
    tools = objects(parsed(named.get("gen_ai.tool.definitions")))
    answer = _messages(named.get("gen_ai.output.messages"))[:1] if messages else []
    name = string(named.get("gen_ai.conversation.id")) or span.trace or source.name
    missing = None if messages and tools else WITHOUT_TOOLS if messages else WITHOUT_MESSAGES
    return Transcript(
        id=name if messages else f"{name}~without messages",
        format=FORMAT,
        wire=WIRE,
        provider=provider_of(model, named.get("gen_ai.provider.name", named.get("gen_ai.system"))),
        model=model,
        system=None,
        tools=[_tool(tool) for tool in tools],
        messages=[*messages, *answer],
        requests=(replace(_request(span), input_messages=len(messages)),),
        incomplete=missing,
        path=source.path,
        line=span.line,
    )


def _request(span: Span) -> RecordedRequest:
    named = span.attributes
    reasons = parsed(named.get("gen_ai.response.finish_reasons"))
    return RecordedRequest(
        input_messages=0,
        usage=measured(otel_usage(named)),
        model=string(named.get("gen_ai.response.model")),
        stop_reason=string(reasons[0]) if isinstance(reasons, list) and reasons else None,
        timestamp=span.ended or span.started,
        answer_id=string(named.get("gen_ai.response.id")),
    )


def _messages(written: Any) -> list[dict[str, Any]]:
    return [message for native in objects(parsed(written)) for message in _chat_messages(native)]


def _chat_messages(native: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One message of the conventions as chat messages; one that is a chat message already, as it is."""
    if "parts" not in native:
        yield dict(native)
        return
    parts = objects(native["parts"])
    for part in parts:
        if part.get("type") == "tool_call_response":
            result = parsed(part.get("response", part.get("result")))
            yield {"role": "tool", "tool_call_id": part.get("id"), "content": text(result)}
    said, thought = _text(parts), _text(parts, kind="reasoning")
    calls = [_call(part) for part in parts if part.get("type") == "tool_call"]
    if said or calls or thought:
        message = {"role": native.get("role", "user"), "content": said}
        message |= {"reasoning_content": thought} if thought else {}
        yield {**message, "tool_calls": calls} if calls else message


def _text(parts: list[Mapping[str, Any]], *, kind: str = "text") -> str:
    return "\n".join(text(part.get("content")) for part in parts if part.get("type") == kind)


def _call(part: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": part.get("name"), "arguments": text(part.get("arguments"))}
    return {"id": part.get("id"), "type": "function", "function": function}


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A definition in the shape of chat messages; the conventions write its function without a wrapper."""
    if "function" in tool:
        return dict(tool)
    return {"type": "function", "function": {key: value for key, value in tool.items() if key != "type"}}
