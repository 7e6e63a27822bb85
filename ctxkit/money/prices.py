"""What a response costs, by the price list inside the installed `genai-prices` package.

The list is never updated over the network. What it leaves out stands here: iterations, refusals that are
free, inference that is kept in the US. How a cost is split over what caused it lives in `shares`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, lru_cache, reduce
from itertools import product
from typing import TYPE_CHECKING

from ctxkit.usage import Charge, Usage
from ctxkit.wire import usage_fields

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, TieredPrices

# Iterations that are billed but stand in no top-level count.
ASIDE = frozenset({"compaction", "advisor_message"})
SPECIAL_TIERS = frozenset({"fast", "flex", "priority", "scale", "ultrafast"})
US_ONLY_FACTOR = Decimal("1.1")
BEDROCK_ID = re.compile(r"([a-z-]+\.)?[a-z0-9]+\.[a-z]")
UNPRICED_SUFFIX = re.compile(r"\[1m\]$|@default$")


def price(
    usage: Usage,
    *,
    model: str | None,
    provider: str | None = None,
    at: datetime | None = None,
    stop_reason: str | None = None,
) -> Charge | None:
    """Price one response in US dollars, part by part.

    Args:
        usage: What the response reported.
        model: The model that answered, with or without the prefix of a router or a cloud.
        provider: Who answered, as the price list calls them; left out, it is told from the model's name.
        at: When the response was made, in UTC where it has no time zone; left out, now.
        stop_reason: Why the answer ended, in the provider's own word.

    Returns:
        The charge; `None` where input or output tokens are unknown, where the list does not have the model,
        or where it lacks a rate that this usage needs.

    Source: genai-prices 0.2.3 for rates. A Claude model that refuses before any output is free, although its
    usage shows a token of output, and inference kept in the US costs 1.1 times as much: Anthropic's release
    notes and pricing page. Read on 2026-11-30.
    """
    if model is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    if stop_reason == "refusal" and usage.output_tokens <= 1 and "claude" in model.lower():
        return Charge()
    at = at or datetime.now(UTC)
    try:
        return reduce(_add, [_charge(part, name, provider, at) for part, name in _iterations(usage, model)])
    except _Unpriced:
        return None


def price_list_version() -> str:
    """The price list in use, for reports: the package's name and version."""
    import genai_prices

    return f"genai-prices {genai_prices.__version__}"


class _Unpriced(Exception):
    """The price list, or the usage, lacks what a price needs."""


def _iterations(usage: Usage, model: str) -> Iterator[tuple[Usage, str]]:
    """What a response was billed for, sampling by sampling, each with its model.

    Anthropic's top-level counts leave out compactions and advisors, so these are billed besides the answer.
    The answer's own samplings are billed one by one, as price cliffs go by the size of one prompt. A
    session's total in Claude Code's stream lists only the last of them: it is billed as it stands.

    Source: types of the `anthropic` SDK 2.14.0 and recorded sessions, read on 2026-11-30.
    """
    answer: list[tuple[Usage, str]] = []
    listed = usage.native.get("iterations")
    for entry in map(usage_fields.mapping, listed if isinstance(listed, list) else []):
        reported = usage_fields.anthropic(entry) or Usage(None, None)
        part = replace(reported, service_tier=usage.service_tier, native=usage.native)
        sampling = part, str(entry.get("model") or model)
        if entry.get("type") in ASIDE:
            yield sampling
        else:
            answer.append(sampling)
    if not answer or sum(_tokens(part) for part, _ in answer) < _tokens(usage):
        yield usage, model
        return
    first, name = answer[0]
    yield replace(first, web_search_requests=usage.web_search_requests), name
    yield from answer[1:]


def _tokens(usage: Usage) -> int:
    return (usage.input_tokens or 0) + (usage.output_tokens or 0)


