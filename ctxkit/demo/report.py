"""What the demo found: the bills of its runs, and whether they came out the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ctxkit.demo.recorded import TITLE, Outcome, recorded_bill
from ctxkit.ledger import Totals, usd
from ctxkit.money import price_list_version
from ctxkit.transcripts import Transcript

SHOWN_CHARS = 160


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the task.

    Attributes:
        name: `plain` or `wrapped`.
        outcome: What came out of it.
        totals: What the meter booked.
        received: How many requests reached the server.
        faults: How often a middleware failed, by middleware and exception.
    """

    name: str
    outcome: Outcome
    totals: Totals
    received: int
    faults: Mapping[str, int] = field(default_factory=dict)

    def problems(self, expected: Outcome) -> Iterator[str]:
        """What went wrong, in one sentence each."""
        for number, (wanted, got) in enumerate(zip(expected.answers, self.outcome.answers, strict=True), 1):
            if got != wanted:
                yield f"answer {number} is {_shortened(got)!r} instead of {_shortened(wanted)!r}"
        if self.outcome.tool_calls != expected.tool_calls:
            names = ", ".join(name for name, _ in self.outcome.tool_calls)
            yield f"its tool calls are not the recorded ones: {names or 'none'}"
        if self.totals.requests != self.received:
            yield f"{self.totals.requests} requests were booked, and the server received {self.received}"
        for fault, count in self.faults.items():
            yield f"a middleware failed {count} times: {fault}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The two runs of one SDK.

    Attributes:
        sdk: The SDK's package.
        sdk_version: The version that is installed.
        model: The model whose prices apply.
        plain: The run that was only measured.
        wrapped: The run under the stack.
    """

    sdk: str
    sdk_version: str
    model: str
    plain: Run
    wrapped: Run

    @property
    def saved_usd(self) -> Decimal | None:
        """What wrapping saved; below zero where it cost, `None` where a price is unknown."""
        plain, wrapped = self.plain.totals.known_cost_usd, self.wrapped.totals.known_cost_usd
        return None if plain is None or wrapped is None else plain - wrapped

    @property
    def saved_percent(self) -> float | None:
        """The same in percent of the plain bill; `None` also where that is zero."""
        saved, plain = self.saved_usd, self.plain.totals.known_cost_usd
        return round(float(100 * saved / plain), 2) if saved is not None and plain else None

    def problems(self, expected: Outcome) -> Iterator[str]:
        """What went wrong in either run, in one sentence each."""
        for run in (self.plain, self.wrapped):
            for problem in run.problems(expected):
                yield f"{self.sdk}, {run.name}: {problem}"

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON, each run as the `T` of the command line's `--json`."""
        saved = self.saved_usd
        return {
            "sdk": self.sdk,
            "sdk_version": self.sdk_version,
            "model": self.model,
            "plain": self.plain.totals.to_dict(),
            "wrapped": self.wrapped.totals.to_dict(),
            "saved_usd": None if saved is None else usd(saved),
            "saved_percent": self.saved_percent,
        }


@dataclass(frozen=True, slots=True)
class DemoReport:
    """What `run_demo` found.

    Attributes:
        recorded: The recorded run, in OpenAI's shape.
        expected: What came out of it.
        max_tokens: The most tokens that a tool result had in the wrapped runs.
        comparisons: The plain and the wrapped run of each SDK.
    """

    recorded: Transcript
    expected: Outcome
    max_tokens: int
    comparisons: Sequence[Comparison]

    @property
    def problems(self) -> list[str]:
        """What went wrong; empty where every run gave the recorded answers and tool calls."""
        return [problem for one in self.comparisons for problem in one.problems(self.expected)]

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON; fields may be added, never renamed."""
        return {
            "task": {
                "id": self.recorded.id,
                "title": TITLE,
                "source": self.recorded.meta["source"],
                "answer": self.expected.answers[-1],
                "tool_calls": len(self.expected.tool_calls),
            },
            "recorded": recorded_bill(self.recorded),
            "max_tokens": self.max_tokens,
            "same": not self.problems,
            "problems": self.problems,
            "comparisons": [comparison.to_dict() for comparison in self.comparisons],
            "price_list": price_list_version(),
        }


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."
