"""What a response costs, part by part, and what a model's tokens cost.

The rates come from `price_list`. What a list of rates can't say stands here: iterations, refusals that are
free, inference that is kept in the US. How a cost is split over what caused it lives in `shares`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import reduce

from ctxkit.money.price_list import Tariff, Unpriced, tariff
from ctxkit.usage import Charge, Media, Usage
from ctxkit.wire import usage_fields

# Iterations that are billed but stand in no top-level count.
ASIDE = frozenset({"compaction", "advisor_message"})
SPECIAL_TIERS = frozenset({"fast", "flex", "offpeak", "priority", "provisioned", "scale", "ultrafast"})
US_ONLY_FACTOR = Decimal("1.1")


@dataclass(frozen=True, slots=True)
class Rates:
    """What the tokens of one model cost at one moment, in US dollars for a million.

    Attributes:
        input: Plain input.
        cache_write: Input written to the prompt cache at the shortest lifetime; `None` where it has no rate.
        cache_write_1h: The same for one hour.
        cache_read: Input read from the prompt cache; `None` where it has no rate.
        output: The answer.
    """

    input: Decimal
    cache_write: Decimal | None
    cache_write_1h: Decimal | None
    cache_read: Decimal | None
    output: Decimal


def rates(
    model: str | None,
    *,
    provider: str | None = None,
    at: datetime | None = None,
    prompt_tokens: int = 0,
) -> Rates | None:
    """What the tokens of a model cost in standard service; `None` where the price list does not say.

    Args:
        model: Its name, with or without the prefix of a router or a cloud.
        provider: Who answers, as the price list calls them; left out, it is told from the model's name.
        at: The moment, in UTC where it has no time zone; left out, now.
        prompt_tokens: The size of the prompt; beyond a price cliff, every token costs more.
    """
    if model is None:
        return None
    at = at or datetime.now(UTC)
    try:
        listed = tariff(model, provider=provider, at=at, prompt_tokens=prompt_tokens, conditions={}).rates
        return Rates(
            input=listed["input_mtok"],
            cache_write=listed.get("cache_write_mtok"),
            cache_write_1h=listed.get("cache_write_1h_mtok"),
            cache_read=listed.get("cache_read_mtok"),
            output=listed["output_mtok"],
        )
    except (Unpriced, KeyError):
        return None


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
    refused = stop_reason == "refusal" and _has_no_output(usage) and "claude" in model.lower()
    at = at or datetime.now(UTC)
    try:
        parts = [
            _charge(part, name, provider, at) for part, name in _samplings(usage, model, refused=refused)
        ]
    except Unpriced:
        return None
    return reduce(_add, parts, Charge())


def _samplings(usage: Usage, model: str, *, refused: bool) -> Iterator[tuple[Usage, str]]:
    """What a response was billed for, sampling by sampling, each with its model.

    Anthropic's top-level counts leave out compactions and advisors, so these are billed besides the answer.
    The answer's own samplings are billed one by one, as price cliffs go by the size of one prompt; a model
    that declined before another took over is free as any refusal is. A session's total in Claude Code's
    stream lists only the last of them: it is billed as it stands.

    Source: types of the `anthropic` SDK 2.14.0 and recorded sessions, read on 2026-11-30.
    """
    answer: list[tuple[Usage, str]] = []
    listed = usage.native.get("iterations")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    fell_back = any(entry.get("type") == "fallback_message" for entry in entries)
    for entry in entries:
        reported = usage_fields.anthropic(entry) or Usage(None, None)
        part = replace(reported, service_tier=usage.service_tier, native=usage.native)
        sampling = part, str(entry.get("model") or model)
        if entry.get("type") in ASIDE:
            yield sampling
        else:
            answer.append(sampling)
    if refused:
        return
    if not answer or sum(_tokens(part) for part, _ in answer) < _tokens(usage):
        yield usage, model
        return
    if usage.web_search_requests:
        yield Usage(0, 0, web_search_requests=usage.web_search_requests), model
    yield from (sampling for sampling in answer if not (fell_back and _has_no_output(sampling[0])))


def _has_no_output(usage: Usage) -> bool:
    """Whether nothing was answered; a refusal before any output reports one token."""
    return usage.output_tokens is not None and usage.output_tokens <= 1


def _tokens(usage: Usage) -> int:
    return (usage.input_tokens or 0) + (usage.output_tokens or 0)


def _charge(usage: Usage, model: str, provider: str | None, at: datetime) -> Charge:
    """What one sampling cost.

    Raises:
        Unpriced: A count is unknown, or has no rate.
    """
    if usage.uncached_tokens is None or usage.output_tokens is None or usage.image_tool_tokens:
        raise Unpriced
    listed = tariff(
        model,
        provider=provider,
        at=at,
        prompt_tokens=usage.input_tokens or 0,
        conditions=_conditions(usage),
        token_factor=US_ONLY_FACTOR if usage.native.get("inference_geo") == "us" else Decimal(1),
    )
    media = [_priced_apart(medium, listed) for medium in usage.media]
    text = Charge(
        uncached_usd=listed.usd(
            _rest(usage.uncached_tokens, *(one.input_tokens - one.cache_read_tokens for one in media)),
            "input_mtok",
        ),
        cache_read_usd=listed.usd(
            _rest(usage.cache_read_tokens, *(one.cache_read_tokens for one in media)), "cache_read_mtok"
        ),
        cache_write_usd=_written_usd(usage, listed),
        output_usd=_answer_usd(
            _rest(usage.output_tokens, *(one.output_tokens for one in media)), usage.reasoning_tokens, listed
        ),
        other_usd=listed.usd(usage.web_search_requests, "web_searches_kcount")
        + listed.usd(1 if "requests_kcount" in listed.rates else 0, "requests_kcount"),
    )
    return reduce(_add, (_media_charge(medium, listed) for medium in media), text)


def _priced_apart(medium: Media, listed: Tariff) -> Media:
    """What of a medium has another rate than text: prompts do only where the list says so, or in audio."""
    if medium.kind == "audio" or f"input_{medium.kind}_mtok" in listed.rates:
        return medium
    return replace(medium, input_tokens=0, cache_read_tokens=0)


def _rest(whole: int, *parts: int) -> int:
    rest = whole - sum(parts)
    if rest < 0:
        raise Unpriced
    return rest


def _media_charge(medium: Media, listed: Tariff) -> Charge:
    kind = medium.kind
    return Charge(
        uncached_usd=listed.usd(medium.input_tokens - medium.cache_read_tokens, f"input_{kind}_mtok"),
        cache_read_usd=listed.usd(medium.cache_read_tokens, f"cache_{kind}_read_mtok"),
        output_usd=listed.usd(medium.output_tokens, f"output_{kind}_mtok"),
    )


def _written_usd(usage: Usage, listed: Tariff) -> Decimal:
    longer = usage.cache_write_1h_tokens + usage.cache_write_12h_tokens
    return (
        listed.usd(usage.cache_write_tokens - longer, "cache_write_mtok")
        + listed.usd(usage.cache_write_1h_tokens, "cache_write_1h_mtok")
        + listed.usd(usage.cache_write_12h_tokens, "cache_write_12h_mtok")
    )


def _answer_usd(tokens: int, reasoning_tokens: int, listed: Tariff) -> Decimal:
    apart = min(reasoning_tokens, tokens) if "output_reasoning_mtok" in listed.rates else 0
    return listed.usd(tokens - apart, "output_mtok") + listed.usd(apart, "output_reasoning_mtok")


def _add(left: Charge, right: Charge) -> Charge:
    return Charge(
        uncached_usd=left.uncached_usd + right.uncached_usd,
        cache_read_usd=left.cache_read_usd + right.cache_read_usd,
        cache_write_usd=left.cache_write_usd + right.cache_write_usd,
        output_usd=left.output_usd + right.output_usd,
        other_usd=left.other_usd + right.other_usd,
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
