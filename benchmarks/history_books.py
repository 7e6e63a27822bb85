"""What a history policy did with a run, in the same books for every policy.

The simulator is `ctxkit.money.prompt_cache` with a mark at the end of every prompt and of what stands in
front. Pauses are left out, and so are the answers, which are the same for all.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property, partial
from itertools import chain

from history_runs import MARK, Run

from ctxkit.messages import Block, ModelRequest, Prompt
from ctxkit.middleware.recall_tool_results import RecallToolResults
from ctxkit.money import rates
from ctxkit.money.prompt_cache import Prefix, PromptCache
from ctxkit.originals import Originals
from ctxkit.replay.evidence import Dependency, EvidenceCheck
from ctxkit.replay.recorded import Exchange, RecordedRun
from ctxkit.stack import Stack
from ctxkit.tokens import block_counter_for, pieces, shape_of
from ctxkit.usage import Usage
from ctxkit.validity import problems_of
from ctxkit.wire.native import digest

Call = tuple[str | None, bytes]
Result = tuple[str | None, str]


@dataclass(frozen=True)
class Market:
    """Whose prices and rules hold.

    Attributes:
        model: The model asked.
        provider: Who answers.
    """

    model: str
    provider: str = "anthropic"

    def __str__(self) -> str:
        return f"{self.model}: w = {self.write}, r = {self.read}"

    @cached_property
    def write(self) -> float:
        """What writing a token to the prompt cache costs, in plain input tokens."""
        return self._multiple("cache_write") or 1.0

    @cached_property
    def read(self) -> float:
        """What reading one costs."""
        return self._multiple("cache_read") or 1.0

    @cached_property
    def output(self) -> float:
        """What one of an answer costs."""
        return self._multiple("output") or 0.0

    def cost(self, usage: Usage) -> float:
        """What the input side of a request costs, in plain input tokens."""
        written, read = usage.cache_write_tokens, usage.cache_read_tokens
        return self.read * read + self.write * written + (usage.uncached_tokens or 0)

    def _multiple(self, name: str) -> float | None:
        known = rates(self.model, provider=self.provider)
        if known is None or not known.input:
            sys.exit(f"the price list does not know {self.model}")
        rate = getattr(known, name)
        return None if rate is None else float(rate / known.input)


@dataclass
class Books:
    """What one policy did with one run.

    Attributes:
        requests: How many there were.
        cost: In plain input tokens, side calls included.
        tokens: All that was sent.
        rewrites: Requests that did not begin with all of the request before.
        peak: The largest request.
        invalid: Requests that the provider would refuse.
        repeated: Calls that were made before, with a result that the raw request still holds.
        recalled: Those of them whose earlier result was still there, whole.
        needed: Strings that the model took from earlier results.
        kept: Those of them that were still in the request.
        recoverable: Those that were, or could have been read back.
        seconds: What deciding took.
    """

    requests: int = 0
    cost: float = 0.0
    tokens: int = 0
    rewrites: int = 0
    peak: int = 0
    invalid: int = 0
    repeated: int = 0
    recalled: int = 0
    needed: int = 0
    kept: int = 0
    recoverable: int = 0
    seconds: float = 0.0

    def add(self, other: Books) -> None:
        """Add what was done with another run."""
        for name in (one.name for one in fields(Books)):
            mine, others = getattr(self, name), getattr(other, name)
            setattr(self, name, max(mine, others) if name == "peak" else mine + others)


@dataclass(frozen=True)
class Sent:
    """What a policy sends for one request.

    Attributes:
        request: What goes out.
        side_cost: What the policy asked a model by itself, in plain input tokens.
        seconds: What deciding took.
    """

    request: ModelRequest
    side_cost: float = 0.0
    seconds: float = 0.0


class Course:
    """A run in a market, which any number of policies can take.

    Args:
        run: The run.
        market: Whose prices and rules hold.

    Attributes:
        exchanges: Its requests with their answers, oldest first.
        originals: Where policies keep what can be read back.
    """

    def __init__(self, run: Run, market: Market) -> None:
        self.run = run
        self.market = market
        self.recorded = RecordedRun(run.transcript(market.model, market.provider))
        self.exchanges = list(self.recorded.exchanges())
        self.originals = Originals()
        self._repeats = dict(_repeats(self.exchanges))

    @cached_property
    def _evidence(self) -> EvidenceCheck:
        return EvidenceCheck(self.recorded, Stack(RecallToolResults(self.originals)))

    def take(self, sent: Iterable[Sent], *, evidence: bool = True) -> Books:
        """Book what a policy sends.

        Args:
            sent: One for each exchange.
            evidence: Whether it is told what was kept of what the model took from results, which takes long.
        """
        books = Books()
        simulator = Simulator(self.market)
        for number, (exchange, one) in enumerate(zip(self.exchanges, sent, strict=True), 1):
            usage, rewrote = simulator.send(one.request)
            books.requests += 1
            books.cost += self.market.cost(usage) + one.side_cost
            books.tokens += usage.input_tokens or 0
            books.peak = max(books.peak, usage.input_tokens or 0)
            books.rewrites += rewrote
            books.invalid += bool(problems_of(one.request))
            books.seconds += one.seconds
            self._recall(books, number, one.request)
            if evidence:
                _keep(books, self._evidence.look(exchange, number, one.request))
        return books

    def _recall(self, books: Books, number: int, request: ModelRequest) -> None:
        repeats = self._repeats.get(number)
        if not repeats:
            return
        there = {(block.call_id, block.text) for block in request.tool_results()}
        books.repeated += len(repeats)
        books.recalled += sum(not there.isdisjoint(earlier) for earlier in repeats)


class Simulator:
    """The prompt cache of one run.

    Args:
        market: Whose rules hold.
    """

    def __init__(self, market: Market) -> None:
        self._model = market.model
        self._counter = block_counter_for(market.model, "anthropic_messages")
        self._cache = PromptCache(pieces=partial(pieces, counter=self._counter))
        self._before: Prefix | None = None

    def send(self, request: Prompt) -> tuple[Usage, bool]:
        """The input side of a request's usage, and whether it did not begin with all of the one before."""
        whole = self._cache.prefix(request)
        front = shape_of(request, self._counter).total - whole.tokens
        settings = {"cache_control": MARK}
        usage = self._cache.send(whole, model=self._model, settings=settings, front_tokens=front)
        if usage is None:
            sys.exit(f"the rules of the prompt cache of {self._model} are not known")
        before, self._before = self._before, whole
        return usage, before is not None and not _begins_with(whole, before)