def _charge(usage: Usage, model: str, provider: str | None, at: datetime) -> Charge:
    uncached = usage.uncached_tokens
    if uncached is None or usage.output_tokens is None:
        raise _Unpriced
    tariff = _tariff(usage, model, provider, at)
    rates = tariff.rates
    write, write_1h = "cache_write_mtok", "cache_write_1h_mtok"
    if "cache_read_mtok" in rates and write not in rates:
        # Where reads alone have a rate of their own, writing costs what plain input costs.
        write = write_1h = "input_mtok"
    apart = "output_reasoning_mtok" in rates
    reasoning = min(usage.reasoning_tokens, usage.output_tokens) if apart else 0
    return Charge(
        uncached_usd=tariff.usd(uncached, "input_mtok"),
        cache_read_usd=tariff.usd(usage.cache_read_tokens, "cache_read_mtok"),
        cache_write_usd=tariff.usd(usage.cache_write_tokens - usage.cache_write_1h_tokens, write)
        + tariff.usd(usage.cache_write_1h_tokens, write_1h),
        output_usd=tariff.usd(usage.output_tokens - reasoning, "output_mtok")
        + tariff.usd(reasoning, "output_reasoning_mtok"),
        other_usd=tariff.usd(usage.web_search_requests, "web_searches_kcount")
        + tariff.usd(1 if "requests_kcount" in rates else 0, "requests_kcount"),
    )


def _add(left: Charge, right: Charge) -> Charge:
    return Charge(
        uncached_usd=left.uncached_usd + right.uncached_usd,
        cache_read_usd=left.cache_read_usd + right.cache_read_usd,
        cache_write_usd=left.cache_write_usd + right.cache_write_usd,
        output_usd=left.output_usd + right.output_usd,
        other_usd=left.other_usd + right.other_usd,
    )


@dataclass(frozen=True, slots=True)
class _Tariff:
    """The rates of one model at one moment, for one size of prompt."""

    rates: Mapping[str, Decimal | TieredPrices]
    prompt_tokens: int
    token_factor: Decimal

    def usd(self, count: int, key: str) -> Decimal:
        """The cost of so many tokens (`..._mtok`) or pieces (`..._kcount`)."""
        if not count:
            return Decimal(0)
        rate = self.rates.get(key)
        if rate is None:
            raise _Unpriced
        if not isinstance(rate, Decimal):
            passed = [tier.price for tier in rate.tiers if self.prompt_tokens > tier.start]
            rate = passed[-1] if passed else rate.base
        if key.endswith("_kcount"):
            return rate * count / 1_000
        return rate * self.token_factor * count / 1_000_000


def _tariff(usage: Usage, model: str, provider: str | None, at: datetime) -> _Tariff:
    listed = _listed(model, provider)
    if listed is None:
        raise _Unpriced
    conditions = _conditions(usage)
    variants = [
        variant.when.items()
        for variant in listed.price_variants or ()
        if variant.constraint is None or variant.constraint.active(at)
    ]
    if not all(any(condition in when for when in variants) for condition in conditions.items()):
        raise _Unpriced
    return _Tariff(
        rates=vars(listed.get_prices(at, conditions)),
        prompt_tokens=usage.input_tokens or 0,
        token_factor=US_ONLY_FACTOR if usage.native.get("inference_geo") == "us" else Decimal(1),
    )


def _conditions(usage: Usage) -> dict[str, str]:
    """What of the service has rates of its own, in the price list's words."""
    conditions = {}
    if usage.service_tier == "batch":
        conditions["processing"] = "batch"
    elif usage.service_tier in SPECIAL_TIERS:
        conditions["service_tier"] = str(usage.service_tier)
    if usage.native.get("speed") == "fast":
        conditions["speed"] = "fast"
    return conditions


@lru_cache(maxsize=1024)
def _listed(name: str, provider: str | None) -> ModelInfo | None:
    """The list's entry for a model: under its name as it is, or without what a router put in front of it."""
    spellings = (name, UNPRICED_SUFFIX.sub("", name).replace("@", "-"))
    providers = (provider, "aws") if BEDROCK_ID.match(name) else (provider,)
    for place, spelling in product(providers, spellings):
        if model := _look_up(spelling, place):
            return model
    prefix, slash, rest = name.partition("/")
    if not slash:
        return None
    return _listed(rest, provider or (prefix if _is_provider(prefix) else None))


def _look_up(name: str, provider: str | None) -> ModelInfo | None:
    try:
        home, model = _price_list().find_provider_model(name, None, provider, None)
    except LookupError:
        return None
    # An entry borrowed from another provider holds for standard service alone.
    return model if any(model is own for own in home.models) else replace(model, price_variants=None)


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
