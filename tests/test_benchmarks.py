"""The benchmarks run without any peer, on loops that are what they say. What they find decides nothing."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import ctxkit

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
WIRES = ("anthropic_messages", "openai_chat")


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module of the benchmarks as its script would."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


def test_the_speed_of_counting_is_measured_without_peers() -> None:
    script = [sys.executable, str(BENCHMARKS / "count_speed.py"), "--quick", "--json"]
    result = json.loads(subprocess.run(script, check=True, capture_output=True).stdout)
    counted = {row["counter"]: row for row in result["counters"]}
    assert counted["ctxkit from bytes"]["tokens"] == counted["ctxkit from messages"]["tokens"] > 50_000
    assert all(0 < row["total_s_10"] < row["total_s_50"] for row in counted.values())
    assert [row["turn"] for row in result["growth"]] == [10, 50]
    assert all(0 < row["held_mb"] <= row["bound_mb"] for row in result["memory"])
    assert {row["counter"] for row in result["aims"]} <= counted.keys()


def test_a_table_is_shown_for_each_part(load: Any, capsys: pytest.CaptureFixture[str]) -> None:
    load("tables").show([{"counter": "a", "seconds": 0.123456}, {"counter": "longer", "seconds": 1234.0}])
    assert capsys.readouterr().out == "\ncounter  seconds\na         0.1235\nlonger     1,234\n"


def test_sampled_turns_add_up_to_the_whole_where_turns_grow_steadily(load: Any) -> None:
    count_speed = load("count_speed")
    seconds = {turn: 3.0 + 0.5 * turn for turn in range(1, 1_001)}
    some = {turn: seconds[turn] for turn in count_speed.sampled(1_000)}
    assert len(some) < 100
    for turns in (1, 10, 50, 200, 1_000):
        assert count_speed.whole(some, turns) == pytest.approx(sum(islice(seconds.values(), turns)))


def test_a_longer_loop_begins_with_a_shorter_one_of_its_seed(load: Any) -> None:
    workload = load("workload")
    assert list(workload.loop(20)) == list(islice(workload.loop(60), 20))
    assert list(workload.loop(20)) != list(workload.loop(20, seed="s2"))


@pytest.mark.parametrize("wire", WIRES)
def test_every_request_of_a_loop_is_valid(load: Any, wire: str) -> None:
    workload = load("workload")
    body = workload.body(workload.messages(workload.loop(30), wire=wire), wire=wire)
    assert ctxkit.validate(body, wire=wire) == []
    assert len(body["tools"]) == 25


def test_results_have_the_sizes_that_were_asked_for(load: Any) -> None:
    workload = load("workload")
    assert {len(step.result) for step in workload.loop(30, result_chars=1_600)} == {1_600}
    drawn = sorted(len(step.result) for step in workload.loop(1_000))
    assert 1_200 < drawn[500] < 2_200
    assert 14_000 < drawn[950] < 26_000
    assert drawn[-1] <= 200_000


def test_condensing_is_scored_by_what_is_still_shown(load: Any) -> None:
    condense = load("condense")
    text = "\n".join(f"INFO step {number} done" for number in range(400)) + "\nERROR disk full\n"
    case = condense.Case("log", text, 2_500, "", ["disk full", "not in the text"])
    (row,) = condense.kept([case], 100)
    assert row["texts"] == 1
    assert row["kept"] == row["kept or found"] == row["start and end"] == 0.5
    assert row["start"] == 0
    assert condense.kept([case], 5_000) == []
