"""Where results are kept between calls."""

from ctxkit.stores.base import Store
from ctxkit.stores.memory import MemoryStore
from ctxkit.stores.redis import RedisStore
from ctxkit.stores.sqlite import SqliteStore

__all__ = ["MemoryStore", "RedisStore", "SqliteStore", "Store"]
