"""What the writers of valid histories share: pieces of content, and a loop that is written step by step.

A loop is written by construction: each step leaves the history in a state in which a request can be sent, or
in the one state that the next step goes on from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
PNG = "iVBORw0KGgo="
PDF = "JVBERi0xLjQK"
TEXTS = st.sampled_from(["Find the fox.", "Hm, and now?", "Go on, please. " * 12])
NAMES = st.sampled_from(["search", "read_file", "bash"])
ROWS = "\n".join(f'{{"id": {row}, "name": "fox {row}", "tail": "red"}}' for row in range(60))
LOG = "\n".join(
    f"12:00:{second:02} {'ERROR: no fox' if second % 25 == 7 else 'INFO: looking'} {second}"
    for second in range(60)
)
PROSE = "The quick brown fox jumps over the lazy dog, and the dog sleeps on. " * 20
# What tools give back: from nothing to a few kilobytes, most of it worth an edit.
FOUND = st.sampled_from(
    ["", "Found.", "not\x00 quite\ud83d text", LOG[:600], PROSE[:900], PROSE, PROSE * 2, LOG, LOG * 2, ROWS]
)


class Loop:
    """A history while it is written.

    Args:
        draw: Hypothesis' own.

    Attributes:
        messages: The native messages so far.
        ends: After how many messages a request was sent.
        typed: Whether the SDK's types know all that is in it.
    """

    wire = ""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.messages: list[Any] = []
        self.ends: list[int] = []
        self.typed = True
        self._calls = 0
        # Some clients number the calls of each answer from the start again.
        self._reuses_ids = self.chance()

    def write(self) -> None:
        """A question, and what follows it."""
        self.ask()
        self.send()
        for _ in range(self.number(0, 9)):
            self.go_on()

    def ask(self) -> None:
        """The user speaks."""
        raise NotImplementedError

    def go_on(self) -> None:
        """One more step of the loop, up to where a request can be sent again."""
        raise NotImplementedError

    def head(self) -> dict[str, Any]:
        """The body without its messages."""
        raise NotImplementedError

    def send(self) -> None:
        """A request is sent here."""
        self.ends.append(len(self.messages))

    def number(self, least: int, most: int) -> int:
        """A number between the two."""
        return int(self.draw(st.integers(least, most)))

    def chance(self) -> bool:
        """Yes or no."""
        return bool(self.draw(st.booleans()))

    def one_of(self, *choices: T) -> T:
        """One of these."""
        choice: T = self.draw(st.sampled_from(choices))
        return choice

    def some_of(self, *choices: Mapping[str, Any]) -> list[Any]:
        """Some of these, each at most once, in their order."""
        return [choice for choice in choices if self.chance()]

    def text(self) -> str:
        """What somebody says."""
        return str(self.draw(TEXTS))

    def found(self) -> str:
        """What a tool gives back; all of it differs."""
        found = str(self.draw(FOUND))
        return found and f"{found}\n{self._calls}"

    def call_ids(self, prefix: str = "call") -> list[str]:
        """The ids of one to three parallel calls."""
        first = 0 if self._reuses_ids else self._calls
        count = self.number(1, 3)
        self._calls += count
        return [f"{prefix}_{one}" for one in range(first, first + count)]

    def new_id(self, prefix: str) -> str:
        """An id that nothing else has."""
        self._calls += 1
        return f"{prefix}_{self._calls}"

    def shuffled(self, results: Sequence[T]) -> list[T]:
        """Results in the order of their calls, or in which they came in."""
        return list(reversed(results)) if self.chance() else list(results)
