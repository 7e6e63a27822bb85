"""Tripwires: what the installed SDKs know of block types, items, events and ends is known to the wires, too.

A test that fails here says that an SDK has learned a word. Decide what the wire makes of it, and add it.
"""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types.beta import (
    BetaContentBlock,
    BetaContentBlockParam,
    BetaRawContentBlockDelta,
    BetaRawMessageStreamEvent,
    BetaStopReason,
    BetaToolUnionParam,
)
from openai.types.chat import ChatCompletionContentPartParam, ChatCompletionMessageParam
from openai.types.chat.chat_completion import Choice
from openai.types.responses import (
    Response,
    ResponseInputContent,
    ResponseInputItem,
    ResponseOutputItem,
    ResponseStreamEvent,
    Tool,
)
from openai.types.responses.response import IncompleteDetails

from ctxkit.messages import Block
from ctxkit.wire import wire_named
from support.bodies import ANTHROPIC, GEMINI, OPENAI, RESPONSES, request_of
from support.sdk_types import fields, kinds, members, words


def first_block(wire: str, message: Any) -> Block:
    return next(iter(request_of(wire, [message]).blocks()))


def made(wire: str, *events: Any) -> Any:
    accumulator = wire_named(wire).accumulator()
    for event in events:
        accumulator.feed(event)
    return accumulator.finish()


# Read as `other`: files of a container, a summary, marks of what the provider did.
KEPT_BY_ANTHROPIC = {"compaction", "container_upload", "fallback", "tool_addition", "tool_removal"}


@pytest.mark.parametrize("kind", sorted(kinds(BetaContentBlock) | kinds(BetaContentBlockParam)))
def test_every_block_type_of_anthropic_is_known(kind: str) -> None:
    block = first_block(ANTHROPIC, {"role": "assistant", "content": [{"type": kind}]})
    assert (block.kind == "other") == (kind in KEPT_BY_ANTHROPIC)
    assert block.client == (kind in ("tool_use", "tool_result"))


DELTAS = {
    "text_delta": {"text": "x"},
    "input_json_delta": {"partial_json": '{"a": 1}'},
    "citations_delta": {"citation": {"cited_text": "x"}},
    "thinking_delta": {"thinking": "x"},
    "signature_delta": {"signature": "x"},
    "compaction_delta": {"content": "x"},
}


@pytest.mark.parametrize("kind", sorted(kinds(BetaRawContentBlockDelta)))
def test_every_delta_of_anthropic_says_something(kind: str) -> None:
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "?"}}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": kind, **DELTAS[kind]}}
    assert made(ANTHROPIC, start, delta) != made(ANTHROPIC, start)


def test_the_events_the_ends_and_the_tools_of_anthropic_are_those_that_were_read() -> None:
    assert kinds(BetaRawMessageStreamEvent) == {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    }
    assert words(BetaStopReason) == {
        "end_turn",
        "max_tokens",
        "stop_sequence",
        "tool_use",
        "pause_turn",
        "compaction",
        "refusal",
        "model_context_window_exceeded",
    }


@pytest.mark.parametrize("kind", sorted(kinds(BetaToolUnionParam) - {"mcp_toolset"}))
def test_a_tool_of_anthropic_without_a_name_is_a_set_that_goes_by_its_family(kind: str) -> None:
    (named,) = (one for one in members(BetaToolUnionParam) if kind in kinds(one))
    (block,) = request_of(ANTHROPIC, [], tools=[{"type": kind}]).tools
    assert "name" in fields(named) or block.tool == kind.split("_")[0]


# Read as `other`: summaries, marks and approvals.
KEPT_BY_RESPONSES = {
    "compaction",
    "compaction_trigger",
    "configuration_update",
    "item_reference",
    "mcp_approval_request",
    "mcp_approval_response",
}
CLIENT_CALLS = {
    "apply_patch_call",
    "computer_call",
    "custom_tool_call",
    "function_call",
    "local_shell_call",
    "shell_call",
}
SERVER_CALLS = {
    "code_interpreter_call",
    "file_search_call",
    "image_generation_call",
    "mcp_call",
    "program",
    "tool_search_call",
    "web_search_call",
}
SERVER_RESULTS = {"program_output", "tool_search_output"}


@pytest.mark.parametrize("kind", sorted(kinds(ResponseOutputItem) | kinds(ResponseInputItem)))
def test_every_item_type_of_responses_is_known(kind: str) -> None:
    block = first_block(RESPONSES, {"type": kind, "role": "user", "content": "x"})
    assert (block.kind == "other") == (kind in KEPT_BY_RESPONSES)
    assert (block.kind == "tool_call") == (kind in CLIENT_CALLS | SERVER_CALLS)
    results = {f"{call}_output" for call in CLIENT_CALLS}
    assert (block.kind == "tool_result") == (kind in results | SERVER_RESULTS)
    assert block.client == (kind in CLIENT_CALLS | results)


@pytest.mark.parametrize("kind", sorted(kinds(ResponseInputContent) | {"output_text", "refusal"}))
def test_every_part_of_a_response_item_is_known(kind: str) -> None:
    assert first_block(RESPONSES, {"role": "user", "content": [{"type": kind}]}).kind != "other"


