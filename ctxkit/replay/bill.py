"""What a run costs when its requests go through the simulated prompt cache, one after the other.

The recorded requests and the replayed ones are billed in the same way, so that an error of the simulation
stands on both sides of a comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from statistics import linear_regression, median
from typing import Any

from ctxkit.ledger import Attempt, Totals, attribute
from ctxkit.messages import Block, ModelRequest, Prompt, Turn
from ctxkit.middleware.token_meter import cut_tokens
from ctxkit.money import price
from ctxkit.money.cache_rules import cache_rules
from ctxkit.money.prompt_cache import Prefix, PromptCache, extend
from ctxkit.tokens import BlockCounter, block_counter_for, pieces, shape_of
from ctxkit.transcripts import RecordedRequest, Transcript
from ctxkit.usage import Charge, Usage
from ctxkit.wire.native import dumps

NOTHING = Usage(None, None)
# A ratio outside of these says that a log does not show all that was sent.
RATIOS = (0.7, 2.0)
SHOWN_MARK = b'"cache_control":'


@dataclass(frozen=True, slots=True)
class Scale:
    """How large prompts are for their provider, told by how large they are as counted here.

    Attributes:
        factor: The provider's tokens for one that is counted here.
        front: What stands in front of all that the log shows, in the provider's tokens.
    """

    factor: float
    front: int = 0

    @classmethod
    def fitted(cls, transcript: Transcript, sizes: Sequence[tuple[int, int]]) -> Scale:
        """The scale at which prompts are as large as their answers reported.

        Where the log shows everything, the middle ratio counts. Where it leaves something out, such as the
        system prompt or what a provider keeps encrypted, the growth of the prompts tells the ratio, and their
        size what is left out.

        Args:
            transcript: The run.
            sizes: Of some of its requests, the tokens counted here and those reported.
        """
        sizes = [(counted, reported) for counted, reported in sizes if counted > 0]
        if not sizes:
            return cls(1.0)
        ratio = median(reported / counted for counted, reported in sizes)
        if not transcript.incomplete and RATIOS[0] <= ratio <= RATIOS[1]:
            return cls(ratio)
        factor = 1.0
        if len({counted for counted, _ in sizes}) > 1:
            slope = linear_regression(*zip(*sizes, strict=True)).slope
            factor = slope if RATIOS[0] <= slope <= RATIOS[1] else 1.0
        front = median(reported - factor * counted for counted, reported in sizes)
        return cls(factor, max(0, round(front)))

    def tokens(self, counted: float) -> int:
        """The size of a prompt for its provider."""
        return self.front + round(self.factor * counted)


@dataclass(frozen=True, slots=True)
class Booked:
    """One request as it was billed.

    Attributes:
        usage: Its input side as simulated, and its output as recorded.
        charge: What that costs; `None` where it is unknown.
        rewrote: Whether it did not begin with all of the request before it.
    """

    usage: Usage
    charge: Charge | None
    rewrote: bool


class Bill:
    """What the requests of one run use and cost.

    Args:
        transcript: The run.
        scale: How large its prompts are.
        mark: What its client marks places for the prompt cache with, unseen in the log.

    Attributes:
        totals: The sums over all requests, side calls included.
        peak_tokens: The largest prompt.
        main_usd: What each request of the run itself costs, oldest first; `None` where that is unknown.
    """

    def __init__(
        self, transcript: Transcript, scale: Scale, *, mark: Mapping[str, Any] | None = None
    ) -> None:
        self.totals = Totals()
        self.peak_tokens = 0
        self.main_usd: list[Decimal | None] = []
        self._transcript = transcript
        self._scale = scale
        self._mark = mark
        self._cache = PromptCache(pieces=lambda turn: ())
        self._before: tuple[int, bytes] | None = None

    def book(self, request: ModelRequest, answer: Sequence[Block], recorded: RecordedRequest) -> Booked:
        """Bill a request of the run itself.

        Args:
            request: As it is sent.
            answer: The blocks that come back.
            recorded: What the log says about it.
        """
        counter = block_counter_for(request.model, request.wire.name)
        known = recorded.usage or NOTHING
        output = known.output_tokens if recorded.output_known else None
        if recorded.usage is None:
            output = self._counted(answer, counter)
        return self._book(request, answer, replace(known, output_tokens=output), recorded, counter)

    def book_side_call(
        self, request: ModelRequest, answer: Sequence[Block], *, usage: Usage | None, at: datetime | None
    ) -> Booked:
        """Bill a request that a middleware made.

        Args:
            request: As it is sent.
            answer: The blocks that come back.
            usage: What the answer reports; only its output counts. Left out, the output is counted here.
            at: When it is sent.
        """
        counter = block_counter_for(request.model, request.wire.name)
        known = usage or Usage(None, self._counted(answer, counter))
        recorded = RecordedRequest(0, model=request.model, timestamp=at)
        return self._book(request, answer, known, recorded, counter)

    def _book(
        self,
        request: ModelRequest,
        answer: Sequence[Block],
        known: Usage,
        recorded: RecordedRequest,
        counter: BlockCounter,
    ) -> Booked:
        main = request.purpose == "main"
        counted = shape_of(request, counter).total
        prefixes = _Prefixes(self._scale if main else Scale(self._scale.factor), counter, self._mark)
        usage, whole = self._send(request, prefixes, counted, known, recorded.timestamp)
        charge = self._charge(usage, request, recorded)
        rewrote = main and self._follow(request, prefixes, whole)
        if main:
            self.peak_tokens = max(self.peak_tokens, usage.input_tokens or 0)
            self.main_usd.append(None if charge is None else charge.total_usd)
        self.totals.add(
            Attempt(
                task=self._transcript.id,
                purpose=request.purpose,
                model=recorded.model or request.model,
                wire=request.wire.name,
                outcome="billed",
                usage=usage,
                charge=charge,
                shares=attribute(
                    request,
                    answer,
                    usage,
                    charge,
                    counter=counter,
                    unrecorded_tokens=prefixes.scale.front / prefixes.scale.factor,
                ),
                tool_calls=tuple(block.tool or "" for block in answer if block.kind == "tool_call"),
                cut_tokens=cut_tokens(request),
                id="",
            )
        )
        return Booked(usage, charge, rewrote)

    def _send(
        self, request: ModelRequest, prefixes: _Prefixes, counted: int, known: Usage, at: datetime | None
    ) -> tuple[Usage, Prefix]:
        whole = prefixes.whole(request)
        tokens = prefixes.scale.tokens(counted)
        settings = request.body if self._mark is None else {**request.body, "cache_control": self._mark}
        simulated = self._cache.send(
            whole,
            model=request.model,
            settings=settings,
            at=at,
            front_tokens=tokens - whole.tokens,
        )
        usage = Usage(
            input_tokens=tokens,
            output_tokens=known.output_tokens,
            reasoning_tokens=known.reasoning_tokens,
            web_search_requests=known.web_search_requests,
            image_tool_tokens=known.image_tool_tokens,
            service_tier=known.service_tier,
        )
        if simulated is not None:
            usage = replace(
                usage,
                cache_read_tokens=simulated.cache_read_tokens,
                cache_write_tokens=simulated.cache_write_tokens,
                cache_write_1h_tokens=simulated.cache_write_1h_tokens,
                cache_write_12h_tokens=simulated.cache_write_12h_tokens,
            )
        return usage, whole

    def _charge(self, usage: Usage, request: ModelRequest, recorded: RecordedRequest) -> Charge | None:
        """What a request costs; unknown where the rules of the model's prompt cache are."""
        if cache_rules(request.model) is None:
            return None
        return charge_of(usage, recorded, model=request.model, provider=self._transcript.provider)

    def _follow(self, request: ModelRequest, prefixes: _Prefixes, whole: Prefix) -> bool:
        """Whether a request begins otherwise than the one before it; it is the next one's beginning."""
        before, self._before = self._before, (len(request.turns), whole.digest)
        if before is None:
            return False
        length, beginning = before
        return length > len(request.turns) or prefixes.up_to(request, length).digest != beginning

    def _counted(self, answer: Sequence[Block], counter: BlockCounter) -> int:
        return round(self._scale.factor * sum(map(counter.count, answer)))


