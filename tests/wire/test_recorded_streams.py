"""Streams as real providers sent them accumulate to what their recordings, or the SDKs, make of them."""

from __future__ import annotations

from typing import Any

import pytest
from support.bodies import ANTHROPIC, OPENAI
from support.recorded import events_of, fixtures, streams, without_nulls
from support.sdks import of_anthropic, of_openai

from ctxkit.wire import wire_named
from ctxkit.wire.sse import encode


def accumulated(wire: str, events: list[Any]) -> tuple[dict[str, Any], bool]:
    accumulator = wire_named(wire).accumulator()
    for event in events:
        accumulator.feed(event)
    return accumulator.finish() or {}, accumulator.complete


def said(message: dict[str, Any]) -> tuple[Any, ...]:
    """What of an OpenAI message every recording kept: providers add fields of their own."""
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content)
    calls = [
        (call["id"], call["function"]["name"], call["function"]["arguments"] or "")
        for call in message.get("tool_calls") or []
    ]
    return message["role"], content, message.get("reasoning"), calls


def output(wire: str, body: dict[str, Any]) -> list[Any]:
    if wire == ANTHROPIC:
        return [without_nulls(block) for block in body["content"]]
    return [said(choice["message"]) for choice in body["choices"]]


def expected_output(wire: str, record: dict[str, Any]) -> list[Any]:
    made = record["expected"]["output"]
    return (
        [without_nulls(block) for block in made] if wire == ANTHROPIC else [said(message) for message in made]
    )


# Their recordings' readers lost what stood in the same chunk as the last of the thinking.
TRUNCATED_BY_THEIR_READER = {"sse-1d2283a157"}


def test_recorded_streams_accumulate_to_their_usage_their_end_and_their_output() -> None:
    seen = 0
    for wire, record in streams():
        body, complete = accumulated(wire, events_of(record["body"].encode()))
        if record["expected"] is None:
            assert "usage" not in body, record["id"]
            continue
        seen += 1
        assert complete, record["id"]
        assert without_nulls(body["usage"]) == without_nulls(record["expected"]["usage"]), record["id"]
        assert wire_named(wire).stop_reason(body) == record["expected"]["stop_reason"], record["id"]
        if record["id"] not in TRUNCATED_BY_THEIR_READER:
            assert output(wire, body) == expected_output(wire, record), record["id"]
    assert seen > 50


def test_anthropics_recorded_streams_accumulate_to_what_its_sdk_makes_of_them() -> None:
    """Files that hold several answers in a row are left out: the SDK never sees two in one stream."""
    for name, events in fixtures("anthropic"):
        if [event["type"] for event in events].count("message_start") > 1:
            continue
        body, complete = accumulated(ANTHROPIC, events)
        stream = b"".join(encode(event, name=event["type"]) for event in events)
        assert complete, name
        assert without_nulls(body) == without_nulls(of_anthropic(stream)), name


def test_a_stream_that_starts_over_is_its_second_answer() -> None:
    for name, events in fixtures("anthropic"):
        if "spliced-message-start" in name:
            body, _ = accumulated(ANTHROPIC, events)
            assert body["id"] == "msg_second"
            assert [block.get("input") for block in body["content"]] == [None, {"value": "Sparkle Day"}]
            return
    pytest.fail("the recording is not among the fixtures")


def test_openais_recorded_streams_accumulate_to_what_its_sdk_makes_of_them() -> None:
    for name, events in fixtures("openai"):
        if "/chat/" not in name:
            continue
        body, complete = accumulated(OPENAI, events)
        stream = b"".join(encode(event) for event in [*events, "[DONE]"])
        theirs = of_openai(stream)
        assert complete, name
        assert body["usage"] == theirs["usage"], name
        assert output(OPENAI, body) == output(OPENAI, theirs), name
