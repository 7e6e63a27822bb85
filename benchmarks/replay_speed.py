"""How many recorded requests are replayed a second on one core, and what that costs as runs grow.

    python benchmarks/replay_speed.py [PATH ...] [--quick] [--json]

Without a path it replays made-up runs of a coding agent, which read files and quote what they found. The
first replay of a run counts its texts; the second finds the counts in memory, as further policies do.
"""

from __future__ import annotations

import argparse
import json
import logging
import resource
import sys
import time
from collections.abc import Sequence
from typing import Any

from tables import show

import ctxkit
from ctxkit.presets import balanced, observe
from ctxkit.replay import replay
from ctxkit.transcripts import RecordedRequest, Transcript

LENGTHS = (50, 100, 200)
QUICK_LENGTHS = (10, 20)
AIM = 2_000
LINES = 120
STACKS = {"observe": observe, "balanced": lambda: balanced(max_tokens=1_000)}


def made_up_run(turns: int) -> Transcript:
    """A run of that many requests, each after a new result of about 2,000 tokens."""
    messages: list[Any] = [{"role": "user", "content": "Find the defects."}]
    requests: list[RecordedRequest] = []
    for turn in range(turns):
        requests.append(RecordedRequest(len(messages)))
        said = {"type": "text", "text": f"Next to defect_{turn - 1} I look further."}
        call = {"type": "tool_use", "id": f"call_{turn}", "name": "read", "input": {"page": turn}}
        lines = [f"{turn}.{line}: value_{line} is read from table {turn * line}" for line in range(LINES)]
        lines[LINES // 2] = f"defect_{turn} stands here"
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": "\n".join(lines)}
        messages += [{"role": "assistant", "content": [said, call]}, {"role": "user", "content": [result]}]
    return Transcript(
        id=f"{turns} requests",
        format="made up",
        wire="anthropic_messages",
        provider="anthropic",
        model="claude-sonnet-5",
        system="You find defects.",
        tools=[{"name": "read", "input_schema": {"type": "object"}}],
        messages=messages,
        requests=tuple(requests),
    )


def measure(name: str, runs: Sequence[Transcript], stack: str) -> list[dict[str, Any]]:
    """A row for the first replay of some runs, and one for the second."""
    requests = sum(len(run.requests) for run in runs)
    rows = []
    for replayed in ("first", "again"):
        started = time.process_time()
        report = replay(runs, STACKS[stack])
        seconds = time.process_time() - started
        rows.append(
            {
                "runs": name,
                "stack": stack,
                "replay": replayed,
                "requests": requests,
                "requests_per_s": requests / seconds,
                "ms_per_request": seconds / requests * 1e3,
                "runs_per_min": len(runs) / seconds * 60,
                "invalid": report.invalid_requests,
                "of_aim": requests / seconds / AIM,
            }
        )
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", metavar="PATH")
    parser.add_argument("--quick", action="store_true", help="short runs, to see that it works")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    logging.disable()
    if options.paths:
        loaded = list(ctxkit.load(*options.paths))
        workload = [("the given runs", [run for run in loaded if run.requests])]
    else:
        lengths = QUICK_LENGTHS if options.quick else LENGTHS
        workload = [(f"{turns} requests", [made_up_run(turns)]) for turns in lengths]
    rows = [row for name, runs in workload for stack in STACKS for row in measure(name, runs, stack)]
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if options.json:
        print(json.dumps({"rows": rows, "peak_mb": peak_mb}))
        return 0
    show(rows)
    print(f"\nlargest memory: {peak_mb:,.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
