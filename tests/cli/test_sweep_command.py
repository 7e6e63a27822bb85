"""`ctxkit sweep`: a row a policy, as a table, as JSON lines, as CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

LONG = "\n".join(f"{number}: nothing to see in this line" for number in range(2_000))
LABELS = ["TruncateToolResults.max_tokens=300", "TruncateToolResults.max_tokens=3000"]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "What is wrong?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": f"{LONG}\ncode_4711\n{LONG}"},
        {"role": "assistant", "content": "It is code_4711."},
    ]
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps({"model": "gpt-4.1", "messages": messages}) + "\n")
    return path


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    path = tmp_path / "grid.toml"
    path.write_text(
        '[grid]\n"TruncateToolResults.max_tokens" = [300, 3000]\n'
        '[[middlewares]]\nuse = "TruncateToolResults"\n'
    )
    return path


def test_a_terminal_gets_a_table_that_calls_the_saving_an_upper_bound(ctxkit, runs: Path, grid: Path) -> None:
    code, out, err = ctxkit("sweep", runs, "--grid", grid)
    assert (code, err) == (0, "")
    assert "saved" in out and "upper bound" in " ".join(out.split())


def test_json_is_one_object_a_policy_equal_to_its_replay(
    ctxkit, runs: Path, grid: Path, tmp_path: Path
) -> None:
    code, out, _ = ctxkit("sweep", runs, "--grid", grid, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, [row["policy"] for row in rows]) == (0, LABELS)
    policy = tmp_path / "policy.toml"
    policy.write_text('[[middlewares]]\nuse = "TruncateToolResults"\nmax_tokens = 3000\n')
    alone = json.loads(ctxkit("replay", runs, "--policy", policy, "--json").out)
    assert rows[1] == {**{name: alone[name] for name in rows[1]}, "policy": LABELS[1]}


def test_a_csv_file_has_a_row_a_policy_and_nothing_is_printed(
    ctxkit, runs: Path, grid: Path, tmp_path: Path
) -> None:
    path = tmp_path / "sweep.csv"
    assert ctxkit("sweep", runs, "--grid", grid, "-o", path) == (0, "", "")
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [row["policy"] for row in rows] == LABELS
    assert int(rows[0]["saved_tokens"]) > int(rows[1]["saved_tokens"]) > 0


def test_another_ending_is_refused_before_anything_is_replayed(ctxkit, runs: Path, grid: Path) -> None:
    refusal = "ctxkit: out.parquet: a sweep is written to a file that ends in .csv\n"
    assert ctxkit("sweep", runs, "--grid", grid, "-o", "out.parquet") == (2, "", refusal)


def test_a_file_that_cannot_be_written_is_named(ctxkit, runs: Path, grid: Path, tmp_path: Path) -> None:
    path = tmp_path / "missing" / "sweep.csv"
    code, out, err = ctxkit("sweep", runs, "--grid", grid, "-o", path)
    assert (code, out) == (2, "")
    assert err.startswith(f"ctxkit: {path}: can't be written: ")


def test_what_holds_no_run_is_refused_on_one_line(ctxkit, grid: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("")
    assert ctxkit("sweep", path, "--grid", grid) == (2, "", f"ctxkit: {path}: the file is empty\n")


def test_a_grid_that_is_missing_is_refused_by_its_name(ctxkit, runs: Path, tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    code, out, err = ctxkit("sweep", runs, "--grid", path)
    assert (code, out) == (2, "")
    assert err.startswith(f"ctxkit: {path}: can't be read: ")
