"""Logs of Inspect in JSON: one transcript for each sample of an evaluation.

Source: `event/_model.py` of `inspect_ai` and recorded messages of its logs, read on 2026-11-30. Its `.eval`
files are archives and are not read; `inspect log convert` writes them as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ctxkit.transcripts import inspect_messages
from ctxkit.transcripts._fields import is_generated, measured, moment, objects, unmeasured_requests
from ctxkit.transcripts._files import Source
from ctxkit.transcripts._providers import provider_of
from ctxkit.transcripts.base import RecordedRequest, Transcript
from ctxkit.wire.native import string
from ctxkit.wire.usage_fields import mapping

FORMAT = "inspect"
WIRE = "openai_chat"
WITHOUT_TOOLS = "the tool definitions are not in this log"
ATTACHED = "attachment://"


def detect(record: Mapping[str, Any]) -> bool:
    """Whether a record is a whole log."""
    return isinstance(record.get("eval"), Mapping) and isinstance(record.get("samples"), list)


def read(source: Source) -> Iterator[Transcript]:
    """The samples of the log."""
    for line, record in source.records():
        model = string(mapping(record.get("eval")).get("model"))
        for sample in objects(record.get("samples")):
            if isinstance(sample.get("messages"), list):
                yield _transcript(sample, model, path=source.path, line=line)
            else:
                source.skip(line, f"sample {sample.get('id')} has no messages")


def _transcript(sample: Mapping[str, Any], model: str | None, *, path: str, line: int) -> Transcript:
    attached = mapping(sample.get("attachments"))
    native = objects(_with_attachments(sample["messages"], attached))
    events = [one for one in objects(sample.get("events")) if one.get("event") == "model"]
    tools = next((found for one in events if (found := objects(one.get("tools")))), [])
    requests = _requests(native, events) if events else unmeasured_requests(native, WIRE)
    epoch = sample.get("epoch", 1)
    return Transcript(
        id=f"{sample.get('id')}" if epoch == 1 else f"{sample.get('id')}~{epoch}",
        format=FORMAT,
        wire=WIRE,
        provider=provider_of(model),
        model=model,
        system=None,
        tools=inspect_messages.tools(_with_attachments(tools, attached)),
        messages=inspect_messages.messages(native),
        requests=requests,
        incomplete=None if tools else WITHOUT_TOOLS,
        path=path,
        line=line,
        meta={"model_usage": mapping(sample.get("model_usage"))},
    )


def _requests(
    messages: list[Mapping[str, Any]], events: list[Mapping[str, Any]]
) -> tuple[RecordedRequest, ...]:
    """The calls of the model, each before the answer that it gave in the sample's messages.

    What Inspect answered from its own cache was no call.
    """
    answers = [index for index, message in enumerate(messages) if is_generated(message)]
    places = answers if len(answers) == len(events) else [_sent(event, len(messages)) for event in events]
    placed = zip(events, places, strict=True)
    return tuple(_request(event, sent) for event, sent in placed if event.get("cache") != "read")


def _sent(event: Mapping[str, Any], most: int) -> int:
    return min(len(objects(event.get("input"))), most)


def _request(event: Mapping[str, Any], sent: int) -> RecordedRequest:
    output = mapping(event.get("output"))
    choices = objects(output.get("choices"))
    return RecordedRequest(
        input_messages=sent,
        usage=measured(inspect_messages.inspect_usage(output.get("usage"))),
        model=string(output.get("model")) or string(event.get("model")),
        stop_reason=string(choices[0].get("stop_reason")) if choices else None,
        timestamp=moment(event.get("completed", event.get("timestamp"))),
    )


def _with_attachments(value: Any, attached: Mapping[str, Any]) -> Any:
    """A value with the long texts that the log keeps apart."""
    if isinstance(value, str):
        return attached.get(value.removeprefix(ATTACHED), value) if value.startswith(ATTACHED) else value
    if isinstance(value, Mapping):
        return {key: _with_attachments(item, attached) for key, item in value.items()}
    return [_with_attachments(item, attached) for item in value] if isinstance(value, list) else value
