"""What a count says about itself: how many tokens, how sure, and how it was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Source = Literal["reported", "exact", "calibrated", "estimated"]


@dataclass(frozen=True, slots=True)
class TokenCount:
    """The input tokens of a request, as its provider is expected to bill them.

    Attributes:
        total: The best guess.
        low: The lower edge of the band in which at least 95 of 100 true counts lie.
        high: The upper edge; triggers and budgets go by it.
        by_kind: `total` split by kind of block, adding up to it.
        source: `reported` by the provider for this very prompt; `exact` by a tokenizer that is the model's
            own; `calibrated` by what answers of this model reported; else `estimated`.
        counter: The name of the tokenizer that counted the text.
        model: The model that it was counted for.
    """

    total: int
    low: int
    high: int
    by_kind: Mapping[str, int]
    source: Source
    counter: str
    model: str | None
