"""Counting every request of a growing loop: what it costs beside peers, how it grows, what it remembers.

Each counter runs in a process of its own, peers in their own environments (`make peers`). Times are CPU
seconds, medians over the rounds; the machine may be shared, so trust the ratios.

    python benchmarks/count_speed.py [--peers] [--rounds N] [--quick] [--json]
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import statistics
import sys
import tempfile
import tracemalloc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import workload
from peers.running import ask
from peers.vocabulary import write_cache
from tables import show

from ctxkit.messages import Histories, ModelRequest
from ctxkit.tokens import BlockCounter, CountMemory, counter_for, shape_of
from ctxkit.wire import wire_named

Seconds = Mapping[int, float]
Row = dict[str, Any]

LENGTHS = (10, 50, 200, 1_000)
EQUAL_CHARS = 1_600
WINDOW = 10
# As it is by default, and so small that a loop of 10,000 turns fills it.
BOUNDS = (32_000_000, 2_000_000)


@dataclass(frozen=True, slots=True)
class Contestant:
    """One way of counting.

    Attributes:
        name: What the tables call it.
        worker: The module in `peers` that runs it.
        counter: The counter in that module.
        peer: Its environment; `None` for ctxkit's own.
        wire: The wire of the messages that it gets.
        forgets: Whether it counts a request without regard to the ones before, so that turns may be sampled.
    """

    name: str
    worker: str
    counter: str
    peer: str | None = None
    wire: str = "openai_chat"
    forgets: bool = False


CLAUDE = partial(Contestant, worker="count_ctxkit", wire="anthropic_messages")
FROM_BYTES = CLAUDE("ctxkit from bytes", counter="Bytes")
FROM_MESSAGES = CLAUDE("ctxkit from messages", counter="Messages")
OURS = (FROM_BYTES, FROM_MESSAGES, Contestant("ctxkit from bytes, gpt", "count_ctxkit", "GptBytes"))
FAST = (
    CLAUDE("ctxkit[fast] from bytes", counter="FastBytes"),
    CLAUDE("ctxkit[fast] from messages", counter="FastMessages"),
)
EXACT = (CLAUDE("ctxkit[fast,claude] from messages", counter="ExactMessages"),)
TIKTOKEN = Contestant("tiktoken, recounting", "count_tiktoken", "recount", "tiktoken", forgets=True)
LITELLM = Contestant("litellm, claude", "count_litellm", "claude", "litellm", forgets=True)
PEERS = (
    TIKTOKEN,
    LITELLM,
    Contestant("litellm, gpt", "count_litellm", "gpt", "litellm", forgets=True),
    Contestant("langchain, ChatOpenAI", "count_langchain", "openai", "langchain", forgets=True),
    Contestant("langchain, approximately", "count_langchain", "approximate", "langchain"),
    Contestant("headroom, TiktokenCounter", "count_headroom", "remembering", "headroom"),
)


class Race:
    """Runs contestants on the same loop, in turns.

    Args:
        steps: The loop.
        rounds: How often each one runs.
        vocabularies: The files that tiktoken would download.

    Attributes:
        seconds: For each contestant the median CPU time of each turn that was measured.
        answers: What each contestant's worker said last.
    """

    def __init__(self, steps: Sequence[workload.Step], *, rounds: int, vocabularies: Path) -> None:
        self._steps = steps
        self._rounds = rounds
        self._vocabularies = vocabularies
        self.seconds: dict[str, Seconds] = {}
        self.answers: dict[str, Any] = {}

    def run(self, contestants: Sequence[Contestant]) -> None:
        """Let each one count every request of the loop, or a sample of them."""
        runs: dict[str, list[Seconds]] = {one.name: [] for one in contestants}
        for _ in range(self._rounds):
            for one in contestants:
                runs[one.name].append(self._once(one))
        for name, taken in runs.items():
            self.seconds[name] = {turn: statistics.median(each[turn] for each in taken) for turn in taken[0]}

    def _once(self, contestant: Contestant) -> Seconds:
        turns = sampled(len(self._steps)) if contestant.forgets else range(1, len(self._steps) + 1)
        native = workload.messages(self._steps, wire=contestant.wire)
        if contestant.peer is not None:
            native.insert(0, {"role": "system", "content": workload.SYSTEM})
        after_last = len(native) - 2 * len(self._steps)
        task = {
            "counter": contestant.counter,
            "messages": native,
            "lengths": [after_last + 2 * turn for turn in turns],
        }
        answer = ask(contestant.worker, task, peer=contestant.peer, vocabularies=self._vocabularies)
        self.answers[contestant.name] = answer
        return dict(zip(turns, answer["seconds"], strict=True))


def sampled(turns: int) -> list[int]:
    """All of the first 50 turns, then one in 10, from 200 on one in 100."""
    return [turn for turn in range(1, turns + 1) if turn <= 50 or turn % (10 if turn <= 200 else 100) == 0]


def whole(seconds: Seconds, turns: int) -> float:
    """The time of all turns up to one; those between two that were measured are taken to lie on a line."""
    known = sorted(turn for turn in seconds if turn <= turns)
    total = seconds[known[0]]
    for left, right in pairwise(known):
        gap, rise = right - left, seconds[right] - seconds[left]
        total += gap * seconds[left] + rise * (gap + 1) / 2
    return total


def totals(race: Race, lengths: Sequence[int]) -> list[Row]:
    """A row a contestant: the time of whole loops and of their last turns, the ratio to ours, a count."""
    compared = lengths[-2]
    ours = whole(race.seconds[FROM_MESSAGES.name], compared)
    rows = []
    for name, seconds in race.seconds.items():
        row: Row = {"counter": name, "turns": "all" if len(seconds) == lengths[-1] else "sampled"}
        row |= {f"total_s_{length}": whole(seconds, length) for length in lengths}
        row |= {f"last_ms_{length}": seconds[length] * 1_000 for length in lengths[-2:]}
        row[f"times_messages_{compared}"] = whole(seconds, compared) / ours
        rows.append({**row, "tokens": race.answers[name]["tokens"]})
    return rows


def growth(race: Race, lengths: Sequence[int]) -> list[Row]:
    """What a turn costs as the history grows: the median of the last ten, in milliseconds."""

    def milliseconds(seconds: Seconds, last: int) -> float:
        return statistics.median(seconds[turn] for turn in seconds if 0 <= last - turn < WINDOW) * 1_000

    return [
        {"turn": last, **{name: milliseconds(seconds, last) for name, seconds in race.seconds.items()}}
        for last in lengths
    ]


def memory(turns: int, max_bytes: int) -> Row:
    """What the memory of counts still holds when a loop is over and everything else of it is gone."""
    tokenizer = counter_for(None, reference=True)
    tokenizer.count("loaded before anything is measured")
    native = workload.messages(workload.loop(turns, result_chars=200), wire="anthropic_messages")
    tracemalloc.start()
    counter = BlockCounter(tokenizer, memory=CountMemory(max_bytes=max_bytes))
    send_all(native, counter)
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"turns": turns, "bound_mb": max_bytes / 1e6, "held_mb": held / 1e6}


def send_all(native: Sequence[workload.Body], counter: BlockCounter) -> None:
    """Count every request of a loop."""
    wire, histories = wire_named("anthropic_messages"), Histories()
    for length in range(3, len(native) + 1, 2):
        body = workload.body(native[:length], wire=wire.name)
        shape_of(ModelRequest(wire=wire, body=body, histories=histories), counter)


def aims(counted: Sequence[Row], grown: Sequence[Row]) -> list[Row]:
    """What was found beside what is aimed at, for each of ours; at 200 and 1,000 turns in a whole run."""
    rows = {row["counter"]: row for row in counted}
    compared, last = (f"total_s_{row['turn']}" for row in grown[-2:])
    found = []
    for name in list(grown[0])[1:]:
        row = {"counter": name, "seconds_at_most_0.5": rows[name][last]}
        row["growth_at_most_2"] = grown[-1][name] / grown[0][name]
        for peer, key in ((TIKTOKEN, "tiktoken_at_least_80"), (LITELLM, "litellm_at_least_400")):
            if peer.name in rows:
                row[key] = rows[peer.name][compared] / rows[name][compared]
        found.append(row)
    return found


def measure(*, peers: bool, rounds: int, quick: bool) -> Row:
    """Everything, as `--json` prints it."""
    lengths = LENGTHS[:2] if quick else LENGTHS
    ours = (*OURS, *(FAST if find_spec("toktok") else ()))
    others = (*(EXACT if find_spec("ctok") else ()), *(PEERS if peers else ()))
    with tempfile.TemporaryDirectory() as folder:
        vocabularies = Path(folder)
        write_cache(vocabularies)
        drawn = Race(list(workload.loop(lengths[-1])), rounds=rounds, vocabularies=vocabularies)
        drawn.run((*ours, *others))
        equal_steps = list(workload.loop(lengths[-1], result_chars=EQUAL_CHARS))
        equal = Race(equal_steps, rounds=rounds, vocabularies=vocabularies)
        equal.run(ours)
    versions = {"python": platform.python_version()}
    for answer in drawn.answers.values():
        versions |= answer["versions"]
    counted, grown = totals(drawn, lengths), growth(equal, lengths)
    return {
        "versions": versions,
        "counters": counted,
        "growth": grown,
        "memory": [memory(10 * lengths[-1], bound) for bound in BOUNDS],
        "aims": aims(counted, grown),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--peers", action="store_true", help="with the peers that `make peers` installs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="short loops, one round")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rounds = 1 if options.quick else options.rounds
    result = measure(peers=options.peers, rounds=rounds, quick=options.quick)
    if options.json:
        json.dump(result, sys.stdout)
        return
    print(*(f"{package} {version}" for package, version in result.pop("versions").items()), sep=", ")
    for rows in result.values():
        show(rows)


if __name__ == "__main__":
    main()
