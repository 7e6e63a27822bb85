"""The recorded task that the demo plays, in the shapes of both APIs, and its tools. Nothing here runs it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any

from ctxkit.ledger import usd
from ctxkit.transcripts import Transcript, load

RECORDING = Path(__file__).with_name("data") / "change_flight.jsonl"
TITLE = "An airline's agent moves a flight to the next day's cheapest economy seats."

ToolCall = tuple[str, Mapping[str, Any]]


def recording() -> Transcript:
    """The recorded run, in the shape of OpenAI's Chat Completions API.

    The test bench's greeting in front of the first user message, and the goodbye after the last answer,
    belong to no request and are left out.
    """
    (transcript,) = load(RECORDING)
    system, _greeting, *messages, _goodbye = transcript.messages
    requests = tuple(
        replace(request, input_messages=request.input_messages - 1) for request in transcript.requests
    )
    return replace(transcript, messages=[system, *messages], requests=requests)


def as_anthropic(transcript: Transcript, *, model: str) -> Transcript:
    """The same run in the shape of Anthropic's Messages API.

    The results of parallel calls go into one user message, as Anthropic wants it.

    Args:
        transcript: A run in the shape of OpenAI's Chat Completions API, its system prompt in front.
        model: The model that stands for the recorded one.
    """
    system, *messages = transcript.messages
    return replace(
        transcript,
        wire="anthropic_messages",
        provider="anthropic",
        model=model,
        system=system["content"],
        tools=[_anthropic_tool(tool["function"]) for tool in transcript.tools],
        messages=list(_anthropic_messages(messages)),
    )


def _anthropic_tool(function: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": function["name"],
        "description": function["description"],
        "input_schema": function["parameters"],
    }


def _anthropic_messages(messages: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for role, run in groupby(messages, key=lambda message: message["role"]):
        if role == "tool":
            yield {"role": "user", "content": list(map(_anthropic_result, run))}
            continue
        for message in run:
            content = message["content"] if role == "user" else _anthropic_answer(message)
            yield {"role": role, "content": content}


def _anthropic_result(message: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "tool_use_id": message["tool_call_id"],
        "content": message["content"],
    }


def _anthropic_answer(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    text = [{"type": "text", "text": message["content"]}] if message.get("content") else []
    calls = [
        {
            "type": "tool_use",
            "id": call["id"],
            "name": call["function"]["name"],
            "input": json.loads(call["function"]["arguments"]),
        }
        for call in message.get("tool_calls") or ()
    ]
    return [*text, *calls]


def user_turns(transcript: Transcript) -> list[str]:
    """What the user says, message by message, in a run in OpenAI's shape."""
    return [message["content"] for message in transcript.messages if message["role"] == "user"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out of a run.

    Attributes:
        answers: What the user was answered, in order.
        tool_calls: The tools that were called, with their arguments, in order.
    """

    answers: Sequence[str]
    tool_calls: Sequence[ToolCall]


def recorded_outcome(transcript: Transcript) -> Outcome:
    """What came out of the recorded run, in OpenAI's shape."""
    said = [message for message in transcript.messages if message["role"] == "assistant"]
    return Outcome(
        answers=[message["content"] for message in said if not message.get("tool_calls")],
        tool_calls=[call for _, call in _calls(transcript)],
    )


def recorded_bill(transcript: Transcript) -> dict[str, Any]:
    """What the provider reported and charged when the run was recorded, as JSON."""
    usages = [request.usage for request in transcript.requests if request.usage is not None]
    costs = [request.recorded_cost_usd or Decimal(0) for request in transcript.requests]
    return {
        "model": transcript.model,
        "requests": len(transcript.requests),
        "input_tokens": sum(usage.input_tokens or 0 for usage in usages),
        "output_tokens": sum(usage.output_tokens or 0 for usage in usages),
        "cost_usd": usd(round(sum(costs, Decimal(0)), 6)),
    }


class RecordedTools:
    """Tools that give again what they gave in the recorded run.

    Args:
        transcript: The run, in OpenAI's shape.

    Attributes:
        calls: The calls so far, with their arguments, in order.
    """

    def __init__(self, transcript: Transcript) -> None:
        self.calls: list[ToolCall] = []
        texts: dict[str, str] = {
            message["tool_call_id"]: message["content"]
            for message in transcript.messages
            if message["role"] == "tool"
        }
        self._results = [(call, texts[call_id]) for call_id, call in _calls(transcript)]

    def run(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The recorded result of an equal call, each of them once.

        Raises:
            LookupError: The recorded run has no such call left.
        """
        self.calls.append((name, arguments))
        for index, (call, result) in enumerate(self._results):
            if call == (name, arguments):
                del self._results[index]
                return result
        raise LookupError(f"the recorded run has no such call left: {name}({json.dumps(arguments)})")


def _calls(transcript: Transcript) -> Iterator[tuple[str, ToolCall]]:
    """The tool calls of a run in OpenAI's shape, each with its id."""
    for message in transcript.messages:
        for call in message.get("tool_calls") or ():
            function = call["function"]
            yield call["id"], (function["name"], json.loads(function["arguments"]))
