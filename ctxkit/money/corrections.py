"""What the price list leaves out, with the day and the source of each fact; no list is loaded here.

A rate is in US dollars for a million tokens, under the list's own kind of key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

WRITES = ("cache_write_mtok", "cache_write_1h_mtok", "cache_write_12h_mtok")


@dataclass(frozen=True, slots=True)
class PastRate:
    """A rate of standard service that the list shows only as it became.

    Attributes:
        provider: As the list calls it.
        model: The list's id of the model.
        key: The list's key of the rate.
        usd: The rate as it was.
        before: The first day of the rate that the list shows.
    """

    provider: str
    model: str
    key: str
    usd: Decimal
    before: date


# Source: Anthropic's pricing page, second hand; genai-prices 0.2.3 dates the same cut at OpenRouter, where it
# was noted on 2026-10-19. Read on 2026-11-30.
PAST_RATES = (
    PastRate("anthropic", "claude-sonnet-5-5", "cache_read_mtok", Decimal("0.20"), date(2026, 10, 7)),
)

# What a token written for twelve hours costs in tokens of plain input; the list says itself that it leaves
# this rate out. Source: comment on the model in genai-prices 0.2.3, read on 2026-11-30.
WRITES_12H = {("openai", "gpt-6.1-terra"): Decimal("2.5")}


def corrected(rates: Mapping[str, Decimal], *, provider: str, model: str, on: date) -> Mapping[str, Decimal]:
    """The rates of a model on a day, with what the list leaves out.

    Where reads alone have a rate of their own, writing costs what plain input costs.
    """
    completed = dict(rates)
    if {"input_mtok", "cache_read_mtok"} <= rates.keys() and "cache_write_mtok" not in rates:
        completed.update(dict.fromkeys(WRITES, rates["input_mtok"]))
    if factor := WRITES_12H.get((provider, model)):
        completed["cache_write_12h_mtok"] = rates["input_mtok"] * factor
    for past in PAST_RATES:
        if (past.provider, past.model) == (provider, model) and on < past.before:
            completed[past.key] = past.usd
    return completed
