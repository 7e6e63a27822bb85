"""The price list inside the installed `genai-prices` package: which entry is a model's, and what it says.

The list is never updated over the network. What it leaves out stands in `corrections`, and how a usage is
priced in `prices`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, lru_cache
from itertools import product
from typing import TYPE_CHECKING

from ctxkit.money.corrections import corrected

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, TieredPrices

BEDROCK_ID = re.compile(r"([a-z-]+\.)?[a-z0-9]+\.[a-z]")
UNPRICED_SUFFIX = re.compile(r"\[1m\]$|@default$")
# Rates there change most often and are never announced ahead: the last change tells how far the list goes.
DATED_PROVIDER = "openrouter"


class Unpriced(Exception):
    """The price list, or the usage, lacks what a price needs."""


@dataclass(frozen=True, slots=True)
class Tariff:
    """The rates of one model at one moment, for one size of prompt.

    Attributes:
        rates: US dollars for a million tokens (`..._mtok`) or for a thousand pieces (`..._kcount`).
        token_factor: What tokens cost more or less than that.
    """

    rates: Mapping[str, Decimal]
    token_factor: Decimal = Decimal(1)

    def usd(self, count: int, key: str) -> Decimal:
        """The cost of so many tokens or pieces.

        Raises:
            Unpriced: There are some, and they have no rate.
        """
        if not count:
            return Decimal(0)
        if key not in self.rates:
            raise Unpriced
        if key.endswith("_kcount"):
            return self.rates[key] * count / 1_000
        return self.rates[key] * self.token_factor * count / 1_000_000


def tariff(
    model: str,
    *,
    provider: str | None,
    at: datetime,
    prompt_tokens: int,
    conditions: Mapping[str, str],
    token_factor: Decimal = Decimal(1),
) -> Tariff:
    """The rates of a model at a moment.

    Args:
        model: Its name, with or without the prefix of a router or a cloud.
        provider: Who answers, as the price list calls them; `None`: told from the model's name.
        at: In UTC where it has no time zone.
        prompt_tokens: The size of the prompt; beyond a price cliff, every token costs more.
        conditions: What of the service has rates of its own, in the price list's words.
        token_factor: What tokens cost more or less than the list says.

    Raises:
        Unpriced: The list does not have the model, or not under these conditions at that moment.
    """
    listed = _listed(model, provider)
    if listed is None:
        raise Unpriced
    home, entry = listed
    variants = [
        variant.when.items()
        for variant in entry.price_variants or ()
        if variant.constraint is None or variant.constraint.active(at)
    ]
    if not all(any(condition in when for when in variants) for condition in conditions.items()):
        raise Unpriced
    rates = {
        key: _for_size(rate, prompt_tokens)
        for key, rate in vars(entry.get_prices(at, conditions)).items()
        if rate is not None
    }
    day = (at if at.tzinfo is None else at.astimezone(UTC)).date()
    return Tariff(corrected(rates, provider=home, model=entry.id, on=day), token_factor)


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the price list says of the sizes of a model's prompts.

    Attributes:
        window_tokens: The most that prompt and answer may have; `None` where the list does not say.
        cliff_tokens: Beyond so many tokens of a prompt each of them costs more; `None` where that never is.
    """

    window_tokens: int | None = None
    cliff_tokens: int | None = None


def prompt_sizes(model: str | None, *, provider: str | None = None, at: datetime | None = None) -> Sizes:
    """What is known of the sizes of a model's prompts.

    Args:
        model: Its name, with or without the prefix of a router or a cloud.
        provider: Who answers, as the price list calls them; left out, it is told from the model's name.
        at: The moment, in UTC where it has no time zone; left out, now.
    """
    listed = None if model is None else _listed(model, provider)
    if listed is None:
        return Sizes()
    _, entry = listed
    listed_input = entry.get_prices(at or datetime.now(UTC), {}).input_mtok
    tiers = getattr(listed_input, "tiers", None) or ()
    return Sizes(entry.context_window, min((tier.start for tier in tiers), default=None))


def price_list_version() -> str:
    """The price list in use, for reports: the package's name and version, and the day of its last rates."""
    import genai_prices

    return " ".join(["genai-prices", genai_prices.__version__, *(f"({day})" for day in _days()[-1:])])


def _days() -> list[str]:
    """The days on which rates of `DATED_PROVIDER` changed, oldest first."""
    dated = (provider for provider in _price_list().providers if provider.id == DATED_PROVIDER)
    starts = (
        getattr(conditional.constraint, "start_date", None)
        for provider in dated
        for model in provider.models
        if isinstance(model.prices, list)
        for conditional in model.prices
    )
    return sorted(day.isoformat() for day in starts if day is not None)


def _for_size(rate: Decimal | TieredPrices, prompt_tokens: int) -> Decimal:
    if isinstance(rate, Decimal):
        return rate
    passed = [tier.price for tier in rate.tiers if prompt_tokens > tier.start]
    return passed[-1] if passed else rate.base


@lru_cache(maxsize=1024)
def _listed(name: str, provider: str | None) -> tuple[str, ModelInfo] | None:
    """Whose entry is a model's, and the entry: under its name as it is, or without a router's prefix."""
    spellings = (name, UNPRICED_SUFFIX.sub("", name).replace("@", "-"))
    providers = (provider, "aws") if BEDROCK_ID.match(name) else (provider,)
    for place, spelling in product(providers, spellings):
        if found := _look_up(spelling, place):
            return found
    prefix, slash, rest = name.partition("/")
    if not slash:
        return None
    return _listed(rest, provider or (prefix if _is_provider(prefix) else None))


def _look_up(name: str, provider: str | None) -> tuple[str, ModelInfo] | None:
    try:
        home, model = _price_list().find_provider_model(name, None, provider, None)
    except LookupError:
        return None
    # An entry borrowed from another provider holds for standard service alone.
    borrowed = not any(model is own for own in home.models)
    return home.id, replace(model, price_variants=None) if borrowed else model


def _is_provider(name: str) -> bool:
    try:
        _price_list().find_provider(None, name, None)
    except LookupError:
        return False
    return True


@cache
def _price_list() -> DataSnapshot:
    from genai_prices.data import providers
    from genai_prices.data_snapshot import DataSnapshot

    return DataSnapshot(providers=providers, from_auto_update=False)
