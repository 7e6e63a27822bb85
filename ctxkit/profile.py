"""Where the tokens and dollars of recorded runs went. Reads no file and prints nothing."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from functools import partial
from hashlib import blake2b
from itertools import takewhile

from ctxkit.errors import BodyError, ConfigError
from ctxkit.ledger import Attempt, Before, Sent, Totals, attribute, compare, placed, standing_of
from ctxkit.messages import Block, Histories, Prompt
from ctxkit.money import Share, price, split
from ctxkit.reports import Report, TaskRow
from ctxkit.tokens import BlockCounter, block_counter_for, shape_of
from ctxkit.transcripts import RecordedRequest, Skipped, Transcript, bodies, is_generated
from ctxkit.transcripts.requests import context_starts, head
from ctxkit.usage import Charge, Usage
from ctxkit.wire import READERS

OUTPUT_UNKNOWN = "the output tokens of some requests are placeholders in this log, and left out"
COST_DIFFERS = "the log itself says another cost; its usage may leave out what was read from the prompt cache"
TOLERANCE = Decimal("0.05")


def profile(
    transcripts: Iterable[Transcript], *, skipped: Iterable[Skipped] = (), keep_attempts: bool = False
) -> Report:
    """Tell what recorded runs used and cost: a row for each run, its tokens and dollars by kind and tool.

    Tokens are those that the log reports, at the rates of the moment where it has one. They are split over
    what each request is seen to have sent; what a log does not show, such as the system prompt, is of the
    kind `unrecorded`. A request without usage counts as unmeasured, and where only its output is unknown,
    its input is in the sums. A request that stands in several of the runs, as after a resumed session, is
    counted in the first of them.

    ```python
    skipped: list[Skipped] = []
    print(profile(load("runs/", on_skip=skipped.append), skipped=skipped))
    ```

    Args:
        transcripts: The runs, taken one at a time: no more than one is held in memory.
        skipped: What could not be read. It is looked at after the last run.
        keep_attempts: Whether each row holds its attempts, for what looks at requests one by one.

    Raises:
        ConfigError: A run is in a wire that does not exist.
    """
    to_row = partial(profile_run, counted=set(), keep_attempts=keep_attempts)
    return Report(list(map(to_row, transcripts)), [asdict(part) for part in skipped])


def profile_run(
    transcript: Transcript, *, counted: set[str] | None = None, keep_attempts: bool = False
) -> TaskRow:
    """Tell what one recorded run used and cost.

    Args:
        transcript: The run.
        counted: The ids of attempts that count in other rows and are left out here; those of this run are
            added.
        keep_attempts: Whether the row holds its attempts.

    Raises:
        ConfigError: It is in a wire that does not exist.
    """
    run = _Run(transcript)
    totals = Totals()
    kept: list[Attempt] = []
    for attempt in run.attempts(set() if counted is None else counted):
        totals.add(attempt)
        if keep_attempts:
            kept.append(attempt)
    models = Counter(recorded.model or transcript.model for recorded in transcript.requests)
    return TaskRow(
        id=transcript.id,
        format=transcript.format,
        model=models.most_common(1)[0][0] if models else transcript.model,
        totals=totals,
        recorded_cost_usd=run.recorded_cost_usd,
        notes=tuple(run.notes()),
        attempts=kept,
    )


@dataclass(frozen=True, slots=True)
class _Exchange:
    """What the log shows that a request sent, and what it shows that the model wrote next.

    Attributes:
        prompt: `None` where a message is malformed.
        answer: The answer's blocks.
    """

    prompt: Prompt | None
    answer: Sequence[Block]


class _Run:
    """One recorded run while its requests are booked, oldest first."""

    def __init__(self, transcript: Transcript) -> None:
        if transcript.wire not in READERS:
            known_wires = ", ".join(READERS)
            raise ConfigError(f"unknown wire {transcript.wire!r}; known wires: {known_wires}", option="wire")
        self.transcript = transcript
        self.malformed: list[str] = []
        self.recorded: list[tuple[Decimal, Charge | None]] = []
        self.repeated = 0
        self._wire = READERS[transcript.wire]
        self._head = head(transcript)
        self._histories = Histories()
        self._starts = context_starts(transcript)
        self._ends = sorted({recorded.input_messages for recorded in transcript.requests})
        self._ids: Counter[str] = Counter()
        self._before: Before | None = None

    def attempts(self, counted: set[str]) -> Iterator[Attempt]:
        """The requests as they would have been booked while they ran, but for those that are counted."""
        for recorded in self.transcript.requests:
            exchange = self._exchange(recorded)
            attempt_id = self._id(recorded, exchange.answer)
            if attempt_id in counted:
                self.repeated += 1
                continue
            counted.add(attempt_id)
            attempt = self._attempt(recorded, exchange, attempt_id)
            if recorded.recorded_cost_usd is not None:
                self.recorded.append((recorded.recorded_cost_usd, attempt.charge))
            yield attempt

    def _attempt(self, recorded: RecordedRequest, exchange: _Exchange, attempt_id: str) -> Attempt:
        model = recorded.model or self.transcript.model
        usage = _trusted(recorded)
        charge = None if usage is None else _charge(usage, recorded, model, self.transcript.provider)
        counter = block_counter_for(model, self._wire.name)
        prompt, answer = exchange.prompt, exchange.answer
        sent: Sent | None = None
        if prompt is not None:
            sent = compare(self._before, prompt, counter)
            self._before = Before.of(attempt_id, prompt)
        return Attempt(
            task=self.transcript.id,
            purpose="main",
            model=model,
            wire=self._wire.name,
            outcome="billed",
            usage=usage,
            charge=charge,
            shares=() if usage is None else self._shares(exchange, usage, charge, counter),
            tool_calls=tuple(block.tool or "" for block in answer if block.kind == "tool_call"),
            started=0.0 if recorded.timestamp is None else recorded.timestamp.timestamp(),
            id=attempt_id,
            turn=None if prompt is None else standing_of(prompt, counter).answers + 1,
            provider=self.transcript.provider,
            sent=sent,
            answered=tuple(placed(block, counter.count(block)) for block in answer),
        )

    def _id(self, recorded: RecordedRequest, answer: Sequence[Block]) -> str:
        """What stands for a request in every log that holds it, as after a resumed session.

        It is told by the provider's id of the answer, what was answered and what that used. Where the log has
        no ids, the time stands for them, and where it has no times, the place in the run. Requests of one run
        are never taken for each other.
        """
        usage = recorded.usage or Usage(None, None)
        place = (self.transcript.format, self.transcript.id, recorded.input_messages)
        at = None if recorded.timestamp is None else recorded.timestamp.timestamp()
        what = (
            recorded.answer_id or at or place,
            (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens),
            [block.digest for block in answer],
        )
        name = blake2b(repr(what).encode(), digest_size=16).hexdigest()
        self._ids[name] += 1
        return name if self._ids[name] == 1 else f"{name}-{self._ids[name]}"

    @property
    def recorded_cost_usd(self) -> Decimal | None:
        """What the log itself says that its requests cost; `None` where it says nothing."""
        return sum((cost for cost, _ in self.recorded), Decimal(0)) if self.recorded else None

    def notes(self) -> Iterator[str]:
        """What the reader should know about the figures."""
        requests = self.transcript.requests
        if self.transcript.incomplete:
            yield self.transcript.incomplete
        if not all(recorded.output_known for recorded in requests):
            yield OUTPUT_UNKNOWN
        if self._differs():
            yield COST_DIFFERS
        if self.malformed:
            count = f"{len(self.malformed)} of {len(requests)} requests"
            yield f"{count} are malformed and could not be split, the first because {self.malformed[0]}"
        if self.repeated:
            count = f"{self.repeated} of {len(requests)} requests"
            yield f"{count} stand in a run that was read before, and are counted there"

    def _differs(self) -> bool:
        """Whether what the log says that requests cost is far from what they cost here."""
        charges = [charge.total_usd for _, charge in self.recorded if charge is not None]
        recorded = sum((cost for cost, _ in self.recorded), Decimal(0))
        all_priced = len(charges) == len(self.recorded)
        return all_priced and abs(sum(charges, Decimal(0)) - recorded) > recorded * TOLERANCE

    def _exchange(self, recorded: RecordedRequest) -> _Exchange:
        sent, model = recorded.input_messages, recorded.model or self.transcript.model
        messages = self.transcript.messages
        start = self._starts[bisect_left(self._starts, sent, lo=1) - 1]
        following = bisect_right(self._ends, sent)
        limit = self._ends[following] if following < len(self._ends) else len(messages)
        written = sum(1 for _ in takewhile(is_generated, messages[sent:limit]))
        try:
            answer = self._prompt(start, sent + written, model).turns[sent - start :]
        except BodyError as error:
            self.malformed.append(str(error))
            return _Exchange(None, ())
        return _Exchange(
            self._prompt(start, sent, model), [block for turn in answer for block in turn.blocks]
        )

    def _prompt(self, start: int, end: int, model: str | None) -> Prompt:
        messages = list(self.transcript.messages[start:end])
        body = {**self._head, "model": model, bodies.MESSAGES.get(self._wire.name, "messages"): messages}
        return Prompt(self._wire, body, self._histories)

    def _shares(
        self, exchange: _Exchange, usage: Usage, charge: Charge | None, counter: BlockCounter
    ) -> tuple[Share, ...]:
        prompt = exchange.prompt
        if prompt is None:
            return split(usage=usage, charge=charge, total=0, prefix=lambda _: {}, output={})
        unrecorded = 0.0
        if self.transcript.incomplete:
            unrecorded = max(0.0, (usage.input_tokens or 0) - shape_of(prompt, counter).total)
        return attribute(
            prompt, exchange.answer, usage, charge, counter=counter, unrecorded_tokens=unrecorded
        )


def _trusted(recorded: RecordedRequest) -> Usage | None:
    usage = recorded.usage
    if usage is None or recorded.output_known:
        return usage
    return replace(usage, output_tokens=None, reasoning_tokens=0)


def _charge(
    usage: Usage, recorded: RecordedRequest, model: str | None, provider: str | None
) -> Charge | None:
    """What a request cost; where its output is unknown, what its input cost."""
    if usage.output_tokens is None:
        usage = replace(usage, output_tokens=0)
    return price(
        usage, model=model, provider=provider, at=recorded.timestamp, stop_reason=recorded.stop_reason
    )
