"""OpenHands' default condenser: it forgets events and puts a summary of a model in their place.

The model is a stand-in that answers with filler of 300 tokens: what a real summary keeps counts as lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from openhands.sdk.context.condenser.llm_summarizing_condenser import default_condenser
from openhands.sdk.context.view import View
from openhands.sdk.event import ActionEvent, Condensation, MessageEvent, ObservationEvent, SystemPromptEvent
from openhands.sdk.event.base import LLMConvertibleEvent
from openhands.sdk.llm import LLMResponse, MessageToolCall, TextContent
from openhands.sdk.llm import Message as NativeMessage
from openhands.sdk.testing import TestLLM
from openhands.sdk.tool.schema import Observation
from peers.history_worker import Message, Policy, SideCall, work

SUMMARY_TOKENS = 300
CHARS_PER_TOKEN = 4


class Result(Observation):
    """What a tool gave back, as text."""


class StandIn(TestLLM):
    """Answers every request for a summary with filler."""

    def completion(self, messages: list[NativeMessage], **options: Any) -> LLMResponse:
        """The summary; the size of what was asked is kept."""
        chars = sum(len(part.text) for message in messages for part in message.content)
        ASKED.append((chars // CHARS_PER_TOKEN, SUMMARY_TOKENS))
        filler = [TextContent(text=" word" * SUMMARY_TOKENS)]
        self._scripted_responses.append(NativeMessage(role="assistant", content=filler))
        return super().completion(messages, **options)


ASKED: list[SideCall] = []


class Condense(Policy):
    """`default_condenser`, asked before every call as its agent does."""

    def __init__(self, messages: list[Message]) -> None:
        super().__init__(messages)
        self._condenser = default_condenser(StandIn.from_messages([]))
        self._events: list[Any] = []
        self._seen = 0
        self._places: dict[str, int] = {}

    def send(self, length: int) -> list[Message]:
        """What is left of the events, as chat messages."""
        for place in range(self._seen, length):
            for event in _events(self.messages[place], f"answer-{place}"):
                self._places[event.id] = place
                self._events.append(event)
        self._seen = length
        ASKED.clear()
        condensed = self._condenser.condense(View.from_events(self._events))
        while isinstance(condensed, Condensation):
            self._events.append(condensed)
            condensed = self._condenser.condense(View.from_events(self._events))
        self.side_calls = list(ASKED)
        return list(self._messages(condensed.events))

    def _messages(self, events: list[LLMConvertibleEvent]) -> Iterator[Message]:
        last = None
        for event in events:
            place = self._places.get(event.id)
            if place is None:
                yield {"role": "user", "content": event.to_llm_message().content[0].text}
            elif place != last:
                yield self.messages[place]
            last = place


def _events(message: Message, answer_id: str) -> Iterator[LLMConvertibleEvent]:
    """The events of one message: one for each call of an answer."""
    text = [TextContent(text=message["content"])]
    if message["role"] == "system":
        yield SystemPromptEvent(system_prompt=text[0], tools=[])
    elif message["role"] == "tool":
        call_id = message["tool_call_id"]
        yield ObservationEvent(
            observation=Result(content=text), action_id=call_id, tool_name="tool", tool_call_id=call_id
        )
    elif message.get("tool_calls"):
        for call in message["tool_calls"]:
            yield _action(call, text, answer_id)
    else:
        source = "user" if message["role"] == "user" else "agent"
        yield MessageEvent(source=source, llm_message=NativeMessage(role=message["role"], content=text))


def _action(call: dict[str, Any], thought: list[TextContent], answer_id: str) -> ActionEvent:
    function = call["function"]
    native = MessageToolCall(
        id=call["id"], name=function["name"], arguments=function["arguments"], origin="completion"
    )
    return ActionEvent(
        id=call["id"],
        thought=thought,
        tool_name=function["name"],
        tool_call_id=call["id"],
        tool_call=native,
        llm_response_id=answer_id,
    )


if __name__ == "__main__":
    work({"condense": Condense}, packages=["openhands-sdk"])
