"""What OpenAI's Chat Completions API refuses: for every rule, a body that breaks it and one that does not.

Each test quotes the provider.
"""

from __future__ import annotations

from typing import Any

import pytest

from support.bodies import OPENAI, calls, results
from support.validity import broken, messages, said, user

ASK = user("Find the bug.")


def batch(*ids: str) -> dict[str, Any]:
    return calls(OPENAI, *ids)


def answers(*ids: str) -> list[dict[str, Any]]:
    return results(OPENAI, dict.fromkeys(ids, "Found."))


def test_a_tool_loop_with_parallel_calls_is_accepted() -> None:
    body = messages(
        {"role": "system", "content": "Be brief."},
        ASK,
        batch("a", "b"),
        *answers("b", "a"),
        batch("a"),
        *answers("a"),
        {"role": "assistant", "content": "Done."},
        {"role": "developer", "content": "Be kind."},
        user(""),
    )
    assert broken(body, OPENAI) == []


def test_a_message_has_a_known_role() -> None:
    """`Invalid value: 'bot'. Supported values are: 'system', 'assistant', 'user', ...`"""
    body = messages(ASK, {"role": "bot", "content": "Hi."})
    assert broken(body, OPENAI) == [("role_is_known", ("messages", 1, "role"))]
    assert said(body, OPENAI) == (
        "Invalid value: 'bot'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and "
        "'developer'."
    )


@pytest.mark.parametrize("following", [[], [ASK], answers("b"), [ASK, *answers("a", "b")]])
def test_every_call_of_a_batch_is_answered_right_behind_it(following: list[Any]) -> None:
    """`An assistant message with 'tool_calls' must be followed by tool messages responding to each
    'tool_call_id'. The following tool_call_ids did not have response messages: a`"""
    found = broken(messages(ASK, batch("a", "b"), *following), OPENAI)
    assert ("tool_call_has_its_message", ("messages", 1, "tool_calls", 0)) in found


def test_a_half_covered_batch_names_what_is_missing() -> None:
    body = messages(ASK, batch("a", "b"), *answers("a"))
    assert broken(body, OPENAI) == [("tool_call_has_its_message", ("messages", 1, "tool_calls", 1))]
    assert said(body, OPENAI).endswith("The following tool_call_ids did not have response messages: b")


@pytest.mark.parametrize("before", [[], [ASK], [{"role": "assistant", "content": "Hi."}]])
def test_a_tool_message_responds_to_calls(before: list[Any]) -> None:
    """`messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.`"""
    body = messages(*before, *answers("a"))
    assert broken(body, OPENAI) == [("tool_message_has_its_call", ("messages", len(before)))]
    assert said(body, OPENAI) == (
        "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
    )


def test_a_tool_message_responds_to_a_call_of_that_batch() -> None:
    """`Invalid parameter: 'tool_call_id' of 'b' not found in 'tool_calls' of previous message.`"""
    body = messages(ASK, batch("a"), *answers("a", "b"))
    assert broken(body, OPENAI) == [("tool_message_has_its_call", ("messages", 3))]
    assert said(body, OPENAI) == (
        "Invalid parameter: 'tool_call_id' of 'b' not found in 'tool_calls' of previous message."
    )


def test_no_call_is_answered_twice() -> None:
    """`Invalid parameter: Duplicate value for 'tool_call_id' of 'a', in messages[2] and messages[3].`"""
    body = messages(ASK, batch("a"), *answers("a"), *answers("a"))
    assert broken(body, OPENAI) == [("tool_call_has_one_message", ("messages", 3))]
    assert said(body, OPENAI) == (
        "Invalid parameter: Duplicate value for 'tool_call_id' of 'a', in messages[2] and messages[3]."
    )


def test_a_tool_message_names_its_call() -> None:
    """`Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.`"""
    body = messages(ASK, batch("a"), *answers("a"), {"role": "tool", "content": "Found."})
    assert broken(body, OPENAI) == [("tool_message_names_its_call", ("messages", 3))]
    assert said(body, OPENAI) == (
        "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'."
    )


def test_a_message_of_the_older_function_role_names_its_function() -> None:
    """`Missing parameter 'name': messages with role 'function' must have a 'name'.`"""
    call = {"role": "assistant", "content": None, "function_call": {"name": "search", "arguments": "{}"}}
    good = messages(ASK, call, {"role": "function", "name": "search", "content": "Found."})
    bad = messages(ASK, call, {"role": "function", "content": "Found."})
    assert broken(good, OPENAI) == []
    assert broken(bad, OPENAI) == [("function_message_names_its_function", ("messages", 2))]


def test_a_request_has_a_message() -> None:
    """`Invalid 'messages': empty array. Expected an array with minimum length 1, ...`"""
    assert said(messages(), OPENAI).startswith("Invalid 'messages': empty array.")
