"""Counts with LangChain: its approximation, and the exact count of its chat model for OpenAI."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import convert_to_messages
from langchain_core.messages.utils import count_tokens_approximately
from langchain_openai import ChatOpenAI
from peers.worker import Counter, Message, work


class Approximate(Counter):
    """By the number of characters; the messages are LangChain's own, as an agent of it holds them."""

    def __init__(self, messages: list[Message]) -> None:
        super().__init__(messages)
        self._converted = convert_to_messages(messages)

    def request(self, length: int) -> Any:
        """LangChain's own messages."""
        return self._converted[:length]

    def count(self, request: Any) -> int:
        """The tokens of all messages, about."""
        return count_tokens_approximately(request)


class OpenAI(Approximate):
    """With tiktoken."""

    def __init__(self, messages: list[Message]) -> None:
        super().__init__(messages)
        self._model = ChatOpenAI(model="gpt-5", api_key="none")

    def count(self, request: Any) -> int:
        """The tokens of all messages."""
        return self._model.get_num_tokens_from_messages(request)


if __name__ == "__main__":
    work(
        {"approximate": Approximate, "openai": OpenAI},
        packages=["langchain-core", "langchain-openai", "tiktoken"],
    )
