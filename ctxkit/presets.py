"""Stacks that are ready to use."""

from __future__ import annotations

from ctxkit.middleware.dedupe_tool_results import DedupeToolResults
from ctxkit.middleware.recall_tool_results import RecallToolResults
from ctxkit.middleware.token_meter import TokenMeter
from ctxkit.middleware.trim_history import TrimHistory
from ctxkit.middleware.truncate_tool_results import TruncateToolResults
from ctxkit.originals import Originals
from ctxkit.stack import Stack


def observe() -> Stack:
    """Only measure: nothing that is sent is changed."""
    return Stack(TokenMeter())


def balanced(*, max_tokens: int = 4_000) -> Stack:
    """Measure, cut large tool results when they come in, and clear old ones when that pays.

    Args:
        max_tokens: The most tokens that one tool result may have.
    """
    return Stack(TruncateToolResults(max_tokens=max_tokens), TrimHistory(), DedupeToolResults(), TokenMeter())


def lossless(*, max_tokens: int = 4_000, originals: Originals | None = None) -> Stack:
    """The same as `balanced`, and whatever was hidden the model can read again with a tool of its own.

    The model is asked on when it reads, so a streamed answer is held back until it is finished.

    Args:
        max_tokens: The most tokens that one tool result may have.
        originals: Where whole results are kept; in memory where left out.
    """
    kept = Originals() if originals is None else originals
    return Stack(
        RecallToolResults(kept),
        TruncateToolResults(max_tokens=max_tokens, originals=kept),
        TrimHistory(originals=kept),
        DedupeToolResults(),
        TokenMeter(),
    )
