"""Where the tokens and dollars of recorded runs went. Reads no file and prints nothing."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from decimal import Decimal
from itertools import takewhile

from ctxkit.errors import BodyError, ConfigError
from ctxkit.ledger import Attempt, Totals, attribute
from ctxkit.messages import Block, Histories, Prompt
from ctxkit.money import Share, price, split
from ctxkit.reports import Report, TaskRow
from ctxkit.tokens import block_counter_for, shape_of
from ctxkit.transcripts import RecordedRequest, Skipped, Transcript, bodies, is_generated
from ctxkit.transcripts.requests import context_starts, head
from ctxkit.usage import Charge, Usage
from ctxkit.wire import READERS

# A Claude model's own tokens for one of o200k_base: a mean over code in 22 languages, measured on 2026-11-30.
# It sizes nothing but what a log leaves out.
CLAUDE_RATIO = 1.2
OUTPUT_UNKNOWN = "the output tokens of some requests are placeholders in this log, and left out"
COST_DIFFERS = "the log itself says another cost; its usage may leave out what was read from the prompt cache"
TOLERANCE = Decimal("0.05")


def profile(transcripts: Iterable[Transcript], *, skipped: Iterable[Skipped] = ()) -> Report:
    """Tell what recorded runs used and cost: a row for each run, its tokens and dollars by kind and tool.

    Tokens are those that the log reports, at the rates of the moment where it has one. They are split over
    what each request is seen to have sent; what a log does not show, such as the system prompt, is of the
    kind `unrecorded`. A request without usage counts as unmeasured, and where only its output is unknown,
    its input is in the sums.

    ```python
    skipped: list[Skipped] = []
    print(profile(load("runs/", on_skip=skipped.append), skipped=skipped))
    ```

    Args:
        transcripts: The runs, taken one at a time: no more than one is held in memory.
        skipped: What could not be read. It is looked at after the last run.

    Raises:
        ConfigError: A run is in a wire that does not exist.
    """
    rows = list(map(profile_run, transcripts))
    return Report(rows, [asdict(part) for part in skipped])


def profile_run(transcript: Transcript) -> TaskRow:
    """Tell what one recorded run used and cost.

    Raises:
        ConfigError: It is in a wire that does not exist.
    """
    run = _Run(transcript)
    totals = Totals()
    for recorded in transcript.requests:
        totals.add(run.attempt(recorded))
    models = Counter(recorded.model or transcript.model for recorded in transcript.requests)
    return TaskRow(
        id=transcript.id,
        format=transcript.format,
        model=models.most_common(1)[0][0] if models else transcript.model,
        totals=totals,
        recorded_cost_usd=run.recorded_cost_usd,
        notes=tuple(run.notes()),
    )


class _Run:
    """One recorded run while its requests are booked, oldest first."""

    def __init__(self, transcript: Transcript) -> None:
        if transcript.wire not in READERS:
            known_wires = ", ".join(READERS)
            raise ConfigError(f"unknown wire {transcript.wire!r}; known wires: {known_wires}", option="wire")
        self.transcript = transcript
        self.malformed: list[str] = []
        self.recorded: list[tuple[Decimal, Charge | None]] = []
        self._wire = READERS[transcript.wire]
        self._head = head(transcript)
        self._histories = Histories()
        self._starts = context_starts(transcript)
        self._ends = sorted({recorded.input_messages for recorded in transcript.requests})

    def attempt(self, recorded: RecordedRequest) -> Attempt:
        """One request as it would have been booked while it ran."""
        model = recorded.model or self.transcript.model
        usage = _trusted(recorded)
        charge = None if usage is None else _charge(usage, recorded, model, self.transcript.provider)
        if recorded.recorded_cost_usd is not None:
            self.recorded.append((recorded.recorded_cost_usd, charge))
        answer: Sequence[Block] = ()
        shares: tuple[Share, ...] = ()
        try:
            prompt, answer = self._exchange(recorded.input_messages)
            if usage is not None:
                shares = self._shares(prompt, answer, usage, charge)
        except BodyError as error:
            self.malformed.append(str(error))
            if usage is not None:
                shares = split(usage=usage, charge=charge, total=0, prefix=lambda _: {}, output={})
        return Attempt(
            task=self.transcript.id,
            purpose="main",
            model=model,
            wire=self._wire.name,
            outcome="billed",
            usage=usage,
            charge=charge,
            shares=shares,
            tool_calls=tuple(block.tool or "" for block in answer if block.kind == "tool_call"),
        )

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

    def _differs(self) -> bool:
        """Whether what the log says that requests cost is far from what they cost here."""
        charges = [charge.total_usd for _, charge in self.recorded if charge is not None]
        recorded = sum((cost for cost, _ in self.recorded), Decimal(0))
        all_priced = len(charges) == len(self.recorded)
        return all_priced and abs(sum(charges, Decimal(0)) - recorded) > recorded * TOLERANCE

    def _exchange(self, sent: int) -> tuple[Prompt, Sequence[Block]]:
        """The prompt of so many messages, and the blocks that the model wrote next.

        Raises:
            BodyError: A message is malformed.
        """
        messages = self.transcript.messages
        start = self._starts[bisect_left(self._starts, sent, lo=1) - 1]
        following = bisect_right(self._ends, sent)
        limit = self._ends[following] if following < len(self._ends) else len(messages)
        written = sum(1 for _ in takewhile(is_generated, messages[sent:limit]))
        answer = self._prompt(start, sent + written).turns[sent - start :]
        return self._prompt(start, sent), [block for turn in answer for block in turn.blocks]

    def _prompt(self, start: int, end: int) -> Prompt:
        messages = list(self.transcript.messages[start:end])
        body = {**self._head, bodies.MESSAGES.get(self._wire.name, "messages"): messages}
        return Prompt(self._wire, body, self._histories)

    def _shares(
        self, prompt: Prompt, answer: Sequence[Block], usage: Usage, charge: Charge | None
    ) -> tuple[Share, ...]:
        counter = block_counter_for(prompt.model)
        unrecorded = 0.0
        if self.transcript.incomplete:
            ratio = CLAUDE_RATIO if "claude" in (prompt.model or "").lower() else 1.0
            unrecorded = max(0.0, (usage.input_tokens or 0) / ratio - shape_of(prompt, counter).total)
        return attribute(prompt, answer, usage, charge, counter=counter, unrecorded_tokens=unrecorded)


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
