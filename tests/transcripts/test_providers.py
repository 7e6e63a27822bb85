"""Providers' names: what logs write, and what the price list calls it."""

from __future__ import annotations

from typing import Any

import pytest
from genai_prices import data

from ctxkit.transcripts._providers import MODELS, PROVIDERS


@pytest.mark.parametrize(
    ("model", "recorded", "provider"),
    [
        ("claude-opus-4-5", None, "anthropic"),
        ("litellm_proxy/claude-sonnet-4-20250514", None, "anthropic"),
        ("litellm_proxy/deepseek-chat", None, "deepseek"),
        ("openai/gpt-4o-mini", None, "openai"),
        ("openai/openrouter-llama-4-maverick", None, None),
        ("o4-mini-2025-04-16", None, "openai"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", None, "aws"),
        ("amazon.nova-micro-v1:0", None, "aws"),
        ("claude-3-7-sonnet@20250219", None, "google"),
        ("openrouter/anthropic/claude-sonnet-4", None, "openrouter"),
        ("vertex_ai/gemini-2.5-pro", None, "google"),
        ("grok-4", "other", "x-ai"),
        ("grok-4", "azure-openai", "azure"),
        ("gpt-4.1", "OpenAI", "openai"),
        ("claude-opus-4-5", 7, "anthropic"),
        ("hardcoded/hardcoded", None, None),
        (None, None, None),
        (None, "bedrock", "aws"),
    ],
)
def test_the_provider_is_told_from_the_log_or_else_from_the_model(
    read: Any, model: str | None, recorded: Any, provider: str | None
) -> None:
    line = {"id": 1, "family": "f", "format": "openai-chat", "messages": [], "meta": {"provider": recorded}}
    (transcript,), _ = read({**line, "model": model})
    assert (transcript.provider, transcript.model) == (provider, model)


def test_every_name_stands_in_the_price_list() -> None:
    """The list is `genai-prices`'; a name that it drops must be found here."""
    assert {*PROVIDERS.values(), *MODELS.values()} <= {provider.id for provider in data.providers}
