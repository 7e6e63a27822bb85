"""Streams as real providers sent them accumulate to what their recordings, or the SDKs, make of them."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.wire import wire_named
from ctxkit.wire.sse import encode
from support.bodies import ANTHROPIC, GEMINI, OPENAI, RESPONSES
from support.recorded import events_of, fixtures, streams, without_nulls
from support.sdks import of_anthropic, of_openai, of_responses


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


def parts_said(parts: list[Any]) -> tuple[str, list[Any]]:
    """What of Gemini's parts stays the same however a text is cut into pieces."""
    return "".join(part.get("text", "") for part in parts), [part for part in parts if "text" not in part]


def output(wire: str, body: dict[str, Any]) -> Any:
    if wire == GEMINI:
        return parts_said(body["candidates"][0]["content"]["parts"])
    if wire == OPENAI:
        return [said(choice["message"]) for choice in body["choices"]]
    return without_nulls(body["output" if wire == RESPONSES else "content"])


def expected_output(wire: str, record: dict[str, Any]) -> Any:
    made = record["expected"]["output"]
    if wire == GEMINI:
        return parts_said(made)
    return [said(message) for message in made] if wire == OPENAI else without_nulls(made)


def reported(wire: str, body: dict[str, Any]) -> Any:
    return without_nulls(body["usageMetadata" if wire == GEMINI else "usage"])


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
        assert reported(wire, body) == without_nulls(record["expected"]["usage"]), record["id"]
        assert wire_named(wire).stop_reason(body) == record["expected"]["stop_reason"], record["id"]
        if record["id"] not in TRUNCATED_BY_THEIR_READER:
            assert output(wire, body) == expected_output(wire, record), record["id"]
    assert seen > 100


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


def test_recorded_responses_that_break_off_keep_what_their_items_said() -> None:
    """The event that ends a stream holds the whole answer; without it, the items are what is left."""
    for wire, record in streams():
        if wire != RESPONSES:
            continue
        events = [event for event in events_of(record["body"].encode()) if isinstance(event, dict)]
        whole, _ = accumulated(wire, events)
        ended = [event["type"] for event in events].index("response.completed")
        body, complete = accumulated(wire, events[:ended])
        assert not complete, record["id"]
        assert [item["type"] for item in body["output"]] == [item["type"] for item in whole["output"]]
        assert spoken(body) == spoken(whole), record["id"]
        deltas = [event for event in events[:ended] if not event["type"].endswith("output_item.done")]
        body, _ = accumulated(wire, deltas)
        assert spoken(body) == spoken(whole), record["id"]


def spoken(body: dict[str, Any]) -> list[Any]:
    """What the items of a response say and call."""
    return [
        (
            item.get("arguments") if item["type"] == "function_call" else None,
            [part["text"] for key in ("summary", "content") for part in item.get(key) or []],
        )
        for item in body["output"]
    ]


def test_openais_recorded_responses_accumulate_to_what_its_sdk_makes_of_them() -> None:
    """Other providers leave out events that the SDK insists on."""
    for wire, record in streams():
        if wire == RESPONSES and record["provider"] in ("openai", "azure-openai"):
            body, _ = accumulated(wire, events_of(record["body"].encode()))
            theirs = of_responses(record["body"].encode())
            assert [item["type"] for item in body["output"]] == [item["type"] for item in theirs["output"]]
            assert spoken(body) == spoken(theirs), record["id"]


# Its answer failed before it said anything.
SAYS_NOTHING = "openai-error"


def test_recorded_answers_with_built_in_tools_are_read_block_by_block() -> None:
    seen = 0
    for name, events in fixtures("openai"):
        if "/responses/" not in name or SAYS_NOTHING in name:
            continue
        body, complete = accumulated(RESPONSES, events)
        blocks = wire_named(RESPONSES).answer(body)
        seen += 1
        assert complete, name
        assert blocks, name
        assert {block.native["type"] for block in blocks if block.kind == "other"} <= {"mcp_approval_request"}
        for block in blocks:
            if block.kind == "tool_result":
                assert not block.client, name
    assert seen > 20


def test_arguments_that_vertex_streams_piece_by_piece_are_put_together() -> None:
    for name, events in fixtures("google"):
        if "stream-tool-call-arguments-nested" in name:
            body, complete = accumulated(GEMINI, events)
            (part,) = body["candidates"][0]["content"]["parts"]
            recipe = part["functionCall"]["args"]["recipe"]
            assert complete
            assert part["functionCall"].keys() == {"name", "args"}
            assert (
                part["thoughtSignature"]
                == events[0]["candidates"][0]["content"]["parts"][0]["thoughtSignature"]
            )
            assert recipe["name"] == "Lasagna"
            assert recipe["ingredients"][0] == {"amount": "16 oz", "name": "Lasagna noodles"}
            assert [len(recipe["ingredients"]), len(recipe["steps"])] == [10, 10]
            return
    pytest.fail("the recording is not among the fixtures")
