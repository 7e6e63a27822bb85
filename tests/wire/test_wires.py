"""Which wire a URL or a body is in, and which wires there are."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.errors import ConfigError
from ctxkit.wire import READERS, WIRES, wire_for_path, wire_named, wire_of, wire_of_answer
from support.bodies import ALL_WIRES, ANTHROPIC, GEMINI, OPENAI, RESPONSES, answer_body, user


@pytest.mark.parametrize("name", WIRES)
def test_a_wire_is_found_by_its_name(name: str) -> None:
    assert wire_named(name).name == name


def test_an_unknown_wire_is_refused_with_the_names_of_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="anthropic_messages, openai_chat") as raised:
        wire_named("telepathy")
    assert raised.value.option == "wire"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/messages", ANTHROPIC),
        ("/gateway/anthropic/v1/messages", ANTHROPIC),
        ("/v1/chat/completions", OPENAI),
        ("/openai/deployments/mine/chat/completions", OPENAI),
        ("/v1/responses", RESPONSES),
        ("/v1beta/models/gemini-3-pro:generateContent", GEMINI),
    ],
)
def test_a_model_call_is_told_from_the_end_of_its_path(path: str, name: str) -> None:
    wire = wire_for_path(path)
    assert wire is not None
    assert wire.name == name


@pytest.mark.parametrize(
    "path",
    [
        "/v1/messages/count_tokens",
        "/v1/messages/batches",
        "/v1/messages/batches/b/cancel",
        "/v1/files",
        "/v1/models",
        "/v1/embeddings",
        "/v1/completions",
        "/v1/threads/thread_1/messages",
    ],
)
def test_what_is_no_model_call_has_no_wire(path: str) -> None:
    assert wire_for_path(path) is None


OF_ANTHROPIC: list[dict[str, Any]] = [
    {"system": "Be brief.", "messages": [user("hi")]},
    {"messages": [user("hi")], "tools": [{"name": "ls", "input_schema": {}}]},
    {"messages": [user("hi"), {"role": "assistant", "content": [{"type": "tool_use"}]}]},
    {"messages": [user("hi")], "model": "claude-sonnet-5"},
    {"messages": [user("hi")], "anthropic_version": "bedrock-2023-05-31", "tools": [{"name": "ls"}]},
]
OF_OPENAI: list[dict[str, Any]] = [
    {"messages": [{"role": "system", "content": "Be brief."}, user("hi")]},
    {"messages": [user("hi"), {"role": "assistant", "tool_calls": []}]},
    {"messages": [user("hi")], "tools": [{"type": "function", "function": {"name": "ls"}}]},
    {"messages": [user("hi")], "model": "gpt-4o"},
    {"messages": []},
]


OF_RESPONSES: list[dict[str, Any]] = [
    {"input": "hi", "model": "gpt-5"},
    {"input": [user("hi")]},
    {"input": [{"type": "function_call_output", "call_id": "a", "output": "x"}]},
]
OF_GEMINI: list[dict[str, Any]] = [{"contents": [{"parts": [{"text": "hi"}]}]}]
BODIES = {ANTHROPIC: OF_ANTHROPIC, OPENAI: OF_OPENAI, RESPONSES: OF_RESPONSES, GEMINI: OF_GEMINI}


@pytest.mark.parametrize(
    ("body", "name"), [(body, name) for name, bodies in BODIES.items() for body in bodies]
)
def test_a_wire_is_told_from_a_request_body(body: dict[str, Any], name: str) -> None:
    wire = wire_of(body)
    assert wire is not None
    assert wire.name == name


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": "hi"},
        {"messages": ["hi"]},
        {"contents": []},
        {"contents": ["hi"]},
        {"input": ["to", "embed"]},
    ],
)
def test_a_body_without_messages_is_of_no_wire(body: dict[str, Any]) -> None:
    assert wire_of(body) is None


@pytest.mark.parametrize("name", ALL_WIRES)
def test_a_wire_is_told_from_an_answer(name: str) -> None:
    wire = wire_of_answer(answer_body(name))
    assert wire is not None
    assert wire.name == name


@pytest.mark.parametrize("body", [{}, {"content": "hi"}, {"output": {"message": {}}}, {"error": {}}])
def test_what_is_no_answer_is_of_no_wire(body: dict[str, Any]) -> None:
    assert wire_of_answer(body) is None


def test_every_wire_can_be_read_and_bedrocks_can_be_nothing_more() -> None:
    assert list(WIRES) == list(ALL_WIRES)
    assert READERS.keys() - WIRES.keys() == {"bedrock_converse"}


@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI])
def test_where_the_provider_keeps_no_conversation_a_request_holds_the_whole_prompt(name: str) -> None:
    assert not wire_named(name).has_server_state({"messages": [user("hi")]})
