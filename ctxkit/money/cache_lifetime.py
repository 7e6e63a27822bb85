"""Which lifetime of what is written to a prompt cache is cheaper for a run, told by its gaps so far.

Pure: moments and sizes are given. Only the ratio of sizes counts, so any unit does.
"""

from __future__ import annotations

from dataclasses import dataclass

from ctxkit.money.break_even import Terms
from ctxkit.money.cache_rules import ANTHROPIC_LIFETIMES
from ctxkit.money.prices import Rates

SHORT_SECONDS = ANTHROPIC_LIFETIMES["5m"]
LONG_SECONDS = ANTHROPIC_LIFETIMES["1h"]


@dataclass(frozen=True, slots=True)
class Gaps:
    """What the requests of one run show about the gaps between them.

    Attributes:
        at: When the last one was sent, in seconds; `None` before the first.
        written: How much they would have written to the cache, were it kept for an hour.
        lapsed: How much was sent again after gaps that are too long for five minutes and not for an hour.
    """

    at: float | None = None
    written: int = 0
    lapsed: int = 0

    def then(self, *, at: float, size: int, kept: int) -> Gaps:
        """After one more request.

        Args:
            at: When it is sent, in seconds.
            size: How large its prompt is.
            kept: How much of that an earlier request wrote.
        """
        gap = 0.0 if self.at is None else at - self.at
        written = size if gap > LONG_SECONDS else size - kept
        lapsed = kept if SHORT_SECONDS < gap <= LONG_SECONDS else 0
        return Gaps(at, self.written + written, self.lapsed + lapsed)


def pays_for_an_hour(gaps: Gaps, size: int, rates: Rates | None) -> bool:
    """Whether a prompt should be kept for an hour instead of five minutes.

    `(w5-r)·lapsed > (w1-w5)·(written+size)`: the hour would have saved more in this run than it would have
    cost, even if the whole prompt has to be written once more to change over. So one gap is not enough.

    Args:
        gaps: Those of the run, this request included.
        size: How large its prompt is.
        rates: What tokens cost; the answer is no where that is unknown.
    """
    if rates is None or rates.cache_write_1h is None:
        return False
    short, long = Terms.of(rates), Terms.of(rates, lifetime="1h")
    return (short.write - short.read) * gaps.lapsed > (long.write - short.write) * (gaps.written + size)
