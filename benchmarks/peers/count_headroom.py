"""Counts with headroom's `TiktokenCounter`, which remembers the texts that it counted."""

from __future__ import annotations

from typing import Any

from headroom.tokenizers import TiktokenCounter
from peers.worker import Counter, Message, work


class Remembering(Counter):
    """With tiktoken, each text once as long as it is remembered."""

    def __init__(self, messages: list[Message]) -> None:
        super().__init__(messages)
        self._counter = TiktokenCounter("gpt-4o")

    def count(self, request: Any) -> int:
        """The tokens of all messages."""
        return self._counter.count_messages(request)


if __name__ == "__main__":
    work({"remembering": Remembering}, packages=["headroom-ai", "tiktoken"])
