"""Codex's rollout files: items, and counts that must be neither repeated nor made up."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ctxkit.usage import Usage

META = {
    "id": "019b-1",
    "model_provider": "openai",
    "base_instructions": {"text": "You are Codex."},
}
CALL = {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "a.txt"}
REASONING = {"type": "reasoning", "summary": []}


def line(kind: str, payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-08-03T10:48:56Z", "type": kind, "payload": payload}


def item(payload: dict[str, Any]) -> dict[str, Any]:
    return line("response_item", payload)


def message(role: str, words: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": words}]}


def count(total: int, last: dict[str, int] | None) -> dict[str, Any]:
    info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": last}
    return line("event_msg", {"type": "token_count", "info": info})


def test_a_request_sends_what_stands_before_its_answer(read: Any) -> None:
    (transcript,), skipped = read(
        line("session_meta", META),
        line("turn_context", {"model": "gpt-5.2"}),
        item(message("user", "List the files")),
        item(REASONING),
        item(CALL),
        item(OUTPUT),
        count(100, {"input_tokens": 80, "cached_input_tokens": 30, "output_tokens": 20}),
        item(message("assistant", "One file.")),
        count(220, {"input_tokens": 110, "output_tokens": 10, "reasoning_output_tokens": 4}),
        line("event_msg", {"type": "agent_message", "message": "One file."}),
    )
    assert skipped == []
    assert (transcript.id, transcript.wire, transcript.provider) == ("019b-1", "openai_responses", "openai")
    assert (transcript.model, transcript.system) == ("gpt-5.2", "You are Codex.")
    assert [entry.get("type") for entry in transcript.messages] == [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "message",
    ]
    first, second = transcript.requests
    assert (first.input_messages, second.input_messages) == (1, 4)
    assert first.usage == Usage(input_tokens=80, output_tokens=20, cache_read_tokens=30)
    assert second.usage == Usage(input_tokens=110, output_tokens=10, reasoning_tokens=4)
    assert first.timestamp == datetime(2026, 8, 3, 10, 48, 56, tzinfo=UTC)


def test_repeated_totals_and_events_without_counts_are_no_requests(read: Any) -> None:
    (transcript,), _ = read(
        line("session_meta", META),
        line("event_msg", {"type": "token_count", "info": None}),
        item(message("user", "hello")),
        item(message("assistant", "hi")),
        count(100, {"input_tokens": 80, "output_tokens": 20}),
        count(100, {"input_tokens": 80, "output_tokens": 20}),
        count(200, None),
    )
    assert [(r.input_messages, r.usage is None) for r in transcript.requests] == [(1, False), (2, True)]


def test_a_log_without_counts_still_lists_its_requests(read: Any) -> None:
    (transcript,), _ = read(
        line("session_meta", {"id": "1"}),
        item(message("user", "hello")),
        item(REASONING),
        item(CALL),
        item(OUTPUT),
        item(message("assistant", "done")),
        line("turn_context", {"model": "gpt-5.2"}),
    )
    assert [(r.input_messages, r.usage) for r in transcript.requests] == [(1, None), (4, None)]
    assert (transcript.model, transcript.provider, transcript.system) == ("gpt-5.2", "openai", None)


def test_each_request_knows_the_model_of_its_turn(read: Any) -> None:
    (transcript,), _ = read(
        line("turn_context", {"model": "gpt-5.2"}),
        item(message("assistant", "one")),
        count(1, {"input_tokens": 1, "output_tokens": 1}),
        line("turn_context", {"model": "gpt-5.6-sol"}),
        item(message("assistant", "two")),
        count(2, {"input_tokens": 1, "output_tokens": 1}),
        line("turn_context", {"cwd": "/tmp"}),
    )
    assert [request.model for request in transcript.requests] == ["gpt-5.2", "gpt-5.6-sol"]
    assert transcript.model == "gpt-5.2"


def test_after_a_compaction_the_replacement_is_the_context(read: Any) -> None:
    (transcript,), _ = read(
        line("session_meta", META),
        line("session_meta", {"id": "another"}),
        item(message("user", "hello")),
        item(message("assistant", "hi")),
        count(100, {"input_tokens": 80, "output_tokens": 20}),
        item(REASONING),
        line("compacted", {"message": "", "replacement_history": [message("user", "summary")]}),
        item(message("assistant", "on we go")),
        count(150, {"input_tokens": 30, "output_tokens": 20}),
    )
    assert transcript.id == "019b-1"
    assert transcript.meta["marks"] == [{"at": 3, "kind": "compaction", "meta": {}}]
    assert transcript.messages[3] == message("user", "summary")
    assert [request.input_messages for request in transcript.requests] == [1, 4]


def test_a_compaction_without_a_replacement_leaves_its_summary(read: Any) -> None:
    (transcript,), _ = read(
        item(message("user", "hello")),
        line("compacted", {"message": "They said hello."}),
        line("compacted", {"message": ""}),
    )
    assert transcript.messages[1:] == [message("user", "They said hello.")]
    assert [mark["at"] for mark in transcript.meta["marks"]] == [1, 2]


def test_a_line_without_a_payload_is_reported(read: Any) -> None:
    transcripts, skipped = read(line("session_meta", META), {"type": "response_item"})
    assert transcripts == []
    assert [(skip.line, skip.reason) for skip in skipped] == [
        (2, "not a line of a Codex rollout"),
        (None, "a Codex rollout without messages"),
    ]
