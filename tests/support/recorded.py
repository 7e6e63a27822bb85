"""Recorded streams and answers of the shared data, which not every machine has."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ctxkit.wire.native import loads
from ctxkit.wire.sse import EventReader
from support.bodies import ANTHROPIC, GEMINI, OPENAI, RESPONSES

DATA = Path(__file__).parents[3] / "shared" / "data"
APIS = {
    "messages": ANTHROPIC,
    "chat": OPENAI,
    "invoke_anthropic": ANTHROPIC,
    "responses": RESPONSES,
    "generateContent": GEMINI,
}
TRUTH = (
    "anthropic_messages",
    "anthropic_vertex",
    "azure_openai",
    "bedrock",
    "google_gemini",
    "openai_chat",
    "openai_responses",
    "other_openai_compatible",
)


@cache
def lines(name: str) -> list[dict[str, Any]]:
    """The records of one file of the shared data; skips the test where it is not here."""
    path = DATA / f"{name}.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"{name} of the shared data is not here")
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def streams() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every recorded stream of a wire: the wire's name and the record."""
    for record in lines("sse/sse_bodies"):
        if record["api"] in APIS:
            yield APIS[record["api"]], record


def answers() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every recorded answer of a wire, put together as a response body."""
    for name in TRUTH:
        for record in lines(f"usage_truth/{name}"):
            if record["api"] in APIS and record["response_output"]:
                yield APIS[record["api"]], _body(record)


def fixtures(folder: str) -> Iterator[tuple[str, list[Any]]]:
    """Streams that an SDK's own tests hold, one event a line: the name and the events."""
    for record in lines("sse/vercel_ai_fixtures"):
        if f"packages/{folder}/" in record["name"] and record["kind"] == "chunks":
            yield record["name"], [json.loads(line) for line in record["body"].splitlines() if line]


def events_of(stream: bytes) -> list[Any]:
    """The events of a stream as JSON, `[DONE]` as text."""
    return [one.data if one.data == "[DONE]" else loads(one.data) for one in EventReader().feed(stream)]


def without_nulls(value: Any) -> Any:
    """JSON without the keys that are null: leaving one out and sending null mean the same."""
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


def _body(record: dict[str, Any]) -> dict[str, Any]:
    wire = APIS[record["api"]]
    output, stop_reason = record["response_output"], record["stop_reason"]
    if wire == GEMINI:
        content = {"role": "model", "parts": output}
        candidates = [{"content": content, "finishReason": stop_reason, "index": 0}]
        return {"candidates": candidates, "usageMetadata": record["usage"], "modelVersion": record["model"]}
    shared = {"id": "r", "model": record["model"], "usage": record["usage"]}
    if wire == RESPONSES:
        return {**shared, "object": "response", "status": stop_reason, "output": output}
    if wire == ANTHROPIC:
        message = {"type": "message", "role": "assistant", "content": output, "stop_sequence": None}
        return {**shared, **message, "stop_reason": stop_reason}
    choices = [
        {"index": index, "message": message, "finish_reason": stop_reason}
        for index, message in enumerate(output)
    ]
    return {**shared, "object": "chat.completion", "created": 1, "choices": choices}
