"""What attempts add up to: the `T` of every report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ctxkit.ledger.attempts import Attempt
from ctxkit.money import Share

NO_TOOL = "(no tool)"
# What was said in earlier turns, apart from what tools were asked and gave back.
HISTORY_KINDS = ("user_text", "assistant_text")


@dataclass(slots=True)
class Line:
    """One row of a breakdown.

    Attributes:
        input_tokens: As billed, in all requests together.
        output_tokens: As billed, in all requests together.
        cost_usd: The part of the cost that is known.
        priced: Whether any of it is.
        carried_tokens: Of what stood in the history before the model last answered, and was sent once more;
            included in `input_tokens`.
        carried_usd: The part of the cost that is known of it; included in `cost_usd`.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    priced: bool = False
    carried_tokens: int = 0
    carried_usd: Decimal = Decimal(0)

    def add(self, other: Line) -> None:
        """Add another row."""
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.cost_usd += other.cost_usd
        self.priced = self.priced or other.priced
        self.carried_tokens += other.carried_tokens
        self.carried_usd += other.carried_usd

    def add_share(self, share: Share) -> None:
        """Add a share of a request."""
        self.input_tokens += share.input_tokens
        self.output_tokens += share.output_tokens
        if share.carried:
            self.carried_tokens += share.input_tokens
        if share.cost_usd is not None:
            self.cost_usd += share.cost_usd
            self.priced = True
            if share.carried:
                self.carried_usd += share.cost_usd

    @property
    def carried(self) -> Line:
        """The part that stood in the history before the model last answered."""
        tokens, usd = self.carried_tokens, self.carried_usd
        return Line(tokens, 0, usd, self.priced, carried_tokens=tokens, carried_usd=usd)

    @property
    def new(self) -> Line:
        """The part that was new in its request, or that the model wrote."""
        fresh = self.input_tokens - self.carried_tokens
        return Line(fresh, self.output_tokens, self.cost_usd - self.carried_usd, self.priced)

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON; `cost_usd` is `None` where nothing of it has a known price."""
        return {
            "tokens": self.input_tokens + self.output_tokens,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "carried_tokens": self.carried_tokens,
            "cost_usd": _usd(self),
            "carried_usd": _usd(self.carried),
        }


def usd(amount: Decimal) -> str:
    """Dollars as reports write them: plain decimal digits, nothing rounded."""
    return format(amount.normalize(), "f")


@dataclass(slots=True)
class Totals:
    """Sums over attempts.

    Attributes:
        requests: Attempts that were billed, or may have been.
        requests_unmeasured: Those of them whose usage is unknown, or known in part, as of a stream that broke
            off; the sums below hold what is known.
        requests_unpriced: Those whose usage is known and whose price is not; `cost_usd` leaves them out.
        attempts_not_billed: Attempts that cost nothing, such as a 429.
        input_tokens: The prompts, cache reads and writes included.
        cache_read_tokens: Included in `input_tokens`.
        cache_write_tokens: Included in `input_tokens`.
        output_tokens: The answers, thinking included.
        cost_usd: What is known of the cost.
        cut_tokens: What was left out of requests before they were sent, as counted here.
        lines: The same split by kind and tool; costs add up to `cost_usd` exactly.
        purposes: Requests by purpose.
        purpose_lines: The sums by purpose: the side calls of middlewares apart from the user's own requests.
        tool_calls: How often the model called each tool.
    """

    requests: int = 0
    requests_unmeasured: int = 0
    requests_unpriced: int = 0
    attempts_not_billed: int = 0
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    cut_tokens: int = 0
    lines: dict[tuple[str, str | None], Line] = field(default_factory=dict)
    purposes: Counter[str] = field(default_factory=Counter)
    purpose_lines: dict[str, Line] = field(default_factory=dict)
    tool_calls: Counter[str] = field(default_factory=Counter)

    def add(self, attempt: Attempt) -> None:
        """Add one attempt."""
        if attempt.outcome == "not_billed":
            self.attempts_not_billed += 1
            return
        self.requests += 1
        self.purposes[attempt.purpose] += 1
        self.tool_calls.update(attempt.tool_calls)
        self.cut_tokens += attempt.cut_tokens
        usage = attempt.usage
        if usage is None or usage.input_tokens is None or usage.output_tokens is None:
            self.requests_unmeasured += 1
        elif attempt.charge is None:
            self.requests_unpriced += 1
        whole = _whole(attempt)
        self.input_tokens += whole.input_tokens
        self.output_tokens += whole.output_tokens
        self.cost_usd += whole.cost_usd
        self.purpose_lines.setdefault(attempt.purpose, Line()).add(whole)
        if usage is not None:
            self.cache_read_tokens += usage.cache_read_tokens
            self.cache_write_tokens += usage.cache_write_tokens
        for share in attempt.shares:
            self.lines.setdefault((share.kind, share.tool), Line()).add_share(share)

    def merge(self, other: Totals) -> None:
        """Add all that another one holds."""
        for name in _SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.purposes.update(other.purposes)
        self.tool_calls.update(other.tool_calls)
        for key, line in other.lines.items():
            self.lines.setdefault(key, Line()).add(line)
        for purpose, line in other.purpose_lines.items():
            self.purpose_lines.setdefault(purpose, Line()).add(line)

    @property
    def is_lower_bound(self) -> bool:
        """Whether something that was billed is missing from the sums."""
        return bool(self.requests_unmeasured or self.requests_unpriced)

    @property
    def known_cost_usd(self) -> Decimal | None:
        """The cost as far as it is known; `None` where none of it is."""
        unknown = self.requests_unpriced + self.requests_unmeasured
        return None if self.requests and unknown >= self.requests and not self.cost_usd else self.cost_usd

    @property
    def history(self) -> Line:
        """What texts of the user and the model cost in the requests that sent them once more."""
        return self.part(*((kind, None) for kind in HISTORY_KINDS)).carried

    def part(self, *keys: tuple[str, str | None]) -> Line:
        """The sum of some of the `lines`."""
        total = Line()
        for key in keys:
            total.add(self.lines.get(key, Line()))
        return total

    def by_kind(self) -> dict[str, Line]:
        """The sums by kind of block, dearest first."""
        return _grouped((kind, line) for (kind, _), line in self.lines.items())

    def by_tool(self) -> dict[str, Line]:
        """The sums by tool, dearest first; what belongs to no tool is a row of its own."""
        return _grouped((tool or NO_TOOL, line) for (_, tool), line in self.lines.items())

    def to_dict(self) -> dict[str, Any]:
        """The sums as the `T` of the command line's `--json`."""
        cost = self.known_cost_usd
        return {
            "requests": self.requests,
            "requests_unmeasured": self.requests_unmeasured,
            "requests_unpriced": self.requests_unpriced,
            "attempts_not_billed": self.attempts_not_billed,
            "input_tokens": self.input_tokens,
            "cache_read_tokens": self.cache_read_tokens,
            "cache_write_tokens": self.cache_write_tokens,
            "output_tokens": self.output_tokens,
            "cut_tokens": self.cut_tokens,
            "cost_usd": None if cost is None else usd(cost),
            "cost_is_lower_bound": self.is_lower_bound,
            "by_kind": {kind: line.to_dict() for kind, line in self.by_kind().items()},
            "by_tool": {tool: self._tool_row(tool, line) for tool, line in self.by_tool().items()},
            "by_purpose": dict(self.purposes),
            "cost_by_purpose": {purpose: _usd(line) for purpose, line in self.purpose_lines.items()},
            "history_usd": _usd(self.history),
        }

    def _tool_row(self, tool: str, line: Line) -> dict[str, Any]:
        row = line.to_dict()
        if tool == NO_TOOL:
            return row
        calls, results = self.part(("tool_call", tool)), self.part(("tool_result", tool))
        return row | {
            "calls": self.tool_calls[tool],
            "definitions_usd": _usd(self.part(("tool_definition", tool))),
            "calls_written_usd": _usd(calls.new),
            "calls_carried_usd": _usd(calls.carried),
            "results_usd": _usd(results),
            "results_new_usd": _usd(results.new),
            "results_carried_usd": _usd(results.carried),
        }


_SUMMED = (
    "requests",
    "requests_unmeasured",
    "requests_unpriced",
    "attempts_not_billed",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "cost_usd",
    "cut_tokens",
)


def _grouped(rows: Iterable[tuple[str, Line]]) -> dict[str, Line]:
    grouped: dict[str, Line] = {}
    for name, line in rows:
        grouped.setdefault(name, Line()).add(line)
    return dict(sorted(grouped.items(), key=lambda item: (-item[1].cost_usd, -item[1].input_tokens, item[0])))


def _whole(attempt: Attempt) -> Line:
    """What is known of the use and the cost of an attempt."""
    line = Line()
    if attempt.usage is not None:
        line.input_tokens = attempt.usage.input_tokens or 0
        line.output_tokens = attempt.usage.output_tokens or 0
    if attempt.charge is not None:
        line.cost_usd = attempt.charge.total_usd
        line.priced = True
    return line


def _usd(line: Line) -> str | None:
    """Dollars as reports write them; `None` where nothing of a row has a known price."""
    return usd(line.cost_usd) if line.priced else None
