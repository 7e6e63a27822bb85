"""What the price list says, what it leaves out, and what has rates of its own."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from importlib.metadata import version
from typing import Any

import pytest
from genai_prices.data import providers

from ctxkit.money import Rates, price, price_list_version, rates
from ctxkit.money.corrections import PAST_RATES, WRITES_12H
from ctxkit.reports import Report
from ctxkit.usage import Charge, Media, Usage

AT = datetime(2026, 11, 30, tzinfo=UTC)
MILLION = 1_000_000


def charge(usage: Usage, model: str, **options: Any) -> Charge:
    charged = price(usage, model=model, **{"at": AT, **options})
    assert charged is not None
    return charged


def test_rates_are_dollars_for_a_million_tokens() -> None:
    assert rates("claude-opus-5-5", at=AT) == Rates(
        input=Decimal(4),
        cache_write=Decimal(5),
        cache_write_1h=Decimal(8),
        cache_read=Decimal("0.2"),
        output=Decimal(20),
    )


def test_rates_beyond_a_cliff_are_those_of_the_larger_prompt() -> None:
    """The rule: tiers are cliffs with a strict `>`, "100,000 exactly is still cheap"."""
    at_it, beyond = (rates("claude-haiku-5-5", at=AT, prompt_tokens=size) for size in (100_000, 100_001))
    assert at_it == rates("claude-haiku-5-5", at=AT)
    assert at_it is not None
    assert beyond is not None
    assert (beyond.input, beyond.cache_read, beyond.output) == (
        5 * at_it.input,
        5 * at_it.cache_read if at_it.cache_read else None,
        5 * at_it.output,
    )


def test_where_writing_has_no_fee_it_costs_plain_input() -> None:
    listed = rates("gpt-5", at=AT)
    assert listed is not None
    assert listed.cache_write == listed.cache_write_1h == listed.input


def test_a_rate_that_nobody_lists_is_none() -> None:
    plain, newest = rates("openai/gpt-4", at=AT), rates("gpt-6.1-sol", at=AT)
    assert plain is not None
    assert newest is not None
    assert (plain.cache_read, plain.cache_write, newest.cache_write_1h) == (None, None, None)


def test_rates_depend_on_who_serves_the_model() -> None:
    direct, regional = rates("claude-opus-5-5", at=AT), rates("us.anthropic.claude-opus-5-5", at=AT)
    assert direct is not None
    assert regional is not None
    assert regional.input == direct.input * Decimal("1.1")
    assert rates("gpt-4o", provider="a-provider-nobody-lists") is None


@pytest.mark.parametrize("model", [None, "a-model-nobody-lists", "openai/text-embedding-3-small"])
def test_a_model_without_rates_for_both_sides_has_none(model: str | None) -> None:
    assert rates(model) is None


def test_rates_without_a_date_are_todays() -> None:
    assert rates("gpt-4o") == rates("gpt-4o", at=datetime.now(UTC))


def test_reads_of_sonnet_5_5_cost_a_tenth_of_input_until_their_rate_was_cut() -> None:
    """The table of prices: "read was .20 until 2026-10-07"."""
    day = datetime(2026, 10, 7)
    before, after = (rates("claude-sonnet-5-5", at=at) for at in (day - timedelta(seconds=1), day))
    assert before is not None
    assert after is not None
    assert (before.cache_read, after.cache_read) == (Decimal("0.20"), Decimal("0.10"))
    assert replace(before, cache_read=after.cache_read) == after
    west = datetime(2026, 10, 6, 20, tzinfo=timezone(timedelta(hours=-5)))
    assert rates("claude-sonnet-5-5", at=west) == after


def test_what_the_list_is_corrected_by_is_still_missing_from_it() -> None:
    """A tripwire: when a later list dates these rates itself, the corrections go."""
    models = {(provider.id, model.id): model for provider in providers for model in provider.models}
    for past in PAST_RATES:
        listed = models[past.provider, past.model].get_prices(datetime(2026, 10, 1, tzinfo=UTC))
        assert getattr(listed, past.key) != past.usd
    for key in WRITES_12H:
        assert "cache_write_12h_mtok" not in vars(models[key].get_prices(AT))


@pytest.mark.parametrize(
    ("prompt", "tier", "per_million"),
    [(100_000, None, "2.5"), (300_000, None, "5"), (100_000, "flex", "1.25"), (100_000, "priority", "5")],
)
def test_twelve_hour_writes_cost_twice_what_thirty_minutes_cost(
    prompt: int, tier: str | None, per_million: str
) -> None:
    """Comment of the list: 'The 12-hour retention rate ($2.50) is not modeled.'"""
    usage = Usage(
        prompt, 0, cache_write_tokens=prompt, cache_write_12h_tokens=prompt - 10_000, service_tier=tier
    )
    short = Decimal(per_million) / 2
    expected = (Decimal(per_million) * (prompt - 10_000) + short * 10_000) / MILLION
    assert charge(usage, "gpt-6.1-terra").cache_write_usd == expected


def test_twelve_hour_writes_are_unknown_where_a_write_fee_is_listed_without_them() -> None:
    written = Usage(1_000, 0, cache_write_tokens=1_000, cache_write_12h_tokens=1_000)
    assert price(written, model="gpt-6-sol", at=AT) is None
    assert charge(written, "gpt-5") == charge(Usage(1_000, 0, cache_write_tokens=1_000), "gpt-5")


def test_audio_costs_its_own_rates_on_every_side() -> None:
    heard = Media("audio", input_tokens=800, cache_read_tokens=500, output_tokens=0)
    usage = Usage(2_000, 100, cache_read_tokens=700, media=(heard,))
    assert charge(usage, "gemini-2.5-flash") == Charge(
        uncached_usd=(1_000 * Decimal("0.3") + 300 * Decimal(1)) / MILLION,
        cache_read_usd=(200 * Decimal("0.03") + 500 * Decimal("0.1")) / MILLION,
        output_usd=100 * Decimal("2.5") / MILLION,
    )
    spoken = Usage(2_000, 100, media=(Media("audio", input_tokens=800, output_tokens=90),))
    assert charge(spoken, "gpt-audio").output_usd == (90 * Decimal(64) + 10 * Decimal(10)) / MILLION


@pytest.mark.parametrize(
    ("model", "media"),
    [
        ("gpt-6-sol", Media("audio", input_tokens=1)),
        ("gpt-6-sol", Media("audio", output_tokens=1)),
        ("gpt-6-sol", Media("image", output_tokens=1)),
        ("gemini-2.5-pro", Media("audio", input_tokens=1)),
    ],
)
def test_media_without_a_rate_make_the_charge_unknown(model: str, media: Media) -> None:
    usage = Usage(1_000, 100)
    assert price(usage, model=model, at=AT) is not None
    assert price(replace(usage, media=(media,)), model=model, at=AT) is None


def test_pictures_in_a_prompt_are_plain_tokens_where_the_list_has_no_rate_for_them() -> None:
    seen = Usage(1_000, 100, cache_read_tokens=400, media=(Media("image", 600, cache_read_tokens=300),))
    assert charge(seen, "claude-opus-5-5") == charge(replace(seen, media=()), "claude-opus-5-5")
    drawn = Usage(1_000, 1_300, media=(Media("image", input_tokens=600, output_tokens=1_290),))
    expected = (1_290 * Decimal(30) + 10 * Decimal("2.5")) / MILLION
    assert charge(drawn, "gemini-2.5-flash-image").output_usd == expected


def test_media_that_do_not_fit_into_the_counts_around_them_make_the_charge_unknown() -> None:
    """Chat Completions does not say how much of the audio was read from the cache."""
    unclear = Usage(1_000, 100, cache_read_tokens=900, media=(Media("audio", input_tokens=800),))
    assert price(unclear, model="gemini-2.5-flash", at=AT) is None


def test_a_hosted_image_tool_makes_the_charge_unknown_as_its_model_is_not_named() -> None:
    usage = Usage(1_000, 100, image_tool_tokens=1_056)
    assert price(usage, model="gpt-6-sol", at=AT) is None


@pytest.mark.parametrize("tier", ["offpeak", "provisioned"])
def test_traffic_that_is_not_billed_by_the_listed_rates_is_unknown(tier: str) -> None:
    assert price(Usage(1_000, 100, service_tier=tier), model="gemini-2.5-pro", at=AT) is None


def test_the_version_of_the_price_list_has_the_day_of_its_last_rates() -> None:
    named = re.fullmatch(r"genai-prices (\S+) \((\d{4}-\d\d-\d\d)\)", price_list_version())
    assert named is not None
    assert named[1] == version("genai-prices")
    assert date(2026, 11, 1) < date.fromisoformat(named[2]) < datetime.now(UTC).date()


def test_a_report_says_which_price_list_it_is_from() -> None:
    assert Report([], []).to_dict()["price_list"] == price_list_version()
