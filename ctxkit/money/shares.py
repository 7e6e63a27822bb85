"""Splits the cost of a request over what it was made of, so that the shares add up to the bill exactly.

Pure arithmetic: what a response costs comes from `prices`, what a request holds from whoever counted it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from typing import NamedTuple

from ctxkit.usage import Charge, Usage

Key = tuple[str, str | None]

ASSISTANT_TEXT: Key = ("assistant_text", None)
OTHER: Key = ("other", None)
ROUNDING: Key = ("rounding", None)
THINKING: Key = ("thinking", None)
WEB_SEARCH: Key = ("server_tool", "web_search")

# Dollars are split in whole units of 1e-12, and local counts compared in millionths of a token.
DECIMAL_PLACES = 12
UNIT_USD = Decimal(1).scaleb(-DECIMAL_PLACES)
WEIGHTS_PER_TOKEN = 1_000_000


@dataclass(frozen=True, slots=True)
class Share:
    """What one part of a request or of its answer took of the bill.

    Attributes:
        kind: The kind of block that it is, `server_tool` for what is billed by the piece, or `rounding`.
        tool: The tool's name, where it belongs to one.
        input_tokens: Of the prompt, as billed; 0 for a part of the answer.
        output_tokens: Of the answer, as billed; 0 for a part of the prompt.
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
    carried: float = 0,
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
        carried: How many of the first local tokens stood there before the model last answered.

    Returns:
        One share for each kind and tool, carried and new and answered apart, in the order of the request.
        Their tokens add up to those of `usage`, and their dollars to those of `charge`, exactly: what is
        smaller than 1e-12 dollars is a share of the kind `rounding`.
    """
    billed = charge or Charge()
    sums: dict[_Row, list[int]] = {}
    for part in (
        *_input_parts(usage, billed, total, prefix, carried),
        *_output_parts(usage, billed, output),
        _Part(billed.other_usd, {}, _Row(*WEB_SEARCH)),
    ):
        amounts = (part.input_tokens, part.output_tokens, int(part.usd.scaleb(DECIMAL_PLACES)))
        if any(amounts):
            weights = part.whole_weights()
            rows = [sums.setdefault(row, [0, 0, 0]) for row in weights]
            given = list(weights.values())
            for column, amount in enumerate(amounts):
                if amount:
                    for row, share in zip(rows, apportion(amount, given), strict=True):
                        row[column] += share
    shares = [
        Share(row.kind, row.tool, read, written, None if charge is None else units * UNIT_USD, row.carried)
        for row, (read, written, units) in sums.items()
    ]
    if rest := billed.total_usd - sum(units for _, _, units in sums.values()) * UNIT_USD:
        shares.append(Share(*ROUNDING, 0, 0, rest))
    return tuple(shares)


def zones(usage: Usage, charge: Charge) -> Iterator[tuple[int, Decimal]]:
    """The zones of a prompt with their costs: what was read from the cache, written to it, and the rest.

    Their tokens add up to `input_tokens`, whatever the parts of the usage say.
    """
    whole = usage.input_tokens or 0
    read = min(usage.cache_read_tokens, whole)
    written = min(usage.cache_write_tokens, whole - read)
    yield read, charge.cache_read_usd
    yield written, charge.cache_write_usd
    yield whole - read - written, charge.uncached_usd


def apportion(amount: int, weights: Sequence[int]) -> list[int]:
    """Split a whole number in proportion to weights; what is left over goes to the largest remainders.

    Args:
        amount: What is split.
        weights: None below zero, and one at least above it.
    """
    everything = sum(weights)
    shares = [amount * weight // everything for weight in weights]
    if left := amount - sum(shares):
        remainders = [amount * weight % everything for weight in weights]
        for index in sorted(range(len(weights)), key=remainders.__getitem__, reverse=True)[:left]:
            shares[index] += 1
    return shares


class _Row(NamedTuple):
    """What gets a share of its own."""

    kind: str
    tool: str | None
    carried: bool = False
    answered: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """Tokens and dollars that are split in the same proportion."""

    usd: Decimal
    weights: Mapping[_Row, float]
    fallback: _Row
    input_tokens: int = 0
    output_tokens: int = 0

    def whole_weights(self) -> dict[_Row, int]:
        """The weights in whole numbers; all of it on the fallback where there are none."""
        weights = ((row, round(weight * WEIGHTS_PER_TOKEN)) for row, weight in self.weights.items())
        return {row: weight for row, weight in weights if weight > 0} or {self.fallback: 1}


def _input_parts(
    usage: Usage,
    charge: Charge,
    total: float,
    prefix: Callable[[float], Mapping[Key, float]],
    carried: float,
) -> Iterator[_Part]:
    whole = usage.input_tokens or 0
    billed = 0
    place = 0.0
    before: Mapping[Key, float] = {}
    for tokens, usd in zones(usage, charge):
        billed += tokens
        end = total * (billed / whole) if tokens else place
        weights: dict[_Row, float] = {}
        for border, is_carried in ((min(carried, end), True), (end, False)):
            if border > place:
                until = prefix(border)
                for key, count in until.items():
                    if (here := count - before.get(key, 0)) > 0:
                        weights[_Row(*key, carried=is_carried)] = here
                place, before = border, until
        yield _Part(usd, weights, _Row(*OTHER), input_tokens=tokens)


def _output_parts(usage: Usage, charge: Charge, output: Mapping[Key, float]) -> Iterator[_Part]:
    whole = usage.output_tokens or 0
    reasoning = min(usage.reasoning_tokens, whole)
    share = charge.output_usd * reasoning / whole if reasoning else Decimal(0)
    thinking_usd = share.quantize(UNIT_USD, ROUND_DOWN)
    yield _Part(thinking_usd, {}, _Row(*THINKING, answered=True), output_tokens=reasoning)
    rest = {
        _Row(*key, answered=True): count
        for key, count in output.items()
        if not reasoning or key[0] != THINKING[0]
    }
    fallback = _Row(*ASSISTANT_TEXT, answered=True)
    rest_usd = charge.output_usd - thinking_usd
    yield _Part(rest_usd, rest, fallback, output_tokens=whole - reasoning)
