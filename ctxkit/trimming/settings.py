"""What a user may say about trimming."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase

from ctxkit.blocks import Block
from ctxkit.errors import ConfigError
from ctxkit.money.break_even import RemainingTurns


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of `TrimHistory`, checked; see there.

    Raises:
        ConfigError: The thresholds are not in order, or a number is below zero.
    """

    start_tokens: int | None = None
    target_tokens: int | None = None
    keep_steps: int = 3
    min_batch_tokens: int | None = None
    min_net_saving_usd: Decimal | None = None
    exempt: tuple[str, ...] = ()
    pinned: Callable[[Block], bool] | None = None
    clear_arguments: bool = True
    remaining: RemainingTurns = RemainingTurns()

    def __post_init__(self) -> None:
        for option in ("start_tokens", "target_tokens", "keep_steps", "min_batch_tokens"):
            value = getattr(self, option)
            if value is not None and value < 0:
                raise ConfigError(f"{option} must not be below zero, it is {value}", option=option)
        if self.start_tokens is None:
            return
        if self.target_tokens is None or self.target_tokens >= self.start_tokens:
            raise ConfigError(
                f"target_tokens ({self.target_tokens}) must be given with start_tokens, and be below it "
                f"({self.start_tokens})",
                option="target_tokens",
            )
        distance = self.start_tokens - self.target_tokens
        if self.min_batch_tokens is not None and self.min_batch_tokens > distance:
            raise ConfigError(
                f"min_batch_tokens must be between 0 and {distance}, the distance of the two thresholds; "
                f"it is {self.min_batch_tokens}",
                option="min_batch_tokens",
            )

    @property
    def weighs(self) -> bool:
        """Whether a batch must pay: where the user named a size to start at, that alone decides."""
        return self.start_tokens is None or self.min_net_saving_usd is not None

    def may_clear(self, block: Block) -> bool:
        """Whether the user lets a call or a result be cleared."""
        if any(fnmatchcase(block.tool or "", pattern) for pattern in self.exempt):
            return False
        return self.pinned is None or not self.pinned(block)
