"""Plain request bodies and chat lists, as a program prints them: which wire, and where things stand in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ctxkit.transcripts._fields import is_generated, objects, unmeasured_requests
from ctxkit.transcripts._files import Source
from ctxkit.transcripts._providers import provider_of
from ctxkit.transcripts.base import RecordedRequest, Transcript
from ctxkit.wire import wire_of
from ctxkit.wire.native import string
from ctxkit.wire.usage_fields import mapping

FORMAT = "body"
BEDROCK_KEYS = frozenset({"inferenceConfig", "toolConfig", "additionalModelRequestFields"})
MESSAGES: Mapping[str, str] = {"openai_responses": "input", "gemini": "contents"}
SYSTEM: Mapping[str, str] = {"openai_responses": "instructions", "gemini": "systemInstruction"}
HOSTS: Mapping[str, str] = {"gemini": "google", "bedrock_converse": "aws"}


def detect(record: Mapping[str, Any]) -> bool:
    """Whether a record is a request body, or a chat list."""
    return wire_name(record) is not None


def read(source: Source) -> Iterator[Transcript]:
    """One transcript for each body, with the one request that it is.

    A chat list that ends with an answer stands for all the requests that led to it.
    """
    for line, record in source.records():
        wire = wire_name(record)
        if wire is None:
            source.skip(line, "not a request body")
            continue
        messages = messages_of(record, wire)
        model = string(record.get("model"))
        pending = (RecordedRequest(input_messages=len(messages)),)
        answered = bool(messages) and is_generated(messages[-1])
        yield Transcript(
            id=str(record.get("id") or line),
            format=FORMAT,
            wire=wire,
            provider=provider_of(model, HOSTS.get(wire)),
            model=model,
            system=system_of(record, wire),
            tools=tools_of(record, wire),
            messages=messages,
            requests=unmeasured_requests(messages, wire) if answered else pending,
            path=source.path,
            line=line,
        )


def wire_name(body: Mapping[str, Any]) -> str | None:
    """The wire of a request body, `None` where it is none."""
    if objects(body.get("contents")):
        return "gemini"
    if "input" in body and isinstance(body["input"], (str, list)) and "model" in body:
        return "openai_responses"
    messages = objects(body.get("messages"))
    if not any("role" in message for message in messages):
        return None
    if any("parts" in message for message in messages):
        return "gemini"
    if any("role" not in message for message in messages):
        return "openai_responses"
    if BEDROCK_KEYS & body.keys() or _has_untyped_parts(messages):
        return "bedrock_converse"
    wire = wire_of({**body, "messages": messages, "tools": objects(body.get("tools"))})
    return wire.name if wire else None


def messages_of(body: Mapping[str, Any], wire: str) -> list[Any]:
    """The native messages of a body; a prompt given as a string becomes one."""
    messages = body.get(MESSAGES.get(wire, "messages"), body.get("messages"))
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    return list(objects(messages))


def system_of(body: Mapping[str, Any], wire: str) -> Any:
    """The system prompt, where it is not in the messages."""
    return body.get(SYSTEM.get(wire, "system"), body.get("system_instruction"))


def tools_of(body: Mapping[str, Any], wire: str) -> list[Any]:
    """The native tool definitions."""
    holder = mapping(body.get("toolConfig")) if wire == "bedrock_converse" else body
    return list(objects(holder.get("tools"))) or list(objects(holder.get("functions")))


def _has_untyped_parts(messages: list[Mapping[str, Any]]) -> bool:
    parts = [part for message in messages for part in objects(message.get("content"))]
    return bool(parts) and not any("type" in part for part in parts)
