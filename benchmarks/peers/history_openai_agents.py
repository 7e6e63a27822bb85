"""The trimmer of OpenAI's agents SDK as its filter of every model call, with its defaults."""

from __future__ import annotations

from typing import Any

from agents.extensions import ToolOutputTrimmer
from agents.run_config import CallModelData, ModelInputData
from peers.history_worker import Message, Policy, work

OUTPUT = "function_call_output"


class Trim(Policy):
    """`ToolOutputTrimmer`, which takes items of the Responses API."""

    def __init__(self, messages: list[Message]) -> None:
        super().__init__(messages)
        self._trimmer = ToolOutputTrimmer()
        self._items = [_items(message) for message in messages]

    def send(self, length: int) -> list[Message]:
        """The messages with the outputs that it leaves."""
        others = self._items[1:length]
        given = ModelInputData(input=[item for items in others for item in items], instructions=None)
        trimmed = self._trimmer(CallModelData(model_data=given, agent=None, context=None)).input
        outputs = {item["call_id"]: item["output"] for item in trimmed if item.get("type") == OUTPUT}
        return [_with_output(message, outputs) for message in self.messages[:length]]


def _items(message: Message) -> list[dict[str, Any]]:
    if message["role"] == "tool":
        return [{"type": OUTPUT, "call_id": message["tool_call_id"], "output": message["content"]}]
    calls = [
        {
            "type": "function_call",
            "call_id": call["id"],
            "name": call["function"]["name"],
            "arguments": call["function"]["arguments"],
        }
        for call in message.get("tool_calls", ())
    ]
    return [{"role": message["role"], "content": message["content"]}, *calls]


def _with_output(message: Message, outputs: dict[str, str]) -> Message:
    if message["role"] != "tool":
        return message
    return {**message, "content": outputs[message["tool_call_id"]]}


if __name__ == "__main__":
    work({"trim": Trim}, packages=["openai-agents"])
