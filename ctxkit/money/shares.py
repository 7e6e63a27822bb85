"""Splits the cost of a request over what it was made of, so that the shares add up to the bill exactly.

Pure arithmetic: what a response costs comes from `prices`, what a request holds from whoever counted it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from ctxkit.usage import Charge, Usage

Key = tuple[str, str | None]

ASSISTANT_TEXT: Key = ("assistant_text", None)
OTHER: Key = ("other", None)
THINKING: Key = ("thinking", None)
WEB_SEARCH: Key = ("server_tool", "web_search")

# Dollars are split in whole units of 1e-12, and local counts compared in millionths of a token.
DECIMAL_PLACES = 12
WEIGHTS_PER_TOKEN = 1_000_000


@dataclass(frozen=True, slots=True)
class Share:
    """What one part of a request and its answer took of the bill.

    Attributes:
        kind: The kind of block that it is, or `server_tool` for what is billed by the piece.
        tool: The tool's name, where it belongs to one.
        input_tokens: Of the prompt, as billed.
        output_tokens: Of the answer, as billed.
        cost_usd: US dollars; `None` where the charge is unknown.
        carried: Whether it stood in the history already before the model last answered, and is paid for once
            more.
    """

    kind: str
    tool: str | None
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal | None
    carried: bool = False


def split(
    *,
    usage: Usage,
    charge: Charge | None,
    total: float,
    prefix: Callable[[float], Mapping[Key, float]],
    output: Mapping[Key, float],
) -> tuple[Share, ...]:
    """Split a request's tokens and dollars over what stood in it and what was answered.

    A prompt cache holds a beginning: the first tokens of a prompt were read from it, the next were written
    to it, the rest is plain input. Tokens and dollars of each zone are split over what stands there, in
    proportion to its local count; where nothing is known to stand there, they go to the kind `other`.
    Reasoning goes to `thinking` as far as it is reported, and the rest of an answer over its other parts.

    Args:
        usage: What the response reported. A side that is unknown gets no tokens.
        charge: What it cost; `None` where that is unknown.
        total: The size of the request in locally counted tokens.
        prefix: Gives the local tokens, by kind and tool, of the request's first so many local tokens.
        output: The local tokens of the answer, by kind and tool.

    Returns:
        One share for each kind and tool, in the order of the request. Their tokens add up to those of
        `usage`, and their dollars to those of `charge`, exactly.
    """
    billed = charge or Charge()
    sums: dict[Key, list[int]] = {}
    for part in (
        *_input_parts(usage, billed, total, prefix),
        *_output_parts(usage, billed, output),
        _Part(billed.other_usd, {WEB_SEARCH: 1}, WEB_SEARCH),
    ):
        amounts = (part.input_tokens, part.output_tokens, int(part.usd.scaleb(DECIMAL_PLACES)))
        if any(amounts) or part.usd:
            weights = part.whole_weights()
            rows = [sums.setdefault(key, [0, 0, 0]) for key in weights]
            for column, amount in enumerate(amounts):
                if amount:
                    for row, share in zip(rows, _apportion(amount, list(weights.values())), strict=True):
                        row[column] += share
    dollars = _dollars({key: units for key, (_, _, units) in sums.items()}, billed.total_usd)
    return tuple(
        Share(*key, input_tokens, output_tokens, None if charge is None else dollars[key])
        for key, (input_tokens, output_tokens, _) in sums.items()
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """Tokens and dollars that are split in the same proportion."""

    usd: Decimal
    weights: Mapping[Key, float]
    fallback: Key
    input_tokens: int = 0
    output_tokens: int = 0

    def whole_weights(self) -> dict[Key, int]:
        """The weights in whole numbers; all of it on the fallback where there are none."""
        weights = ((key, round(weight * WEIGHTS_PER_TOKEN)) for key, weight in self.weights.items())
        return {key: weight for key, weight in weights if weight > 0} or {self.fallback: 1}


def _apportion(amount: int, weights: Sequence[int]) -> list[int]:
    """Split a whole number in proportion to weights; what is left over goes to the largest remainders."""
    everything = sum(weights)
    shares = [amount * weight // everything for weight in weights]
    if left := amount - sum(shares):
        remainders = [amount * weight % everything for weight in weights]
        for index in sorted(range(len(weights)), key=remainders.__getitem__, reverse=True)[:left]:
            shares[index] += 1
    return shares


def _input_parts(
    usage: Usage, charge: Charge, total: float, prefix: Callable[[float], Mapping[Key, float]]
) -> Iterator[_Part]:
    whole = usage.input_tokens or 0
    read = min(usage.cache_read_tokens, whole)
    written = min(usage.cache_write_tokens, whole - read)
    end = 0
    before: Mapping[Key, float] = {}
    for tokens, usd in (
        (read, charge.cache_read_usd),
        (written, charge.cache_write_usd),
        (whole - read - written, charge.uncached_usd),
    ):
        end += tokens
        until = prefix(total * (end / whole)) if tokens else before
        weights = {key: count - before.get(key, 0) for key, count in until.items()}
        yield _Part(usd, weights, OTHER, input_tokens=tokens)
        before = until


def _output_parts(usage: Usage, charge: Charge, output: Mapping[Key, float]) -> Iterator[_Part]:
    whole = usage.output_tokens or 0
    reasoning = min(usage.reasoning_tokens, whole)
    thinking_usd = charge.output_usd * reasoning / whole if reasoning else Decimal(0)
    yield _Part(thinking_usd, {THINKING: 1}, THINKING, output_tokens=reasoning)
    rest = {key: count for key, count in output.items() if not reasoning or key[0] != "thinking"}
    yield _Part(charge.output_usd - thinking_usd, rest, ASSISTANT_TEXT, output_tokens=whole - reasoning)


def _dollars(units: Mapping[Key, int], total_usd: Decimal) -> dict[Key, Decimal]:
    """Units as dollars; what is smaller than a unit goes to the largest share."""
    dollars = {key: Decimal(count).scaleb(-DECIMAL_PLACES) for key, count in units.items()}
    if rest := total_usd - sum(dollars.values(), Decimal(0)):
        dollars[max(dollars, key=dollars.__getitem__)] += rest
    return dollars
