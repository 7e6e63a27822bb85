"""What a replay found, as an object to print, show in a notebook, or write as JSON.

Every figure of what is saved is an upper bound, as a model that sees less may take more turns. So each report
says what is left of the saving where runs get longer, and from where on nothing is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any

from ctxkit.ledger import Totals, usd
from ctxkit.money import price_list_version
from ctxkit.replay.evidence import Dependency, interval, share
from ctxkit.transcripts import Skipped

EXTRA_TURNS = (Decimal("0"), Decimal("0.05"), Decimal("0.15"))
# The share of a run, its end, that tells what one more turn would cost.
LATE = 4


@dataclass(frozen=True, slots=True)
class ReplayedRun:
    """One run of a replay.

    Attributes:
        id: What its log calls it.
        format: The reader that read it.
        model: The model that was asked.
        baseline: What the recorded requests use and cost, simulated.
        replayed: What the replayed ones do, side calls included.
        prefix_rewrites: Replayed requests that do not begin with all of the request before them, where the
            recorded ones do.
        baseline_peak_tokens: The largest recorded request.
        peak_tokens: The largest replayed request.
        invalid_requests: Edits that a provider would have refused; the requests went out without them.
        dependencies: What the model took from tool results, each with whether it still could have.
        replayed_usd: What each replayed request costs, oldest first, side calls aside.
        side_calls: How many side calls middlewares made, by purpose.
        recorded_usd: What the requests cost by the usage in the log; `None` where it reports none.
        simulated_usd: What the same requests cost as simulated.
        faults: How often a middleware failed, by middleware and exception.
        seconds: How long the replay took.
        notes: What the reader should know about the run.
    """

    id: str
    format: str
    model: str | None
    baseline: Totals
    replayed: Totals
    prefix_rewrites: int = 0
    baseline_peak_tokens: int = 0
    peak_tokens: int = 0
    invalid_requests: int = 0
    dependencies: Sequence[Dependency] = field(default=(), repr=False)
    replayed_usd: Sequence[Decimal | None] = field(default=(), repr=False)
    side_calls: Mapping[str, int] = field(default_factory=dict)
    recorded_usd: Decimal | None = None
    simulated_usd: Decimal | None = None
    faults: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    notes: Sequence[str] = ()

    @property
    def visible(self) -> tuple[int, int]:
        """How many strings were still visible where they were needed, and how many were needed."""
        return sum(one.visible for one in self.dependencies), len(self.dependencies)

    @property
    def recoverable(self) -> tuple[int, int]:
        """How many strings were visible or could be read back, and how many were needed."""
        return sum(one.recoverable for one in self.dependencies), len(self.dependencies)

    @property
    def saved_usd(self) -> Decimal | None:
        """The dollars saved, below zero where it costs more; `None` where a cost is unknown."""
        return saved(self.baseline, self.replayed)

    @property
    def longer_usd(self) -> Decimal:
        """What the run would cost more if it took twice as many turns, each as dear as its last quarter's."""
        late = self.replayed_usd[-max(1, len(self.replayed_usd) // LATE) :]
        known = [cost for cost in late if cost is not None]
        return sum(known, Decimal(0)) / len(known) * len(self.replayed_usd) if known else Decimal(0)

    def to_dict(self) -> dict[str, Any]:
        """The run as JSON."""
        return {
            "id": self.id,
            "format": self.format,
            "model": self.model,
            "requests": self.baseline.requests,
            "baseline_usd": _usd(self.baseline.known_cost_usd),
            "replayed_usd": _usd(self.replayed.known_cost_usd),
            "saved_usd": _usd(self.saved_usd),
            "recorded_usd": _usd(self.recorded_usd),
            "evidence_needed": len(self.dependencies),
            "evidence_recall": share([self.visible]),
            "evidence_recoverable": share([self.recoverable]),
            "prefix_rewrites": self.prefix_rewrites,
            "peak_tokens": self.peak_tokens,
            "invalid_requests": self.invalid_requests,
            "side_calls": dict(self.side_calls),
            "faults": dict(self.faults),
            "seconds": self.seconds,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class ReplayReport:
    """What a replay found. `str()` gives tables, a notebook shows it, `to_dict` is the `replay` JSON.

    Attributes:
        runs: One for each run that was replayed.
        policy: What was tried.
        side_calls: What answered the side calls of middlewares.
        skipped: What could not be read or replayed.
    """

    runs: Sequence[ReplayedRun]
    policy: str = ""
    side_calls: str = ""
    skipped: Sequence[Skipped] = ()

    @property
    def baseline(self) -> Totals:
        """What the recorded requests use and cost, simulated."""
        return _merged(run.baseline for run in self.runs)

    @property
    def replayed(self) -> Totals:
        """What the replayed requests use and cost, side calls included."""
        return _merged(run.replayed for run in self.runs)

    @property
    def saved_usd(self) -> Decimal | None:
        """The dollars saved, below zero where it costs more; `None` where no cost is known."""
        return saved(self.baseline, self.replayed)

    @property
    def saved_tokens(self) -> int:
        """How many input tokens fewer are sent, below zero where it is more."""
        return self.baseline.input_tokens - self.replayed.input_tokens

    @property
    def evidence_recall(self) -> float | None:
        """The share of needed strings still visible where they were needed; `None` where none was."""
        return share(run.visible for run in self.runs)

    @property
    def evidence_recoverable(self) -> float | None:
        """The share of needed strings that were visible or could be read back."""
        return share(run.recoverable for run in self.runs)

    @property
    def invalid_requests(self) -> int:
        """How many edits a provider would have refused."""
        return sum(run.invalid_requests for run in self.runs)

    @property
    def simulator_error(self) -> float | None:
        """By what share the recorded requests cost more as simulated than by their own usage."""
        known = [run for run in self.runs if run.recorded_usd is not None]
        recorded = sum((run.recorded_usd or Decimal(0) for run in known), Decimal(0))
        simulated = sum((run.simulated_usd or Decimal(0) for run in known), Decimal(0))
        return float(simulated / recorded) - 1 if recorded else None

    @property
    def break_even(self) -> float | None:
        """By what share runs may get longer before the saving is gone; `None` where nothing is saved."""
        longer = self._longer_usd
        if self.saved_usd is None or self.saved_usd <= 0 or not longer:
            return None
        return float(self.saved_usd / longer)

    @property
    def _longer_usd(self) -> Decimal:
        return sum((run.longer_usd for run in self.runs), Decimal(0))

    def saved_if_longer(self, extra_turns: Decimal) -> Decimal | None:
        """What is saved if runs get longer by this share, each new turn as dear as the last quarter's."""
        return None if self.saved_usd is None else self.saved_usd - extra_turns * self._longer_usd

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON; fields may be added, never renamed."""
        bounds = {
            "evidence_recall_interval": interval(run.visible for run in self.runs),
            "evidence_recoverable_interval": interval(run.recoverable for run in self.runs),
        }
        return {
            "policy": self.policy,
            "baseline": self.baseline.to_dict(),
            "replayed": self.replayed.to_dict(),
            "saved_usd": _usd(self.saved_usd),
            "saved_tokens": self.saved_tokens,
            "saved_is_upper_bound": True,
            "extra_turns": [
                {"extra_turns": float(extra), "saved_usd": _usd(self.saved_if_longer(extra))}
                for extra in EXTRA_TURNS
            ],
            "break_even_extra_turns": self.break_even,
            "prefix_rewrites": sum(run.prefix_rewrites for run in self.runs),
            "peak_tokens": max((run.peak_tokens for run in self.runs), default=0),
            "baseline_peak_tokens": max((run.baseline_peak_tokens for run in self.runs), default=0),
            "evidence_needed": sum(len(run.dependencies) for run in self.runs),
            "evidence_recall": self.evidence_recall,
            "evidence_recoverable": self.evidence_recoverable,
            **{name: bound and list(bound) for name, bound in bounds.items()},
            "invalid_requests": self.invalid_requests,
            "side_calls": {"answered_by": self.side_calls, "requests": dict(self.side_call_counts)},
            "simulator_error": self.simulator_error,
            "seconds": sum(run.seconds for run in self.runs),
            "tasks": [run.to_dict() for run in self.runs],
            "skipped": [asdict(part) for part in self.skipped],
            "price_list": price_list_version(),
        }

    @property
    def side_call_counts(self) -> Counter[str]:
        """How many side calls middlewares made, by purpose."""
        counts: Counter[str] = Counter()
        for run in self.runs:
            counts.update(run.side_calls)
        return counts

    def __str__(self) -> str:
        from ctxkit.replay.words import report_text

        return report_text(self)

    def _repr_html_(self) -> str:
        from ctxkit.replay.words import report_html

        return report_html(self)


def saved(baseline: Totals, replayed: Totals) -> Decimal | None:
    """The dollars between two sums; `None` where one of them is unknown."""
    before, after = baseline.known_cost_usd, replayed.known_cost_usd
    return None if before is None or after is None else before - after


def _merged(parts: Any) -> Totals:
    totals = Totals()
    for part in parts:
        totals.merge(part)
    return totals


def _usd(amount: Decimal | None) -> str | None:
    return None if amount is None else usd(amount)
