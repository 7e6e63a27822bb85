"""What holds for every charge: its parts, its order, and what more tokens do to it."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ctxkit.money import price
from ctxkit.usage import Charge, Usage
from ctxkit.wire import usage_fields

AT = datetime(2026, 11, 30, tzinfo=UTC)
CLIFFS = {
    "claude-haiku-5-5": 100_000,
    "gpt-6-sol": 272_000,
    "gpt-6.1-terra": 272_000,
    "gemini-2.5-pro": 200_000,
}
MODELS = [*CLIFFS, "claude-opus-5-5", "claude-sonnet-5", "gpt-5"]
BUCKETS = ["uncached", "cache_read", "cache_write", "output"]
COUNTS = st.integers(0, 60_000)

SAMPLINGS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["message", "compaction", "advisor_message", "fallback_message"]),
        "model": st.sampled_from(["claude-haiku-5-5", "claude-opus-5-5", "claude-sonnet-5"]),
        "input_tokens": st.integers(0, 150_000),
        "cache_read_input_tokens": st.integers(0, 150_000),
        "output_tokens": st.integers(0, 1_000),
    }
)
ANTHROPIC_BODIES = st.fixed_dictionaries(
    {"input_tokens": COUNTS, "output_tokens": COUNTS},
    optional={
        "cache_read_input_tokens": COUNTS,
        "cache_creation": st.fixed_dictionaries(
            {"ephemeral_5m_input_tokens": COUNTS, "ephemeral_1h_input_tokens": COUNTS}
        ),
        "server_tool_use": st.fixed_dictionaries({"web_search_requests": st.integers(0, 9)}),
        "service_tier": st.sampled_from(["standard", "batch"]),
        "inference_geo": st.sampled_from(["us", "global", "not_available"]),
        "iterations": st.lists(SAMPLINGS, max_size=4),
    },
)


def usage_of(body: dict[str, Any]) -> Usage:
    usage = usage_fields.anthropic(body)
    assert usage is not None
    return usage


def with_tokens(counts: dict[str, int], model: str) -> Charge:
    usage = Usage(
        counts["uncached"] + counts["cache_read"] + counts["cache_write"],
        counts["output"],
        cache_read_tokens=counts["cache_read"],
        cache_write_tokens=counts["cache_write"],
    )
    charge = price(usage, model=model, at=AT)
    assert charge is not None
    return charge


@given(ANTHROPIC_BODIES)
def test_the_parts_of_a_charge_add_up_to_its_total(body: dict[str, Any]) -> None:
    charge = price(usage_of(body), model="claude-opus-5-5", at=AT)
    assert charge is not None
    parts = [getattr(charge, part.name) for part in fields(Charge)]
    assert sum(parts) == charge.total_usd
    assert min(parts) >= 0


@given(ANTHROPIC_BODIES)
def test_reading_a_usage_twice_gives_equal_objects_and_equal_charges(body: dict[str, Any]) -> None:
    first, second = usage_of(body), usage_of(body)
    assert first == second
    assert hash(first) == hash(second)
    assert price(first, model="claude-opus-5-5", at=AT) == price(second, model="claude-opus-5-5", at=AT)


@given(
    model=st.sampled_from(MODELS),
    counts=st.fixed_dictionaries(dict.fromkeys(BUCKETS, st.integers(0, 150_000))),
    bucket=st.sampled_from(BUCKETS),
    more=st.integers(0, 50_000),
)
def test_more_tokens_never_cost_less(model: str, counts: dict[str, int], bucket: str, more: int) -> None:
    larger = {**counts, bucket: counts[bucket] + more}
    assert with_tokens(larger, model).total_usd >= with_tokens(counts, model).total_usd


@given(
    model=st.sampled_from(sorted(CLIFFS)),
    counts=st.fixed_dictionaries(dict.fromkeys(BUCKETS, st.integers(0, 25_000))),
    more=st.integers(0, 25_000),
)
def test_on_one_side_of_a_cliff_every_token_of_a_kind_costs_the_same(
    model: str, counts: dict[str, int], more: int
) -> None:
    nothing = dict.fromkeys(BUCKETS, 0)
    for bucket in BUCKETS:
        added = with_tokens({**counts, bucket: counts[bucket] + more}, model).total_usd
        alone = with_tokens({**nothing, bucket: more}, model).total_usd
        assert added == with_tokens(counts, model).total_usd + alone


@given(body=ANTHROPIC_BODIES, data=st.data())
def test_iterations_cost_the_same_in_any_order(body: dict[str, Any], data: st.DataObject) -> None:
    usage = usage_of(body)
    shuffled = data.draw(st.permutations(body.get("iterations", [])))
    other = replace(usage, native={**body, "iterations": shuffled})
    assert price(other, model="claude-opus-5-5", at=AT) == price(usage, model="claude-opus-5-5", at=AT)
