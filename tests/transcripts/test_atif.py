"""Trajectories in ATIF: steps become chat messages, and each step of the agent a request."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ctxkit.usage import Usage

CALL = {"tool_call_id": "c1", "function_name": "find", "arguments": {"what": "fox"}}
TOOL = {"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}
METRICS = {
    "prompt_tokens": 100,
    "completion_tokens": 10,
    "cached_tokens": 60,
    "cost_usd": 0.25,
    "extra": {"cache_creation_input_tokens": 20},
}
STEPS: list[dict[str, Any]] = [
    {"step_id": 1, "source": "system", "message": "Be brief."},
    {"step_id": 2, "source": "user", "message": "Where is the fox?"},
    {
        "step_id": 3,
        "timestamp": "2026-11-30T12:00:00Z",
        "source": "agent",
        "message": "",
        "reasoning_content": "Look.",
        "model_name": "claude-sonnet-5",
        "tool_calls": [CALL],
        "observation": {"results": [{"source_call_id": "c1", "content": "Over the dog."}]},
        "metrics": METRICS,
    },
    {"step_id": 4, "source": "agent", "message": "Over the dog."},
]


def trajectory(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    agent = {"name": "terminus", "version": "2", "model_name": "claude-sonnet-5", "tool_definitions": [TOOL]}
    known = {"schema_version": "ATIF-v1.7", "session_id": "s", "agent": agent, "steps": list(steps or STEPS)}
    return {**known, **more}


def test_a_trajectory_becomes_chat_messages_and_requests(read: Any) -> None:
    (transcript,), skipped = read(trajectory())
    assert skipped == []
    function = {"name": "find", "arguments": '{"what":"fox"}'}
    called = {"id": "c1", "type": "function", "function": function}
    assert transcript.messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where is the fox?"},
        {"role": "assistant", "content": "", "reasoning_content": "Look.", "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "c1", "content": "Over the dog."},
        {"role": "assistant", "content": "Over the dog."},
    ]
    first, second = transcript.requests
    assert (first.input_messages, second.input_messages) == (2, 4)
    assert first.usage == Usage(100, 10, cache_read_tokens=60, cache_write_tokens=20)
    assert (first.recorded_cost_usd, first.timestamp is None) == (Decimal("0.25"), False)
    assert second.usage is None
    assert (transcript.id, transcript.format, transcript.wire) == ("s", "atif", "openai_chat")
    assert (transcript.provider, transcript.tools, transcript.incomplete) == ("anthropic", [TOOL], None)


def test_what_a_trajectory_does_not_hold_is_said(read: Any) -> None:
    steps = [{**STEPS[2], "llm_call_count": 3}]
    (transcript,), _ = read(trajectory(*steps, agent={"name": "a"}, trajectory_id="t"))
    assert (transcript.id, transcript.model) == ("t", "claude-sonnet-5")
    assert transcript.incomplete == (
        "the tool definitions are not in this log; some steps stand for several model calls, with their sums"
    )


def test_steps_that_asked_no_model_here_are_no_requests(read: Any) -> None:
    copied = {**STEPS[2], "is_copied_context": True}
    scripted = {**STEPS[3], "llm_call_count": 0}
    (transcript,), _ = read(trajectory(STEPS[1], copied, scripted, STEPS[3]))
    assert [request.input_messages for request in transcript.requests] == [4]


def test_a_result_without_its_calls_id_answers_the_only_call_or_is_told_to_the_agent(read: Any) -> None:
    observed = {"results": [{"content": "Over the dog."}]}
    alone = {**STEPS[2], "observation": observed}
    twice = {**alone, "tool_calls": [CALL, {**CALL, "tool_call_id": "c2", "arguments": None}]}
    (transcript,), _ = read(trajectory(alone, twice))
    assert transcript.messages[1] == {"role": "tool", "tool_call_id": "c1", "content": "Over the dog."}
    assert transcript.messages[3] == {"role": "user", "content": "Over the dog."}
    assert transcript.messages[2]["tool_calls"][1]["function"]["arguments"] == "{}"


def test_parts_are_those_of_chat_messages(read: Any) -> None:
    image = {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}}
    (transcript,), _ = read(
        trajectory({"source": "user", "message": [{"type": "text", "text": "See."}, image]})
    )
    assert transcript.messages[0]["content"] == [
        {"type": "text", "text": "See."},
        {"type": "image_url", "image_url": {"url": "a.png"}},
    ]


def test_subagents_have_transcripts_of_their_own(read: Any) -> None:
    inner = trajectory(STEPS[1], STEPS[3], trajectory_id="inner")
    outer, subagent = read(trajectory(trajectory_id="outer", subagent_trajectories=[inner]))[0]
    assert (outer.id, subagent.id) == ("outer", "inner")
    assert len(subagent.requests) == 1


def test_what_is_no_trajectory_among_them_is_reported(read: Any) -> None:
    transcripts, skipped = read(trajectory(), {"schema_version": "ATIF-v1.7"}, trajectory())
    assert len(transcripts) == 2
    assert [(skip.line, skip.reason) for skip in skipped] == [(2, "not an ATIF trajectory")]
