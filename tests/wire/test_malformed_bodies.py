"""Whatever stands in a body or an event, reading it raises `BodyError` or nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.errors import BodyError
from ctxkit.messages import ModelResponse
from ctxkit.wire import wire_named, wire_of
from support.bodies import (
    ALL_WIRES,
    ANTHROPIC,
    GEMINI,
    IMAGE,
    IMAGE_URL,
    OPENAI,
    RESPONSES,
    answer_body,
    calls,
    of_body,
    results,
)
from support.recorded import events_of

JUNK: list[Any] = [None, True, 7, -1.5, "", "\ud83d", [], [7], [[]], {}, {"type": 7}, {"type": "text"}]
WORDS = [
    "messages",
    "role",
    "content",
    "type",
    "text",
    "tool_use",
    "tool_result",
    "tool_use_id",
    "id",
    "input",
    "name",
    "tools",
    "system",
    "thinking",
    "source",
    "data",
    "tool_calls",
    "function",
    "arguments",
    "tool",
    "tool_call_id",
    "usage",
    "choices",
    "message",
    "finish_reason",
    "citations",
    "index",
    "delta",
    "content_block",
    "message_start",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "text_delta",
    "input_json_delta",
    "citations_delta",
    "signature_delta",
    "user",
    "assistant",
    "stop_reason",
    "input_tokens",
    "iterations",
    "instructions",
    "output",
    "summary",
    "function_call",
    "function_call_output",
    "shell_call_output",
    "mcp_call",
    "namespace",
    "call_id",
    "item",
    "part",
    "response",
    "output_index",
    "content_index",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.function_call_arguments.delta",
    "contents",
    "parts",
    "candidates",
    "functionCall",
    "functionResponse",
    "partialArgs",
    "jsonPath",
    "willContinue",
    "usageMetadata",
]
SCALARS = st.sampled_from(WORDS) | st.sampled_from([None, True, 0, 7, -1.5, "\ud83d"])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=25,
)
OBJECTS = st.dictionaries(st.sampled_from(WORDS), JSON, max_size=6)

REQUESTS = {
    ANTHROPIC: {
        "model": "claude-sonnet-5",
        "system": [{"type": "text", "text": "s"}],
        "tools": [{"name": "ls", "input_schema": {}}],
        "messages": [
            {"role": "user", "content": [{"type": "document", "source": {"type": "text", "data": "d"}}]},
            calls(ANTHROPIC, "a", thinking="Hm."),
            *results(ANTHROPIC, {"a": [{"type": "text", "text": "x"}, IMAGE]}),
        ],
    },
    OPENAI: {
        "model": "gpt-4o",
        "tools": [{"type": "function", "function": {"name": "ls"}}],
        "functions": [{"name": "old"}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "x"}, IMAGE_URL]},
            {**calls(OPENAI, "a"), "reasoning": "Hm.", "function_call": {"name": "old", "arguments": "{}"}},
            *results(OPENAI, {"a": [{"type": "text", "text": "x"}, IMAGE_URL]}),
        ],
    },
    RESPONSES: {
        "model": "gpt-5",
        "instructions": "s",
        "tools": [{"type": "namespace", "name": "fs", "tools": [{"type": "function", "name": "ls"}]}],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "x"}, {"type": "input_image"}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "x"}]},
            {"type": "shell_call", "call_id": "b", "environment": {"type": "local"}, "action": {}},
            {"type": "shell_call_output", "call_id": "b", "output": [{"stdout": "x", "stderr": ""}]},
            {"type": "mcp_call", "id": "m", "name": "ask", "arguments": "{}", "output": "x"},
        ],
    },
    GEMINI: {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "tools": [{"functionDeclarations": [{"name": "ls"}]}, {"googleSearch": {}}],
        "contents": [
            {"role": "user", "parts": [{"text": "x"}, {"inlineData": {"mimeType": "image/png"}}]},
            {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {"path": "."}}}]},
            {"parts": [{"functionResponse": {"name": "ls", "response": {"output": "x"}, "parts": [{}]}}]},
        ],
    },
}
ANSWERS = {
    ANTHROPIC: answer_body(
        ANTHROPIC,
        content=[
            {"type": "text", "text": "x", "citations": [{"cited_text": "c"}]},
            *calls(ANTHROPIC, "a", thinking="Hm.")["content"],
            {"type": "fallback", "to": {"model": "m"}},
        ],
    ),
    OPENAI: answer_body(
        OPENAI,
        choices=[
            {"index": 0, "message": calls(OPENAI, "a"), "finish_reason": "stop", "logprobs": {"content": []}}
        ],
    ),
    RESPONSES: answer_body(
        RESPONSES,
        output=[
            {
                "type": "message",
                "content": [{"type": "output_text", "text": "x", "annotations": [{"type": "url_citation"}]}],
            },
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"},
        ],
    ),
    GEMINI: answer_body(
        GEMINI,
        candidates=[
            {
                "content": {
                    "parts": [
                        {"text": "x"},
                        {
                            "functionCall": {
                                "name": "ls",
                                "partialArgs": [{"jsonPath": "$.a[0]", "stringValue": "x"}],
                                "willContinue": True,
                            }
                        },
                    ]
                },
                "finishReason": "STOP",
            }
        ],
    ),
}


def with_junk(body: Any) -> Iterator[Any]:
    """The body with each of its parts replaced by each kind of junk, and with each of its parts left out."""
    children = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for key, value in children:
        for other in (*JUNK, *with_junk(value)):
            made = body.copy()
            made[key] = other
            yield made
        left = body.copy()
        del left[key]
        yield left


def read_request(wire: str, body: dict[str, Any]) -> None:
    """Read all that a request has; its body must stay what it was."""
    before = json.dumps(body)
    request = of_body(wire, body)
    with suppress(BodyError):
        list(request.blocks())
        request.with_result_texts(dict.fromkeys(request.tool_results(), "cut"))
    assert json.dumps(body) == before


def read_answer(wire: str, body: dict[str, Any]) -> None:
    """Read all that an answer has, and play it as events."""
    response = ModelResponse(wire_named(wire), body, of_body(wire, {}))
    for read in (
        lambda: response.usage,
        lambda: response.stop_reason,
        lambda: response.model,
        lambda: response.text,
        lambda: response.tool_calls,
        lambda: list(response.wire.events(body, {"stream_options": {"include_usage": True}})),
    ):
        with suppress(BodyError):
            read()


def feed(wire: str, events: list[Any]) -> None:
    """Feed events and read the answer that they make."""
    accumulator = wire_named(wire).accumulator()
    for event in events:
        with suppress(BodyError):
            accumulator.feed(event)
    read_answer(wire, accumulator.finish() or {})


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_any_part_of_a_request_may_be_junk(wire: str) -> None:
    for body in with_junk(REQUESTS[wire]):
        read_request(wire, body)
        wire_of(body)


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_any_part_of_an_answer_may_be_junk(wire: str) -> None:
    for body in with_junk(ANSWERS[wire]):
        read_answer(wire, body)


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_any_part_of_any_event_may_be_junk(wire: str) -> None:
    events = events_of(b"".join(wire_named(wire).events(ANSWERS[wire], {})))
    for place, event in enumerate(events):
        for junk in (*JUNK, *with_junk(event)):
            feed(wire, [*events[:place], junk, *events[place + 1 :]])


@given(st.sampled_from(ALL_WIRES), OBJECTS)
def test_any_json_may_be_a_request(wire: str, body: dict[str, Any]) -> None:
    read_request(wire, body)
    wire_of(body)


@given(st.sampled_from(ALL_WIRES), OBJECTS)
def test_any_json_may_be_an_answer(wire: str, body: dict[str, Any]) -> None:
    read_answer(wire, body)


@given(st.sampled_from(ALL_WIRES), st.lists(JSON, max_size=6))
def test_any_json_may_be_events(wire: str, events: list[Any]) -> None:
    feed(wire, events)


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_a_request_that_asks_for_nothing_is_read(wire: str) -> None:
    request = of_body(wire, {wire_named(wire).messages_key: [], "tools": None})
    assert (request.turns, request.tools, request.model) == ((), (), None)
