"""Prices against the price list itself and costs that others recorded."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import genai_prices
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.money import price
from ctxkit.usage import Charge, Usage
from ctxkit.wire import usage_fields

AT = datetime(2026, 11, 30, tzinfo=UTC)
TRANSCRIPTS = Path(__file__).parents[2].parent / "shared" / "data" / "transcripts"

OPUS = Usage(28_000, 800, cache_read_tokens=20_000, cache_write_tokens=7_000, cache_write_1h_tokens=2_000)
PLAIN = Usage(1_000, 100)


def total(usage: Usage, model: str | None, **options: Any) -> Decimal | None:
    charge = price(usage, model=model, **{"at": AT, **options})
    return None if charge is None else charge.total_usd


def iteration(kind: str, input_tokens: int | None, output_tokens: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "input_tokens": input_tokens, "output_tokens": output_tokens, **more}


def anthropic(input_tokens: int, output_tokens: int, *iterations: Any, **more: Any) -> Usage:
    usage = usage_fields.anthropic(
        {"input_tokens": input_tokens, "output_tokens": output_tokens, "iterations": list(iterations), **more}
    )
    assert usage is not None
    return usage


def test_each_bucket_is_priced_apart_and_one_hour_writes_at_their_own_rate() -> None:
    charge = price(replace(OPUS, web_search_requests=2), model="claude-opus-5-5", at=AT)
    assert charge == Charge(
        uncached_usd=Decimal("0.004"),
        cache_read_usd=Decimal("0.004"),
        cache_write_usd=Decimal("0.025") + Decimal("0.016"),
        output_usd=Decimal("0.016"),
        other_usd=Decimal("0.02"),
    )


@given(
    model=st.sampled_from(
        ["claude-opus-5-5", "claude-haiku-5-5", "claude-sonnet-4-5", "gpt-6-sol", "gpt-5", "gemini-2.5-pro"]
    ),
    uncached=st.integers(0, 300_000),
    read=st.integers(0, 300_000),
    written=st.integers(0, 300_000),
    output=st.integers(0, 100_000),
)
def test_the_parts_add_up_to_the_price_lists_own_total(
    model: str, uncached: int, read: int, written: int, output: int
) -> None:
    usage = Usage(uncached + read + written, output, cache_read_tokens=read, cache_write_tokens=written)
    listed = genai_prices.calc_price(
        genai_prices.Usage(
            input_tokens=usage.input_tokens,
            output_tokens=output,
            cache_read_tokens=read,
            cache_write_tokens=written,
        ),
        model,
        genai_request_timestamp=AT,
    )
    assert total(usage, model) == listed.total_price


@pytest.mark.parametrize(
    ("usage", "model", "provider"),
    [
        (PLAIN, None, None),
        (PLAIN, "a-model-nobody-lists", None),
        (PLAIN, "gpt-4o", "a-provider-nobody-lists"),
        (PLAIN, "gpt-4o", "anthropic"),
        (Usage(None, None), "gpt-4o", None),
        (Usage(None, 100), "gpt-4o", None),
        (Usage(1_000, None), "gpt-4o", None),
    ],
)
def test_what_is_unknown_or_unlisted_costs_none_and_not_zero(
    usage: Usage, model: str | None, provider: str | None
) -> None:
    assert total(usage, model, provider=provider) is None


@pytest.mark.parametrize(
    ("usage", "model"),
    [
        (Usage(1_000, 100, cache_read_tokens=1), "openai/gpt-4"),
        (Usage(1_000, 100, cache_write_tokens=1), "openai/gpt-4"),
        (Usage(1_000, 100, web_search_requests=1), "anthropic/claude-3-opus-latest"),
        (Usage(1_000, 100), "openai/text-embedding-3-small"),
        (Usage(1_000, 100, cache_write_tokens=1, cache_write_1h_tokens=1), "openai/gpt-6-sol"),
    ],
)
def test_a_rate_that_the_list_lacks_makes_the_charge_unknown_only_where_it_is_needed(
    usage: Usage, model: str
) -> None:
    assert total(usage, model) is None
    assert total(Usage(1_000, 0), model) is not None


def test_writing_costs_plain_input_where_reads_alone_have_a_rate() -> None:
    written = Usage(1_000, 100, cache_write_tokens=800, cache_write_1h_tokens=300)
    assert total(written, "gpt-5") == total(PLAIN, "gpt-5")


def test_a_fee_for_each_request_is_billed_by_the_piece() -> None:
    charge = price(PLAIN, model="perplexity/sonar", at=AT)
    assert charge is not None
    assert charge.other_usd == Decimal("0.012")


def test_reasoning_with_a_rate_of_its_own_is_billed_at_it() -> None:
    usage = Usage(0, 1_000_000, reasoning_tokens=400_000)
    answer, reasoning = Decimal("0.6") * 8, Decimal("0.4") * 3
    assert total(usage, "perplexity/sonar-deep-research") == answer + reasoning


def test_more_reasoning_than_output_never_makes_the_answer_cost_less_than_nothing() -> None:
    usage = Usage(0, 1_000_000, reasoning_tokens=2_000_000)
    assert total(usage, "perplexity/sonar-deep-research") == Decimal(3)


def test_a_claude_refusal_before_any_output_is_free() -> None:
    """Anthropic bills no refusal without output, "though usage shows e.g. input 106/output 1"."""
    assert total(Usage(106, 1), "claude-opus-5-5", stop_reason="refusal") == 0


@pytest.mark.parametrize(("usage", "model"), [(Usage(106, 2), "claude-opus-5-5"), (Usage(106, 1), "gpt-4o")])
def test_a_refusal_after_output_or_by_another_model_is_billed(usage: Usage, model: str) -> None:
    assert total(usage, model, stop_reason="refusal") == total(usage, model) != 0


def test_a_compaction_before_a_refusal_is_billed() -> None:
    usage = anthropic(106, 1, iteration("compaction", 1_000, 100), iteration("message", 106, 1))
    assert total(usage, "claude-opus-5-5", stop_reason="refusal") == total(PLAIN, "claude-opus-5-5")


def test_compaction_is_billed_besides_the_answer() -> None:
    usage = anthropic(
        23_000, 1_000, iteration("compaction", 180_000, 3_500), iteration("message", 23_000, 1_000)
    )
    assert total(usage, "claude-opus-5-5") == Decimal("0.902")


def test_an_advisor_is_billed_at_the_rates_of_its_own_model() -> None:
    usage = anthropic(
        1_000,
        100,
        iteration("message", 400, 60),
        iteration("advisor_message", 1_000, 100, model="claude-opus-4-8"),
        iteration("message", 600, 40),
    )
    parts = total(PLAIN, "claude-sonnet-5"), total(PLAIN, "claude-opus-4-8")
    assert total(usage, "claude-sonnet-5") == sum(filter(None, parts))


def test_a_fallback_is_billed_at_the_rates_of_the_model_that_answered() -> None:
    usage = anthropic(1_000, 100, iteration("fallback_message", 1_000, 100, model="claude-opus-4-8"))
    assert total(usage, "claude-sonnet-5") == total(PLAIN, "claude-opus-4-8")


def test_a_model_that_declined_before_another_answered_is_free_only_without_output() -> None:
    """SDK: "A declined hop and the serving hop's earlier tool-loop iterations produce `message` entries."."""
    answered = iteration("fallback_message", 1_000, 100, model="claude-opus-4-8")
    declined = iteration("message", 1_000, 1, model="claude-sonnet-5")
    spoken = iteration("message", 1_000, 100, model="claude-sonnet-5")
    alone, also = total(PLAIN, "claude-opus-4-8"), total(PLAIN, "claude-sonnet-5")
    assert alone is not None
    assert also is not None
    assert total(anthropic(1_000, 100, declined, answered), "claude-opus-4-8") == alone
    assert total(anthropic(2_000, 101, declined, answered), "claude-opus-4-8") == alone
    assert total(anthropic(1_000, 100, spoken, answered), "claude-opus-4-8") == alone + also


@pytest.mark.parametrize("status", [{"type": "redeemed"}, {"type": "not_applied", "reason": "expired"}, None])
def test_a_fallback_credit_has_moved_its_tokens_already_and_changes_no_rate(status: Any) -> None:
    usage = anthropic(1_000, 100, fallback_credit={"status": status})
    assert total(usage, "claude-sonnet-5") == total(PLAIN, "claude-sonnet-5")


def test_a_price_cliff_goes_by_each_sampling_of_a_server_side_loop() -> None:
    usage = anthropic(120_000, 20, iteration("message", 60_000, 10), iteration("message", 60_000, 10))
    once = total(Usage(60_000, 10), "claude-haiku-5-5")
    assert once is not None
    assert total(usage, "claude-haiku-5-5") == 2 * once


def test_a_sessions_total_that_lists_only_its_last_sampling_is_billed_whole() -> None:
    usage = anthropic(1_000, 100, iteration("message", 400, 60))
    assert total(usage, "claude-sonnet-5") == total(PLAIN, "claude-sonnet-5")


def test_a_sessions_total_is_billed_whole_however_large_the_compaction_beside_it() -> None:
    usage = anthropic(1_000, 100, iteration("compaction", 1_000, 100), iteration("message", 400, 60))
    plain = total(PLAIN, "claude-sonnet-5")
    assert plain is not None
    assert total(usage, "claude-sonnet-5") == 2 * plain


def test_iterations_are_billed_at_the_tier_of_the_response() -> None:
    usage = anthropic(1_000, 100, iteration("message", 1_000, 100), service_tier="batch")
    assert total(usage, "claude-sonnet-5") == total(replace(PLAIN, service_tier="batch"), "claude-sonnet-5")


def test_searches_are_billed_once_however_many_samplings_there_were() -> None:
    usage = anthropic(
        1_000,
        100,
        iteration("message", 400, 60),
        iteration("message", 600, 40),
        server_tool_use={"web_search_requests": 3},
    )
    assert total(usage, "claude-sonnet-5") == total(replace(PLAIN, web_search_requests=3), "claude-sonnet-5")


def test_an_iteration_with_unknown_tokens_makes_the_charge_unknown() -> None:
    usage = anthropic(1_000, 100, iteration("message", 1_000, 100), iteration("compaction", None, 100))
    assert total(usage, "claude-sonnet-5") is None


@pytest.mark.parametrize("iterations", [None, "none", [], [None, 3]])
def test_iterations_that_hold_nothing_change_nothing(iterations: Any) -> None:
    usage = replace(PLAIN, native={"iterations": iterations})
    assert total(usage, "claude-sonnet-5") == total(PLAIN, "claude-sonnet-5")


@pytest.mark.parametrize(
    ("model", "usage", "factor"),
    [
        ("claude-opus-5-5", replace(PLAIN, service_tier="batch"), "0.5"),
        ("claude-opus-5-5", replace(PLAIN, service_tier="standard"), "1"),
        ("claude-opus-5-5", replace(PLAIN, native={"speed": "fast"}), "2"),
        ("claude-opus-5-5", replace(PLAIN, native={"inference_geo": "us"}), "1.1"),
        ("claude-opus-5-5", replace(PLAIN, native={"inference_geo": "global"}), "1"),
        ("gpt-6-sol", replace(PLAIN, service_tier="default"), "1"),
        ("gpt-6-sol", replace(PLAIN, service_tier="flex"), "0.5"),
        ("gpt-6-sol", replace(PLAIN, service_tier="priority"), "2"),
    ],
)
def test_the_service_that_was_given_decides_the_rates(model: str, usage: Usage, factor: str) -> None:
    plain = total(PLAIN, model)
    assert plain is not None
    assert total(usage, model) == plain * Decimal(factor)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("claude-opus-5-5", {"service_tier": "priority"}),
        ("claude-sonnet-5-5", {"native": {"speed": "fast"}}),
        ("azure/gpt-6-sol", {"service_tier": "priority"}),
    ],
)
def test_a_service_that_the_list_has_no_rates_for_makes_the_charge_unknown(
    model: str, options: dict[str, Any]
) -> None:
    assert total(PLAIN, model) is not None
    assert total(replace(PLAIN, **options), model) is None


def test_searches_cost_the_same_in_a_batch_and_in_the_us() -> None:
    usage = replace(PLAIN, web_search_requests=1, service_tier="batch", native={"inference_geo": "us"})
    charge = price(usage, model="claude-opus-5-5", at=AT)
    assert charge is not None
    assert charge.other_usd == Decimal("0.01")


def test_a_batch_from_before_the_list_knew_its_rates_is_not_priced_as_standard() -> None:
    usage = replace(PLAIN, service_tier="batch")
    assert total(usage, "claude-opus-5-5", at=datetime(2026, 1, 1, tzinfo=UTC)) is None


def test_the_rates_are_those_of_the_day_of_the_response_in_utc() -> None:
    before, after = Decimal("0.75"), Decimal("1.5")
    usage = Usage(1_000_000, 0)
    last_night = datetime(2026, 12, 31, 23, 59)
    assert total(usage, "gemini-3.6-flash", at=last_night) == before
    assert total(usage, "gemini-3.6-flash", at=last_night + timedelta(minutes=1)) == after
    west = datetime(2026, 12, 31, 20, tzinfo=timezone(timedelta(hours=-5)))
    assert total(usage, "gemini-3.6-flash", at=west) == after


def test_without_a_date_the_rates_are_todays() -> None:
    usage = replace(PLAIN, service_tier="batch")
    assert total(usage, "gpt-4o", at=None) == total(usage, "gpt-4o", at=datetime.now(UTC))


@pytest.mark.parametrize(
    ("written", "provider", "listed"),
    [
        ("openai/gpt-4o-mini", "openai", "gpt-4o-mini"),
        ("litellm_proxy/claude-sonnet-4-20250514", "anthropic", "claude-sonnet-4-0"),
        ("anthropic/claude-sonnet-4.5", "anthropic", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5@20250929", "anthropic", "claude-sonnet-4-5"),
        ("claude-opus-5-5@20261001", "anthropic", "claude-opus-5-5"),
        ("claude-opus-5-5[1m]", "anthropic", "claude-opus-5-5"),
        ("vertex_ai/claude-opus-4-5@default", "google", "claude-opus-4-5"),
        ("models/gemini-2.5-pro", "google", "gemini-2.5-pro"),
        ("openrouter/anthropic/claude-sonnet-4.5", "openrouter", "anthropic/claude-sonnet-4.5"),
        ("groq/openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"),
        ("azure/gpt-4o", "openai", "gpt-4o"),
        ("global.anthropic.claude-opus-5-5", "aws", "global.anthropic.claude-opus-5-5"),
    ],
)
def test_a_name_as_routers_and_clouds_write_it_finds_its_price(
    written: str, provider: str, listed: str
) -> None:
    expected = total(PLAIN, listed, provider=provider)
    assert expected is not None
    assert total(PLAIN, written) == expected


@pytest.mark.parametrize(
    "name",
    [
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "arn:aws:bedrock:us-east-1::inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "anthropic.claude-sonnet-4-5-20250929-v1:0",
    ],
)
@pytest.mark.parametrize("provider", [None, "anthropic", "aws"])
def test_a_regional_bedrock_id_costs_the_regional_price(name: str, provider: str | None) -> None:
    """The rule: "Regional Bedrock/Vertex endpoints +10 %"."""
    direct = total(PLAIN, "claude-sonnet-4-5")
    assert direct is not None
    assert total(PLAIN, name, provider=provider) == direct * Decimal("1.1")


@pytest.mark.parametrize(
    "name",
    ["meta-llama/llama-4-scout", "Qwen/Qwen3-32B", "openai/gpt-4o:free", "system.ai.unheard-of", "/", ""],
)
def test_a_name_whose_price_depends_on_who_serves_it_finds_none(name: str) -> None:
    assert total(PLAIN, name) is None


def test_importing_money_does_not_load_the_price_list() -> None:
    code = "import sys, ctxkit.money; sys.exit('genai_prices' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_recorder_that_prices_claude_by_bucket_agrees_with_every_part() -> None:
    path = TRANSCRIPTS / "pi_coding_agent.jsonl.gz"
    if not path.exists():
        pytest.skip("the shared transcripts are not here")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        records = [record for line in lines for record in json.loads(line)["usage"]]
    assert len(records) > 1_000
    for record in records:
        native, cost = record["usage"], record["usage"]["cost"]
        usage = Usage(
            native["input"] + native["cacheRead"] + native["cacheWrite"],
            native["output"],
            cache_read_tokens=native["cacheRead"],
            cache_write_tokens=native["cacheWrite"],
        )
        charge = price(usage, model=record["model"], at=AT)
        assert charge is not None
        parts = (charge.uncached_usd, charge.cache_read_usd, charge.cache_write_usd, charge.output_usd)
        expected = [cost[part] for part in ("input", "cacheRead", "cacheWrite", "output")]
        assert [float(part) for part in parts] == pytest.approx(expected)
