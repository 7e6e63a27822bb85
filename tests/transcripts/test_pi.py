"""Session files of the pi coding agent, in the shape of Anthropic's messages."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ctxkit.usage import Usage

SESSION = {"type": "session", "id": "s1", "timestamp": "2025-12-24T00:32:27.967Z", "cwd": "/repo"}
USAGE = {"input": 10, "output": 5, "cacheRead": 80, "cacheWrite": 10, "cost": {"total": 0.25}}


def entry(role: str, content: Any = None, **more: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": content, **more}}


def answer(*content: Any, **more: Any) -> dict[str, Any]:
    known = {"provider": "anthropic", "model": "claude-opus-4-5", "usage": USAGE, "stopReason": "toolUse"}
    return entry("assistant", list(content), timestamp=1766536349362, **{**known, **more})


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def result(call_id: str, **more: Any) -> dict[str, Any]:
    return entry("toolResult", [text("42")], toolCallId=call_id, **more)


def test_messages_take_the_shape_of_the_wire(read: Any) -> None:
    (transcript,), skipped = read(
        SESSION,
        entry("user", [text("hello"), {"type": "image", "mimeType": "image/png", "data": "AA=="}]),
        answer(
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
            {"type": "thinking", "thinking": "unsigned"},
            {**text("let me see"), "textSignature": "x"},
            {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}},
        ),
        result("c1", isError=True),
        result("c2"),
        entry("bashExecution", command="pwd", output="/repo"),
        entry("branchSummary"),
    )
    assert skipped == []
    picture = {"type": "base64", "media_type": "image/png", "data": "AA=="}
    assert transcript.messages == [
        {"role": "user", "content": [text("hello"), {"type": "image", "source": picture}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "thinking", "thinking": "unsigned"},
                text("let me see"),
                {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [text("42")], "is_error": True},
                {"type": "tool_result", "tool_use_id": "c2", "content": [text("42")], "is_error": False},
            ],
        },
        {"role": "user", "content": "pwd\n/repo"},
    ]


def test_usage_is_inclusive_and_the_recorded_cost_is_kept(read: Any) -> None:
    (transcript,), _ = read(SESSION, entry("user", "hello"), answer(text("hi")))
    (request,) = transcript.requests
    assert request.usage == Usage(
        input_tokens=100, output_tokens=5, cache_read_tokens=80, cache_write_tokens=10
    )
    assert (request.recorded_cost_usd, request.stop_reason) == (Decimal("0.25"), "toolUse")
    assert (request.input_messages, request.output_known) == (1, True)
    assert request.timestamp is not None
    assert (request.timestamp.year, request.timestamp.microsecond) == (2025, 362000)
    assert (transcript.id, transcript.provider, transcript.model) == ("s1", "anthropic", "claude-opus-4-5")


def test_what_an_aborted_answer_used_is_unknown(read: Any) -> None:
    zeros = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0}}
    (transcript,), _ = read(SESSION, entry("user", "hello"), answer(usage=zeros, stopReason="aborted"))
    assert transcript.requests[0].usage is None


def test_after_a_compaction_the_summary_and_what_was_kept_are_the_context(read: Any) -> None:
    (transcript,), _ = read(
        SESSION,
        entry("user", "one"),
        answer(text("first")),
        entry("user", "two"),
        answer(text("second")),
        {"type": "compaction", "summary": "They count.", "firstKeptEntryIndex": 3, "tokensBefore": 99},
        entry("user", "three"),
        answer(text("third")),
    )
    assert transcript.meta["marks"] == [{"at": 4, "kind": "compaction", "meta": {"tokens_before": 99}}]
    sent = transcript.messages[4 : transcript.requests[-1].input_messages]
    assert [message["content"] for message in sent] == ["They count.", "two", [text("second")], "three"]


def test_what_is_kept_may_be_told_by_id(read: Any) -> None:
    (transcript,), _ = read(
        SESSION,
        {**entry("user", "one"), "id": "e1"},
        {**entry("user", "two"), "id": "e2"},
        {"type": "compaction", "summary": "They count.", "firstKeptEntryId": "e2"},
        {"type": "compaction", "summary": "Nothing is kept.", "firstKeptEntryId": ["?"]},
    )
    assert [message["content"] for message in transcript.messages] == [
        "one",
        "two",
        "They count.",
        "two",
        "Nothing is kept.",
    ]


def test_an_entry_without_a_type_is_reported(read: Any) -> None:
    transcripts, skipped = read(SESSION, {"name": "x"})
    assert transcripts == []
    assert [(skip.line, skip.reason) for skip in skipped] == [
        (2, "not an entry of a pi session"),
        (None, "a pi session without messages"),
    ]
