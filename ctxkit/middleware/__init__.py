"""The middlewares, one concern a file."""

from ctxkit.middleware.cache_tool_results import CacheToolResults
from ctxkit.middleware.dedupe_tool_results import DedupeToolResults
from ctxkit.middleware.limit_spend import LimitSpend
from ctxkit.middleware.repair_history import RepairHistory
from ctxkit.middleware.token_meter import TokenMeter
from ctxkit.middleware.trim_history import TrimHistory
from ctxkit.middleware.truncate_tool_results import TruncateToolResults

__all__ = [
    "CacheToolResults",
    "DedupeToolResults",
    "LimitSpend",
    "RepairHistory",
    "TokenMeter",
    "TrimHistory",
    "TruncateToolResults",
]
