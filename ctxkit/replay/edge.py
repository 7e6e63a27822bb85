"""What stands innermost in a replay: it answers the steps of flows from a recorded run, and books them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ctxkit.errors import BodyError, ConfigError
from ctxkit.messages import Block, ModelRequest, ModelResponse, ToolCall, ToolResult
from ctxkit.replay.bill import Bill, Booked
from ctxkit.replay.provider import FILLER, SUMMARY_TOKENS, ProviderEdits
from ctxkit.replay.recorded import Exchange, answer_body, text_message
from ctxkit.safety import broken_by_edit
from ctxkit.tokens import counter_for
from ctxkit.transcripts import Transcript
from ctxkit.transcripts.ctxkit_format import RecordedAttempt
from ctxkit.usage import Usage
from ctxkit.wire.native import digest
from ctxkit.wire.usage_fields import mapping

SideCalls = Callable[[ModelRequest], ModelResponse]
"""Answers the side calls of middlewares: `StandIn`, `RecordedSideCalls`, or a real model."""

FINISHED: Mapping[str, str] = {"anthropic_messages": "end_turn", "openai_chat": "stop", "gemini": "STOP"}


@dataclass(frozen=True, eq=False)
class ReplayedResponse(ModelResponse):
    """An answer from a recorded run, with the usage that the replayed request has."""

    simulated: Usage | None = None

    @cached_property
    def usage(self) -> Usage | None:
        """What the request used here."""
        return self.simulated


class StandIn:
    """Answers side calls with filler of a fixed length, so that they cost what a real answer would.

    It holds nothing that a run could need: what a summary would have kept counts as lost.

    Args:
        tokens: How long each answer is, as counted for the model that is asked.

    Raises:
        ConfigError: It is not above zero.
    """

    def __init__(self, *, tokens: int = SUMMARY_TOKENS) -> None:
        if tokens < 1:
            raise ConfigError(f"tokens must be at least 1, it is {tokens}", option="tokens")
        self.tokens = tokens

    def __call__(self, request: ModelRequest) -> ModelResponse:
        """The answer to one side call."""
        wire = request.wire.name
        counted = counter_for(request.model).count(FILLER * self.tokens)
        words = max(1, round(self.tokens**2 / counted))
        message = text_message(wire, (FILLER * words).strip())
        body = answer_body(wire, [message], model=request.model, stop_reason=FINISHED.get(wire))
        return ModelResponse(request.wire, body, request)

    def __str__(self) -> str:
        return f"a stand-in of {self.tokens:,} tokens each, which holds nothing that a run could need"


class RecordedSideCalls:
    """Answers side calls as they were answered when they were recorded, and others with a stand-in.

    Args:
        transcripts: Runs of ctxkit's own format; those that are no side calls are passed over.
        stand_in: Answers what is not among them.
    """

    def __init__(self, transcripts: Iterable[Transcript], *, stand_in: SideCalls | None = None) -> None:
        self._stand_in = StandIn() if stand_in is None else stand_in
        self._answers: dict[bytes, Mapping[str, Any]] = {}
        for transcript in transcripts:
            if mapping(transcript.meta).get("purpose", "main") != "main":
                self._keep(transcript.meta.get("attempts", ()))

    def _keep(self, attempts: Iterable[RecordedAttempt]) -> None:
        for attempt in attempts:
            if attempt.sent is not None and attempt.answer is not None:
                self._answers[digest(attempt.sent)] = attempt.answer

    def __call__(self, request: ModelRequest) -> ModelResponse:
        """The answer to one side call."""
        answer = self._answers.get(digest(request.body))
        return self._stand_in(request) if answer is None else ModelResponse(request.wire, answer, request)

    def __str__(self) -> str:
        return f"{len(self._answers):,} recorded answers, and otherwise {self._stand_in}"


class ReplayEdge:
    """Answers one exchange after the other.

    Args:
        bill: Books what is sent.
        side_calls: Answers what middlewares ask by themselves.

    Attributes:
        sent: What was sent for the exchange, the last of it, as the model reads it; `None` where nothing was.
        booked: How that was billed.
        invalid: How many edits would have made a request invalid; these went out as the caller made them.
        side_calls: How many side calls there were, by purpose.
    """

    def __init__(self, bill: Bill, side_calls: SideCalls) -> None:
        self.sent: ModelRequest | None = None
        self.booked: Booked | None = None
        self.invalid = 0
        self.side_calls: Counter[str] = Counter()
        self._bill = bill
        self._answer_side_call = side_calls
        self._results: dict[str, Block] = {}
        self._provider = ProviderEdits()
        self._exchange: Exchange

    def begin(self, exchange: Exchange) -> None:
        """Take the next exchange."""
        self._provider.enter(exchange.context)
        self._exchange = exchange
        self.sent = self.booked = None

    def model(self, request: ModelRequest) -> ModelResponse:
        """The recorded answer, or that to a side call."""
        if request.purpose != "main":
            return self._side_call(request)
        if broken_by_edit(request):
            self.invalid += 1
            request = request.as_it_is()
        request = self._provider.read(request)
        response = ModelResponse(request.wire, self._exchange.answer, request)
        self.sent = request
        self.booked = self._bill.book(request, blocks_of(response), self._exchange.recorded)
        return ReplayedResponse(request.wire, response.body, request, simulated=self.booked.usage)

    def expect(self, result: Block) -> None:
        """Take the recorded result of the next tool call."""
        self._results[result.call_id or ""] = result

    def tool(self, call: ToolCall) -> ToolResult:
        """The recorded result of a tool call."""
        result = self._results[call.call_id or ""]
        return ToolResult(result.text, is_error=result.is_error)

    def _side_call(self, request: ModelRequest) -> ModelResponse:
        self.side_calls[request.purpose] += 1
        response = self._answer_side_call(request)
        at = self._exchange.recorded.timestamp
        booked = self._bill.book_side_call(request, blocks_of(response), usage=response.usage, at=at)
        return ReplayedResponse(request.wire, response.body, request, simulated=booked.usage)


def blocks_of(response: ModelResponse) -> tuple[Block, ...]:
    """The blocks of an answer; none where the log holds it malformed."""
    try:
        return response.blocks
    except BodyError:
        return ()
