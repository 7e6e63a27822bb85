"""What was counted of a file, request by request and block by block, with what it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any

from ctxkit.messages import Prompt, Where
from ctxkit.money import price_list_version, rates
from ctxkit.tokens import block_counter_for, pieces
from ctxkit.tokens.estimate import TokenCount
from ctxkit.transcripts import Skipped

MILLION = 1_000_000
Costs = tuple[Decimal | None, Decimal | None]


@dataclass(frozen=True, slots=True)
class CountedBlock:
    """A block of a request with its tokens.

    Attributes:
        kind: Its kind; for a definition that a result loads, `tool_definition`.
        tool: Its tool, where it has one.
        where: The path to it in the body.
        message: Its message, from 0; `None` for what stands in front of the messages.
        tokens: Its own, with its frame and, for the first block of a message, the message's.
    """

    kind: str
    tool: str | None
    where: Where
    message: int | None
    tokens: int


@dataclass(frozen=True, slots=True)
class CountedRequest:
    """A request that was found somewhere, or a text, with its count.

    Attributes:
        count: Its tokens.
        line: The line that it, or the run it is from, starts at, from 1.
        request: Which one of that run it is, from 1.
        prompt: The request; `None` for a text.
        provider: Who answers it, as the price list calls them; `None` where that is told by the model.
        reported_tokens: What its recorded answer reported; `None` where nothing is known of it.
        incomplete: What of it neither its body nor its log shows, so that it is not counted; `None` where
            they show everything.
    """

    count: TokenCount
    line: int = 1
    request: int = 1
    prompt: Prompt | None = None
    provider: str | None = None
    reported_tokens: int | None = None
    incomplete: str | None = None

    def blocks(self) -> list[CountedBlock]:
        """Its blocks, in their order; none for a text."""
        if self.prompt is None:
            return []
        counter = block_counter_for(self.prompt.model, self.prompt.wire.name)
        turns = [(None, self.prompt.head), *enumerate(self.prompt.turns)]
        return [
            CountedBlock(kind, tool, block.where, message, tokens)
            for message, turn in turns
            for block, (kind, tool), tokens in pieces(turn, counter)
            if block is not None
        ]

    def dollars(self) -> Costs:
        """What its input costs as plain input, and when all of it is read from the prompt cache.

        Returns:
            US dollars, each `None` where the price list does not say.
        """
        total = self.count.total
        known = rates(self.count.model, provider=self.provider, prompt_tokens=total)
        if known is None:
            return None, None
        read = None if known.cache_read is None else known.cache_read * total / MILLION
        return known.input * total / MILLION, read

    def to_dict(self) -> dict[str, Any]:
        """The count as JSON, with its place."""
        count = self.count
        return {
            "line": self.line,
            "request": self.request,
            "model": count.model,
            "counter": count.counter,
            "source": count.source,
            "total_tokens": count.total,
            "low": count.low,
            "high": count.high,
            "by_kind": dict(count.by_kind),
            **_costs(self.dollars()),
            "reported_tokens": self.reported_tokens,
            "incomplete": self.incomplete,
        }


@dataclass(slots=True)
class CountReport:
    """What was counted of a file.

    Attributes:
        requests: The requests, oldest first; a text is one.
        skipped: What of the file could not be counted.
    """

    requests: list[CountedRequest] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def largest(self) -> CountedRequest:
        """The request with the most tokens."""
        return max(self.requests, key=lambda request: request.count.total)

    def dollars(self) -> Costs:
        """What the input of all requests costs, as `CountedRequest.dollars` says for one."""
        plain, read = zip(*(request.dollars() for request in self.requests), strict=True)
        return _total(plain), _total(read)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON: sums over the requests, and the tools and blocks of the largest."""
        rows = [request.to_dict() for request in self.requests]
        blocks = self.largest.blocks()
        tools = [block for block in blocks if block.kind == "tool_definition"]
        kinds: Counter[str] = Counter()
        for row in rows:
            kinds.update(row["by_kind"])
        return {
            **{key: _common(row[key] for row in rows) for key in ("model", "counter", "source")},
            **{key: sum(row[key] for row in rows) for key in ("total_tokens", "low", "high")},
            "by_kind": dict(kinds.most_common()),
            **_costs(self.dollars()),
            "tools": [{"name": tool.tool, "tokens": tool.tokens} for tool in tools],
            "blocks": [asdict(block) for block in blocks],
            "requests": rows,
            "skipped": [asdict(part) for part in self.skipped],
            "price_list": price_list_version(),
        }


def _costs(dollars: Costs) -> dict[str, str | None]:
    keys = ("uncached_usd", "cache_read_usd")
    return {key: None if usd is None else f"{usd:f}" for key, usd in zip(keys, dollars, strict=True)}


def _total(amounts: Iterable[Decimal | None]) -> Decimal | None:
    total = Decimal(0)
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total


def _common(values: Iterable[Any]) -> Any:
    """What all values are; `None` where they differ."""
    different = set(values)
    return different.pop() if len(different) == 1 else None