@dataclass(frozen=True, slots=True)
class _Prefixes:
    """The beginnings of prompts at one scale; each turn remembers its own."""

    scale: Scale
    counter: BlockCounter
    mark: Mapping[str, Any] | None

    @property
    def _key(self) -> tuple[object, ...]:
        lifetime = None if self.mark is None else self.mark.get("ttl", "")
        return "replay.prefix", self.scale, self.counter.name, lifetime

    def whole(self, prompt: Prompt) -> Prefix:
        """The whole of a prompt."""
        return prompt.fold(self._key, self._head, lambda before, turn: extend(before, turn, self._sized))

    def up_to(self, prompt: Prompt, length: int) -> Prefix:
        """The first so many turns of a prompt whose whole is known."""
        turn = prompt.turns[length - 1] if length else prompt.head
        prefix: Prefix = turn.memo[self._key]
        return prefix

    def _head(self, head: Turn) -> Prefix:
        prefix = Prefix()
        if self.scale.front:
            prefix = prefix.then(b"unrecorded", self.scale.front, kind="frame")
        prefix = extend(prefix, head, self._sized)
        return prefix if self.mark is None else replace(prefix, mark=self.mark.get("ttl", ""))

    def _sized(self, turn: Turn) -> Iterator[tuple[Block | None, Any, int]]:
        for block, key, tokens in pieces(turn, self.counter):
            yield block, key, round(tokens * self.scale.factor)


def client_mark(transcript: Transcript, body: Mapping[str, Any]) -> dict[str, Any] | None:
    """The mark that a client is taken to set where its log shows none and its answers were cached.

    It stands at the end of what is in front of the messages and at the end of every prompt. `None` where the
    model's provider needs no marks, where nothing was cached, and where the log shows the marks itself.

    Args:
        transcript: The run.
        body: One of its requests.
    """
    rules = cache_rules(transcript.model)
    used = [recorded.usage for recorded in transcript.requests if recorded.usage is not None]
    if rules is None or rules.keeps != "marks" or not any(_is_cached(usage) for usage in used):
        return None
    if SHOWN_MARK in dumps(body):
        return None
    lifetime = {"ttl": "1h"} if any(usage.cache_write_1h_tokens for usage in used) else {}
    return {"type": "ephemeral", **lifetime}


def _is_cached(usage: Usage) -> bool:
    return bool(usage.cache_read_tokens or usage.cache_write_tokens)


def charge_of(
    usage: Usage, recorded: RecordedRequest, *, model: str | None, provider: str | None
) -> Charge | None:
    """What a recorded request costs at the rates of its moment; what is unknown of its output is left out."""
    return price(
        usage if usage.output_tokens is not None else replace(usage, output_tokens=0, reasoning_tokens=0),
        model=recorded.model or model,
        provider=provider,
        at=recorded.timestamp,
        stop_reason=recorded.stop_reason,
    )
