"""Pure functions that make a long text short and keep what matters of it."""

from ctxkit.condense.truncate import MIN_TOKENS, truncate

__all__ = ["MIN_TOKENS", "truncate"]
