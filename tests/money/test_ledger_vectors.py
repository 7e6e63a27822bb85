"""The eight ledger vectors, each through the usage body that its wire really carries.

Source: computed by hand from the providers' rates of 2026-11-30; the ids are the numbers of the vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from ctxkit.ledger import Attempt, Totals
from ctxkit.money import price
from ctxkit.wire import READERS, wire_named

AT = datetime(2026, 11, 30, tzinfo=UTC)

OPUS = {
    "input_tokens": 1_000,
    "cache_read_input_tokens": 20_000,
    "cache_creation_input_tokens": 7_000,
    "cache_creation": {"ephemeral_5m_input_tokens": 5_000, "ephemeral_1h_input_tokens": 2_000},
    "output_tokens": 800,
    "output_tokens_details": {"thinking_tokens": 300},
}
SOL = {
    "input_tokens": 20_000,
    "input_tokens_details": {"cached_tokens": 15_000, "cache_write_tokens": 2_000},
    "output_tokens": 1_000,
    "output_tokens_details": {"reasoning_tokens": 600},
    "total_tokens": 21_000,
}
SOL_CHAT = {
    "prompt_tokens": 20_000,
    "prompt_tokens_details": {"cached_tokens": 15_000, "cache_write_tokens": 2_000},
    "completion_tokens": 1_000,
    "completion_tokens_details": {"reasoning_tokens": 600},
    "total_tokens": 21_000,
}
COMPACTED = {
    "input_tokens": 23_000,
    "output_tokens": 1_000,
    "iterations": [
        {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
        {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000},
    ],
}
FLASH = {
    "promptTokenCount": 10_000,
    "cachedContentTokenCount": 6_000,
    "toolUsePromptTokenCount": 500,
    "candidatesTokenCount": 400,
    "thoughtsTokenCount": 1_600,
    "totalTokenCount": 12_500,
}
CONVERSE = {
    "inputTokens": 1_000,
    "cacheReadInputTokens": 20_000,
    "cacheWriteInputTokens": 7_000,
    "cacheDetails": [{"ttl": "5m", "inputTokens": 5_000}, {"ttl": "1h", "inputTokens": 2_000}],
    "outputTokens": 800,
}


def all_read(tokens: int) -> dict[str, Any]:
    return {"input_tokens": 0, "cache_read_input_tokens": tokens, "output_tokens": 500}


def mostly_cached(tokens: int) -> dict[str, Any]:
    return {"input_tokens": tokens, "input_tokens_details": {"cached_tokens": 270_000}, "output_tokens": 500}


def searched(usage: Mapping[str, Any], searches: int) -> dict[str, Any]:
    return {"usage": usage, "tool_usage": {"web_search": {"num_requests": searches}}}


def cost(wire: str, body: Mapping[str, Any], *, model: str) -> Decimal | None:
    reader = READERS[wire]
    usage = reader.usage(body)
    if usage is None:
        return None
    charge = price(usage, model=model, at=AT, stop_reason=reader.stop_reason(body))
    return None if charge is None else charge.total_usd


@pytest.mark.parametrize(
    ("wire", "model", "body", "dollars"),
    [
        pytest.param("anthropic_messages", "claude-opus-5-5", {"usage": OPUS}, "0.065", id="1"),
        pytest.param(
            "anthropic_messages",
            "claude-opus-5-5",
            {"usage": {**OPUS, "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 5}}},
            "0.085",
            id="1-searches",
        ),
        pytest.param(
            "bedrock_converse",
            "global.anthropic.claude-opus-5-5",
            {"usage": CONVERSE},
            "0.065",
            id="1-global",
        ),
        pytest.param(
            "bedrock_converse", "us.anthropic.claude-opus-5-5", {"usage": CONVERSE}, "0.0715", id="1-regional"
        ),
        pytest.param("openai_responses", "gpt-6-sol", {"usage": SOL}, "0.024", id="2"),
        pytest.param("openai_responses", "gpt-6-sol", searched(SOL, 3), "0.054", id="2-searches"),
        pytest.param("openai_chat", "gpt-6-sol", {"usage": SOL_CHAT}, "0.024", id="2-chat"),
        pytest.param(
            "anthropic_messages", "claude-haiku-5-5", {"usage": all_read(99_000)}, "0.00124", id="3-99k"
        ),
        pytest.param(
            "anthropic_messages", "claude-haiku-5-5", {"usage": all_read(100_000)}, "0.00125", id="3-100k"
        ),
        pytest.param(
            "anthropic_messages", "claude-haiku-5-5", {"usage": all_read(101_000)}, "0.00630", id="3-101k"
        ),
        pytest.param(
            "openai_responses", "gpt-6-sol", {"usage": mostly_cached(272_000)}, "0.063", id="4-at-the-cliff"
        ),
        pytest.param(
            "openai_responses", "gpt-6-sol", {"usage": mostly_cached(272_001)}, "0.123504", id="4-beyond-it"
        ),
        pytest.param("anthropic_messages", "claude-opus-5-5", {"usage": COMPACTED}, "0.902", id="5"),
        pytest.param("gemini", "gemini-3.6-flash", {"usageMetadata": FLASH}, "0.011325", id="6"),
        pytest.param(
            "anthropic_messages",
            "claude-opus-5-5",
            {"stop_reason": "refusal", "usage": {"input_tokens": 106, "output_tokens": 1}},
            "0",
            id="7",
        ),
    ],
)
def test_a_usage_body_costs_what_the_vector_says(
    wire: str, model: str, body: dict[str, Any], dollars: str
) -> None:
    assert cost(wire, body, model=model) == Decimal(dollars)


def test_vector_8_a_stream_without_its_usage_chunk_is_unknown_and_makes_totals_a_lower_bound() -> None:
    """Docstring of the SDK: "If the stream is interrupted, you may not receive the final usage chunk"."""
    wire = wire_named("openai_chat")
    stream = wire.accumulator()
    stream.feed({"model": "gpt-6-sol", "choices": [{"index": 0, "delta": {"content": "The fault is"}}]})
    partial = stream.finish()
    assert partial is not None
    assert cost("openai_chat", partial, model="gpt-6-sol") is None

    usage = wire.usage({"usage": SOL_CHAT})
    assert usage is not None
    known = Attempt(
        task="task",
        purpose="main",
        model="gpt-6-sol",
        wire="openai_chat",
        outcome="billed",
        usage=usage,
        charge=price(usage, model="gpt-6-sol", at=AT),
    )
    aborted = Attempt(
        task="task", purpose="main", model="gpt-6-sol", wire="openai_chat", outcome="unknown", usage=None
    )
    totals = Totals()
    totals.add(known)
    assert not totals.is_lower_bound
    totals.add(aborted)
    assert totals.is_lower_bound
    assert (totals.requests, totals.requests_unmeasured) == (2, 1)
    assert totals.known_cost_usd == Decimal("0.024")
