"""Usage objects of the providers, turned into the one inclusive meaning of `ctxkit.usage.Usage`.

One pure function for each shape. Whatever stands there, nothing is raised: what is no count is unknown.
Shapes that only a log file has are read where that file is read, with `count` and `inclusive`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ctxkit.usage import Media, Usage

# Gemini's kinds of tokens other than text, and the traffic that has rates of its own on Google's cloud.
MODALITIES = {"AUDIO": "audio", "DOCUMENT": "document", "IMAGE": "image", "VIDEO": "video"}
TRAFFIC_TIERS = {
    "ON_DEMAND_FLEX": "flex",
    "ON_DEMAND_OFFPEAK": "offpeak",
    "ON_DEMAND_PRIORITY": "priority",
    "PROVISIONED_THROUGHPUT": "provisioned",
}


def anthropic(native: Any) -> Usage | None:
    """The usage of Anthropic's Messages API, whose `input_tokens` is the uncached rest.

    What has no bucket stays in `native`, where `ctxkit.money` finds it: `iterations`, whose compactions and
    advisors no top-level count holds, `speed` and `inference_geo`. A redeemed `fallback_credit` has already
    moved what it reprices from the written to the read tokens, and web fetches cost nothing.

    Source: types of the `anthropic` SDK 2.14.0, read on 2026-11-30.
    """
    usage = mapping(native)
    lifetimes = mapping(usage.get("cache_creation"))
    short_writes = count(lifetimes, "ephemeral_5m_input_tokens")
    long_writes = count(lifetimes, "ephemeral_1h_input_tokens")
    return uncached(
        usage,
        input_tokens=known(usage.get("input_tokens")),
        output_tokens=known(usage.get("output_tokens")),
        cache_read_tokens=count(usage, "cache_read_input_tokens"),
        cache_write_tokens=max(count(usage, "cache_creation_input_tokens"), short_writes + long_writes),
        cache_write_1h_tokens=long_writes,
        reasoning_tokens=count(mapping(usage.get("output_tokens_details")), "thinking_tokens"),
        web_search_requests=count(mapping(usage.get("server_tool_use")), "web_search_requests"),
        service_tier=usage.get("service_tier"),
    )


def openai_chat(native: Any, *, service_tier: Any = None) -> Usage | None:
    """The usage of OpenAI's Chat Completions API and of the many that speak it.

    Cache counts stand in `prompt_tokens_details`, or at the top level under the names of DeepSeek and of
    routers. xAI and some routers leave reasoning out of `completion_tokens`; it is added back where the
    total, or a reasoning count larger than the answer, shows it. Predicted tokens that were rejected are in
    `completion_tokens`, and billed.

    Args:
        native: The `usage` object.
        service_tier: The response's own `service_tier`.

    Source: types of the `openai` SDK 3.57.0 and recorded answers of twelve providers, read on 2026-11-30.
    """
    usage = mapping(native)
    details = mapping(usage.get("prompt_tokens_details"))
    input_tokens = known(usage.get("prompt_tokens"))
    output_tokens = known(usage.get("completion_tokens"))
    completion = mapping(usage.get("completion_tokens_details"))
    reasoning = count(completion, "reasoning_tokens")
    if output_tokens is not None and (
        reasoning > output_tokens
        or known(usage.get("total_tokens")) == (input_tokens or 0) + output_tokens + reasoning
    ):
        output_tokens += reasoning
    return inclusive(
        usage,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=max(
            count(details, "cached_tokens"),
            count(usage, "prompt_cache_hit_tokens", "cache_read_input_tokens", "cached_tokens"),
        ),
        cache_write_tokens=max(
            count(details, "cache_write_tokens"), count(usage, "cache_creation_input_tokens")
        ),
        reasoning_tokens=reasoning,
        media=_media(
            (kind, count(details, f"{kind}_tokens"), 0, count(completion, f"{kind}_tokens"))
            for kind in ("audio", "image", "video")
        ),
        service_tier=service_tier or usage.get("service_tier"),
    )


def openai_responses(native: Any, *, tool_usage: Any = None, service_tier: Any = None) -> Usage | None:
    """The usage of OpenAI's Responses API.

    Args:
        native: The `usage` object.
        tool_usage: The response's own `tool_usage`, which counts billable searches and drawn images.
        service_tier: The response's own `service_tier`.

    Source: types of the `openai` SDK 3.57.0, read on 2026-11-30.
    """
    usage = mapping(native)
    details = mapping(usage.get("input_tokens_details"))
    lifetimes = mapping(details.get("cache_write_tokens_details"))
    short_writes = count(lifetimes, "ttl_30m_tokens")
    long_writes = count(lifetimes, "ttl_12h_tokens")
    tools = mapping(tool_usage)
    return inclusive(
        usage,
        input_tokens=known(usage.get("input_tokens")),
        output_tokens=known(usage.get("output_tokens")),
        cache_read_tokens=count(details, "cached_tokens"),
        cache_write_tokens=max(count(details, "cache_write_tokens"), short_writes + long_writes),
        cache_write_12h_tokens=long_writes,
        reasoning_tokens=count(mapping(usage.get("output_tokens_details")), "reasoning_tokens"),
        web_search_requests=count(mapping(tools.get("web_search")), "num_requests"),
        image_tool_tokens=count(mapping(tools.get("image_gen")), "total_tokens"),
        service_tier=service_tier or usage.get("service_tier"),
    )


def gemini(native: Any) -> Usage | None:
    """The `usageMetadata` of Gemini, which counts tool-use prompts and thoughts apart and leaves out zeros.

    Source: types of `google-genai` 3.6.1, read on 2026-11-30.
    """
    usage = mapping(native)
    input_tokens = known(usage.get("promptTokenCount"))
    if input_tokens is not None:
        input_tokens += count(usage, "toolUsePromptTokenCount")
    reasoning = count(usage, "thoughtsTokenCount")
    output_tokens = known(usage.get("candidatesTokenCount"))
    total = known(usage.get("totalTokenCount"))
    if output_tokens is not None:
        output_tokens += reasoning
    elif input_tokens is not None and total is not None:
        output_tokens = max(reasoning, total - input_tokens)
    return inclusive(
        usage,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=count(usage, "cachedContentTokenCount"),
        reasoning_tokens=reasoning,
        media=_media(
            (
                kind,
                _of_modality(usage, name, "promptTokensDetails", "toolUsePromptTokensDetails"),
                _of_modality(usage, name, "cacheTokensDetails"),
                _of_modality(usage, name, "candidatesTokensDetails"),
            )
            for name, kind in MODALITIES.items()
        ),
        service_tier=usage.get("serviceTier") or TRAFFIC_TIERS.get(str(usage.get("trafficType"))),
    )


def _of_modality(usage: Mapping[str, Any], name: str, *fields: str) -> int:
    """The tokens of one modality in lists of `{modality, tokenCount}`."""
    return sum(
        count(entry, "tokenCount")
        for field in fields
        for entry in _objects(usage.get(field))
        if entry.get("modality") == name
    )


def bedrock_converse(native: Any) -> Usage | None:
    """The usage of Bedrock's Converse API, whose `inputTokens` is the uncached rest.

    Source: recorded answers and the extractor of `genai-prices` 0.2.3, read on 2026-11-30.
    """
    usage = mapping(native)
    writes = _objects(usage.get("cacheDetails"))
    long_writes = sum(count(write, "inputTokens") for write in writes if write.get("ttl") == "1h")
    return uncached(
        usage,
        input_tokens=known(usage.get("inputTokens")),
        output_tokens=known(usage.get("outputTokens")),
        cache_read_tokens=count(usage, "cacheReadInputTokens"),
        cache_write_tokens=max(
            count(usage, "cacheWriteInputTokens"), sum(count(write, "inputTokens") for write in writes)
        ),
        cache_write_1h_tokens=long_writes,
    )


def uncached(
    native: Mapping[str, Any],
    *,
    input_tokens: int | None,
    cache_read_tokens: int = 0,
    cache_write_tokens: int = 0,
    **more: Any,
) -> Usage | None:
    """The usage of a provider whose input count leaves out what was read from and written to the cache."""
    return inclusive(
        native,
        input_tokens=None if input_tokens is None else input_tokens + cache_read_tokens + cache_write_tokens,
        cache_read_tokens=cache_read_tokens,
        cache_write_tokens=cache_write_tokens,
        **more,
    )


def inclusive(
    native: Mapping[str, Any],
    *,
    input_tokens: int | None,
    output_tokens: int | None,
    cache_read_tokens: int = 0,
    cache_write_tokens: int = 0,
    cache_write_1h_tokens: int = 0,
    cache_write_12h_tokens: int = 0,
    service_tier: Any = None,
    **more: Any,
) -> Usage | None:
    """The usage of a provider whose input count holds everything; `None` where no count is known.

    Parts are never larger than what holds them: some routers report the same tokens as read and as written,
    and Azure reports more of Grok's prompt as cached than there was.
    """
    if input_tokens is None and output_tokens is None:
        return None
    if input_tokens is not None:
        cache_read_tokens = min(cache_read_tokens, input_tokens)
        cache_write_tokens = min(cache_write_tokens, input_tokens - cache_read_tokens)
    cache_write_1h_tokens = min(cache_write_1h_tokens, cache_write_tokens)
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=cache_read_tokens,
        cache_write_tokens=cache_write_tokens,
        cache_write_1h_tokens=cache_write_1h_tokens,
        cache_write_12h_tokens=min(cache_write_12h_tokens, cache_write_tokens - cache_write_1h_tokens),
        service_tier=service_tier if isinstance(service_tier, str) and service_tier else None,
        native=native,
        **more,
    )


def _media(counts: Iterable[tuple[str, int, int, int]]) -> tuple[Media, ...]:
    return tuple(Media(kind, *tokens) for kind, *tokens in counts if any(tokens))


def _objects(value: Any) -> list[Mapping[str, Any]]:
    """The JSON objects of a list, anything else as an empty one."""
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def mapping(value: Any) -> Mapping[str, Any]:
    """A JSON object as it is, anything else as an empty one."""
    return value if isinstance(value, Mapping) else {}


def known(value: Any) -> int | None:
    """A count of tokens, or `None` where something else stands there."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def count(native: Mapping[str, Any], *names: str) -> int:
    """The largest count under these names, 0 where there is none."""
    return max((known(native.get(name)) or 0 for name in names), default=0)
