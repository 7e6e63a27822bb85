"""The benchmark of replay runs by itself. What it finds decides nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "replay_speed.py"


def test_the_speed_of_replay_is_measured_for_each_stack_and_length() -> None:
    script = [sys.executable, str(BENCHMARK), "--quick", "--json"]
    result = json.loads(subprocess.run(script, check=True, capture_output=True).stdout)
    assert [(row["requests"], row["stack"], row["replay"]) for row in result["rows"]] == [
        (turns, stack, replayed)
        for turns in (10, 20)
        for stack in ("observe", "balanced")
        for replayed in ("first", "again")
    ]
    assert all(row["requests_per_s"] > 0 and row["invalid"] == 0 for row in result["rows"])
    assert result["peak_mb"] > 0
