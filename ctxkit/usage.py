"""Token buckets as a provider reports them, normalised to one meaning.

Every bucket is inclusive: cache reads and writes are parts of `input_tokens`, reasoning is a part of
`output_tokens`. `None` is unknown and `0` is zero. No prices live here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any


@dataclass(frozen=True, slots=True)
class Media:
    """Tokens of one kind that is not text, where a provider counts them apart.

    Attributes:
        kind: `audio`, `image`, `video` or `document`.
        input_tokens: In the prompt; included in the usage's `input_tokens`.
        cache_read_tokens: Read from the prompt cache; included in `input_tokens`, here and there.
        output_tokens: In the answer; included in the usage's `output_tokens`.
    """

    kind: str
    input_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """What one response says it used, in tokens.

    Attributes:
        input_tokens: The whole prompt, cache reads and writes included; `None` where not reported.
        output_tokens: The whole answer, reasoning included; `None` where not reported.
        cache_read_tokens: Read from the prompt cache; included in `input_tokens`.
        cache_write_tokens: Written to the prompt cache at any lifetime; included in `input_tokens`.
        cache_write_1h_tokens: Written at the one-hour rate; included in `cache_write_tokens`.
        cache_write_12h_tokens: Written at the twelve-hour rate; included in `cache_write_tokens`.
        reasoning_tokens: Thinking; included in `output_tokens`.
        web_search_requests: Searches that the provider ran and bills by the piece.
        image_tool_tokens: Of a hosted image tool, besides all other counts; which model drew is not said.
        media: What of the prompt and the answer is not text, one entry a kind.
        service_tier: The tier that served the request, where the provider says so.
        native: The provider's own usage object.
    """

    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    cache_write_12h_tokens: int = 0
    reasoning_tokens: int = 0
    web_search_requests: int = 0
    image_tool_tokens: int = 0
    media: tuple[Media, ...] = ()
    service_tier: str | None = None
    native: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def uncached_tokens(self) -> int | None:
        """The part of `input_tokens` that was neither read from the prompt cache nor written to it."""
        if self.input_tokens is None:
            return None
        return max(0, self.input_tokens - self.cache_read_tokens - self.cache_write_tokens)


@dataclass(frozen=True, slots=True)
class Charge:
    """What one response costs, in US dollars, part by part.

    Attributes:
        uncached_usd: Input that was neither read from the prompt cache nor written to it.
        cache_read_usd: Input read from the prompt cache.
        cache_write_usd: Input written to the prompt cache.
        output_usd: The answer, reasoning included.
        other_usd: What is billed by the piece, such as web searches.
    """

    uncached_usd: Decimal = Decimal(0)
    cache_read_usd: Decimal = Decimal(0)
    cache_write_usd: Decimal = Decimal(0)
    output_usd: Decimal = Decimal(0)
    other_usd: Decimal = Decimal(0)

    @property
    def total_usd(self) -> Decimal:
        """The sum of the parts."""
        return (
            self.uncached_usd + self.cache_read_usd + self.cache_write_usd + self.output_usd + self.other_usd
        )