LIFECYCLE = {"created", "queued", "in_progress", "completed", "incomplete", "failed"}
GROWTH = {
    "output_item.added": {"item": {"type": "message"}},
    "output_item.done": {"item": {"type": "message"}},
    "content_part.added": {"part": {"type": "output_text"}},
    "content_part.done": {"part": {"type": "output_text"}},
    "reasoning_summary_part.added": {"part": {"type": "summary_text"}},
    "reasoning_summary_part.done": {"part": {"type": "summary_text"}},
    "output_text.delta": {"delta": "x"},
    "output_text.done": {"text": "x"},
    "refusal.delta": {"delta": "x"},
    "refusal.done": {"refusal": "x"},
    "reasoning_text.delta": {"delta": "x"},
    "reasoning_text.done": {"text": "x"},
    "reasoning_summary_text.delta": {"delta": "x"},
    "reasoning_summary_text.done": {"text": "x"},
    "function_call_arguments.delta": {"delta": "x"},
    "function_call_arguments.done": {"arguments": "x"},
    "mcp_call_arguments.delta": {"delta": "x"},
    "mcp_call_arguments.done": {"arguments": "x"},
    "custom_tool_call_input.delta": {"delta": "x"},
    "custom_tool_call_input.done": {"input": "x"},
    "code_interpreter_call_code.delta": {"delta": "x"},
    "code_interpreter_call_code.done": {"code": "x"},
}
# How far a built-in tool is, and what an item says itself once it is done.
PASSED_OVER = {
    "audio.delta",
    "audio.done",
    "audio.transcript.delta",
    "audio.transcript.done",
    "code_interpreter_call.completed",
    "code_interpreter_call.in_progress",
    "code_interpreter_call.interpreting",
    "compaction.compacting",
    "file_search_call.completed",
    "file_search_call.in_progress",
    "file_search_call.searching",
    "image_generation_call.completed",
    "image_generation_call.generating",
    "image_generation_call.in_progress",
    "image_generation_call.partial_image",
    "mcp_call.completed",
    "mcp_call.failed",
    "mcp_call.in_progress",
    "mcp_list_tools.completed",
    "mcp_list_tools.failed",
    "mcp_list_tools.in_progress",
    "output_text.annotation.added",
    "shell_call_command.added",
    "shell_call_command.delta",
    "shell_call_command.done",
    "shell_call_output_content.delta",
    "shell_call_output_content.done",
    "web_search_call.completed",
    "web_search_call.in_progress",
    "web_search_call.searching",
}


def test_the_events_of_responses_are_those_that_were_read() -> None:
    known = {f"response.{name}" for name in LIFECYCLE | GROWTH.keys() | PASSED_OVER}
    assert kinds(ResponseStreamEvent) == {*known, "error"}


@pytest.mark.parametrize("name", GROWTH)
def test_every_event_that_adds_to_a_response_says_something(name: str) -> None:
    place = {"output_index": 0, "content_index": 0, "summary_index": 0}
    assert made(RESPONSES, {"type": f"response.{name}", **place, **GROWTH[name]})


@pytest.mark.parametrize("name", sorted(PASSED_OVER))
def test_every_event_that_is_passed_over_changes_nothing(name: str) -> None:
    assert made(RESPONSES, {"type": f"response.{name}", "output_index": 0, "delta": "x"}) is None


def test_the_ends_and_the_tools_of_responses_are_those_that_were_read() -> None:
    assert kinds(Response, "status") == {
        "completed",
        "failed",
        "in_progress",
        "cancelled",
        "queued",
        "incomplete",
    }
    assert kinds(IncompleteDetails, "reason") == {
        "max_output_tokens",
        "max_messages",
        "content_filter",
        "steered",
    }
    assert kinds(Tool) == {
        "apply_patch",
        "code_interpreter",
        "computer",
        "computer_use_preview",
        "custom",
        "file_search",
        "function",
        "image_generation",
        "local_shell",
        "mcp",
        "namespace",
        "programmatic_tool_calling",
        "shell",
        "tool_search",
        "web_search",
        "web_search_2025_08_26",
        "web_search_preview",
        "web_search_preview_2025_03_11",
    }


@pytest.mark.parametrize("kind", sorted(kinds(ChatCompletionContentPartParam) | {"refusal"}))
def test_every_part_of_a_chat_message_is_known(kind: str) -> None:
    assert first_block(OPENAI, {"role": "user", "content": [{"type": kind}]}).kind != "other"


@pytest.mark.parametrize("role", sorted(kinds(ChatCompletionMessageParam, "role")))
def test_every_role_of_a_chat_is_known(role: str) -> None:
    assert first_block(OPENAI, {"role": role, "content": "x"}).kind != "other"


def test_the_ends_of_a_chat_are_those_that_were_read() -> None:
    ends = {"stop", "length", "tool_calls", "content_filter", "function_call"}
    assert kinds(Choice, "finish_reason") == ends


# What stands beside the one field of a part that says what it is.
BESIDE = {
    "audioMetadata",
    "audioTranscription",
    "documentMetadata",
    "mediaProcessing",
    "mediaResolution",
    "partMetadata",
    "speechMetadata",
    "spreadsheetMetadata",
    "thought",
    "thoughtSignature",
    "videoMetadata",
}


def test_every_field_of_a_part_and_every_end_of_gemini_is_known() -> None:
    types = pytest.importorskip("google.genai.types")
    aliases = {field.alias for field in types.Part.model_fields.values()}
    for alias in aliases - BESIDE:
        content = "x" if alias == "text" else {}
        assert first_block(GEMINI, {"role": "model", "parts": [{alias: content}]}).kind != "other"
    assert aliases > BESIDE
    assert {reason.name for reason in types.FinishReason} == {
        "FINISH_REASON_UNSPECIFIED",
        "STOP",
        "MAX_TOKENS",
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "OTHER",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MALFORMED_FUNCTION_CALL",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_OTHER",
        "NO_IMAGE",
        "IMAGE_RECITATION",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
        "MALFORMED_RESPONSE",
        "ESCALATION",
        "PUP_LIMITED_DISABLED",
        "CONTINUATION",
        "MODEL_ARMOR",
    }