def _begins_with(whole: Prefix, beginning: Prefix) -> bool:
    for prefix in whole.backwards():
        if prefix.tokens <= beginning.tokens:
            return prefix.digest == beginning.digest
    return False


def _repeats(exchanges: Iterable[Exchange]) -> Iterator[tuple[int, list[set[Result]]]]:
    """By the number of a request, the calls in its answer that were made before, with the results then."""
    context, seen = -1, 0
    made: dict[Call, set[Result]] = {}
    calls: dict[str | None, Call] = {}
    for number, exchange in enumerate(exchanges, 1):
        if exchange.context != context:
            context, seen, made, calls = exchange.context, 0, {}, {}
        turns = exchange.request.turns
        for block in chain.from_iterable(turn.blocks for turn in turns[seen:]):
            if block.kind == "tool_call":
                calls[block.call_id] = _call(exchange.request, block)
            elif block.kind == "tool_result" and block.call_id in calls:
                made.setdefault(calls[block.call_id], set()).add((block.call_id, block.text))
        seen = len(turns)
        said = exchange.request.wire.answer(exchange.answer)
        asked = (_call(exchange.request, block) for block in said if block.kind == "tool_call")
        if repeated := [made[call] for call in asked if call in made]:
            yield number, repeated


def _call(request: ModelRequest, block: Block) -> Call:
    return block.tool, digest(request.wire.call_input(block.native))


def _keep(books: Books, found: list[Dependency]) -> None:
    books.needed += len(found)
    books.kept += sum(one.visible for one in found)
    books.recoverable += sum(one.recoverable for one in found)
