"""Counts with tiktoken alone, the whole history in every request."""

from __future__ import annotations

from typing import Any

import tiktoken
from peers.worker import Counter, Message, work


class Recount(Counter):
    """The texts of each message, and four tokens more."""

    def __init__(self, messages: list[Message]) -> None:
        super().__init__(messages)
        self._encoding = tiktoken.get_encoding("o200k_base")

    def count(self, request: Any) -> int:
        """The tokens of all messages."""
        return sum(self._message(message) for message in request)

    def _message(self, message: Message) -> int:
        texts = [message["content"]]
        for call in message.get("tool_calls", ()):
            texts += call["function"]["name"], call["function"]["arguments"]
        return 4 + sum(len(self._encoding.encode(text, disallowed_special=())) for text in texts)


if __name__ == "__main__":
    work({"recount": Recount}, packages=["tiktoken"])
