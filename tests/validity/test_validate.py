"""`validate`: what goes in, what comes out, and what is no body."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from ctxkit.errors import BodyError, ConfigError
from ctxkit.messages import ModelRequest
from ctxkit.validity import Problem, problems_of, validate
from ctxkit.validity.models import claude_version, gemini_version
from support.bodies import ANTHROPIC, OPENAI, calls
from support.validity import messages, user

BROKEN = messages(user("Hi."), calls(ANTHROPIC, "a"))


def test_a_problem_has_its_rule_its_place_and_the_providers_words() -> None:
    assert validate(BROKEN) == [
        Problem(
            rule="tool_use_has_its_result",
            where=("messages", 1, "content", 0),
            message=(
                "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a. "
                "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
            ),
        )
    ]


def test_a_body_may_be_given_as_its_bytes() -> None:
    assert validate(json.dumps(BROKEN).encode()) == validate(BROKEN)


def test_the_wire_is_told_from_the_body_or_named() -> None:
    empty = messages(user(""))
    assert [problem.rule for problem in validate(empty, wire=ANTHROPIC)] == ["message_is_not_empty"]
    assert validate(empty, wire=OPENAI) == []
    assert validate({"model": "gpt-5", "input": [{"type": "function_call_output", "call_id": "a"}]}) != []
    assert validate({"contents": [{"role": "model", "parts": [{"text": "Hi."}]}]}) != []


@pytest.mark.parametrize("body", [b"{", b"[]", {"model": "m"}, {"messages": 7}])
def test_what_is_no_body_raises(body: bytes | dict[str, object]) -> None:
    with pytest.raises(BodyError):
        validate(body)


def test_a_malformed_message_raises_with_its_place() -> None:
    with pytest.raises(BodyError) as raised:
        validate(messages({"role": "user", "content": 7}), wire=ANTHROPIC)
    assert raised.value.where == ("messages", 0, "content")


def test_an_unknown_wire_raises() -> None:
    with pytest.raises(ConfigError):
        validate(BROKEN, wire="morse")


def test_nothing_is_said_of_a_wire_without_rules() -> None:
    wire: Any = SimpleNamespace(name="morse")
    assert problems_of(ModelRequest(wire, BROKEN)) == ()


@pytest.mark.parametrize(
    ("model", "version"),
    [
        ("claude-opus-4-6", (4, 6)),
        ("claude-opus-4-10", (4, 10)),
        ("claude-opus-4-20250514", (4, 0)),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", (4, 5)),
        ("claude-opus-4-5@20251101", (4, 5)),
        ("anthropic/claude-opus-4.6", (4, 6)),
        ("claude-3-5-sonnet-20240620", (3, 5)),
        ("claude-3-opus-20240229", (3, 0)),
        ("claude-fable-5", (5, 0)),
        ("claude-mythos-preview", None),
        (None, None),
    ],
)
def test_the_version_is_told_from_a_claude_models_name(model: str | None, version: object) -> None:
    assert claude_version(model) == version


@pytest.mark.parametrize(
    ("model", "version"),
    [
        ("models/gemini-2.5-flash-001", (2, 5)),
        ("gemini-3-pro-preview", (3, 0)),
        ("gemini-3.1-pro", (3, 1)),
        ("gemini-pro-latest", None),
        (None, None),
    ],
)
def test_the_version_is_told_from_a_gemini_models_name(model: str | None, version: object) -> None:
    assert gemini_version(model) == version
