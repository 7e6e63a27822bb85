"""`ctxkit demo`: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ctxkit.demo import Comparison, DemoReport, Run, run_demo
from ctxkit.demo.recorded import recorded_outcome, recording
from ctxkit.ledger import Attempt, Totals
from ctxkit.usage import Usage

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def report() -> DemoReport:
    """What the demo finds."""
    return run_demo()


@pytest.fixture
def found(report: DemoReport, monkeypatch: pytest.MonkeyPatch) -> DemoReport:
    """The same, found at once whenever the command runs in this process."""
    monkeypatch.setattr("ctxkit.cli.demo.run_demo", lambda *, max_tokens: report)
    return report


def saved(report: DemoReport) -> str:
    """What is said to be saved with the first SDK."""
    one = report.comparisons[0]
    assert one.saved_usd is not None
    plain = one.plain.totals.cost_usd
    return f"It saved {one.saved_usd / plain:.1%} of ${plain:.4f} with {one.sdk}."


def test_the_module_runs_the_demo_and_prints_one_json_object_and_nothing_else() -> None:
    """The proxies in the environment lead nowhere: nothing is sent through them."""
    environment = {**os.environ, "HTTP_PROXY": NOWHERE, "HTTPS_PROXY": NOWHERE, "ALL_PROXY": NOWHERE}
    command = [sys.executable, "-W", "error", "-m", "ctxkit", "demo", "--json"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    made = json.loads(ended.stdout)
    assert made["same"] is True
    assert [one["plain"]["requests"] for one in made["comparisons"]] == [10, 10]


def test_a_limit_that_is_too_small_ends_with_1_and_says_what_is_missing(ctxkit) -> None:
    code, out, err = ctxkit("demo", "--max-tokens", 300)
    assert (code, err) == (1, "")
    said = " ".join(out.split())
    assert "The runs did not all end as the recorded one" in said
    assert "HAT172 any more" in said
    assert "It saved" not in said


def test_a_limit_below_what_can_be_cut_to_ends_with_2(ctxkit) -> None:
    assert ctxkit("demo", "--max-tokens", 60) == (
        2,
        "",
        "ctxkit: max_tokens must be at least 100, it is 60\n",
    )


def test_without_the_sdks_one_line_says_how_to_install_them(ctxkit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    needed = "ctxkit: the demo needs the anthropic and openai SDKs: pip install 'ctxkit[demo]'\n"
    assert ctxkit("demo") == (2, "", needed)


def test_the_help_has_an_example_and_names_every_key_of_the_json(ctxkit, report: DemoReport) -> None:
    _, out, _ = ctxkit("demo", "--help")
    assert "ctxkit demo --json" in out[out.index("Examples:") :]
    made = report.to_dict()
    for key in made.keys() | made["comparisons"][0].keys():
        assert key in out


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_shows_both_bills_whole_in_any_usual_width(
    ctxkit, found: DemoReport, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = ctxkit("demo")
    assert code == 0
    assert max(map(len, out.splitlines())) <= width
    assert "…" not in out
    rows = {line[:28].strip(): line.split()[-6:] for line in out.splitlines()}
    for column, totals in ((0, "plain"), (1, "wrapped")):
        expected = [getattr(one, totals).totals for one in found.comparisons]
        assert rows["input tokens"][column::3] == [f"{total.input_tokens:,}" for total in expected]
        assert rows["cost"][column::3] == [f"${total.cost_usd:.4f}" for total in expected]
    assert rows["billed requests"] == ["billed", "requests", "10", "10", "10", "10"]


def test_the_outcome_and_the_savings_stand_below_the_table(ctxkit, found: DemoReport) -> None:
    _, out, _ = ctxkit("demo")
    assert "All four runs gave the recorded 5 answers and 6 tool calls." in out
    assert f"client = ctxkit.wrap(client, ctxkit.balanced(max_tokens={found.max_tokens:_}))" in out
    assert saved(found) in out


@pytest.mark.parametrize(("name", "is_json"), [("demo.json", True), ("demo.txt", False)])
def test_the_outcome_can_go_to_a_file(
    ctxkit, found: DemoReport, tmp_path: Path, name: str, is_json: bool
) -> None:
    path = tmp_path / name
    assert ctxkit("demo", "-o", path) == (0, "", "")
    written = path.read_text(encoding="utf-8")
    if is_json:
        assert json.loads(written) == json.loads(json.dumps(found.to_dict()))
    else:
        assert saved(found) in written
        assert not any(line.endswith(" ") for line in written.splitlines())


def test_a_price_that_is_unknown_is_shown_as_unknown(ctxkit, monkeypatch: pytest.MonkeyPatch) -> None:
    totals = Totals()
    totals.add(Attempt("", "main", "m", "openai_chat", "billed", usage=Usage(1, 1)))
    run = Run("plain", recorded_outcome(recording()), totals, 1)
    unpriced = DemoReport(
        recorded=recording(),
        expected=run.outcome,
        max_tokens=1_500,
        comparisons=[Comparison(sdk="openai", sdk_version="3", model="m", plain=run, wrapped=run)],
    )
    monkeypatch.setattr("ctxkit.cli.demo.run_demo", lambda *, max_tokens: unpriced)
    code, out, _ = ctxkit("demo")
    assert code == 0
    assert next(line.split() for line in out.splitlines() if line.startswith("cost ")) == [
        "cost",
        "unknown",
        "unknown",
    ]
    assert "It saved" not in out
