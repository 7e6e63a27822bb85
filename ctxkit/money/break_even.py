"""Whether an edit of the history pays: what it costs now, what it saves later, and when that is even.

Pure functions of token counts and rates. A history at the moment of an edit is `P | R | S`: `P` tokens that
stay and can be read from the prompt cache, `R` that go, `S` that stay behind them; `s` stand in the place of
`R` from then on. `w` and `r` are what writing to the cache and reading from it cost, as multiples of the
price `p` of a plain input token. What is new in a turn, and the answer, cost the same either way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from statistics import median_low

from ctxkit.errors import ConfigError
from ctxkit.money.prices import Rates

MILLION = 1_000_000
# So many recorded runs must have gone on for a median of them to say anything.
ENOUGH_RUNS = 5
CAREFUL_PART = 10


@dataclass(frozen=True, slots=True)
class Terms:
    """What a prompt's tokens cost under a prompt cache.

    Attributes:
        input_usd: A plain input token, in US dollars: `p`.
        write: Writing one to the cache, as a multiple: `w`; 1 where writing costs nothing more.
        read: Reading one, as a multiple: `r`; 1 where there is no cache.
    """

    input_usd: Decimal
    write: Decimal = Decimal(1)
    read: Decimal = Decimal(1)

    @classmethod
    def of(cls, rates: Rates, *, lifetime: str = "") -> Terms:
        """The terms of a model.

        Args:
            rates: Those of the model for the size of the prompt.
            lifetime: `1h` where it is written for an hour; anything else is the shortest.
        """
        if not rates.input:
            return cls(Decimal(0))
        written = rates.cache_write_1h if lifetime == "1h" else rates.cache_write
        read = rates.cache_read
        return cls(
            rates.input / MILLION,
            Decimal(1) if written is None else written / rates.input,
            Decimal(1) if read is None else read / rates.input,
        )

    def carried(self, cold_share: Decimal) -> Decimal:
        """What a token of the history costs each turn, as a multiple: `r(1-λ) + wλ`."""
        return self.read * (1 - cold_share) + self.write * cold_share


@dataclass(frozen=True, slots=True)
class Edit:
    """A history at the moment of an edit, in tokens.

    Attributes:
        kept_tokens: What stays and can be read from the cache: `P`.
        removed_tokens: What goes: `R`.
        suffix_tokens: What stays behind it: `S`.
        stub_tokens: What stands in its place from then on: `s`.
    """

    kept_tokens: int
    removed_tokens: int
    suffix_tokens: int
    stub_tokens: int = 0

    @property
    def before_tokens(self) -> int:
        """The history without the edit: `P+R+S`."""
        return self.kept_tokens + self.removed_tokens + self.suffix_tokens

    @property
    def after_tokens(self) -> int:
        """The history with the edit: `P+s+S`."""
        return self.kept_tokens + self.stub_tokens + self.suffix_tokens

    def readable_up_to(self, tokens: int) -> Edit:
        """The same edit where no more than so many of the kept tokens can be read: `S+(P-F)` for `S`.

        That is so where no mark stands within the look-back in front of the edit.
        """
        kept = min(tokens, self.kept_tokens)
        behind = self.kept_tokens - kept
        return replace(self, kept_tokens=kept, suffix_tokens=self.suffix_tokens + behind)


@dataclass(frozen=True, slots=True)
class RemainingTurns:
    """How many turns a run is expected to go on for.

    Attributes:
        fixed: So many at any turn; `None`: by `lengths`.
        lengths: How many turns recorded runs had, in order.
    """

    fixed: int | None = None
    lengths: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.fixed is not None and self.fixed < 0:
            raise ConfigError(f"fixed must not be below zero, it is {self.fixed}", option="fixed")

    @classmethod
    def from_lengths(cls, lengths: Iterable[int]) -> RemainingTurns:
        """Learned from how many turns earlier runs had."""
        return cls(lengths=tuple(sorted(lengths)))

    def after(self, turn: int) -> int:
        """The turns to come after this many.

        It is the median of what was left of the recorded runs that got further, where at least five did.
        Otherwise a run is taken to go on for a tenth as many turns as it had. The median run goes on for
        longer, but one that ends soon after an edit loses what the edit cost; a tenth was the share at which
        none of 39 long recorded runs lost anything.
        """
        if self.fixed is not None:
            return self.fixed
        left = [length - turn for length in self.lengths if length > turn]
        return int(median_low(left)) if len(left) >= ENOUGH_RUNS else turn // CAREFUL_PART


@dataclass(frozen=True, slots=True)
class Weighed:
    """An edit that was considered, with the numbers that decided it.

    Attributes:
        kept_tokens: What stays and can be read from the cache: `P`.
        removed_tokens: What would go: `R`.
        suffix_tokens: What stays behind it: `S`.
        stub_tokens: What would stand in its place: `s`.
        expected_turns: How many turns are expected to come: `n_hat`.
        write: Writing to the cache as a multiple of plain input, after the edit: `w`.
        read: Reading from it likewise: `r`.
        delta0_usd: What the edit costs more in its own turn; below 0 where it saves at once.
        saving_per_turn_usd: What it saves in every later one.
        break_even_turns: After how many later turns it has paid for itself, 0 where at once: `n*`; `None`
            where it never does.
        taken: Whether the edit is made.
        reason: Why, in one sentence.
    """

    kept_tokens: int
    removed_tokens: int
    suffix_tokens: int
    stub_tokens: int
    expected_turns: int
    write: Decimal
    read: Decimal
    delta0_usd: Decimal
    saving_per_turn_usd: Decimal
    break_even_turns: float | None
    taken: bool
    reason: str

    @property
    def net_saving_usd(self) -> Decimal:
        """What it is expected to save over all turns to come: `n_hat·δ - Δ0`."""
        return self.expected_turns * self.saving_per_turn_usd - self.delta0_usd


def surcharge_usd(
    edit: Edit, terms: Terms, *, before: Terms | None = None, cold: Decimal = Decimal(0)
) -> Decimal:
    """What an edit costs more in its own turn than leaving the history alone; below 0 where it saves.

    `Δ0 = p·{(1-λ)·[(w-r)·S + w·s - r·R] + λ·w·(s-R)}`

    Args:
        edit: The history at that moment.
        terms: What its tokens cost after the edit.
        before: What they cost without it, where the size of the prompt changes the price.
        cold: How probable it is that nothing can be read in that turn: `λ`; 1 where the cache has lapsed.
    """
    written = terms.write * (edit.stub_tokens + edit.suffix_tokens)
    edited = _turn_usd(edit.kept_tokens, terms, cold) + terms.input_usd * written
    return edited - _turn_usd(edit.before_tokens, before or terms, cold)


def saving_per_turn_usd(
    edit: Edit, terms: Terms, *, before: Terms | None = None, cold: Decimal = Decimal(0)
) -> Decimal:
    """What an edit saves in every later turn.

    `δ = p·(R-s)·[r(1-λ) + w·λ]`

    Args:
        edit: The history at the moment of the edit.
        terms: What its tokens cost after the edit.
        before: What they cost without it, where the size of the prompt changes the price.
        cold: The share of later turns in which nothing can be read: `λ`.
    """
    return _turn_usd(edit.before_tokens, before or terms, cold) - _turn_usd(edit.after_tokens, terms, cold)


def break_even_turns(edit: Edit, terms: Terms) -> float | None:
    """After how many later turns an edit has paid for itself; below 0 where at once, `None` where never.

    `n* = Δ0/δ = [(w-r)·S + w·s - r·R] / [r·(R-s)]`
    """
    return _turns(surcharge_usd(edit, terms), saving_per_turn_usd(edit, terms))


def smallest_batch_tokens(*, suffix_tokens: int, expected_turns: int, terms: Terms) -> int | None:
    """How much must go at least for an edit to pay within the turns to come; `None` where no size does.

    `R_min = S·(w-r) / (r·(n_hat+1))`, with a stub that is small beside it.
    """
    if not terms.read:
        return None
    return math.ceil(suffix_tokens * (terms.write - terms.read) / (terms.read * (expected_turns + 1)))


def start_tokens(*, target_tokens: int, stable_tokens: int, growth_tokens: float, terms: Terms) -> int | None:
    """The size at which clearing down to a target is cheapest over a long run; `None` where it never pays.

    `H* = L + √(2·(w-r)/r · g·(L-S))`: each clear writes `L-S` tokens again, and the longer one waits, the
    more is read in vain every turn.

    Args:
        target_tokens: What is left after a clear: `L`.
        stable_tokens: The part of that in front of every edit, which is read on: `S`.
        growth_tokens: What a turn adds: `g`.
        terms: What tokens cost.
    """
    if not terms.read:
        return None
    written_again = max(0, target_tokens - stable_tokens)
    ratio = float(2 * (terms.write - terms.read) / terms.read)
    return target_tokens + round(math.sqrt(ratio * growth_tokens * written_again))


def summary_break_even_turns(
    *, history_tokens: int, stable_tokens: int, summary_tokens: int, output: Decimal, terms: Terms
) -> float | None:
    """After how many turns a summary has paid for the call that writes it; `None` where never.

    `n* = [r·T + (o+w)·Z] / [r·(T-F-Z)]`, the call reading the warm history.

    Args:
        history_tokens: What the call reads: `T`.
        stable_tokens: What stays in front of the summary: `F`.
        summary_tokens: What it writes, and what is sent from then on: `Z`.
        output: An output token as a multiple of a plain input token: `o`.
        terms: What tokens cost.
    """
    cost = terms.read * history_tokens + (output + terms.write) * summary_tokens
    return _turns(cost, terms.read * (history_tokens - stable_tokens - summary_tokens))


def kept_out_usd(tokens: int, *, turns: int, terms: Terms) -> Decimal:
    """What a result saves that is cut by so many tokens before it is first sent: `p·(w + r·n)` for each.

    Args:
        tokens: How many are cut.
        turns: How many turns come after the one in which it is new: `n`.
        terms: What tokens cost.
    """
    return terms.input_usd * (terms.write + terms.read * turns) * tokens


def weigh(
    edit: Edit,
    terms: Terms,
    *,
    expected_turns: int,
    before: Terms | None = None,
    cold_now: bool = False,
    cold_share: Decimal = Decimal(0),
    window_tokens: int | None = None,
    min_net_saving_usd: Decimal = Decimal(0),
) -> Weighed:
    """Decide about an edit: it is made where it is expected to pay, or where the prompt would not fit.

    It pays where `n_hat·δ - Δ0 ≥ min_net_saving_usd`, which for 0 is `n_hat ≥ n*`.

    Args:
        edit: The history at the moment of the edit, the new turn included.
        terms: What its tokens cost after the edit.
        expected_turns: The turns to come after this one, as `RemainingTurns.after` gives them.
        before: What its tokens cost without the edit, where that crosses a price cliff.
        cold_now: Whether nothing can be read in this turn, as the cache has lapsed.
        cold_share: The share of later turns of which that is expected.
        window_tokens: How many the model takes; the edit is forced where the history has more.
        min_net_saving_usd: What it must be expected to save over all turns to come.
    """
    delta0 = surcharge_usd(edit, terms, before=before, cold=Decimal(1) if cold_now else cold_share)
    saving = saving_per_turn_usd(edit, terms, before=before, cold=cold_share)
    turns = _turns(delta0, saving)
    weighed = Weighed(
        kept_tokens=edit.kept_tokens,
        removed_tokens=edit.removed_tokens,
        suffix_tokens=edit.suffix_tokens,
        stub_tokens=edit.stub_tokens,
        expected_turns=expected_turns,
        write=terms.write,
        read=terms.read,
        delta0_usd=delta0,
        saving_per_turn_usd=saving,
        break_even_turns=None if turns is None else max(0.0, turns),
        taken=False,
        reason="what would stand in its place is no shorter",
    )
    if edit.removed_tokens <= edit.stub_tokens:
        return weighed
    if window_tokens is not None and edit.before_tokens > window_tokens:
        reason = f"the history has {edit.before_tokens:,} tokens, and the model takes {window_tokens:,}"
        return replace(weighed, taken=True, reason=reason)
    pays = weighed.net_saving_usd >= min_net_saving_usd
    lapsed = ", as the cache has lapsed" if cold_now else ""
    return replace(weighed, taken=pays, reason=_reason(weighed, pays=pays) + lapsed)


def _reason(weighed: Weighed, *, pays: bool) -> str:
    turns = weighed.break_even_turns
    if turns is None:
        return "it saves nothing"
    coming = f"{weighed.expected_turns} are expected to come"
    if not pays and turns > weighed.expected_turns:
        return f"it would pay for itself after {turns:.1f} turns, and {coming}"
    if not pays:
        return f"it is expected to save ${weighed.net_saving_usd:.4f}, less than is asked for"
    if not turns:
        return "it saves in its own turn"
    return f"it pays for itself after {turns:.1f} turns, and {coming}"


def _turn_usd(tokens: int, terms: Terms, cold: Decimal) -> Decimal:
    return terms.input_usd * terms.carried(cold) * tokens


def _turns(cost: Decimal, saving: Decimal) -> float | None:
    return float(cost / saving) if saving > 0 else None
