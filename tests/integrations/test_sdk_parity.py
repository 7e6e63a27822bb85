"""Blocking, awaiting and streaming are one behaviour: the same requests are sent, the same is booked."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ctxkit
from ctxkit.integrations import functions
from ctxkit.testing import Answer, ModelServer, reply
from support.calling import HI, Sdk, Waiter

PAIRS = [(anthropic.Anthropic, anthropic.AsyncAnthropic), (openai.OpenAI, openai.AsyncOpenAI)]
WORDS = st.text(alphabet="ab é🐈\n<|>", max_size=12)
CALL = st.tuples(st.sampled_from(["read", "search"]), st.fixed_dictionaries({"size": st.integers(0, 4_000)}))
STEP = st.builds(reply, WORDS, tool_calls=st.lists(CALL, min_size=1, max_size=3), thinking=WORDS)
SCRIPTS = st.tuples(st.lists(STEP, max_size=4), st.builds(reply, WORDS)).map(lambda pair: [*pair[0], pair[1]])


def made_of(size: int) -> str:
    return "a line of text\n" * (size // 8)


def stack() -> ctxkit.Stack:
    """Small limits, so that every middleware has something to do."""
    trim = ctxkit.TrimHistory(start_tokens=400, target_tokens=200, keep_steps=1, min_batch_tokens=1)
    return ctxkit.Stack(ctxkit.TruncateToolResults(max_tokens=120), trim, ctxkit.TokenMeter())


def run_loop(sdk: Sdk, client: Any, *, streamed: bool) -> str:
    """A tool-use loop; gives the last answer's text."""
    tools = {"read": made_of, "search": made_of}
    messages: list[Any] = [*HI]
    while True:
        if streamed:
            with sdk.helper(client, messages) as stream:
                sdk.wait.items(stream)
                answer = sdk.final(stream)
        else:
            answer = sdk.create(client, messages)
        results = functions.run_tools(answer, tools)
        if not results:
            return sdk.text(answer)
        if sdk.is_anthropic:
            content = [part.model_dump(mode="json", exclude_none=True) for part in answer.content]
            messages.append({"role": "assistant", "content": [_sent(part) for part in content]})
            messages.append({"role": "user", "content": results})
        else:
            message = answer.choices[0].message
            calls = [
                call.model_dump(include={"id": True, "type": True, "function": {"name", "arguments"}})
                for call in message.tool_calls
            ]
            messages.append({"role": "assistant", "content": message.content, "tool_calls": calls})
            messages.extend(results)


def _sent(part: dict[str, Any]) -> dict[str, Any]:
    """A content block as a loop sends it back."""
    kept = {"text": ("text",), "thinking": ("thinking", "signature"), "tool_use": ("id", "name", "input")}
    return {key: part[key] for key in ("type", *kept[part["type"]])}


def outcome(client: type[Any], script: list[Answer], wait: Waiter, *, streamed: bool) -> tuple[Any, ...]:
    """The answer, what the server was sent, and what was booked."""
    sdk = Sdk(client, wait=wait)
    with ModelServer(script) as server, sdk.wrapped(server, *stack().middlewares) as wrapped:
        with ctxkit.task("loop") as task:
            text = run_loop(sdk, wrapped, streamed=streamed)
        assert server.errors == []
        sent = [
            {key: value for key, value in request.json.items() if not key.startswith("stream")}
            for request in server.requests
        ]
    assert not task.faults
    return text, sent, task.report().to_dict()


@pytest.mark.parametrize(("blocking", "awaiting"), PAIRS, ids=["anthropic", "openai"])
@settings(max_examples=12)
@given(script=SCRIPTS)
def test_blocking_awaiting_and_streaming_do_the_same(
    blocking: type[Any], awaiting: type[Any], script: list[Answer]
) -> None:
    wait = Waiter()
    first = outcome(blocking, script, wait, streamed=False)
    assert outcome(awaiting, script, wait, streamed=False) == first
    assert outcome(blocking, script, wait, streamed=True) == first
    assert outcome(awaiting, script, wait, streamed=True) == first
    wait.close()
