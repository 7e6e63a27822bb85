"""What recorded runs cost by our books beside what their recorders say, each difference explained or not.

Of the transcripts that carry usage and a cost, every request is priced as a profile prices it. A difference
is put into a class only by a check on the numbers themselves, described in `CLASSES`; what passes none is
`unexplained`.

    python benchmarks/billing_truth.py [PATH ...] [--json]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import ctxkit
from ctxkit.money import price, price_list_version, rates
from ctxkit.profile import profile_run
from ctxkit.transcripts import RecordedRequest

TRANSCRIPTS = Path(__file__).parents[1].parent / "shared" / "data" / "transcripts"
# Requests without a time are priced as of this one, so that the table is the same at any hour.
AS_OF = datetime(2026, 11, 30, 12, tzinfo=UTC)
# Recorders add up binary fractions; a billionth of a dollar is far below what any of them shows.
SAME = Decimal("1e-9")
MILLION = 1_000_000
# OpenAI's cache serves a prompt of 1,024 tokens or more, in steps of 128.
SMALLEST_READ, READ_STEP = 1_024, 128


@dataclass(frozen=True)
class Billed:
    """One request whose cost was recorded.

    Attributes:
        family: Which recorder it is from.
        model: The model that answered.
        provider: Who answered, as the price list calls them; `None` where unknown.
        request: What the log says of it.
        ours: Its cost here; `None` where that is unknown.
    """

    family: str
    model: str | None
    provider: str | None
    request: RecordedRequest
    ours: Decimal | None

    @property
    def theirs(self) -> Decimal:
        """Its cost by the recorder."""
        return self.request.recorded_cost_usd or Decimal(0)

    @property
    def native(self) -> Mapping[str, Any]:
        """The usage as it was recorded."""
        return self.request.usage.native if self.request.usage else {}

    @property
    def output_usd(self) -> Decimal:
        """What a token of the answer costs here; 0 where that is unknown."""
        listed = rates(self.model, provider=self.provider, at=self.request.timestamp)
        return listed.output / MILLION if listed else Decimal(0)


def same(left: Decimal | None, right: Decimal) -> bool:
    return left is not None and abs(left - right) <= SAME


def is_equal(billed: Billed) -> bool:
    return same(billed.ours, billed.theirs)


def is_missing_usage(billed: Billed) -> bool:
    return billed.request.usage is None and billed.theirs == 0


def is_unlisted(billed: Billed) -> bool:
    return billed.request.usage is not None and billed.ours is None


def is_own_key(billed: Billed) -> bool:
    upstream = billed.native.get("cost_details", {}).get("upstream_inference_cost")
    own = billed.native.get("is_byok") is True and billed.theirs == 0
    return own and upstream is not None and same(billed.ours, Decimal(str(upstream)))


def is_reasoning_twice(billed: Billed) -> bool:
    usage = billed.request.usage
    if usage is None or billed.ours is None or not usage.reasoning_tokens:
        return False
    return same(billed.ours + usage.reasoning_tokens * billed.output_usd, billed.theirs)


def is_unseen_read(billed: Billed) -> bool:
    usage = billed.request.usage
    listed = rates(billed.model, provider=billed.provider, at=billed.request.timestamp)
    if usage is None or billed.ours is None or listed is None or listed.cache_read is None:
        return False
    read = (billed.ours - billed.theirs) * MILLION / (listed.input - listed.cache_read)
    whole = round(read)
    return (
        not usage.cache_read_tokens
        and SMALLEST_READ <= whole <= (usage.input_tokens or 0)
        and whole % READ_STEP == 0
        and same(billed.ours - whole * (listed.input - listed.cache_read) / MILLION, billed.theirs)
    )


CLASSES: dict[str, tuple[Callable[[Billed], bool], str]] = {
    "equal": (is_equal, "both say the same, to a billionth of a dollar"),
    "usage missing, booked as 0": (is_missing_usage, "the log has no usage, and the recorder says 0"),
    "model not in the price list": (is_unlisted, "usage is known, and there is no price"),
    "billed to the user's own key": (
        is_own_key,
        "the recorder says 0 and a key of the user's own, and its upstream cost is ours",
    ),
    "recorder adds reasoning twice": (
        is_reasoning_twice,
        "the recorder's cost is ours and the reasoning tokens once more",
    ),
    "usage leaves out cache reads": (
        is_unseen_read,
        "the recorder's cost is ours with a whole number of cache steps of 128 tokens read",
    ),
}
OTHER_RATES = "recorder used other rates"
OTHER_RATES_CHECK = "one set of rates gives every cost of the model, from more requests than rates"
UNEXPLAINED = "unexplained"
CHECKS = {
    **{name: check for name, (_, check) in CLASSES.items()},
    OTHER_RATES: OTHER_RATES_CHECK,
    UNEXPLAINED: "none of these",
}


def read(paths: Iterable[Path]) -> tuple[list[Billed], dict[str, Decimal]]:
    """The requests that carry a cost, and what a profile says that those of each family cost."""
    billed: list[Billed] = []
    profiled: dict[str, Decimal] = defaultdict(Decimal)
    for path in paths:
        for run in ctxkit.load(path):
            requests = tuple(
                replace(request, timestamp=request.timestamp or AS_OF)
                for request in run.requests
                if request.recorded_cost_usd is not None
            )
            if not requests:
                continue
            family = str(run.meta.get("family", run.format))
            profiled[family] += profile_run(replace(run, requests=requests)).totals.cost_usd
            billed.extend(priced(run, family, request) for request in requests)
    return billed, profiled


def priced(run: ctxkit.Transcript, family: str, request: RecordedRequest) -> Billed:
    model = request.model or run.model
    charge = request.usage and price(
        request.usage,
        model=model,
        provider=run.provider,
        at=request.timestamp,
        stop_reason=request.stop_reason,
    )
    return Billed(family, model, run.provider, request, charge.total_usd if charge else None)


def classify(billed: Sequence[Billed]) -> dict[tuple[str, str], list[Billed]]:
    """The requests by family and class."""
    groups: dict[tuple[str, str], list[Billed]] = defaultdict(list)
    left: dict[tuple[str, str | None, str | None], list[Billed]] = defaultdict(list)
    for one in billed:
        name = next((name for name, (check, _) in CLASSES.items() if check(one)), None)
        if name is None:
            left[one.family, one.provider, one.model].append(one)
        else:
            groups[one.family, name].append(one)
    for (family, _, _), rest in left.items():
        groups[family, UNEXPLAINED if other_rates(rest) is None else OTHER_RATES].extend(rest)
    return groups


def other_rates(billed: Sequence[Billed]) -> list[Decimal] | None:
    """Dollars a million tokens of plain input, reads and output that give every one of these costs.

    `None` where no such rates exist, or where there are too few different requests to tell.
    """
    rows = {
        (
            (usage.uncached_tokens or 0, usage.cache_read_tokens, usage.output_tokens or 0),
            Fraction(one.theirs) * MILLION,
        )
        for one in billed
        if (usage := one.request.usage) is not None
    }
    used = [column for column in range(3) if any(counts[column] for counts, _ in rows)]
    if len(rows) <= len(used):
        return None
    solved = solve([[counts[column] for column in used] for counts, _ in rows], [cost for _, cost in rows])
    if solved is None:
        return None
    found = dict(zip(used, solved, strict=True))
    for counts, cost in rows:
        made = sum((found[column] * counts[column] for column in used), Fraction(0))
        if abs(made - cost) > SAME * MILLION:
            return None
    return [round(Decimal(float(found.get(column, 0))), 6) for column in range(3)]


def solve(rows: Sequence[Sequence[int]], costs: Sequence[Fraction]) -> list[Fraction] | None:
    """The least squares solution, exactly; `None` where the rows leave it open."""
    size = len(rows[0])
    matrix = [
        [Fraction(sum(row[i] * row[j] for row in rows)) for j in range(size)]
        + [sum((row[i] * cost for row, cost in zip(rows, costs, strict=True)), Fraction(0))]
        for i in range(size)
    ]
    for pivot in range(size):
        best = max(range(pivot, size), key=lambda row: abs(matrix[row][pivot]))
        if matrix[best][pivot] == 0:
            return None
        matrix[pivot], matrix[best] = matrix[best], matrix[pivot]
        matrix[pivot] = [value / matrix[pivot][pivot] for value in matrix[pivot]]
        for other in range(size):
            if other != pivot:
                factor = matrix[other][pivot]
                matrix[other] = [a - factor * b for a, b in zip(matrix[other], matrix[pivot], strict=True)]
    return [row[-1] for row in matrix]


def summary(billed: Sequence[Billed], profiled: Mapping[str, Decimal]) -> Iterator[dict[str, Any]]:
    """A row for each family and class, then one for the family."""
    groups = classify(billed)
    for family in sorted(profiled):
        for name in CHECKS:
            if members := groups.get((family, name)):
                models = sorted({one.model or "?" for one in members})
                yield {"family": family, "class": name, **sums(members), "models": models}
        everything = sums([one for one in billed if one.family == family])
        yield {"family": family, "class": "all", **everything, "profile_usd": str(profiled[family])}


def sums(billed: Sequence[Billed]) -> dict[str, Any]:
    theirs = sum((one.theirs for one in billed), Decimal(0))
    ours = sum((one.ours for one in billed if one.ours is not None), Decimal(0))
    return {
        "requests": len(billed),
        "recorded_usd": str(theirs),
        "ours_usd": str(ours),
        "difference_usd": str(ours - theirs),
    }


def show(rows: Iterable[Mapping[str, Any]]) -> None:
    line = "{:16} {:30} {:>8} {:>11} {:>11} {:>11}"
    print(line.format("family", "class", "requests", "recorded $", "ours $", "ours more $"))
    for row in rows:
        dollars = (f"{Decimal(row[name]):z,.6f}" for name in ("recorded_usd", "ours_usd", "difference_usd"))
        print(line.format(row["family"], row["class"], row["requests"], *dollars))
    print(f"\n{price_list_version()}; classes, and the check each is told by:")
    for name, check in CHECKS.items():
        print(f"  {name}: {check}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = list(summary(*read(options.paths or sorted(TRANSCRIPTS.glob("*.jsonl.gz")))))
    if options.json:
        json.dump({"price_list": price_list_version(), "checks": CHECKS, "rows": rows}, sys.stdout)
        return
    show(rows)


if __name__ == "__main__":
    main()
