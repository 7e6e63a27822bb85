"""Lines of the shared corpus: seven formats of messages, and requests in the words of many logs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from ctxkit.usage import Usage

USER = {"role": "user", "content": "hello"}
ASSISTANT = {"role": "assistant", "content": "hi"}


def line(format: str = "openai-chat", **more: Any) -> dict[str, Any]:
    empty = {"model": None, "system": None, "tools": None, "usage": None, "meta": {}}
    return {
        "id": "1",
        "family": "made",
        "format": format,
        **empty,
        "messages": [USER, ASSISTANT, USER],
        **more,
    }


def requests(read: Any, *usage: dict[str, Any], **more: Any) -> Any:
    (transcript,), skipped = read(line(usage=list(usage), **more))
    assert skipped == []
    return transcript.requests


@pytest.mark.parametrize(
    ("format", "wire"),
    [
        ("anthropic-messages", "anthropic_messages"),
        ("openai-chat", "openai_chat"),
        ("openai-chat-functions", "openai_chat"),
        ("openai-responses", "openai_responses"),
        ("gemini-contents", "gemini"),
        ("bedrock-converse", "bedrock_converse"),
        ("inspect-messages", "openai_chat"),
    ],
)
def test_every_format_has_its_wire(read: Any, format: str, wire: str) -> None:
    (transcript,), _ = read(line(format, messages=[USER], system="Be brief.", tools=[{"name": "ls"}]))
    assert (transcript.id, transcript.format, transcript.wire) == ("1", "corpus", wire)
    assert (transcript.messages, transcript.system, len(transcript.tools)) == ([USER], "Be brief.", 1)


def test_what_the_line_says_about_itself_is_kept(read: Any) -> None:
    marks = [{"at": 1, "kind": "compaction"}]
    meta = {"provider": "azure-openai", "incomplete": "no tools", "marks": marks}
    (transcript,), _ = read(line(model="gpt-4.1", meta=meta))
    assert (transcript.model, transcript.provider, transcript.incomplete) == ("gpt-4.1", "azure", "no tools")
    assert transcript.meta == {**meta, "family": "made"}


def test_a_request_sends_the_messages_before_its_answer(read: Any) -> None:
    used = {"prompt_tokens": 10, "completion_tokens": 5}
    by_answer, by_count, both, neither, beyond = requests(
        read,
        {"message": 1, "usage": used, "cost": 0.5, "stop_reason": "stop", "model": "gpt-4.1-mini"},
        {"input_messages": 2, "usage": used},
        {"input_messages": 0, "message": 1, "usage": used},
        {"usage": None},
        {"message": 99, "usage": "?"},
    )
    assert [r.input_messages for r in (by_answer, by_count, both, neither, beyond)] == [1, 2, 0, 3, 3]
    assert by_answer.usage == Usage(input_tokens=10, output_tokens=5)
    assert (by_answer.model, by_answer.stop_reason) == ("gpt-4.1-mini", "stop")
    assert [r.recorded_cost_usd for r in (by_answer, by_count)] == [Decimal("0.5"), None]
    assert (neither.usage, beyond.usage) == (None, None)


@pytest.mark.parametrize(
    ("format", "native", "usage"),
    [
        (
            "anthropic-messages",
            {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 9},
            (10, 2, 9),
        ),
        ("anthropic-messages", {"input": 1, "output": 2, "cacheRead": 9, "cost": {"total": 0.1}}, (10, 2, 9)),
        (
            "openai-chat",
            {
                "prompt_tokens": 10,
                "completion_tokens": 2,
                "completion_tokens_details": None,
                "prompt_tokens_details": {"cached_tokens": 0},
                "cache_read_input_tokens": 9,
            },
            (10, 2, 9),
        ),
        ("openai-chat-functions", {"prompt_tokens": 10, "completion_tokens": 2}, (10, 2, 0)),
        (
            "openai-responses",
            {"input_tokens": 10, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 9}},
            (10, 2, 9),
        ),
        (
            "openai-responses",
            {"last_token_usage": {"input_tokens": 10, "output_tokens": 2, "cached_input_tokens": 9}},
            (10, 2, 9),
        ),
        (
            "gemini-contents",
            {"promptTokenCount": 10, "candidatesTokenCount": 2, "cachedContentTokenCount": 9},
            (10, 2, 9),
        ),
        ("bedrock-converse", {"inputTokens": 1, "outputTokens": 2, "cacheReadInputTokens": 9}, (10, 2, 9)),
        (
            "inspect-messages",
            {"input_tokens": 10, "output_tokens": 2, "input_tokens_cache_read": 9},
            (10, 2, 9),
        ),
    ],
)
def test_every_native_usage_is_read_as_inclusive(
    read: Any, format: str, native: dict[str, Any], usage: tuple[int, int, int]
) -> None:
    (request,) = requests(read, {"message": 1, "usage": native}, format=format)
    assert (request.usage.input_tokens, request.usage.output_tokens, request.usage.cache_read_tokens) == usage


def test_the_cost_that_stands_in_the_usage_is_kept_too(read: Any) -> None:
    total, plain = requests(
        read,
        {"usage": {"prompt_tokens": 1, "cost": {"input": 0.1, "total": 0.25}}},
        {"usage": {"prompt_tokens": 1, "cost": 0.125}},
    )
    assert (total.recorded_cost_usd, plain.recorded_cost_usd) == (Decimal("0.25"), Decimal("0.125"))


def test_output_in_logs_of_claude_code_is_a_placeholder_until_a_stop_reason(read: Any) -> None:
    entries = [{"message": 1, "usage": {}, "stop_reason": reason} for reason in (None, "end_turn")]
    assert [r.output_known for r in requests(read, *entries, family="claude_code_misc")] == [False, True]
    assert [r.output_known for r in requests(read, *entries)] == [True, True]


def test_without_usage_every_answer_that_the_model_gave_is_a_request(read: Any) -> None:
    demonstration = {**ASSISTANT, "is_demo": True}
    given = {**ASSISTANT, "source": "input"}
    messages = [USER, demonstration, given, USER, ASSISTANT, ASSISTANT, "broken"]
    (transcript,), _ = read(line(messages=messages))
    assert [(r.input_messages, r.usage) for r in transcript.requests] == [(4, None), (5, None)]


def test_messages_of_inspect_become_chat_messages(read: Any) -> None:
    thought = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "look:"}]
    called = {"id": "c1", "function": "ls", "arguments": {"path": "."}, "view": {"title": "ls"}}
    messages = [
        {"id": "1", "role": "user", "content": [{"type": "image", "image": "data:x"}], "source": "input"},
        {"id": "2", "role": "assistant", "content": thought, "tool_calls": [called], "model": "m"},
        {"id": "3", "role": "tool", "content": "a.txt", "tool_call_id": "c1", "function": "ls"},
    ]
    tools = [{"name": "ls", "description": "Lists.", "parameters": {}}]
    (transcript,), _ = read(line("inspect-messages", messages=messages, tools=tools))
    function = {"name": "ls", "arguments": '{"path":"."}'}
    assert transcript.messages == [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "look:"}],
            "reasoning_content": "hm",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "content": "a.txt", "tool_call_id": "c1", "name": "ls"},
    ]
    assert transcript.tools == [{"type": "function", "function": tools[0]}]
    assert [request.input_messages for request in transcript.requests] == [1]


def test_a_foreign_line_is_reported_and_the_rest_is_read(read: Any) -> None:
    transcripts, skipped = read(line(), {"id": "2"}, line("telegram"), line(messages=None), line())
    assert len(transcripts) == 2
    assert [skip.line for skip in skipped] == [2, 3, 4]
    assert "not a line of the corpus" in skipped[0].reason
