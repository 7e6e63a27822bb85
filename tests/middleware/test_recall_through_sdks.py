"""`RecallToolResults` behind the real SDK clients, blocking and awaiting, whole and streamed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2
import openai
import pytest

import ctxkit
import ctxkit.integrations.httpx2
from ctxkit.middleware.recall_tool_results import RecallToolResults
from ctxkit.middleware.truncate_tool_results import TruncateToolResults
from ctxkit.originals import RECALL_TOOL, Originals
from ctxkit.testing import ModelServer, failure, reply
from ctxkit.testing.answers import Answer
from ctxkit.wire import wire_named
from support.bodies import ANTHROPIC, GEMINI, OPENAI, RESPONSES, rounds
from support.calling import CERTIFICATES, HOWS, SDK_CLIENTS, Sdk, Waiter
from support.recalling import TOOLS, answer, reading, searching
from support.scripted_http import ScriptedHttp, collected, waited

LONG = "\n".join(f"{number} nothing to see" for number in range(3_000)) + "\nthe needle is blue"
STOP = {"x-should-retry": "false"}


@pytest.fixture
def wait() -> Iterator[Waiter]:
    waiter = Waiter()
    yield waiter
    waiter.close()


def reads_the_note(body: Mapping[str, Any], call: int) -> Answer:
    """A model that reads what the note names, and then says what it read."""
    if call == 0:
        handle = re.search(r"r-[0-9a-f]{16}", json.dumps(body["messages"]))
        assert handle is not None
        return reply(tool_calls=[(RECALL_TOOL, {"handle": handle[0], "first_line": 3_001})])
    assert "the needle is blue" in json.dumps(body["messages"][-1])
    return reply("It is blue.")


def stack() -> ctxkit.Stack:
    originals = Originals()
    truncate = TruncateToolResults(max_tokens=200, originals=originals)
    return ctxkit.Stack(RecallToolResults(originals), truncate, ctxkit.TokenMeter())


def asked(sdk: Sdk, client: Any, how: str, messages: list[Any]) -> str:
    """Ask with tools in one of the `HOWS`, and give the answer's text."""
    wire = ANTHROPIC if sdk.is_anthropic else OPENAI
    tools = TOOLS[wire]
    if how == "whole":
        return sdk.text(sdk.create(client, messages, tools=tools))
    if how == "streamed":
        events = sdk.create(client, messages, tools=tools, stream=True)
        return sdk.streamed_text(sdk.wait.items(events))
    with sdk.helper(client, messages, tools=tools if sdk.is_anthropic else strict(tools)) as stream:
        sdk.wait.items(stream)
        return sdk.text(sdk.final(stream))


def strict(tools: list[Any]) -> list[Any]:
    """The tools as the helper of `openai` wants them."""
    return [{**tool, "function": {**tool["function"], "strict": True}} for tool in tools]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("kind", SDK_CLIENTS)
def test_the_model_reads_what_was_cut_and_the_sdk_gives_its_answer(
    kind: Any, how: str, wait: Waiter, task: ctxkit.Task
) -> None:
    sdk = Sdk(kind, wait=wait)
    messages = rounds(ANTHROPIC if sdk.is_anthropic else OPENAI, [LONG])
    with ModelServer(reads_the_note) as server, sdk.wrapped(server, *stack().middlewares) as client:
        assert asked(sdk, client, how, messages) == "It is blue."
    assert server.errors == []
    assert [attempt.purpose for attempt in task.attempts] == ["main", "recall"]
    assert task.faults == {}


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("kind", SDK_CLIENTS)
def test_an_answer_without_a_read_passes_as_it_came(
    kind: Any, how: str, wait: Waiter, task: ctxkit.Task
) -> None:
    sdk = Sdk(kind, wait=wait)
    messages = rounds(ANTHROPIC if sdk.is_anthropic else OPENAI, ["short"])
    with ModelServer([reply("Hello.")]) as server, sdk.wrapped(server, *stack().middlewares) as client:
        assert asked(sdk, client, how, messages) == "Hello."
    assert len(server.requests) == 1


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("kind", SDK_CLIENTS)
def test_a_provider_that_refuses_the_read_is_heard_by_the_caller(kind: Any, how: str, wait: Waiter) -> None:
    sdk = Sdk(kind, wait=wait)
    messages = rounds(ANTHROPIC if sdk.is_anthropic else OPENAI, [LONG])
    overloaded = failure(503, headers=STOP)

    def script(body: Mapping[str, Any], call: int) -> Answer:
        return reads_the_note(body, call) if call == 0 else overloaded

    with ModelServer(script) as server, sdk.wrapped(server, *stack().middlewares) as client:
        with pytest.raises(sdk.module.APIStatusError) as raised:
            asked(sdk, client, how, messages)
        assert raised.value.status_code == 503
    assert len(server.requests) == 3


