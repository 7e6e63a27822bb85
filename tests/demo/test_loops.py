"""The demo's two loops through the real SDKs: what they answer, and the histories that they send."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import anthropic
import openai
import pytest

import ctxkit
from ctxkit.demo.loops import anthropic_loop, openai_loop
from ctxkit.demo.play import MAX_TOKENS
from ctxkit.demo.recorded import RecordedTools, as_anthropic, recorded_outcome, recording, user_turns
from ctxkit.testing import ModelServer, PromptCache, from_transcript
from ctxkit.transcripts import Transcript

CLAUDE = "claude-sonnet-5-5"
RUN = recording()


@dataclass
class Sdk:
    """A loop, a client for a server, and the run in the SDK's shape."""

    loop: Callable[..., list[str]]
    client: Callable[[str], Any]
    transcript: Transcript


ANTHROPIC = Sdk(
    anthropic_loop,
    lambda url: anthropic.Anthropic(base_url=url, api_key="none"),
    as_anthropic(RUN, model=CLAUDE),
)
OPENAI = Sdk(openai_loop, lambda url: openai.OpenAI(base_url=f"{url}/v1", api_key="none"), RUN)
STACKS = {"plain": ctxkit.observe(), "wrapped": ctxkit.balanced(max_tokens=MAX_TOKENS)}


@dataclass
class Played:
    """What a loop did."""

    answers: list[str]
    tools: RecordedTools
    bodies: list[Any]
    task: ctxkit.Task


def play(sdk: Sdk, stack: ctxkit.Stack) -> Played:
    tools = RecordedTools(RUN)
    with ModelServer(from_transcript(sdk.transcript)) as server, sdk.client(server.url) as client:
        with ctxkit.task("demo") as task:
            answers = sdk.loop(
                ctxkit.wrap(client, stack),
                model=sdk.transcript.model,
                system=RUN.messages[0]["content"],
                tools=sdk.transcript.tools,
                user_turns=user_turns(RUN),
                run_tool=tools.run,
            )
        return Played(answers, tools, [request.json for request in server.requests], task)


@pytest.fixture(scope="module", params=[ANTHROPIC, OPENAI], ids=["anthropic", "openai"])
def sdk(request: pytest.FixtureRequest) -> Sdk:
    """Each SDK in turn."""
    return request.param


@pytest.fixture(scope="module", params=list(STACKS))
def played(request: pytest.FixtureRequest, sdk: Sdk) -> Played:
    """The loop's run, plain and wrapped in turn."""
    return play(sdk, STACKS[request.param])


def test_a_loop_gives_the_recorded_answers(played: Played) -> None:
    assert played.answers == recorded_outcome(RUN).answers


def test_a_loop_makes_the_recorded_tool_calls(played: Played) -> None:
    assert played.tools.calls == recorded_outcome(RUN).tool_calls


def test_a_plain_loop_sends_the_recorded_history(sdk: Sdk) -> None:
    sent = play(sdk, STACKS["plain"]).bodies[-1]
    assert [without_nulls(message) for message in sent["messages"]] == [
        without_nulls(message) for message in sdk.transcript.messages[:-1]
    ]


def test_every_history_that_is_sent_pairs_calls_with_results(played: Played) -> None:
    """Each result stands right behind its call: anything else is refused by either API with a 400."""
    assert len(played.bodies) == 10
    for body in played.bodies:
        spoken = [message for message in body["messages"] if message["role"] != "system"]
        assert (spoken[0]["role"], spoken[-1]["role"]) in {("user", "user"), ("user", "tool")}
        for call_ids, result_ids in exchanges(spoken):
            assert call_ids == result_ids


def test_the_meter_books_what_the_server_bills(played: Played) -> None:
    cache = PromptCache()
    wire = "anthropic_messages" if "system" in played.bodies[0] else "openai_chat"
    billed = [cache.take(body, wire=wire) for body in played.bodies]
    totals = played.task.totals
    assert totals.requests == len(billed)
    assert totals.input_tokens == sum(usage.input_tokens or 0 for usage in billed)
    assert totals.cache_read_tokens == sum(usage.cache_read_tokens for usage in billed)
    assert totals.cache_write_tokens == sum(usage.cache_write_tokens for usage in billed)


def test_the_prompt_cache_is_used(played: Played) -> None:
    assert played.task.totals.cache_read_tokens > played.task.totals.input_tokens / 2


def without_nulls(message: dict[str, Any]) -> dict[str, Any]:
    """A message without the keys that say nothing, in the API's own words or the recording's."""
    content = message["content"]
    if isinstance(content, list):
        content = [{key: value for key, value in part.items() if value is not None} for part in content]
    kept = {key: value for key, value in message.items() if value is not None and key != "content"}
    return {**kept, "content": content} if content else kept


def exchanges(messages: Sequence[Any]) -> Iterator[tuple[list[str], list[str]]]:
    """For each message of the model, the ids that it calls, and those that are answered right behind it."""
    for index, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        parts = message["content"] if isinstance(message["content"], list) else []
        called = [part["id"] for part in parts if part["type"] == "tool_use"]
        called += [call["id"] for call in message.get("tool_calls") or ()]
        yield called, list(answered(messages[index + 1 :]))


def answered(behind: Sequence[Any]) -> Iterator[str]:
    """The ids of the results at the beginning of these messages."""
    for message in behind:
        if message["role"] == "tool":
            yield message["tool_call_id"]
        elif isinstance(message["content"], list):
            yield from (part["tool_use_id"] for part in message["content"] if part["type"] == "tool_result")
            return
        else:
            return
