"""`ctxkit replay`: what it tries, what it prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

LONG = "\n".join(f"{number}: nothing to see in this line" for number in range(2_000))


def body(said: str) -> dict[str, Any]:
    """A request body whose tool gave a long result, with the answer that follows."""
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "What is wrong?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": f"{LONG}\ncode_4711\n{LONG}"},
        {"role": "assistant", "content": said},
    ]
    return {"model": "gpt-4.1", "messages": messages}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(body(said)) + "\n" for said in ("It is code_4711.", "Nothing.")))
    return path


def test_the_balanced_stack_is_tried_where_nothing_is_named(ctxkit, runs: Path) -> None:
    code, out, err = ctxkit("replay", runs)
    assert (code, err) == (0, "")
    assert out.startswith("balanced saves $")
    assert "an upper bound" in out and "By run" in out


def test_the_json_is_one_object_with_a_task_for_each_run(ctxkit, runs: Path, tmp_path: Path) -> None:
    code, out, _ = ctxkit("replay", runs, "--policy", "balanced", "--json")
    outcome = json.loads(out)
    assert (code, outcome["policy"], len(outcome["tasks"])) == (0, "balanced", 2)
    assert outcome["saved_tokens"] > 10_000
    assert outcome["invalid_requests"] == 0
    ctxkit("replay", runs, "-o", tmp_path / "report.json")
    written = json.loads((tmp_path / "report.json").read_text())
    assert written["saved_tokens"] == outcome["saved_tokens"]


def test_observing_saves_nothing_and_loses_nothing(ctxkit, runs: Path) -> None:
    outcome = json.loads(ctxkit("replay", runs, "--policy", "observe", "--json").out)
    assert (outcome["saved_usd"], outcome["saved_tokens"], outcome["evidence_recall"]) == ("0", 0, 1.0)


def test_lost_strings_are_shown_as_many_as_wanted(ctxkit, runs: Path) -> None:
    shown = ctxkit("replay", runs, "--top", "1").out
    assert "By run, the 1 dearest" in shown


def test_the_stand_in_for_side_calls_can_be_sized(ctxkit, runs: Path) -> None:
    out = ctxkit("replay", runs, "--summary-tokens", "40", "--json").out
    assert "a stand-in of 40 tokens each" in json.loads(out)["side_calls"]["answered_by"]


def test_a_policy_file_is_tried_by_its_path(ctxkit, runs: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[middlewares]]\nuse = "TruncateToolResults"\nmax_tokens = 500\n')
    outcome = json.loads(ctxkit("replay", runs, "--policy", policy, "--json").out)
    assert outcome["policy"] == str(policy)
    assert outcome["saved_tokens"] > 10_000


def test_a_policy_file_with_a_mistake_is_refused_with_its_place(ctxkit, runs: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[middlewares]]\nuse = "TokenMeter"\nmax_token = 500\n')
    code, out, err = ctxkit("replay", runs, "--policy", policy)
    assert (code, out) == (2, "")
    assert err.startswith(f"ctxkit: {policy}: middlewares.0.TokenMeter.max_token: ")


def test_an_unknown_policy_is_refused_with_those_that_are_known(ctxkit, runs: Path) -> None:
    code, out, err = ctxkit("replay", runs, "--policy", "bogus")
    assert (code, out) == (2, "")
    known = "balanced, lossless, observe, or a file that ends in .toml"
    assert err == f"ctxkit: unknown policy 'bogus'; known policies: {known}\n"


def test_what_holds_no_run_is_refused_on_one_line(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("")
    assert ctxkit("replay", path) == (2, "", f"ctxkit: {path}: the file is empty\n")


def test_the_help_has_an_example(ctxkit) -> None:
    code, out, _ = ctxkit("replay", "--help")
    assert code == 0
    assert "ctxkit replay" in out[out.index("Examples:") :]
