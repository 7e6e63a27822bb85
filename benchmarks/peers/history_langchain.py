"""LangChain's policies for histories: `ClearToolUsesEdit` and `trim_messages`."""

from __future__ import annotations

from functools import partial
from typing import Any

from langchain.agents.middleware import ClearToolUsesEdit
from langchain_core.messages import (
    BaseMessage,
    convert_to_messages,
    convert_to_openai_messages,
    trim_messages,
)
from langchain_core.messages.utils import count_tokens_approximately
from peers.history_worker import Message, Policy, work

MAX_TOKENS = 100_000


class Native(Policy):
    """LangChain's own messages, as an agent of it holds them."""

    def __init__(self, messages: list[Message]) -> None:
        super().__init__(messages)
        self._converted = convert_to_messages(messages)
        self._places = {id(message): place for place, message in enumerate(self._converted)}

    def send(self, length: int) -> list[Message]:
        """The messages, edited and back as chat messages."""
        return [self._chat(message) for message in self.edited(self._converted[:length])]

    def edited(self, messages: list[BaseMessage]) -> list[BaseMessage]:
        """What the library sends of these messages."""
        raise NotImplementedError

    def _chat(self, message: BaseMessage) -> Message:
        place = self._places.get(id(message))
        return convert_to_openai_messages(message) if place is None else self.messages[place]


class Clear(Native):
    """`ContextEditingMiddleware` with its defaults; it counts and edits without the system prompt."""

    def __init__(self, messages: list[Message]) -> None:
        super().__init__(messages)
        self._edit = ClearToolUsesEdit()

    def edited(self, messages: list[BaseMessage]) -> list[BaseMessage]:
        """Old results cleared in a copy of the list; messages are replaced there, and not changed."""
        system, *others = messages
        self._edit.apply(others, count_tokens=count_tokens_approximately)
        return [system, *others]


class Trim(Native):
    """`trim_messages` before every call.

    Args:
        messages: All that will be said.
        options: Its own, besides the size.
    """

    def __init__(self, messages: list[Message], **options: Any) -> None:
        super().__init__(messages)
        self._options = options

    def edited(self, messages: list[BaseMessage]) -> list[BaseMessage]:
        """The last messages that fit."""
        return trim_messages(
            messages,
            max_tokens=MAX_TOKENS,
            token_counter=count_tokens_approximately,
            strategy="last",
            include_system=True,
            **self._options,
        )


if __name__ == "__main__":
    work(
        {"clear": Clear, "trim": Trim, "trim_start_on_human": partial(Trim, start_on="human")},
        packages=["langchain", "langchain-core"],
    )
