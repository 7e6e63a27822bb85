"""Files of OpenAI's fine-tuning and batches: each line is a conversation or a request."""

from __future__ import annotations

from typing import Any

from support.bodies import OPENAI, RESPONSES, calls, results, user

TOOL = {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}
ASKED = [{"role": "system", "content": "Be brief."}, user("Where is the fox?")]
SAID = {"role": "assistant", "content": "Over the dog."}
LOOP = [*ASKED, calls(OPENAI, "a"), *results(OPENAI, {"a": "Found."}), SAID]


def test_a_line_of_supervised_fine_tuning_has_a_request_for_each_answer(read: Any) -> None:
    line = {"messages": LOOP, "tools": [TOOL], "parallel_tool_calls": False}
    (first, _), skipped = read(line, line)
    assert skipped == []
    assert (first.wire, first.messages, first.tools) == (OPENAI, LOOP, [TOOL])
    assert [request.input_messages for request in first.requests] == [2, 4]


def test_a_chat_in_one_list_is_a_conversation(read: Any) -> None:
    (transcript,), skipped = read(LOOP)
    assert (transcript.messages, len(transcript.requests), skipped) == (LOOP, 2, [])


def test_of_two_answers_the_preferred_one_is_read(read: Any) -> None:
    worse = {"role": "assistant", "content": "No idea."}
    asked = {"messages": ASKED, "tools": [TOOL]}
    (transcript,), skipped = read(
        {"input": asked, "preferred_output": [SAID], "non_preferred_output": [worse]}
    )
    assert skipped == []
    assert (transcript.messages, transcript.tools) == ([*ASKED, SAID], [TOOL])
    assert (transcript.format, [one.input_messages for one in transcript.requests]) == ("openai_file", [2])


def test_the_requests_of_a_batch_are_read_under_their_ids(read: Any) -> None:
    url, chat = "/v1/chat/completions", {"model": "gpt-4.1", "messages": ASKED}
    items = {"model": "gpt-5", "input": [user("Hi.")], "instructions": "Be brief."}
    first, second = read(
        {"custom_id": "one", "method": "POST", "url": url, "body": chat},
        {"custom_id": "two", "method": "POST", "url": "/v1/responses", "body": items},
    )[0]
    assert (first.id, first.wire, first.messages) == ("one", OPENAI, ASKED)
    assert (second.id, second.wire, second.system) == ("two", RESPONSES, "Be brief.")
    assert second.requests[0].usage is None


def test_other_lines_among_them_are_reported(read: Any) -> None:
    line = {"custom_id": "one", "body": {"model": "gpt-4.1", "messages": ASKED}}
    transcripts, skipped = read(line, {"custom_id": "two"}, {"custom_id": "three", "body": {}}, line)
    assert len(transcripts) == 2
    assert [(skip.line, skip.reason) for skip in skipped] == [
        (2, "not a line of a batch or of preference fine-tuning"),
        (3, "not a request body"),
    ]
