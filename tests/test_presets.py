"""The presets: what each of them does to a loop with a large result."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import anthropic
import pytest

import ctxkit
from ctxkit.originals import RECALL_TOOL
from ctxkit.testing import ModelServer, reply
from ctxkit.testing.answers import Answer
from support.bodies import ANTHROPIC, calls, results, user

LONG = "\n".join(f"line {number} of a long result" for number in range(5_000)) + "\nthe needle is blue"
TOOLS = [{"name": "search", "input_schema": {"type": "object"}}]
MESSAGES = [
    user("Look for the pin."),
    *(calls(ANTHROPIC, "a"), *results(ANTHROPIC, {"a": LONG})),
    *(calls(ANTHROPIC, "b"), *results(ANTHROPIC, {"b": LONG})),
]


def asked(stack: ctxkit.Stack, answer: Any) -> tuple[str, list[dict[str, Any]]]:
    """The text that comes back through the SDK, and the bodies that arrived."""
    with ModelServer(answer) as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="test", max_retries=0)
        with ctxkit.wrap(client, stack) as wrapped, ctxkit.task("preset") as task:
            message = wrapped.messages.create(
                model="claude-sonnet-5", max_tokens=64, messages=MESSAGES, tools=TOOLS
            )
    assert task.faults == {}
    return message.content[0].text, [json.loads(request.body) for request in server.requests]


def shown(body: Mapping[str, Any]) -> list[str]:
    return [body["messages"][index]["content"][0]["content"] for index in (2, 4)]


def test_observe_sends_what_the_caller_sent() -> None:
    _, (body,) = asked(ctxkit.observe(), [reply("Hello.")])
    assert body["messages"] == MESSAGES
    assert body["tools"] == TOOLS


def test_balanced_cuts_a_large_result_and_says_the_same_one_once() -> None:
    _, (body,) = asked(ctxkit.balanced(max_tokens=300), [reply("Hello.")])
    first, second = shown(body)
    assert "call the tool again" in first
    assert "the same as the result of tool call 1" in second
    assert body["tools"] == TOOLS


@pytest.mark.parametrize("originals", [None, ctxkit.Originals(namespace="a user")])
def test_lossless_lets_the_model_read_what_was_cut(originals: ctxkit.Originals | None) -> None:
    def reads(body: Mapping[str, Any], call: int) -> Answer:
        if call == 0:
            handle = re.search(r"r-[0-9a-f]{16}", json.dumps(body["messages"]))
            assert handle is not None
            return reply(tool_calls=[(RECALL_TOOL, {"handle": handle[0], "search": "needle"})])
        assert "the needle is blue" in json.dumps(body["messages"][-1])
        return reply("It is blue.")

    said, bodies = asked(ctxkit.lossless(max_tokens=300, originals=originals), reads)
    assert said == "It is blue."
    assert [tool["name"] for tool in bodies[0]["tools"]] == ["search", RECALL_TOOL]
    assert shown(bodies[0]) == shown(bodies[1])