@pytest.mark.parametrize("kind", SDK_CLIENTS)
def test_a_history_refused_for_the_read_is_sent_again_as_the_caller_made_it(
    kind: Any, wait: Waiter, task: ctxkit.Task
) -> None:
    sdk = Sdk(kind, wait=wait)
    messages = rounds(ANTHROPIC if sdk.is_anthropic else OPENAI, [LONG])

    def script(body: Mapping[str, Any], call: int) -> Answer:
        if call == 0:
            return reads_the_note(body, call)
        if RECALL_TOOL in json.dumps(body["tools"]):
            return failure(400, {"error": {"message": "tool_use ids were found without tool_result blocks"}})
        return reply("As you like.")

    with ModelServer(script) as server, sdk.wrapped(server, *stack().middlewares) as client:
        assert asked(sdk, client, "whole", messages) == "As you like."
    assert server.requests[-1].json["messages"] == messages


def of_responses(runner: Any, client: Any, **more: Any) -> Any:
    asked: Any = {"model": "gpt-4.1", "input": "Find it.", "tools": TOOLS[RESPONSES], **more}
    return waited(runner, client.responses.create(**asked))


def test_responses_are_read_on_whole_and_streamed(runner: Any) -> None:
    recall = RecallToolResults(Originals())
    http = ScriptedHttp(
        answer(RESPONSES, "", [reading(1, "r-0")]),
        answer(RESPONSES, "", [searching(1)]),
        sse(answer(RESPONSES, "", [reading(2, "r-0")])),
        answer(RESPONSES, "Done."),
    )
    kind: Any = openai.OpenAI if runner is None else openai.AsyncOpenAI
    options = {"http_client": http.client(awaits=runner is not None), "max_retries": 0}
    client = ctxkit.wrap(kind(api_key="none", **options), ctxkit.Stack(recall))
    first = of_responses(runner, client)
    assert [item.name for item in first.output] == ["search"]
    output = {"type": "function_call_output", "call_id": "s1", "output": "found"}
    given = [{"role": "user", "content": "Find it."}, *(item.to_dict() for item in first.output), output]
    events = collected(runner, of_responses(runner, client, input=given, stream=True))
    assert events[-1].type == "response.completed"
    assert events[-1].response.output_text == "Done."
    before, after = http.sent(1)["input"], http.sent(2)["input"]
    assert len(before) == 3
    assert after[1 : len(before)] == before[1:]


def test_gemini_is_read_on_behind_a_stream_that_its_address_asks_for(task: ctxkit.Task) -> None:
    http = ScriptedHttp(
        sse(answer(GEMINI, "", [reading(1, "r-0")]), GEMINI), answer(GEMINI, "Done."), library=httpx2
    )
    stack = ctxkit.Stack(RecallToolResults(Originals()))
    transport = ctxkit.integrations.httpx2.Transport(stack, http.transport)
    address = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash"
    body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "tools": TOOLS[GEMINI]}
    with httpx2.Client(transport=transport, verify=CERTIFICATES) as client:
        given = client.post(f"{address}:streamGenerateContent?alt=sse", json=body)
    assert given.headers["content-type"] == "text/event-stream"
    assert "Done." in given.text
    assert RECALL_TOOL not in given.text
    assert [url.partition("?")[0].rpartition(":")[2] for url in http.urls()] == [
        "streamGenerateContent",
        "generateContent",
    ]
    assert task.faults == {}


def sse(body: dict[str, Any], wire: str = RESPONSES) -> tuple[bytes, str]:
    """An answer as the events that the provider would stream."""
    return b"".join(wire_named(wire).events(body, {})), "text/event-stream"
