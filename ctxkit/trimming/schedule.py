"""At which size a history is cleared, and down to which: from the prices, its growth and its stable part."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from ctxkit.money import prompt_sizes, rates
from ctxkit.money.break_even import Edit, Terms, Weighed, start_tokens, weigh
from ctxkit.trimming.settings import Settings

# What stays behind the stable part where the user names no target. Of the sizes tried on recorded runs of
# coding agents it was the smallest that still held the earlier result of four in five repeated calls.
RECENT_TOKENS = 20_000
# Where the price list does not know a model: a dollar for a million tokens, and what most caches take.
UNKNOWN_TERMS = Terms(Decimal("0.000001"), Decimal("1.25"), Decimal("0.1"))
# Room for the answer, and for what a count may be wrong by.
WINDOW_PART = 0.85
# Where a batch need not pay, it must still be so large a part of the way down.
BATCH_PART = 4
# A batch that did not pay is weighed again once the history has grown by such a part.
AGAIN_PART = 50


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a history has.

    Attributes:
        tokens: As it stands.
        stable: In front of everything that may ever be cleared.
        steps: The rounds of tool calls so far.
        raw: Before anything was cleared.
    """

    tokens: int
    stable: int
    steps: int
    raw: int

    @property
    def growth(self) -> float:
        """What a round adds."""
        return max(0, self.raw - self.stable) / max(1, self.steps)


@dataclass(frozen=True, slots=True)
class Costs:
    """What a model's prompts cost, and how large they may be.

    Attributes:
        terms: What tokens cost.
        above: What they cost beyond the price cliff; `None` where there is none.
        cliff_tokens: Where that is.
        window_tokens: The most that a prompt should have; `None` where that is unknown.
    """

    terms: Terms
    above: Terms | None = None
    cliff_tokens: int | None = None
    window_tokens: int | None = None

    @classmethod
    def of(cls, model: str | None, provider: str | None) -> Costs:
        """By the price list; where that does not know the model, by what most prompt caches cost."""
        known, sizes = rates(model, provider=provider), prompt_sizes(model, provider=provider)
        window = None if sizes.window_tokens is None else int(sizes.window_tokens * WINDOW_PART)
        if known is None or not known.input:
            return cls(UNKNOWN_TERMS, window_tokens=window)
        cliff = sizes.cliff_tokens
        beyond = None if cliff is None else rates(model, provider=provider, prompt_tokens=cliff + 1)
        return cls(Terms.of(known), None if beyond is None else Terms.of(beyond), cliff, window)

    def at(self, tokens: int) -> Terms:
        """What the tokens of a prompt of a size cost."""
        beyond = self.cliff_tokens is not None and tokens > self.cliff_tokens
        return self.above if beyond and self.above else self.terms

    @property
    def most(self) -> int | None:
        """The size that no prompt should pass, if that can be helped."""
        known = [size for size in (self.cliff_tokens, self.window_tokens) if size is not None]
        return min(known, default=None)


@dataclass(frozen=True, slots=True)
class Schedule:
    """When to clear, and how much.

    Attributes:
        settings: What the user wants.
        costs: What the model's prompts cost.
    """

    settings: Settings
    costs: Costs

    def target(self, sizes: Sizes) -> int:
        """The size to clear down to: `L`; well below the size that no prompt should pass."""
        wanted = self.settings.target_tokens
        target = sizes.stable + RECENT_TOKENS if wanted is None else wanted
        most = self.costs.most
        return target if most is None else min(target, most - most // BATCH_PART)

    def start(self, sizes: Sizes, clearable: int) -> int | None:
        """The size to clear from: `H`; `None` where clearing never pays.

        What can't be cleared is taken for the target where it is more, so that a history that grows by what
        stays is not cleared again and again.

        Args:
            sizes: The history.
            clearable: What could go, in tokens.
        """
        if self.settings.start_tokens is not None:
            return self.settings.start_tokens
        left = max(self.target(sizes), sizes.tokens - clearable)
        start = start_tokens(
            target_tokens=left, stable_tokens=sizes.stable, growth_tokens=sizes.growth, terms=self.costs.terms
        )
        sizes_to_keep = [size for size in (start, self.costs.most) if size is not None]
        return min(sizes_to_keep, default=None)

    def least_batch(self, sizes: Sizes) -> int:
        """How much must go at once."""
        wanted = self.settings.min_batch_tokens
        if wanted is not None:
            return wanted
        start = self.settings.start_tokens
        target = self.target(sizes)
        return (target if start is None else start - target) // BATCH_PART

    def weighed(self, sizes: Sizes, edit: Edit) -> Weighed:
        """Whether a batch is made, with the numbers that decide it."""
        return weigh(
            edit,
            self.costs.at(edit.after_tokens),
            before=self.costs.at(edit.before_tokens),
            expected_turns=self.settings.remaining.after(sizes.steps),
            window_tokens=self.costs.window_tokens,
            min_net_saving_usd=self.settings.min_net_saving_usd or Decimal(0),
        )

    def again_at(self, sizes: Sizes) -> int:
        """The size at which a batch that did not pay is weighed again."""
        return sizes.tokens + max(round(sizes.growth), sizes.tokens // AGAIN_PART)
