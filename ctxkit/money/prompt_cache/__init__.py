"""A provider's prompt cache, simulated block by block."""

from ctxkit.money.prompt_cache.cache import PromptCache, Simulated, simulate
from ctxkit.money.prompt_cache.prefix import Pieces, Prefix, extend

__all__ = ["Pieces", "Prefix", "PromptCache", "Simulated", "extend", "simulate"]
