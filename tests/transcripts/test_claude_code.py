"""Claude Code's session files: what several lines have in common, and what must not be counted twice."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ctxkit.transcripts import Skipped, Transcript, load
from ctxkit.usage import Usage

SESSION = {"sessionId": "session-1", "version": "2.1.0", "isSidechain": False}


def user(uuid: str, content: Any, parent: str | None = None, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": content}
    return {**SESSION, "type": "user", "uuid": uuid, "parentUuid": parent, "message": message, **more}


def assistant(
    uuid: str, answer: str, *blocks: Any, parent: str | None = None, output: int = 1, **more: Any
) -> dict[str, Any]:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": output}
    message = {
        "id": f"msg_{answer}",
        "role": "assistant",
        "model": "claude-opus-4-5",
        "content": list(blocks),
        "stop_reason": more.pop("stop_reason", None),
        "usage": more.pop("usage", usage),
    }
    ids = {"uuid": uuid, "parentUuid": parent, "requestId": more.pop("requestId", f"req_{answer}")}
    return {**SESSION, **ids, "type": "assistant", "message": message, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": {}}


def result(call_id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": f"result of {call_id}"}


def roles(transcript: Transcript) -> list[str]:
    return [message["role"] for message in transcript.messages]


def test_the_lines_of_one_answer_are_one_message_and_one_request_with_the_last_usage(read: Any) -> None:
    (transcript,), skipped = read(
        user("u1", "hello"),
        assistant("a1", "1", {"type": "thinking", "thinking": "hm"}, output=3),
        assistant("a2", "1", text("hi"), output=3),
        assistant("a3", "1", call("c1"), output=42, stop_reason="tool_use"),
    )
    assert skipped == []
    assert transcript.messages[1]["content"] == [
        {"type": "thinking", "thinking": "hm"},
        text("hi"),
        call("c1"),
    ]
    (request,) = transcript.requests
    assert (request.input_messages, request.stop_reason, request.output_known) == (1, "tool_use", True)
    assert request.usage == Usage(input_tokens=100, output_tokens=42, cache_read_tokens=90)


def test_a_transcript_says_where_it_comes_from_and_what_it_lacks(read: Any) -> None:
    (transcript,), _ = read(
        {"type": "summary", "summary": "A greeting", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        user("u1", "hello"),
        assistant("a1", "1", text("hi"), timestamp="2026-01-12T16:15:37.723Z"),
    )
    assert (transcript.id, transcript.format, transcript.wire) == (
        "session-1",
        "claude_code",
        "anthropic_messages",
    )
    assert (transcript.provider, transcript.model) == ("anthropic", "claude-opus-4-5")
    assert transcript.path.endswith("log.jsonl")
    assert (transcript.line, transcript.meta) == (3, {"client_version": "2.1.0"})
    assert "system prompt" in (transcript.incomplete or "")
    assert transcript.requests[0].timestamp == datetime(2026, 1, 12, 16, 15, 37, 723000, UTC)


def test_output_without_a_stop_reason_is_a_placeholder(read: Any) -> None:
    (transcript,), _ = read(user("u1", "hello"), assistant("a1", "1", text("hi")))
    assert transcript.requests[0].output_known is False


def test_parallel_results_that_fork_the_parent_chain_are_one_message(read: Any) -> None:
    (transcript,), _ = read(
        user("u1", "hello"),
        assistant("a1", "1", call("c1"), parent="u1"),
        assistant("a2", "1", call("c2"), parent="a1"),
        user("u2", [result("c1")], "a1"),
        user("u3", [result("c2"), text("hurry")], "a2"),
        assistant("a3", "2", text("done"), parent="u3"),
    )
    assert roles(transcript) == ["user", "assistant", "user", "assistant"]
    assert transcript.messages[2]["content"] == [result("c1"), result("c2"), text("hurry")]
    assert [request.input_messages for request in transcript.requests] == [1, 3]


def test_a_result_that_came_while_its_answer_was_still_written_follows_the_whole_answer(read: Any) -> None:
    (transcript,), _ = read(
        user("u1", "hello"),
        assistant("a1", "1", call("c1"), parent="u1"),
        user("u2", [result("c1")], "a1"),
        assistant("a2", "1", call("c2"), parent="a1"),
        user("u3", [result("c2")], "a2"),
    )
    assert [message["content"] for message in transcript.messages[1:]] == [
        [call("c1"), call("c2")],
        [result("c1"), result("c2")],
    ]
    assert len(transcript.requests) == 1


def test_a_result_logged_twice_is_given_once(read: Any) -> None:
    (transcript,), _ = read(
        user("u1", "hello"),
        assistant("a1", "1", call("c1"), call("c2")),
        user("u2", [result("c1")]),
        user("u3", [result("c2")]),
        user("u4", [{**result("c1"), "cache_control": {"type": "ephemeral"}}]),
    )
    assert transcript.messages[2]["content"] == [result("c1"), result("c2")]


def test_a_line_that_repeats_an_earlier_one_adds_nothing(read: Any) -> None:
    (transcript,), _ = read(
        user("u1", "hello"),
        assistant("a1", "1", text("hi")),
        user("u1", "hello"),
        assistant("a9", "1", text("hi"), requestId=None),
        user("u2", "more"),
    )
    assert roles(transcript) == ["user", "assistant", "user"]
    assert transcript.messages[1]["content"] == [text("hi")]
    assert len(transcript.requests) == 1


def test_two_requests_may_be_answered_with_the_same_message_id(read: Any) -> None:
    (transcript,), _ = read(
        user("u1", "hello"),
        assistant("a1", "1", text("hi"), requestId="req_1"),
        user("u2", "more"),
        assistant("a2", "1", text("ho"), requestId="req_2"),
    )
    assert [request.input_messages for request in transcript.requests] == [1, 3]


def test_a_sidechain_is_a_transcript_of_its_own(read: Any) -> None:
    side = {"isSidechain": True}
    main, first, second, agent = read(
        user("u1", "hello"),
        assistant("a1", "1", call("c1"), parent="u1"),
        user("s1", "search", **side),
        user("t1", "look", **side),
        assistant("s2", "2", text("found"), parent="s1", **side),
        assistant("t2", "3", text("seen"), parent="t1", **side),
        user("g1", "dig", agentId="a77", **side),
        user("u2", [result("c1")], "a1"),
    )[0]
    assert [t.id for t in (main, first, second, agent)] == [
        "session-1",
        "session-1~s1",
        "session-1~t1",
        "session-1~a77",
    ]
    assert roles(main) == ["user", "assistant", "user"]
    assert (roles(first), roles(second)) == (["user", "assistant"], ["user", "assistant"])
    assert [len(t.requests) for t in (main, first, second, agent)] == [1, 1, 1, 0]


def test_a_compaction_is_marked_where_the_new_context_begins(read: Any) -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b1", "parentUuid": None}
    (transcript,), _ = read(
        user("u1", "hello"),
        assistant("a1", "1", text("hi"), parent="u1"),
        {**SESSION, **boundary, "logicalParentUuid": "a1", "compactMetadata": {"preTokens": 155_782}},
        user("u2", "This session is being continued.", "b1", isCompactSummary=True),
        assistant("a2", "2", text("on we go"), parent="u2"),
        user("u3", "And again.", "a2", isCompactSummary=True),
    )
    assert transcript.meta["marks"] == [
        {"at": 2, "kind": "compaction", "meta": {"preTokens": 155_782}},
        {"at": 4, "kind": "compaction", "meta": {}},
    ]
    assert len(transcript.messages) == 5


def test_a_user_who_goes_back_starts_a_branch_that_counts_only_what_is_new(read: Any) -> None:
    boundary = {**SESSION, "type": "system", "subtype": "compact_boundary", "uuid": "b1"}
    hook = {**SESSION, "type": "progress", "uuid": "h1", "parentUuid": "a2"}
    left, branch = read(
        boundary,
        user("u1", [text("hello")]),
        assistant("a1", "1", text("hi"), parent="u1"),
        user("u2", "write a poem", "a1"),
        assistant("a2", "2", text("roses"), parent="u2"),
        hook,
        user("u3", "longer", "h1"),
        user("u4", "write a song", "a1"),
        assistant("a3", "3", text("la la"), parent="u4"),
    )[0]
    assert (left.id, branch.id, branch.line) == ("session-1", "session-1~2", 8)
    assert [m["content"] for m in left.messages[2:]] == ["write a poem", [text("roses")], "longer"]
    assert [m["content"] for m in branch.messages[1:]] == [[text("hi")], "write a song", [text("la la")]]
    assert branch.messages[0] == left.messages[0]
    assert branch.meta["marks"] == [{"at": 0, "kind": "compaction", "meta": {}}]
    assert [[r.input_messages for r in t.requests] for t in (left, branch)] == [[1, 3], [3]]


def test_a_note_of_the_client_is_no_request(read: Any) -> None:
    limit = assistant("a1", "1", text("You've hit your limit"))
    limit["message"]["model"] = "<synthetic>"
    (transcript,), _ = read(user("u1", "hello"), limit)
    assert (transcript.requests, transcript.model, transcript.provider) == ((), None, None)
    assert roles(transcript) == ["user", "assistant"]


def test_a_usage_of_zeros_is_unknown(read: Any) -> None:
    zeros = {"input_tokens": 0, "output_tokens": 1, "cache_read_input_tokens": 0}
    (transcript,), _ = read(user("u1", "hello"), assistant("a1", "1", text("hi"), usage=zeros))
    assert transcript.requests[0].usage is None


def test_an_answer_without_an_id_is_known_by_its_line(read: Any) -> None:
    first, second = assistant("a1", "1", text("hi")), assistant("a2", "2", text("ho"))
    del first["message"]["id"], second["message"]["id"]
    first["message"]["content"] = "hi"
    (transcript,), _ = read(user("u1", "hello"), first, user("u2", "more"), second)
    assert len(transcript.requests) == 2
    assert transcript.messages[1]["content"] == [text("hi")]


def test_a_line_without_content_is_reported_and_the_rest_is_read(read: Any) -> None:
    (transcript,), skipped = read(
        user("u1", "hello"),
        {**SESSION, "type": "user", "uuid": "u2", "message": "broken"},
        user("u3", ["not a block"]),
        {"silly": "this"},
        assistant("a1", "1", text("hi")),
    )
    assert [(skip.line, skip.reason) for skip in skipped] == [
        (2, "a message without content"),
        (3, "a message without content"),
        (4, "not a line of a Claude Code session"),
    ]
    assert roles(transcript) == ["user", "assistant"]


def test_lines_that_hold_no_message_say_nothing_and_are_no_damage(read: Any) -> None:
    (transcript,), skipped = read(
        {"type": "custom-title", "customTitle": "A greeting", "sessionId": "session-1"},
        user("u1", "hello"),
        {**SESSION, "type": "user", "message": {"role": "user", "content": "a line without an id"}},
        {"type": "last-prompt", "lastPrompt": "hello"},
    )
    assert (roles(transcript), skipped) == (["user", "user"], [])


def test_a_session_without_messages_is_skipped(read: Any) -> None:
    transcripts, skipped = read({**SESSION, "type": "attachment", "uuid": "x", "parentUuid": "y"})
    assert transcripts == []
    assert [skip.reason for skip in skipped] == ["a Claude Code session without messages"]


def test_what_a_resumed_session_repeats_of_another_file_is_counted_once(tmp_path: Path) -> None:
    old = [user("u1", "hello"), assistant("a1", "1", text("hi"))]
    new = [user("u2", "more"), {**assistant("a2", "2", text("ho")), "sessionId": "session-2"}]
    for name, lines in (("1.jsonl", old), ("2.jsonl", old + new), ("3.jsonl", old)):
        (tmp_path / name).write_text("\n".join(json.dumps(line) for line in lines))
    skipped: list[Skipped] = []
    first, resumed = load(tmp_path, on_skip=skipped.append)
    assert [[r.input_messages for r in t.requests] for t in (first, resumed)] == [[1], [3]]
    assert (resumed.id, roles(resumed)) == ("session-2", ["user", "assistant", "user", "assistant"])
    assert [(skip.path[-7:], skip.reason) for skip in skipped] == [
        ("3.jsonl", "all its answers stand in what was read before")
    ]
    assert len(next(load(tmp_path / "2.jsonl")).requests) == 2
