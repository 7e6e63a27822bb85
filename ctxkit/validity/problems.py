"""What is wrong with a request, and how rules look for it so that a history that grew costs what is new.

No provider is named here: what must hold stands in a module for each wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ctxkit.messages import ModelRequest, Turn, Where

Message = tuple[Turn, ...]


class Finding(NamedTuple):
    """What a rule found.

    Attributes:
        where: The path to it in the body.
        message: What the provider says about it.
    """

    where: Where
    message: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that a provider refuses a request for.

    Attributes:
        rule: The name of the rule that is broken, such as `tool_results_come_first`.
        where: The path to it in the body, such as `("messages", 3, "content", 0)`.
        message: What the provider says about it, in its own words.
    """

    rule: str
    where: Where
    message: str


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules of one wire.

    A rule is a function that is named for what must hold, and gives what does not. What a turn or an exchange
    shows depends on nothing that stands behind it, so it is looked for once.

    Attributes:
        continues: Whether the provider reads a turn as more of the message before it.
        turns: What a turn shows by itself; the head is asked, too.
        exchanges: What a message and the next one show together; either is empty at an end of the history.
        endings: What the last turn shows in its request; it is the head where there is no message.
        requests: What only a whole request shows. They fold, and never walk over all turns.
    """

    continues: Callable[[Turn], bool]
    turns: tuple[Callable[[Turn], Iterator[Finding]], ...] = ()
    exchanges: tuple[Callable[[Message, Message], Iterator[Finding]], ...] = ()
    endings: tuple[Callable[[ModelRequest, Turn], Iterator[Finding]], ...] = ()
    requests: tuple[Callable[[ModelRequest], Iterator[Finding]], ...] = ()

    def problems(self, request: ModelRequest) -> tuple[Problem, ...]:
        """What is wrong with a request.

        Raises:
            BodyError: The body is malformed.
        """
        lasting = request.fold(("validity", request.wire.name), self._of_turn, self._step)
        last = (request.head, *request.turns[-1:])[-1]
        return (
            *lasting,
            *self._of_message(last),
            *self._of_exchange(self.message(last), ()),
            *_named((rule.__name__, rule(request, last)) for rule in self.endings),
            *_named((rule.__name__, rule(request)) for rule in self.requests),
        )

    def message(self, last: Turn) -> Message:
        """The turns of the message that ends with this one; none where that is the head."""
        turns: list[Turn] = []
        while last.parent is not None:
            turns.append(last)
            if not self.continues(last):
                break
            last = last.parent
        return tuple(reversed(turns))

    def _step(self, known: tuple[Problem, ...], turn: Turn) -> tuple[Problem, ...]:
        finished = () if turn.parent is None or self.continues(turn) else self._of_message(turn.parent)
        return known + finished + self._of_turn(turn)

    def _of_turn(self, turn: Turn) -> tuple[Problem, ...]:
        return _named((rule.__name__, rule(turn)) for rule in self.turns)

    def _of_message(self, last: Turn) -> tuple[Problem, ...]:
        """What the message that ends with a turn shows beside the one before it."""
        message = self.message(last)
        before = message[0].parent if message else None
        return () if before is None else self._of_exchange(self.message(before), message)

    def _of_exchange(self, left: Message, right: Message) -> tuple[Problem, ...]:
        return _named((rule.__name__, rule(left, right)) for rule in self.exchanges)


def index_of(turn: Turn) -> int:
    """Which of the native messages a turn is, from 0."""
    return sum(1 for _ in turn.ancestors()) - 1


def _named(findings: Iterable[tuple[str, Iterator[Finding]]]) -> tuple[Problem, ...]:
    return tuple(Problem(rule, *finding) for rule, found in findings for finding in found)
