"""Native usage objects: inclusive afterwards, whatever the provider's own meaning, and never an exception."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ctxkit.usage import Media, Usage
from ctxkit.wire.usage_fields import (
    MODALITIES,
    TRAFFIC_TIERS,
    anthropic,
    bedrock_converse,
    gemini,
    openai_chat,
    openai_responses,
)

SHAPES: list[Callable[[Any], Usage | None]] = [
    anthropic,
    bedrock_converse,
    gemini,
    openai_chat,
    openai_responses,
]


def test_anthropic_input_is_the_rest_and_both_lifetimes_of_writes_count() -> None:
    """Docstring of the SDK: total input is input + cache_creation + cache_read."""
    native = {
        "input_tokens": 10,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 300,
        "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200},
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 20},
        "server_tool_use": {"web_search_requests": 2},
        "service_tier": "priority",
    }
    usage = anthropic(native)
    assert usage == Usage(
        input_tokens=1310,
        output_tokens=50,
        cache_read_tokens=1000,
        cache_write_tokens=300,
        cache_write_1h_tokens=200,
        reasoning_tokens=20,
        web_search_requests=2,
        service_tier="priority",
    )
    assert (usage.uncached_tokens, usage.native) == (10, native)


def test_anthropic_writes_may_be_told_by_lifetime_alone() -> None:
    usage = anthropic({"input_tokens": 1, "cache_creation": {"ephemeral_1h_input_tokens": 200}})
    assert usage == Usage(201, None, cache_write_tokens=200, cache_write_1h_tokens=200)


def test_openai_input_holds_the_cached_tokens() -> None:
    usage = openai_chat(
        {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "total_tokens": 150,
            "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
            "completion_tokens_details": {"reasoning_tokens": 20},
        },
        service_tier="flex",
    )
    assert usage == Usage(
        100, 50, cache_read_tokens=60, cache_write_tokens=30, reasoning_tokens=20, service_tier="flex"
    )


@pytest.mark.parametrize("name", ["prompt_cache_hit_tokens", "cache_read_input_tokens", "cached_tokens"])
def test_openai_cache_reads_are_found_under_the_names_of_others(name: str) -> None:
    details = {"cached_tokens": 0}
    usage = openai_chat({"prompt_tokens": 100, name: 60, "prompt_tokens_details": details})
    assert usage == Usage(100, None, cache_read_tokens=60)


def test_openai_cache_writes_are_found_under_the_name_of_routers() -> None:
    usage = openai_chat({"prompt_tokens": 100, "cache_creation_input_tokens": 60, "service_tier": "standard"})
    assert usage == Usage(100, None, cache_write_tokens=60, service_tier="standard")


@pytest.mark.parametrize(
    ("completion", "reasoning", "total", "output"),
    [
        (26, 97, 513, 123),  # the total holds both: xAI
        (97, 26, 513, 123),
        (9, 61, 399, 70),  # more reasoning than answer: a router in front of Gemini
        (50, 20, 440, 50),  # the total holds the answer alone: OpenAI
        (50, 20, None, 50),
        (50, 0, 440, 50),
    ],
)
def test_openai_reasoning_is_part_of_the_output_even_where_it_was_left_out(
    completion: int, reasoning: int, total: int | None, output: int
) -> None:
    details = {"reasoning_tokens": reasoning}
    native = {"prompt_tokens": 390, "completion_tokens": completion, "total_tokens": total}
    usage = openai_chat({**native, "completion_tokens_details": details})
    assert usage == Usage(390, output, reasoning_tokens=reasoning)


def test_openai_responses_counts_searches_apart() -> None:
    usage = openai_responses(
        {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
            "output_tokens": 50,
            "output_tokens_details": {"reasoning_tokens": 20},
        },
        tool_usage={"web_search": {"num_requests": 3}},
        service_tier="priority",
    )
    assert usage == Usage(
        100,
        50,
        cache_read_tokens=60,
        cache_write_tokens=30,
        reasoning_tokens=20,
        web_search_requests=3,
        service_tier="priority",
    )


def test_openai_rejected_predictions_are_in_the_output_already() -> None:
    """Docstring of the SDK: "these tokens are still counted in the total completion tokens"."""
    details = {"accepted_prediction_tokens": 10, "rejected_prediction_tokens": 30, "reasoning_tokens": 0}
    usage = openai_chat({"prompt_tokens": 100, "completion_tokens": 50, "completion_tokens_details": details})
    assert usage == Usage(100, 50)


def test_openai_audio_and_pictures_are_counted_apart() -> None:
    usage = openai_chat(
        {
            "prompt_tokens": 100,
            "prompt_tokens_details": {"audio_tokens": 40, "image_tokens": 30, "text_tokens": 30},
            "completion_tokens": 50,
            "completion_tokens_details": {"audio_tokens": 45, "text_tokens": 5},
        }
    )
    assert usage == Usage(
        100, 50, media=(Media("audio", input_tokens=40, output_tokens=45), Media("image", input_tokens=30))
    )


def test_openai_responses_tells_writes_by_lifetime_and_what_its_image_tool_used() -> None:
    lifetimes = {"ttl_30m_tokens": 10, "ttl_12h_tokens": 20}
    usage = openai_responses(
        {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens_details": lifetimes},
        },
        tool_usage={"image_gen": {"input_tokens": 50, "output_tokens": 1_006, "total_tokens": 1_056}},
    )
    assert usage == Usage(
        100,
        None,
        cache_read_tokens=60,
        cache_write_tokens=30,
        cache_write_12h_tokens=20,
        image_tool_tokens=1_056,
    )


def test_lifetimes_never_add_up_to_more_than_was_written() -> None:
    details = {"cached_tokens": 90, "cache_write_tokens_details": {"ttl_12h_tokens": 50}}
    usage = openai_responses({"input_tokens": 100, "input_tokens_details": details})
    assert usage == Usage(100, None, cache_read_tokens=90, cache_write_tokens=10, cache_write_12h_tokens=10)


def test_gemini_tells_what_is_no_text_on_every_side() -> None:
    usage = gemini(
        {
            "promptTokenCount": 100,
            "promptTokensDetails": [
                {"modality": "TEXT", "tokenCount": 20},
                {"modality": "AUDIO", "tokenCount": 50},
                {"modality": "IMAGE", "tokenCount": 30},
            ],
            "cachedContentTokenCount": 40,
            "cacheTokensDetails": [{"modality": "AUDIO", "tokenCount": 40}],
            "toolUsePromptTokenCount": 10,
            "toolUsePromptTokensDetails": [{"modality": "IMAGE", "tokenCount": 10}],
            "candidatesTokenCount": 25,
            "candidatesTokensDetails": [{"modality": "IMAGE", "tokenCount": 25}, "?"],
        }
    )
    assert usage == Usage(
        110,
        25,
        cache_read_tokens=40,
        media=(
            Media("audio", input_tokens=50, cache_read_tokens=40),
            Media("image", input_tokens=40, output_tokens=25),
        ),
    )


@pytest.mark.parametrize(
    ("traffic", "tier"),
    [
        ("ON_DEMAND", None),
        ("ON_DEMAND_FLEX", "flex"),
        ("ON_DEMAND_PRIORITY", "priority"),
        ("PROVISIONED_THROUGHPUT", "provisioned"),
        (7, None),
    ],
)
def test_traffic_on_googles_cloud_is_a_tier(traffic: Any, tier: str | None) -> None:
    assert gemini({"promptTokenCount": 1, "trafficType": traffic}) == Usage(1, None, service_tier=tier)


def test_every_kind_of_traffic_with_rates_of_its_own_is_one_of_the_sdk() -> None:
    types = pytest.importorskip("google.genai.types")
    assert set(TRAFFIC_TIERS) < {traffic.value for traffic in types.TrafficType}
    assert set(MODALITIES) < {modality.value for modality in types.MediaModality}


def test_gemini_adds_tool_use_prompts_and_thoughts() -> None:
    usage = gemini(
        {
            "promptTokenCount": 10_000,
            "cachedContentTokenCount": 6_000,
            "toolUsePromptTokenCount": 500,
            "candidatesTokenCount": 400,
            "thoughtsTokenCount": 1_600,
            "serviceTier": "standard",
        }
    )
    assert usage == Usage(
        10_500, 2_000, cache_read_tokens=6_000, reasoning_tokens=1_600, service_tier="standard"
    )


@pytest.mark.parametrize(
    ("more", "output"),
    [
        ({"thoughtsTokenCount": 46, "totalTokenCount": 146}, 46),
        ({"totalTokenCount": 100}, 0),
        ({"thoughtsTokenCount": 46}, None),
        ({}, None),
    ],
)
def test_gemini_leaves_out_a_zero_but_only_a_total_proves_it(
    more: dict[str, int], output: int | None
) -> None:
    usage = gemini({"promptTokenCount": 100, **more})
    assert usage == Usage(100, output, reasoning_tokens=more.get("thoughtsTokenCount", 0))


def test_bedrock_input_is_the_rest_and_writes_have_a_lifetime() -> None:
    usage = bedrock_converse(
        {
            "inputTokens": 10,
            "outputTokens": 50,
            "cacheReadInputTokens": 1000,
            "cacheWriteInputTokens": 300,
            "cacheDetails": [{"ttl": "5m", "inputTokens": 100}, {"ttl": "1h", "inputTokens": 200}, "?"],
        }
    )
    assert usage == Usage(1310, 50, cache_read_tokens=1000, cache_write_tokens=300, cache_write_1h_tokens=200)


def test_bedrock_writes_may_be_told_by_lifetime_alone() -> None:
    usage = bedrock_converse({"inputTokens": 10, "cacheDetails": [{"ttl": "1h", "inputTokens": 200}]})
    assert usage == Usage(210, None, cache_write_tokens=200, cache_write_1h_tokens=200)


def test_a_part_is_never_larger_than_what_holds_it() -> None:
    both = {"cached_tokens": 2161, "cache_write_tokens": 2161}
    assert openai_chat({"prompt_tokens": 2168, "prompt_tokens_details": both}) == Usage(
        2168, None, cache_read_tokens=2161, cache_write_tokens=7
    )
    assert openai_chat({"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 161}}) == Usage(
        7, None, cache_read_tokens=7
    )


def test_parts_are_kept_where_the_whole_is_unknown() -> None:
    assert anthropic({"output_tokens": 5, "cache_read_input_tokens": 90}) == Usage(
        None, 5, cache_read_tokens=90
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("native", [None, "?", 7, [], {}, {"service_tier": "standard"}])
def test_no_counts_are_no_usage(shape: Callable[[Any], Usage | None], native: Any) -> None:
    assert shape(native) is None


@pytest.mark.parametrize("junk", [None, -1, "12", True, 2.5, float("nan"), [], {}])
def test_what_is_no_count_is_unknown(junk: Any) -> None:
    assert anthropic({"input_tokens": junk, "output_tokens": 5}) == Usage(None, 5)
    assert openai_chat({"prompt_tokens": 10, "completion_tokens": junk}) == Usage(10, None)
    assert openai_responses({"input_tokens": 10, "input_tokens_details": junk}) == Usage(10, None)
    assert gemini({"promptTokenCount": 10, "candidatesTokenCount": junk}) == Usage(10, None)
    assert bedrock_converse({"inputTokens": 10, "outputTokens": 5, "cacheDetails": junk}) == Usage(10, 5)


def test_a_count_written_as_a_float_is_a_count() -> None:
    assert anthropic({"input_tokens": 10.0, "output_tokens": 5.0}) == Usage(10, 5)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("junk", [7, "?", [], None, {"a": {}}])
def test_junk_in_any_field_never_raises(shape: Callable[[Any], Usage | None], junk: Any) -> None:
    names = [
        "cache_creation",
        "output_tokens_details",
        "server_tool_use",
        "service_tier",
        "prompt_tokens_details",
        "completion_tokens_details",
        "input_tokens_details",
        "cacheDetails",
        "promptTokensDetails",
        "candidatesTokensDetails",
        "trafficType",
        "serviceTier",
    ]
    counts = ["input_tokens", "prompt_tokens", "promptTokenCount", "inputTokens"]
    usage = shape({**dict.fromkeys(names, junk), **dict.fromkeys(counts, 10)})
    assert usage is not None
    assert usage.input_tokens == 10
