"""Recorded runs as scripts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from ctxkit.errors import ConfigError
from ctxkit.messages import ModelRequest
from ctxkit.testing import ModelServer, ScriptedModel, from_transcript
from ctxkit.transcripts.base import Transcript
from ctxkit.wire import wire_named

DATA = Path(__file__).parents[3] / "shared" / "data" / "transcripts"


def transcript(wire: str, messages: list[Any], *, model: str | None = "m") -> Transcript:
    return Transcript(
        id="a",
        format="test",
        wire=wire,
        provider=None,
        model=model,
        system=None,
        tools=[],
        messages=messages,
        requests=(),
    )


def recorded(name: str, wire: str) -> Iterator[Transcript]:
    path = DATA / name
    if not path.exists():
        pytest.skip("the shared transcripts are not here")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line, _ in zip(lines, range(5), strict=False):
            run = json.loads(line)
            yield transcript(wire, run["messages"], model=run["model"])


def test_an_anthropic_run_is_said_again_by_the_sdk() -> None:
    call = {"type": "tool_use", "id": "toolu_a", "name": "search", "input": {"query": "cats"}}
    marked = {"type": "text", "text": "Let me look.", "cache_control": {"type": "ephemeral"}}
    messages = [
        {"role": "user", "content": "Any cats?"},
        {"role": "assistant", "content": [marked, call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_a", "content": "none"}]},
        {"role": "assistant", "content": "None."},
    ]
    script = from_transcript(transcript("anthropic_messages", messages))
    with (
        ModelServer(script) as server,
        anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as client,
    ):
        asked: dict[str, Any] = {"model": "other", "max_tokens": 9, "messages": messages[:1]}
        first = client.messages.create(**asked)
        with client.messages.stream(**asked) as stream:
            second = stream.get_final_message()
    assert [block.model_dump(exclude_unset=True) for block in first.content] == [
        {"type": "text", "text": "Let me look."},
        call,
    ]
    assert (first.stop_reason, second.stop_reason) == ("tool_use", "end_turn")
    assert [block.type for block in second.content] == ["text"]
    assert first.usage.input_tokens > 0


def test_an_openai_run_is_said_again_by_the_sdk() -> None:
    call = {"id": "call_a", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Any cats?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_a", "content": "none"},
        {"role": "assistant", "content": "None."},
    ]
    script = from_transcript(transcript("openai_chat", messages))
    with (
        ModelServer(script) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
    ):
        asked: dict[str, Any] = {"model": "other", "messages": messages[:1]}
        first, second = (client.chat.completions.create(**asked).choices[0] for _ in script)
    assert first.message.model_dump(exclude_unset=True) == messages[1]
    assert (first.finish_reason, second.finish_reason) == ("tool_calls", "stop")
    assert second.message.content == "None."


def test_a_run_on_a_wire_without_scripted_answers_is_refused() -> None:
    with pytest.raises(ConfigError, match="no answers for wire 'gemini'"):
        from_transcript(transcript("gemini", []))


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("moatless.jsonl.gz", "anthropic_messages"),
        ("pi_coding_agent.jsonl.gz", "anthropic_messages"),
        ("openhands.jsonl.gz", "openai_chat"),
        ("tau2_gpt41.jsonl.gz", "openai_chat"),
    ],
)
def test_real_runs_are_said_again_word_by_word(name: str, wire: str) -> None:
    for run in recorded(name, wire):
        script = from_transcript(run)
        model = ScriptedModel(script)
        said = [message for message in run.messages if message["role"] == "assistant"]
        asked = ModelRequest(wire_named(wire), {"model": "m", "messages": run.messages[:1]})
        assert len(script) == len(said)
        for message in said:
            texts = [block.text for block in model.model(asked).blocks]
            turn = ModelRequest(wire_named(wire), {"model": "m", "messages": [message]}).turns[0]
            assert texts == [block.text for block in turn.blocks]
