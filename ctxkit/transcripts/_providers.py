"""Who answered, as the price list calls them, told from what logs write. Knows names only, no prices."""

from __future__ import annotations

from collections.abc import Mapping

PROVIDERS: Mapping[str, str] = {
    "anthropic": "anthropic",
    "aws": "aws",
    "amazon-bedrock": "aws",
    "bedrock": "aws",
    "azure": "azure",
    "azure-openai": "azure",
    "azure-openai-responses": "azure",
    "cerebras": "cerebras",
    "cohere": "cohere",
    "deepseek": "deepseek",
    "fireworks": "fireworks",
    "fireworks-ai": "fireworks",
    "github-copilot": "github-copilot",
    "gemini": "google",
    "google": "google",
    "google-vertex": "google",
    "vertex-ai": "google",
    "vertex-anthropic": "google",
    "groq": "groq",
    "mistral": "mistral",
    "kimi": "moonshotai",
    "moonshot": "moonshotai",
    "moonshot-ai": "moonshotai",
    "moonshotai": "moonshotai",
    "openai": "openai",
    "openai-codex": "openai",
    "openrouter": "openrouter",
    "perplexity": "perplexity",
    "together": "together",
    "together-ai": "together",
    "x-ai": "x-ai",
    "xai": "x-ai",
    "zai": "zai",
}
MODELS: Mapping[str, str] = {
    "claude": "anthropic",
    "gpt": "openai",
    "chatgpt": "openai",
    "codex": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "gemini": "google",
    "grok": "x-ai",
    "deepseek": "deepseek",
    "mistral": "mistral",
    "ministral": "mistral",
    "magistral": "mistral",
    "devstral": "mistral",
    "codestral": "mistral",
    "pixtral": "mistral",
    "kimi": "moonshotai",
    "glm": "zai",
    "sonar": "perplexity",
    "command": "cohere",
}
BEDROCK_VENDORS = frozenset(
    {"ai21", "amazon", "anthropic", "cohere", "deepseek", "meta", "mistral", "moonshot", "openai", "qwen"}
)
COMPATIBLE = "openai"  # also written in front of the models of whoever speaks its API


def provider_of(model: str | None, recorded: object = None) -> str | None:
    """The provider's name in the price list, `None` where unknown.

    Args:
        model: The model as recorded, with or without a prefix: `litellm_proxy/claude-sonnet-4`,
            `us.anthropic.claude-sonnet-4-6`.
        recorded: What the log calls the provider, where it does.
    """
    if isinstance(recorded, str) and _plain(recorded) in PROVIDERS:
        return PROVIDERS[_plain(recorded)]
    prefix, _, name = (model or "").lower().rpartition("/")
    host = _plain(prefix.partition("/")[0])
    if host in PROVIDERS and host != COMPATIBLE:
        return PROVIDERS[host]
    if BEDROCK_VENDORS.intersection(name.split(".")[:-1]):
        return "aws"
    if name.startswith("claude") and "@" in name:
        return "google"
    return next((provider for family, provider in MODELS.items() if name.startswith(family)), None)


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")
