"""Whether a summary pays: the edit of the history, and the call that writes it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from ctxkit.money.break_even import Edit, Weighed, weigh
from ctxkit.money.prices import rates
from ctxkit.trimming import Costs

# Most models ask five times as much for a token that they write.
USUAL_OUTPUT = Decimal(5)


def output_multiple(model: str | None, provider: str | None) -> Decimal:
    """An output token as a multiple of a plain input token: `o`."""
    listed = rates(model, provider=provider)
    return listed.output / listed.input if listed and listed.input else USUAL_OUTPUT


def weigh_summary(
    edit: Edit,
    costs: Costs,
    *,
    written_tokens: int,
    output: Decimal,
    expected_turns: int,
    min_net_saving_usd: Decimal = Decimal(0),
) -> Weighed:
    """Decide about a summary: what is removed is read once more, and what stands for it is written first.

    `n* = [r·T + o·Z + Δ0] / δ`, with `Δ0` and `δ` those of the edit (`ctxkit.money.break_even`), the call
    reading the whole warm history `T` and writing `Z`.

    Args:
        edit: The history at the moment of the edit; the stub is what stands for the old part from then on.
        costs: What the model's prompts cost.
        written_tokens: What the call writes: `Z`.
        output: An output token as a multiple of a plain input token: `o`.
        expected_turns: The turns to come after this one.
        min_net_saving_usd: What it must be expected to save over all turns to come.
    """
    before = costs.at(edit.before_tokens)
    call_usd = before.input_usd * (before.read * edit.before_tokens + output * written_tokens)
    weighed = weigh(
        edit,
        costs.at(edit.after_tokens),
        before=before,
        expected_turns=expected_turns,
        window_tokens=costs.window_tokens,
        min_net_saving_usd=min_net_saving_usd + call_usd,
    )
    cost, saving = weighed.delta0_usd + call_usd, weighed.saving_per_turn_usd
    turns = max(0.0, float(cost / saving)) if saving > 0 else None
    counted = replace(weighed, delta0_usd=cost, break_even_turns=turns)
    fits = costs.window_tokens is None or edit.before_tokens <= costs.window_tokens
    return replace(counted, reason=_reason(counted)) if fits and turns is not None else counted


def _reason(weighed: Weighed) -> str:
    pays = "pays" if weighed.taken else "would pay"
    return (
        f"with its call it {pays} for itself after {weighed.break_even_turns:.1f} turns, and "
        f"{weighed.expected_turns} are expected to come"
    )
