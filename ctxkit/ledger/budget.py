"""What is left of a limit: what was used, what is in flight, and what is kept for last requests.

Only sums live here. What a request is foreseen to use is worked out by the middleware that limits it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal
from weakref import WeakKeyDictionary

Unit = Literal["requests", "tokens", "usd"]


@dataclass(frozen=True, slots=True)
class Use:
    """What requests used, or are foreseen to use.

    Attributes:
        requests: Billed requests.
        tokens: Input and output tokens.
        usd: Dollars; what has no known price is not in it.
    """

    requests: int = 0
    tokens: int = 0
    usd: Decimal = Decimal(0)

    def __add__(self, other: Use) -> Use:
        return Use(self.requests + other.requests, self.tokens + other.tokens, self.usd + other.usd)

    def __sub__(self, other: Use) -> Use:
        return Use(self.requests - other.requests, self.tokens - other.tokens, self.usd - other.usd)

    def in_unit(self, unit: Unit) -> int | Decimal:
        """The use in one unit."""
        amounts: dict[Unit, int | Decimal] = {
            "requests": self.requests,
            "tokens": self.tokens,
            "usd": self.usd,
        }
        return amounts[unit]


NOTHING = Use()


@dataclass(slots=True)
class Budget:
    """What is left of a limit. It has no lock: whoever shares it takes turns.

    Attributes:
        spent: What was used, as far as that is known.
        unknown: What may have been used besides, by requests of which nobody knows how they ended.
        reserved: What is set aside for requests in flight.
        held_back: What is kept for the last request of each owner whose loop goes on, as long as the owner
            lives.
        finished: The owners whose last request was sent, each with the unit that ran out.
    """

    spent: Use = NOTHING
    unknown: Use = NOTHING
    reserved: Use = NOTHING
    held_back: WeakKeyDictionary[Hashable, Use] = field(default_factory=WeakKeyDictionary)
    finished: WeakKeyDictionary[Hashable, Unit] = field(default_factory=WeakKeyDictionary)

    def committed(self, *, except_for: Hashable = None) -> Use:
        """What is not free, besides what was spent.

        Args:
            except_for: An owner for whom what is held back for its own last request is free.
        """
        held = (use for owner, use in self.held_back.items() if owner is not except_for)
        return sum(held, self.unknown + self.reserved)
