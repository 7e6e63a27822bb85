"""Stacks that are ready to use."""

from __future__ import annotations

from ctxkit.middleware.token_meter import TokenMeter
from ctxkit.middleware.trim_history import TrimHistory
from ctxkit.middleware.truncate_tool_results import TruncateToolResults
from ctxkit.stack import Stack


def observe() -> Stack:
    """Only measure: nothing that is sent is changed."""
    return Stack(TokenMeter())


def balanced(*, max_tokens: int = 4_000) -> Stack:
    """Measure, cut large tool results when they come in, and clear old ones in batches.

    Args:
        max_tokens: The most tokens that one tool result may have.
    """
    return Stack(TruncateToolResults(max_tokens=max_tokens), TrimHistory(), TokenMeter())
