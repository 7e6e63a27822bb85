"""`Reuse`: what was saved by giving a tool's earlier results again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Reuse:
    """What was saved by giving a tool's earlier results again.

    Attributes:
        times: How often an earlier result was given.
        seconds_saved: How long the runs that gave them took.
    """

    times: int = 0
    seconds_saved: float = 0.0

    def more(self, seconds: float) -> Reuse:
        """The sum with one more result given again."""
        return self + Reuse(1, seconds)

    def __add__(self, other: Reuse) -> Reuse:
        return Reuse(self.times + other.times, self.seconds_saved + other.seconds_saved)

    def to_dict(self) -> dict[str, Any]:
        """The numbers as JSON."""
        return asdict(self)
