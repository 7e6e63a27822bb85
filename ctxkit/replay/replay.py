"""`replay`: recorded runs once more through a stack, by the same flows as in production.

What the model and the tools said is taken from the recording. So a replay tells what other requests would
have cost, and not what a model would have said to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextvars import Context
from dataclasses import dataclass, field
from decimal import Decimal
from time import perf_counter

from ctxkit.drive import run
from ctxkit.errors import ConfigError
from ctxkit.flow import Middleware, ask_model
from ctxkit.messages import ModelRequest, ModelResponse, ToolCall
from ctxkit.middleware.record_transcript import RecordTranscript
from ctxkit.middleware.token_meter import TokenMeter
from ctxkit.replay.bill import NOTHING, Bill, Scale, charge_of, client_mark
from ctxkit.replay.edge import ReplayEdge, SideCalls, StandIn, blocks_of
from ctxkit.replay.evidence import Dependency, EvidenceCheck
from ctxkit.replay.recorded import Exchange, RecordedRun
from ctxkit.replay.report import ReplayedRun, ReplayReport
from ctxkit.stack import Stack, overrides
from ctxkit.tasks import task
from ctxkit.tokens import block_counter_for, shape_of
from ctxkit.transcripts import Skipped, Transcript

# They change nothing that is sent, and would book to a ledger or a file what never happened.
OBSERVERS = (TokenMeter, RecordTranscript)
FITTED_REQUESTS = 32
NO_USAGE = "the log reports no usage: all tokens are counted here"
NO_CACHE_READS = "the log reports no reads from the prompt cache, and the simulation has them on both sides"


def replay(
    transcripts: Iterable[Transcript],
    stack: Middleware | Callable[[], Middleware],
    *,
    side_calls: SideCalls | None = None,
    skipped: Iterable[Skipped] = (),
    policy: str = "",
) -> ReplayReport:
    """Run recorded runs once more through a stack, and tell what that saves and what is lost.

    Every request goes through the middlewares as in production, model and tools answer as recorded, and both
    the recorded requests and those that come out are billed by the simulated prompt cache. A middleware with
    both hooks works where the model is called; one that wraps only tools gets the recorded results.
    `TokenMeter` and `RecordTranscript` are left out: the report has its own books.

    ```python
    print(replay(load("runs/"), balanced(max_tokens=2_000)))
    ```

    Args:
        transcripts: The runs, taken one at a time: no more than one is held in memory.
        stack: What is to be tried, or what makes a fresh one for each run.
        side_calls: Answers what middlewares ask the model by themselves; a `StandIn` where left out.
        skipped: What could not be read. It is looked at after the last run.
        policy: What the report calls the stack; its middlewares where left out.

    Returns:
        The report. A run that can't be replayed is listed there under `skipped`, with the reason.
    """
    answers = StandIn() if side_calls is None else side_calls
    runs: list[ReplayedRun] = []
    refused: list[Skipped] = []
    for transcript in transcripts:
        fresh = stack if isinstance(stack, Middleware) else stack()
        policy = policy or ", ".join(type(one).__name__ for one in Stack(fresh).middlewares)
        try:
            runs.append(replay_run(transcript, fresh, side_calls=answers))
        except ConfigError as error:
            refused.append(Skipped(transcript.path, transcript.line, str(error)))
    return ReplayReport(runs, policy=policy, side_calls=str(answers), skipped=[*skipped, *refused])


def replay_run(
    transcript: Transcript, stack: Middleware, *, side_calls: SideCalls | None = None
) -> ReplayedRun:
    """Run one recorded run once more through a stack: see `replay`.

    Raises:
        ConfigError: It can't be replayed; the message says why.
    """
    recorded = RecordedRun(transcript)
    attached = Stack(*(one for one in Stack(stack).middlewares if not isinstance(one, OBSERVERS)))
    replaying = _Replaying(recorded, attached, StandIn() if side_calls is None else side_calls)
    # The tasks of whoever calls are no part of it.
    return Context().run(replaying.play)


@dataclass(slots=True)
class _Truth:
    """The same requests as their log reports them and as they are simulated, as far as both have a price."""

    recorded_usd: Decimal = Decimal(0)
    simulated_usd: Decimal = Decimal(0)
    requests: int = 0


@dataclass
class _Replaying:
    """One run on its way through a stack."""

    run: RecordedRun
    stack: Stack
    side_calls: SideCalls
    truth: _Truth = field(default_factory=_Truth)

    def play(self) -> ReplayedRun:
        """Replay every request."""
        started = perf_counter()
        transcript = self.run.transcript
        baseline, replayed = self._bills()
        edge = ReplayEdge(replayed, self.side_calls)
        tools = _Tools(self.stack, edge)
        evidence = EvidenceCheck(self.run, self.stack)
        dependencies: list[Dependency] = []
        rewrites, stopped = 0, ""
        with task(transcript.id) as booked:
            for number, exchange in enumerate(self.run.exchanges(), 1):
                rewrote = self._book(exchange, baseline)
                edge.begin(exchange)
                if not stopped:
                    stopped = self._ask(tools.given(exchange.request), edge, number)
                rewrites += edge.booked is not None and edge.booked.rewrote and not rewrote
                dependencies += evidence.look(exchange, number, edge.sent)
        return ReplayedRun(
            id=transcript.id,
            format=transcript.format,
            model=transcript.model,
            baseline=baseline.totals,
            replayed=replayed.totals,
            prefix_rewrites=rewrites,
            baseline_peak_tokens=baseline.peak_tokens,
            peak_tokens=replayed.peak_tokens,
            invalid_requests=edge.invalid,
            dependencies=dependencies,
            replayed_usd=replayed.main_usd,
            side_calls=dict(edge.side_calls),
            recorded_usd=self.truth.recorded_usd if self.truth.requests else None,
            simulated_usd=self.truth.simulated_usd if self.truth.requests else None,
            faults=dict(booked.faults),
            seconds=perf_counter() - started,
            notes=tuple(self._notes(stopped, baseline)),
        )

    def _bills(self) -> tuple[Bill, Bill]:
        """The books of the recorded requests and of the replayed ones, at one scale."""
        transcript = self.run.transcript
        every = max(1, len(transcript.requests) // FITTED_REQUESTS)
        sizes: list[tuple[int, int]] = []
        mark = None
        for number, exchange in enumerate(self.run.exchanges()):
            usage = exchange.recorded.usage
            if number == 0:
                mark = client_mark(transcript, exchange.sent.body)
            if number % every == 0 and usage is not None and usage.input_tokens:
                counter = block_counter_for(exchange.sent.model, transcript.wire)
                sizes.append((shape_of(exchange.sent, counter).total, usage.input_tokens))
        scale = Scale.fitted(transcript, sizes)
        return Bill(transcript, scale, mark=mark), Bill(transcript, scale, mark=mark)

    def _book(self, exchange: Exchange, baseline: Bill) -> bool:
        """Bill a request as it was recorded; whether it began otherwise than the one before it."""
        request, recorded = exchange.request, exchange.recorded
        answer = blocks_of(ModelResponse(request.wire, exchange.answer, request))
        booked = baseline.book(request, answer, recorded)
        usage = recorded.usage or NOTHING
        if usage.input_tokens is not None and exchange.sent is request:
            provider = self.run.transcript.provider
            charge = charge_of(usage, recorded, model=request.model, provider=provider)
            if charge is not None and booked.charge is not None:
                self.truth.requests += 1
                self.truth.recorded_usd += charge.total_usd
                self.truth.simulated_usd += booked.charge.total_usd
        return booked.rewrote

    def _ask(self, request: ModelRequest, edge: ReplayEdge, number: int) -> str:
        """Send one request through the stack; why the run ends with it, where it does."""
        try:
            run(self.stack.wrap_model_call(request, ask_model), edge)
        except self.stack.raises as error:
            total = len(self.run.transcript.requests)
            return f"{type(error).__name__} ended a run before request {number} of {total}"
        return ""

    def _notes(self, stopped: str, baseline: Bill) -> Iterator[str]:
        transcript = self.run.transcript
        used = [recorded.usage for recorded in transcript.requests if recorded.usage is not None]
        if transcript.incomplete:
            yield transcript.incomplete
        if self.run.malformed:
            total = len(transcript.requests)
            why = self.run.malformed[0]
            yield f"{len(self.run.malformed)} of {total} requests are malformed, the first because {why}"
        if not used:
            yield NO_USAGE
        elif baseline.totals.cache_read_tokens and not any(usage.cache_read_tokens for usage in used):
            yield NO_CACHE_READS
        if stopped:
            yield stopped


class _Tools:
    """The recorded results of tools, through what wraps tools and nothing else."""

    def __init__(self, stack: Stack, edge: ReplayEdge) -> None:
        wrapping = (
            one
            for one in stack.middlewares
            if overrides(one, "wrap_tool_call") and not overrides(one, "wrap_model_call")
        )
        self._stack = Stack(*wrapping)
        self._edge = edge
        self._seen: set[str] = set()
        self._changed: dict[str, str] = {}

    def given(self, request: ModelRequest) -> ModelRequest:
        """A request with the results that the caller's loop would have had."""
        if not self._stack.middlewares:
            return request
        calls = {block.call_id: block for block in request.blocks() if block.kind == "tool_call"}
        for result in request.tool_results():
            call = calls.get(result.call_id)
            if call is None or not result.client or result.images or result.call_id in self._seen:
                continue
            self._seen.add(result.call_id or "")
            self._edge.expect(result)
            asked = ToolCall(call.tool or "", request.wire.call_input(call.native), call.call_id, call.native)
            given = run(self._stack.tool_flow(asked), self._edge).content
            if given != result.text:
                self._changed[result.call_id or ""] = str(given)
        texts = {
            result: self._changed[result.call_id or ""]
            for result in request.tool_results()
            if result.call_id in self._changed
        }
        changed = request.with_result_texts(texts)
        if changed is request:
            return request
        return ModelRequest(
            request.wire,
            changed.body,
            request.histories,
            provider=request.provider,
            url_model=request.url_model,
        )
