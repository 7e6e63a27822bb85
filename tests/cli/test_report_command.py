"""`ctxkit report`: what it shows of ledger files, and what it says where there is nothing to show."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path

import pytest

from ctxkit.keeping import Ledger
from ctxkit.ledger import Attempt
from support.kept import attempt

DAY = 86_400


def ledger_file(path: Path, *attempts: Attempt) -> Path:
    with Ledger(path) as ledger:
        for one in attempts:
            ledger.book(one)
    return path


@pytest.fixture
def costs(tmp_path: Path) -> Path:
    """A ledger with a task of today that has another nested in it, and one of ten days ago."""
    now = time.time()
    return ledger_file(
        tmp_path / "costs.db",
        attempt("1", tool="grep", started=now, tool_calls=("grep",)),
        attempt("0.25", task="fix-bug / inner", model="gpt-5.5", started=now),
        attempt("3", task="old", started=now - 10 * DAY),
    )


def said(ctxkit, *arguments: object) -> dict:
    code, out, err = ctxkit("report", *arguments, "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    return json.loads(out)


def ids(report: dict) -> list[str]:
    return [row["id"] for row in report["tasks"]]


def test_by_task_is_what_is_shown_where_nothing_is_said(ctxkit, costs: Path) -> None:
    code, out, err = ctxkit("report", costs)
    assert (code, err) == (0, "")
    assert out.startswith("3 requests, 300 input tokens, 30 output tokens, $4.250\n\nBy kind")
    assert "\nBy task: tokens and dollars\n" in out
    rows = out[out.index("By task") :].splitlines()
    assert [line.split()[0] for line in rows[3:6]] == ["old", "fix-bug", "fix-bug"]
    assert "70.6%" in out


@pytest.mark.parametrize(
    ("by", "rows"),
    [
        ("task", ["old", "fix-bug", "fix-bug / inner"]),
        ("model", ["claude-sonnet-4-5", "gpt-5.5"]),
        ("tool", ["(no tool)", "grep"]),
    ],
)
def test_json_has_a_row_for_each(ctxkit, costs: Path, by: str, rows: list[str]) -> None:
    report = said(ctxkit, costs, "--by", by)
    assert (report["by"], ids(report), report["totals"]["cost_usd"]) == (by, rows, "4.25")
    assert report["tasks"][0].keys() >= report["totals"].keys()


def test_by_day_shows_the_latest_first(ctxkit, costs: Path) -> None:
    code, out, _ = ctxkit("report", costs, "--by", "day")
    days = [datetime.fromtimestamp(time.time() - ago * DAY).date().isoformat() for ago in (0, 10)]
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[5:7]] == days


def test_by_tool_tells_definitions_results_and_calls_apart(ctxkit, costs: Path) -> None:
    code, out, _ = ctxkit("report", costs, "--by", "tool")
    assert code == 0
    assert "By tool" in out and "new results" in out and "By kind" not in out
    assert "$0.500" in next(line for line in out.splitlines() if line.startswith("grep"))


def test_without_any_tool_there_is_no_table_of_tools(ctxkit, tmp_path: Path) -> None:
    code, out, _ = ctxkit("report", ledger_file(tmp_path / "costs.db", attempt()), "--by", "tool")
    assert (code, "By tool" in out) == (0, False)


def test_rows_past_the_top_stand_together(ctxkit, costs: Path) -> None:
    _, out, _ = ctxkit("report", costs, "--top", 1)
    assert "fix-bug" not in out
    assert "(2 more)" in out
    assert "$1.250" in out


def test_what_has_no_price_is_unknown_and_said_to_be_missing(ctxkit, tmp_path: Path) -> None:
    unpriced = attempt(charge=None, task="unpriced", shares=())
    _, out, _ = ctxkit("report", ledger_file(tmp_path / "costs.db", attempt(), unpriced))
    assert "missing from these sums: 1 request without a price" in out
    assert "unknown" in next(line for line in out.splitlines() if line.startswith("unpriced"))


@pytest.mark.parametrize("when", ["7d", "200h", "today", "now"])
def test_what_is_older_is_left_out(ctxkit, costs: Path, when: str) -> None:
    recent = datetime.fromtimestamp(time.time() - 5 * DAY)
    when = {"today": recent.date().isoformat(), "now": recent.astimezone().isoformat()}.get(when, when)
    assert ids(said(ctxkit, costs, "--since", when)) == ["fix-bug", "fix-bug / inner"]


def test_a_task_comes_with_the_tasks_nested_in_it(ctxkit, costs: Path) -> None:
    assert ids(said(ctxkit, costs, "--task", "fix-bug")) == ["fix-bug", "fix-bug / inner"]
    assert ids(said(ctxkit, costs, "--task", "fix-bug / inner")) == ["fix-bug / inner"]


def test_an_attempt_that_is_in_several_files_counts_once(ctxkit, tmp_path: Path) -> None:
    one, other = attempt(task="one"), attempt(task="other")
    files = [ledger_file(tmp_path / "a.db", one, other), ledger_file(tmp_path / "b.db", one)]
    assert said(ctxkit, *files, files[0])["totals"]["requests"] == 2


def test_output_goes_to_a_file(ctxkit, costs: Path, tmp_path: Path) -> None:
    assert ctxkit("report", costs, "-o", tmp_path / "costs.json") == (0, "", "")
    assert ids(json.loads((tmp_path / "costs.json").read_text())) == ["old", "fix-bug", "fix-bug / inner"]
    assert ctxkit("report", costs, "-o", tmp_path / "costs.txt") == (0, "", "")
    assert "By task" in (tmp_path / "costs.txt").read_text()


def test_an_empty_ledger_is_good_and_told_on_one_line(ctxkit, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    ledger_file(Path("costs.db"))
    assert ctxkit("report", "costs.db") == (0, "costs.db: nothing is booked yet\n", "")
    assert ctxkit("report", "costs.db", "--since", "7d").out == "costs.db: nothing is booked since 7d\n"
    assert said(ctxkit, "costs.db")["totals"]["requests"] == 0


def refused(ctxkit, *arguments: object) -> str:
    code, out, err = ctxkit("report", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err.removeprefix("ctxkit: ").rstrip()


def test_a_missing_file_is_told_and_not_made(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "nowhere.db"
    assert refused(ctxkit, path) == f"{path}: no such file"
    assert not path.exists()


def test_a_file_that_is_no_ledger_is_told(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no ledger" * 1_000)
    assert refused(ctxkit, path) == f"{path}: can't be opened as a ledger: file is not a database"


def test_a_damaged_ledger_is_told(ctxkit, tmp_path: Path) -> None:
    path = ledger_file(tmp_path / "costs.db", *(attempt() for _ in range(20)))
    intact = path.read_bytes()
    path.write_bytes(intact[:4_096] + b"\xff" * (len(intact) - 4_096))
    assert refused(ctxkit, path) == f"{path}: can't be read: database disk image is malformed"


def test_a_task_that_is_not_there_is_told_with_those_that_are(ctxkit, costs: Path, tmp_path: Path) -> None:
    assert refused(ctxkit, costs, "--task", "fix") == (
        "no such task: fix; there are fix-bug, fix-bug / inner, old"
    )
    many = ledger_file(tmp_path / "many.db", *(attempt(task=f"t{number}") for number in range(7)))
    assert refused(ctxkit, many, "--task", "x\x1b").endswith("x?; there are t0, t1, t2, t3, t4 and 2 more")
    empty = ledger_file(tmp_path / "empty.db")
    assert refused(ctxkit, empty, "--task", "x") == "no such task: x; nothing is booked"


@pytest.mark.parametrize("when", ["tomorrow", "7w", "2026-13-01", "99999999999d", ""])
def test_a_time_that_makes_no_sense_is_told_with_those_that_do(ctxkit, costs: Path, when: str) -> None:
    assert refused(ctxkit, costs, "--since", when).startswith(f"--since {when}: give a date (2026-11-30)")


def test_the_help_has_an_example(ctxkit) -> None:
    code, out, _ = ctxkit("report", "--help")
    assert code == 0
    assert "ctxkit report costs.db --since 7d --by day" in out
