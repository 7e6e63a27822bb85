"""Where results are kept between calls."""

from ctxkit.stores.memory import Flight, MemoryStore

__all__ = ["Flight", "MemoryStore"]
