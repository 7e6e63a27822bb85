"""A model's tokenizer is read from its name, however it is spelled."""

from __future__ import annotations

import pytest

from ctxkit.tokens.encodings import tokenization_of


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4",
        "gpt-4-0613",
        "GPT-4-Turbo",
        "openai/gpt-4-turbo",
        "openai:gpt-4",
        "openrouter/openai/gpt-4:extended",
        "ft:gpt-3.5-turbo-0125:acme::1",
        "ft:gpt-4:acme",
        "gpt-35-turbo-16k",
        "azure/eu/gpt-35-turbo",
        "prod-gpt-4",
        "text-embedding-3-large",
        "davinci-002",
    ],
)
def test_openais_older_models_have_the_older_encoding(model: str) -> None:
    found = tokenization_of(model)
    assert (found.encoding, found.own, found.claude) == ("cl100k_base", True, None)


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4o-mini",
        "ft:gpt-4o-2024-08-06:acme",
        "chatgpt-4o-latest",
        "gpt-4.1",
        "azure/gpt-4.5-preview",
        "gpt-5",
        "openai/gpt-5.4-mini",
        "o1",
        "openai/o3-mini",
        "openai:o4-mini",
        "openai.gpt-oss-120b-1:0",
        "gpt-oss:20b",
    ],
)
def test_openais_newer_models_have_the_newer_encoding(model: str) -> None:
    found = tokenization_of(model)
    assert (found.encoding, found.own, found.claude) == ("o200k_base", True, None)


@pytest.mark.parametrize(
    "model", [None, "", "gpt-6", "gpt-6.1", "gpt-50", "gpt-4all", "marco-o1", "llama3:8b", "declaude"]
)
def test_a_model_that_nothing_is_known_of_has_the_newest_encoding_as_an_estimate(model: str | None) -> None:
    found = tokenization_of(model)
    assert (found.encoding, found.own, found.claude) == ("o200k_base", False, None)
    assert "nothing is published" in found.source


@pytest.mark.parametrize("model", ["gemini-2.5-pro", "models/gemini-3-flash", "google/gemini-2.5-pro:free"])
def test_geminis_tokens_are_near_openais_newest(model: str) -> None:
    found = tokenization_of(model)
    assert (found.encoding, found.own) == ("o200k_base", False)
    assert "recorded requests" in found.source


@pytest.mark.parametrize(
    ("model", "family", "own"),
    [
        ("claude-2.1", "v3", False),
        ("anthropic.claude-v2:1", "v3", False),
        ("claude-instant-1.2", "v3", False),
        ("claude-3-opus@20240229", "v3", True),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", "v3", True),
        ("anthropic/claude-3.5-sonnet:beta", "v3", True),
        ("claude-opus-4-20250514", "v3", True),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "v3", True),
        ("publishers/anthropic/models/claude-opus-4-5@20251101", "v3", True),
        ("databricks-claude-3-7-sonnet", "v3", True),
        ("claude-opus-4-6", "v3", True),
        ("arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-opus-4-7-v1:0", "v4.7", True),
        ("anthropic/claude-opus-4.7", "v4.7", True),
        ("claude-opus-4-8", "v4.8", True),
        ("anthropic:claude-opus-5", "v4.8", True),
        ("claude-sonnet-5:thinking", "v4.8", True),
        ("Claude-Fable-5", "v4.8", True),
        ("claude-fable-5-1", "v4.8", False),
        ("claude-haiku-5-5-20261101", "v4.8", False),
        ("claude-sonnet-latest", "v4.8", False),
        ("claude", "v4.8", False),
    ],
)
def test_a_claude_model_belongs_to_the_tokenizer_family_of_its_version(
    model: str, family: str, own: bool
) -> None:
    found = tokenization_of(model)
    assert (found.claude, found.own) == (family, own)
    assert own or "unverified" in found.source or "older" in found.source
