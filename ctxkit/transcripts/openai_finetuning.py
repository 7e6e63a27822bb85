"""Request bodies in the wrappers of OpenAI's files: preference fine-tuning and batches.

Supervised fine-tuning has no wrapper: its lines are bodies. Source: OpenAI's guide to direct preference
optimization, and `BatchRequestInput` of its OpenAPI description, read on 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ctxkit.transcripts import bodies
from ctxkit.transcripts._fields import objects
from ctxkit.transcripts._files import Record, Source
from ctxkit.transcripts.base import Transcript
from ctxkit.wire.usage_fields import mapping

FORMAT = "openai_file"


def detect(record: Mapping[str, Any]) -> bool:
    """Whether a record is a line of such a file."""
    return _body(record) is not None


def read(source: Source) -> Iterator[Transcript]:
    """One transcript for each line; of two answers to compare, the preferred one."""
    for line, record in source.records():
        body = _body(record)
        if body is None:
            source.skip(line, "not a line of a batch or of preference fine-tuning")
            continue
        for one in bodies.read(replace(source, outcomes=[Record(line, body)])):
            yield replace(one, format=FORMAT)


def _body(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The request body of a line, with the answer behind its messages where the line has one."""
    if "custom_id" in record and isinstance(record.get("body"), Mapping):
        return {**record["body"], "id": record["custom_id"]}
    if "preferred_output" in record and objects(mapping(record.get("input")).get("messages")):
        asked = record["input"]
        return {**asked, "messages": [*asked["messages"], *objects(record["preferred_output"])]}
    return None
