"""What a counter is, and how any function or another model's counter becomes one."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Protocol, runtime_checkable


class Counter(Protocol):
    """Anything that counts tokens; the same text must give the same count every time."""

    @property
    def name(self) -> str:
        """Tells this counter from others: counts are kept under it."""
        ...

    def count(self, text: str) -> int:
        """The tokens of a text."""
        ...


@runtime_checkable
class Tokenizer(Counter, Protocol):
    """A counter that can also show its tokens, so that a text can be cut between them."""

    def tokens(self, text: str) -> list[bytes]:
        """The tokens of a text, as the UTF-8 bytes they stand for."""
        ...


class ModelCounter(Counter, Protocol):
    """A counter that was chosen for a model."""

    @property
    def exact(self) -> bool:
        """Whether it is the model's own tokenizer; else its counts are estimates."""
        ...


class Engine(Protocol):
    """One library's implementation of an encoding. It is only given texts that are valid Unicode."""

    def count(self, text: str) -> int:
        """The tokens of a text."""
        ...

    def tokens(self, text: str) -> list[bytes]:
        """The tokens of a text, as the UTF-8 bytes they stand for."""
        ...


class FunctionCounter:
    """Makes a counter of any function that gives the tokens of a text.

    Args:
        function: Gives the tokens of a text, and the same for the same text every time.
        name: Tells this counter from others: counts are kept under it.
        exact: Whether it is the own tokenizer of the model that it is used for.
    """

    def __init__(self, function: Callable[[str], int], *, name: str, exact: bool = False) -> None:
        self.name = name
        self.exact = exact
        self._function = function

    def count(self, text: str) -> int:
        """The tokens of a text, as the function gives them."""
        return self._function(text)


class ScaledCounter:
    """Estimates a model's tokens from another model's, which are counted.

    Args:
        base: Counts.
        ratio: Gives the model's own tokens of a text for each token of `base`.
        name: Tells this counter from others: counts are kept under it.
    """

    exact = False

    def __init__(self, base: Counter, ratio: Callable[[str], float], *, name: str) -> None:
        self.name = name
        self._base = base
        self._ratio = ratio

    def count(self, text: str) -> int:
        """The tokens of a text, rounded up."""
        return ceil(self._base.count(text) * self._ratio(text))
