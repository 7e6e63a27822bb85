"""Counts with ctxkit, as a transport does: from the bytes of a request to its tokens by kind and tool.

A counter hides the packages of those extras that it does without, so that it runs as where they are missing.
"""

from __future__ import annotations

import sys
from typing import Any

import orjson
import workload
from peers.worker import Counter, Message, work

from ctxkit.messages import Histories, ModelRequest
from ctxkit.tokens import block_counter_for, shape_of
from ctxkit.wire import wire_named
from ctxkit.wire.growing import GrowingBodies


class Messages(Counter):
    """Requests to Claude whose bodies are parsed already, as peers get them."""

    wire = wire_named("anthropic_messages")
    hidden: tuple[str, ...] = ("toktok", "ctok")

    def __init__(self, messages: list[Message]) -> None:
        super().__init__(messages)
        self._bodies = GrowingBodies()
        self._histories = Histories()
        sys.modules.update(dict.fromkeys(self.hidden))  # type: ignore[arg-type]

    def request(self, length: int) -> Any:
        """The body, tools and system prompt included."""
        return workload.body(self.messages[:length], wire=self.wire.name)

    def count(self, request: Any) -> int:
        """The tokens of the whole request."""
        model_request = ModelRequest(wire=self.wire, body=request, histories=self._histories)
        return shape_of(model_request, block_counter_for(model_request.model, self.wire.name)).total


class FastMessages(Messages):
    """The same with the extra `fast`."""

    hidden = ("ctok",)


class ExactMessages(Messages):
    """The same with the extras `fast` and `claude`."""

    hidden = ()


class Bytes(Messages):
    """Requests to Claude as the bytes that the SDK made."""

    def request(self, length: int) -> Any:
        """The bytes."""
        return orjson.dumps(super().request(length))

    def count(self, request: Any) -> int:
        """The tokens of the whole request."""
        return super().count(self._bodies.read(request, key=self.wire.messages_key))


class FastBytes(Bytes):
    """The same with the extra `fast`."""

    hidden = ("ctok",)


class GptBytes(Bytes):
    """Requests to a model of OpenAI as the bytes that the SDK made."""

    wire = wire_named("openai_chat")


COUNTERS = (Messages, FastMessages, ExactMessages, Bytes, FastBytes, GptBytes)

if __name__ == "__main__":
    work({one.__name__: one for one in COUNTERS}, packages=["ctxkit", "tiktoken", "toktok-rs", "ctok"])
