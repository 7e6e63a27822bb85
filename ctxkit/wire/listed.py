"""What wires have in common whose messages are one list of the body. No provider is named here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ctxkit.errors import BodyError
from ctxkit.wire.native import items


class ListedMessages:
    """Messages that are one list of the body, under `messages_key`."""

    messages_key: ClassVar[str] = "messages"

    def messages(self, body: Mapping[str, Any]) -> Sequence[Any]:
        """The list of native messages; raises `BodyError` where it is missing, or no list."""
        key = self.messages_key
        if key not in body:
            raise BodyError(f"{key} is missing", where=(key,))
        return items(body[key], (key,))

    def with_messages(self, body: Mapping[str, Any], messages: Sequence[Any]) -> dict[str, Any]:
        """The body with other messages, its keys in their old order."""
        return {**body, self.messages_key: list(messages)}

    def has_server_state(self, body: Mapping[str, Any]) -> bool:
        """Never, where an API keeps no conversation."""
        return False
