"""What policies for long histories cost, and what they lose, beside doing nothing.

Every policy is given the same requests, and what it sends goes through the same simulated prompt cache.
Dollars and tokens are parts of what doing nothing takes. The runs are the longest recorded ones as they
would be had their client compacted nothing, all long recorded ones with their client's compaction, and
generated loops.

    python benchmarks/history_policies.py [--peers] [--hindsight] [--only NAME] [--table TITLE]
        [--front TOKENS] [--json]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from history_books import Books, Course, Market, Sent
from history_ours import OURS, best_in_hindsight, sent_through, untouched
from history_peers import PEERS, sent_by
from history_runs import LONGEST, Run, generated_run, recorded_runs
from peers.vocabulary import write_cache
from tables import show

Row = dict[str, Any]
Policy = Callable[[Course], Iterator[Sent]]

NONE = "no trimming"
# Of each pair of multiples (writing to the cache, reading from it) a model that has them at any prompt size.
MARKETS = (
    Market("claude-opus-4-6"),
    Market("claude-sonnet-5-5"),
    Market("claude-fable-5-2"),
    Market("gpt-5.2", "openai"),
)
GENERATED = (10, 50, 200, 1_000)
# Above what doing nothing costs by more than this is a loss.
LOSS = 1.005


def policies(*, peers: bool, hindsight: bool, vocabularies: Path) -> dict[str, Policy]:
    """All that are compared, by name, doing nothing first."""
    found: dict[str, Policy] = {NONE: untouched}
    for name, stack in OURS.items():
        found[name] = partial(_ours, stack)
    if hindsight:
        found["TrimHistory, best start in hindsight"] = best_in_hindsight
    if peers:
        for peer in PEERS:
            found[peer.name] = partial(sent_by, peer, vocabularies=vocabularies)
    return found


def _ours(stack: Callable[..., Any], course: Course) -> Iterator[Sent]:
    return sent_through(stack(course.originals), course)


def compared(
    runs: Sequence[Run], market: Market, tried: dict[str, Policy], *, evidence: bool
) -> dict[str, list[Books]]:
    """For each policy the books of every run."""
    books: dict[str, list[Books]] = {name: [] for name in tried}
    for run in runs:
        course = Course(run, market)
        for name, policy in tried.items():
            books[name].append(course.take(policy(course), evidence=evidence))
    return books


def table(books: dict[str, list[Books]]) -> list[Row]:
    """A row a policy."""
    return [_row(name, taken, books[NONE]) for name, taken in books.items()]


def _row(name: str, taken: Sequence[Books], nothing: Sequence[Books]) -> Row:
    total, base = _sum(taken), _sum(nothing)
    ratios = [one.cost / other.cost for one, other in zip(taken, nothing, strict=True)]
    return {
        "policy": name,
        "dollars": total.cost / base.cost,
        "tokens": total.tokens / base.tokens,
        "rewrites": total.rewrites,
        "peak_k": total.peak / 1_000,
        "invalid": total.invalid,
        "recall": _share(total.recalled, total.repeated),
        "kept": _share(total.kept, total.needed),
        "recoverable": _share(total.recoverable, total.needed),
        "dearer": sum(ratio > LOSS for ratio in ratios),
        "worst": max(ratios),
        "ms": total.seconds * 1_000 / total.requests,
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _sum(taken: Iterable[Books]) -> Books:
    total = Books()
    for books in taken:
        total.add(books)
    return total


def measure(options: argparse.Namespace, vocabularies: Path) -> list[Row]:
    """The tables, each with its title, as `--json` prints them."""
    tried = policies(peers=options.peers, hindsight=options.hindsight, vocabularies=vocabularies)
    tried = {name: policy for name, policy in tried.items() if name == NONE or options.only in name}
    recorded = recorded_runs(front_tokens=options.front)
    groups = {
        "longest": [run.uncompacted() for run in recorded[:LONGEST]],
        "recorded": recorded,
        **{f"generated {turns}": [generated_run(turns)] for turns in GENERATED},
    }
    found = []
    for market in MARKETS:
        for name, runs in groups.items():
            title = f"{name}: {len(runs)} run(s), {market}"
            if options.table not in title:
                continue
            books = compared(runs, market, tried, evidence=market is MARKETS[0])
            rows = table(books)
            found.append({"table": title, "rows": rows})
            if not options.json:
                print(f"\n{title}", end="")
                show(rows)
                sys.stdout.flush()
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--peers", action="store_true", help="with the peers that `make peers` installs")
    parser.add_argument("--only", default="", help="policies whose names hold this, beside doing nothing")
    parser.add_argument(
        "--front", type=int, help="what unseen system prompts have, instead of what logs tell"
    )
    parser.add_argument("--table", default="", help="tables whose titles hold this")
    parser.add_argument("--hindsight", action="store_true", help="with the best schedule that a search finds")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_cache(Path(folder))
        found = measure(options, Path(folder))
    if options.json:
        json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
