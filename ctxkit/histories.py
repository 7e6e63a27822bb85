"""Finds the turns of earlier requests again, so that a growing history is read once."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ctxkit.blocks import Block, Turn
from ctxkit.errors import BodyError

KEPT_HISTORIES = 256


class TurnReader(Protocol):
    """How the turns of a native body are read; every wire is one."""

    @property
    def name(self) -> str:
        """Such as `anthropic_messages`."""
        ...

    def messages(self, body: Mapping[str, Any]) -> Sequence[Any]:
        """The native messages; raises `BodyError` where there are none to be found."""
        ...

    def head_key(self, body: Mapping[str, Any]) -> Any:
        """What of the body decides `head`: equal keys, equal heads."""
        ...

    def head(self, body: Mapping[str, Any]) -> tuple[Block, ...]:
        """The blocks in front of the messages: tool definitions, then the system prompt."""
        ...

    def turn(self, message: Any, index: int, parent: Turn) -> Turn:
        """One message as a turn after `parent`; raises `BodyError` where it is malformed."""
        ...


@dataclass(frozen=True, slots=True)
class _Known:
    """A history that was read: its head and turns, its native messages, its size in bytes."""

    turns: tuple[Turn, ...]
    messages: list[Any]
    size: int


class Histories:
    """Interns turns: two bodies that begin alike share the turns of that beginning.

    Args:
        max_bytes: How many bytes of request bodies are kept for sharing, the most recent first; never more
            than 256 histories.
    """

    def __init__(self, *, max_bytes: int = 64_000_000) -> None:
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        self._heads: list[tuple[Any, weakref.ref[Turn]]] = []
        self._known: OrderedDict[int, _Known] = OrderedDict()
        self._bytes = 0

    def read(self, reader: TurnReader, body: Mapping[str, Any], *, size: int = 0) -> tuple[Turn, ...]:
        """The head and the turns of a body, shared with earlier bodies as far as they agree.

        Args:
            reader: The body's wire.
            body: The provider's JSON.
            size: How many bytes it stands for in `max_bytes`.

        Raises:
            BodyError: The body is malformed.
        """
        try:
            return self._read(reader, body, size)
        except RecursionError:
            raise BodyError("the body is nested too deeply to be compared with others") from None

    def _read(self, reader: TurnReader, body: Mapping[str, Any], size: int) -> tuple[Turn, ...]:
        messages = list(reader.messages(body))
        with self._lock:
            head = self._head(reader, body)
            known = self._longest(head, messages)
            new: list[Turn] = []
            last = known.turns[-1]
            for index in range(len(known.messages), len(messages)):
                turn = last.child(messages[index])
                if turn is None:
                    turn = reader.turn(messages[index], index, last)
                    last.adopt(turn)
                new.append(turn)
                last = turn
            natives = [*known.messages, *(turn.native for turn in new)]
            self._keep(_Known((*known.turns, *new), natives, size), instead_of=known)
        return (*known.turns, *new)

    def _head(self, reader: TurnReader, body: Mapping[str, Any]) -> Turn:
        key = (reader.name, reader.head_key(body))
        self._heads = [(known, reference) for known, reference in self._heads if reference() is not None]
        for known, reference in reversed(self._heads):
            head: Turn | None = reference()
            if head is not None and known == key:
                return head
        turn = Turn("head", None, reader.head(body), None)
        self._heads.append((key, weakref.ref(turn)))
        return turn

    def _longest(self, head: Turn, messages: list[Any]) -> _Known:
        """The most recent known history that the messages begin with.

        Where there is none, as a message of it was edited, it is what the last one with this head has in
        common with them: the bare head, if nothing.
        """
        for known in reversed(self._known.values()):
            length = len(known.messages)
            if (
                known.turns[0] is head
                and 0 < length <= len(messages)
                and messages[length - 1] == known.messages[-1]
                and messages[:length] == known.messages
            ):
                return known
        last = next((known for known in reversed(self._known.values()) if known.turns[0] is head), None)
        if last is None:
            return _Known((head,), [], 0)
        shared = _shared(last.messages, messages)
        return _Known(last.turns[: shared + 1], messages[:shared], 0)

    def _keep(self, known: _Known, *, instead_of: _Known) -> None:
        for replaced in (instead_of, known):
            previous = self._known.pop(id(replaced.turns[-1]), None)
            self._bytes -= 0 if previous is None else previous.size
        self._known[id(known.turns[-1])] = known
        self._bytes += known.size
        while len(self._known) > 1 and (self._bytes > self.max_bytes or len(self._known) > KEPT_HISTORIES):
            _, oldest = self._known.popitem(last=False)
            self._bytes -= oldest.size


def _shared(left: list[Any], right: list[Any]) -> int:
    """How many elements two lists have in common at their beginnings, found by halves."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if left[low:middle] == right[low:middle] else (low, middle - 1)
    return low
