"""Claude Code's stream-json output, and recordings of its SDK."""

from __future__ import annotations

from typing import Any

from ctxkit.transcripts import Transcript


def init(session: str = "s1") -> dict[str, Any]:
    return {"type": "system", "subtype": "init", "session_id": session, "tools": ["Read"], "model": "m"}


def assistant(answer: str, *blocks: Any, parent: str | None = None) -> dict[str, Any]:
    message = {
        "id": answer,
        "role": "assistant",
        "model": "claude-haiku-4-5",
        "content": list(blocks),
        "stop_reason": None,
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 2},
    }
    return {
        "type": "assistant",
        "message": message,
        "session_id": "s1",
        "parent_tool_use_id": parent,
        "uuid": f"uuid of {answer}",
        "request_id": f"req of {answer}",
    }


def user(content: Any, parent: str | None = None) -> dict[str, Any]:
    message = {"role": "user", "content": content}
    return {"type": "user", "message": message, "session_id": "s1", "parent_tool_use_id": parent}


def event(native: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    return {"type": "stream_event", "event": native, "session_id": "s1", "parent_tool_use_id": parent}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def outputs(transcript: Transcript) -> list[tuple[int | None, bool]]:
    return [
        (request.usage.output_tokens if request.usage else None, request.output_known)
        for request in transcript.requests
    ]


def test_the_records_of_one_answer_are_one_message(read: Any) -> None:
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "x"}
    (transcript,), skipped = read(
        init(),
        assistant("m1", text("let me see")),
        assistant("m1", {"type": "tool_use", "id": "c1", "name": "Read", "input": {}}),
        user([result]),
        assistant("m2", text("done")),
        {
            "type": "result",
            "session_id": "s1",
            "total_cost_usd": 0.02,
            "usage": {"output_tokens": 9},
            "uuid": 1,
        },
    )
    assert skipped == []
    assert (transcript.id, transcript.format, transcript.model) == ("s1", "claude_stream", "claude-haiku-4-5")
    assert [message["role"] for message in transcript.messages] == ["assistant", "user", "assistant"]
    assert [request.input_messages for request in transcript.requests] == [0, 2]
    assert outputs(transcript) == [(2, False), (2, False)]
    assert transcript.meta == {"result": {"total_cost_usd": 0.02, "usage": {"output_tokens": 9}}}


def test_the_end_of_a_stream_tells_the_true_output(read: Any) -> None:
    start = {
        "type": "message_start",
        "message": {"id": "m1", "usage": {"input_tokens": 10, "output_tokens": 2}},
    }
    delta = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"cache_read_input_tokens": 95, "output_tokens": 68},
    }
    (transcript,), _ = read(
        init(),
        event({"type": "message_delta", "delta": {"stop_reason": "lost"}}),
        event(start),
        event({"type": "content_block_stop", "index": 0}),
        assistant("m1", text("hi")),
        event(delta),
        event({"type": "message_stop"}),
        assistant("m2", text("ho")),
    )
    assert outputs(transcript) == [(68, True), (2, False)]
    assert [request.stop_reason for request in transcript.requests] == ["end_turn", None]
    assert transcript.requests[0].usage.input_tokens == 105


def test_a_subagent_has_a_transcript_of_its_own(read: Any) -> None:
    main, side = read(
        init(),
        assistant("m1", {"type": "tool_use", "id": "c1", "name": "Task", "input": {}}),
        user("search", "c1"),
        assistant("m2", text("found"), parent="c1"),
    )[0]
    assert (main.id, side.id) == ("s1", "s1~c1")
    assert (len(main.messages), len(side.messages)) == (1, 2)
    assert side.requests[0].input_messages == 1


def test_two_sessions_in_one_file_are_two_transcripts(read: Any) -> None:
    transcripts, _ = read(
        init(),
        assistant("m1", text("hi")),
        init(),
        init("s2"),
        {**assistant("m2", text("ho")), "session_id": "s2"},
    )
    assert [(t.id, len(t.messages)) for t in transcripts] == [("s1", 1), ("s2", 1)]


def test_a_recording_of_the_sdk_holds_both_directions(read: Any) -> None:
    sent = [{"type": "control_request", "request": {}}, {**user("What is 2+2?"), "session_id": "default"}]
    received = [init(), assistant("m1", text("4")), {"type": "result", "session_id": "s1", "num_turns": 1}]
    recorded = [{"direction": "send", "message": message} for message in sent]
    recorded += [{"direction": "recv", "message": message} for message in received]
    (transcript,), skipped = read({"metadata": {}, "messages": recorded})
    assert skipped == []
    assert transcript.id == "s1"
    assert transcript.messages[0] == {"role": "user", "content": "What is 2+2?"}
    assert transcript.requests[0].input_messages == 1


def test_what_holds_no_message_is_skipped(read: Any) -> None:
    broken = {**user("x"), "message": "broken"}
    transcripts, skipped = read(init(), broken)
    assert transcripts == []
    assert [(skip.line, skip.reason) for skip in skipped] == [
        (2, "a message without content"),
        (None, "a run of Claude Code without messages"),
    ]
