"""A request is made the last of its loop by what is added behind everything else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from anthropic.types import MessageCreateParams
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import CompletionCreateParams
from openai.types.responses import ResponseCreateParams
from pydantic import TypeAdapter

from ctxkit.safety import broken_by_edit
from ctxkit.wire.last_request import last_request, most_output_tokens
from support.bodies import ALL_WIRES, ANTHROPIC, GEMINI, OPENAI, RESPONSES, of_body, user
from support.valid_histories import VALID_HISTORIES

ASK = "Answer now."
TEXT = {"type": "text", "text": ASK}
TYPES: Mapping[str, Any] = {
    ANTHROPIC: MessageCreateParams,
    OPENAI: CompletionCreateParams,
    RESPONSES: ResponseCreateParams,
}
FUNCTION = {"type": "function", "function": {"name": "search", "parameters": {}}}
DECLARED = [{"functionDeclarations": [{"name": "search"}]}]


def made(wire: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    return last_request(of_body(wire, body), ASK).body


def added(wire: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """What stands in the made body that did not stand in the one it was made from."""
    return {key: value for key, value in made(wire, body).items() if body.get(key) != value}


@pytest.mark.parametrize("wire", ALL_WIRES)
@given(data=st.data())
def test_the_last_request_of_a_valid_history_only_adds_and_is_valid(wire: str, data: Any) -> None:
    history = data.draw(VALID_HISTORIES[wire])
    request = history.request(data.draw(st.sampled_from(history.ends)))
    last = last_request(request, ASK)
    # While a tool of the provider's own still runs, the user may not speak.
    assert {problem.rule for problem in broken_by_edit(last)} <= {"server_tool_use_has_its_result"}
    before = [block.native for block in request.blocks()]
    if wire == ANTHROPIC and request.turns[-1].role == "user" and isinstance(before[-1], str):
        before[-1] = {"type": "text", "text": before[-1]}
    *kept, asked = [block.native for block in last.blocks()]
    assert kept == before
    assert ASK in str(asked)


@pytest.mark.parametrize("wire", TYPES)
def test_the_last_request_is_one_that_the_sdks_types_allow(wire: str) -> None:
    bodies: Mapping[str, Any] = {
        ANTHROPIC: {"max_tokens": 9, "messages": [user("Hi.")], "tools": [{"name": "a", "input_schema": {}}]},
        OPENAI: {"messages": [user("Hi.")], "tools": [FUNCTION]},
        RESPONSES: {"input": "Hi.", "tools": [{"type": "web_search"}]},
    }
    TypeAdapter(TYPES[wire]).validate_python(made(wire, {"model": "m", **bodies[wire]}))


def test_claude_is_asked_behind_the_results_in_the_same_message() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "Found."}
    messages = [user("Hi."), {"role": "assistant", "content": []}, {"role": "user", "content": [result]}]
    tools = [{"name": "search", "input_schema": {}}]
    body = {"messages": messages, "tools": tools, "tool_choice": {"type": "any"}}
    assert added(ANTHROPIC, body) == {
        "tool_choice": {"type": "none"},
        "messages": [*messages[:2], {"role": "user", "content": [result, TEXT]}],
    }


def test_claude_is_asked_behind_a_plain_text() -> None:
    (message,) = made(ANTHROPIC, {"messages": [user("Hi.")]})["messages"]
    assert message == {"role": "user", "content": [{"type": "text", "text": "Hi."}, TEXT]}


def test_claude_is_asked_in_a_message_of_its_own_behind_one_of_the_systems() -> None:
    last = {"role": "system", "content": "Be brief."}
    assert made(ANTHROPIC, {"messages": [last]})["messages"] == [last, user(ASK)]


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_no_tool_is_forbidden_where_there_is_none(wire: str) -> None:
    """OpenAI: 'tool_choice' is only allowed when 'tools' are specified."""
    key = {GEMINI: "contents", RESPONSES: "input"}.get(wire, "messages")
    assert added(wire, {key: []}).keys() == {key}


def test_gpt_is_asked_in_a_message_of_its_own() -> None:
    messages = [user("Hi."), {"role": "tool", "tool_call_id": "c", "content": "Found."}]
    assert added(OPENAI, {"messages": messages, "tools": [FUNCTION]}) == {
        "tool_choice": "none",
        "messages": [*messages, user(ASK)],
    }


def test_functions_of_the_older_kind_are_forbidden_in_the_older_way() -> None:
    body = {"messages": [user("Hi.")], "functions": [{"name": "search"}]}
    assert added(OPENAI, body)["function_call"] == "none"


def test_a_prompt_that_is_one_text_becomes_the_first_of_two_items() -> None:
    assert added(RESPONSES, {"input": "Hi.", "tools": [{"type": "web_search"}]}) == {
        "tool_choice": "none",
        "input": [user("Hi."), user(ASK)],
    }


def test_gemini_is_asked_behind_the_responses_in_the_same_content() -> None:
    response = {"functionResponse": {"name": "search", "response": {}}}
    body = {"contents": [{"parts": [response]}], "tools": DECLARED}
    assert added(GEMINI, body) == {
        "toolConfig": {"functionCallingConfig": {"mode": "NONE"}},
        "contents": [{"parts": [response, {"text": ASK}]}],
    }


SAID = {"role": "user", "parts": [{"text": ASK}]}


def test_gemini_is_asked_in_a_content_of_its_own_where_the_last_is_a_functions() -> None:
    last = {"role": "function", "parts": [{"functionResponse": {"name": "search", "response": {}}}]}
    assert made(GEMINI, {"contents": [last]})["contents"] == [
        last,
        {"role": "user", "parts": [{"text": ASK}]},
    ]


def test_a_content_without_parts_gets_the_question_as_its_first() -> None:
    assert made(GEMINI, {"contents": [{"role": "user"}]})["contents"] == [
        {"role": "user", "parts": [{"text": ASK}]}
    ]


@pytest.mark.parametrize("key", ["toolConfig", "tool_config"])
def test_what_else_gemini_is_told_about_its_tools_stays(key: str) -> None:
    told = {
        "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["search"]},
        "retrievalConfig": {"languageCode": "en"},
    }
    if key == "tool_config":
        told["function_calling_config"] = told.pop("functionCallingConfig")
    body = {"contents": [], "tools": DECLARED, key: told}
    assert added(GEMINI, body)[key] == {
        "functionCallingConfig": {"mode": "NONE"},
        "retrievalConfig": {"languageCode": "en"},
    }


def test_geminis_own_tools_are_left_as_they_are() -> None:
    """The API refuses a functionCallingConfig without function declarations."""
    assert added(GEMINI, {"contents": [], "tools": [{"googleSearch": {}}]}).keys() == {"contents"}


@pytest.mark.parametrize(
    ("body", "most"),
    [
        ({"max_tokens": 100}, 100),
        ({"max_tokens": 0}, 0),
        ({"max_completion_tokens": 100, "n": 3}, 300),
        ({"max_output_tokens": 100}, 100),
        ({"generationConfig": {"maxOutputTokens": 100}}, 100),
        ({"generationConfig": {"maxOutputTokens": 100, "candidateCount": 2}}, 200),
        ({"generation_config": {"max_output_tokens": 100, "candidate_count": 2}}, 200),
        ({"max_tokens": None}, None),
        ({"max_tokens": "many"}, None),
        ({}, None),
    ],
)
def test_the_longest_answer_is_what_the_body_allows(body: Mapping[str, Any], most: int | None) -> None:
    assert most_output_tokens(body) == most
