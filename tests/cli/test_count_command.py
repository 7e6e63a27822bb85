"""`ctxkit count`: what it reads, what it prints, what it keeps of what was learned, and how it exits."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxkit.counting import count
from ctxkit.tokens.calibration import CALIBRATION
from ctxkit.tokens.calibration_file import keep_calibration
from ctxkit.usage import Usage
from support.bodies import ANTHROPIC, calls, of_body, results, user

MODEL = "claude-sonnet-5-5"
TOOLS = [{"name": name, "description": "Does it.", "input_schema": {"type": "object"}} for name in "abc"]
BODY = {
    "model": MODEL,
    "system": "Be brief.",
    "tools": TOOLS,
    "messages": [user("Find cats."), calls(ANTHROPIC, "x"), *results(ANTHROPIC, {"x": "Cats are here."})],
}
ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "Here."}]}


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder of the test's own, and nothing learned before it or after."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: folder)
    CALIBRATION.reset()
    yield folder
    CALIBRATION.reset()


@pytest.fixture
def body(tmp_path: Path) -> Path:
    """A file with one request body."""
    path = tmp_path / "body.json"
    path.write_text(json.dumps(BODY))
    return path


def type_in(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Have data stand on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def run_of(*messages: Any, **meta: Any) -> str:
    """A line of the shared corpus' shape: a whole run, with a request for every answer."""
    known = {"id": "run", "family": "f", "format": "anthropic-messages", "model": MODEL}
    return json.dumps({**known, "meta": meta, "messages": list(messages)}) + "\n"


def learn() -> None:
    """Learn something of one model, and keep it."""
    kept = keep_calibration()
    for number in range(3):
        CALIBRATION.observe(of_body(ANTHROPIC, {**BODY, "system": f"Be {number}."}), Usage(500, 1))
    kept.close()


def test_the_json_of_a_body_is_one_object_of_the_documented_shape(ctxkit, body: Path) -> None:
    code, out, err = ctxkit("count", body, "--json")
    told, expected = json.loads(out), count(BODY)
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert {key: told[key] for key in ("model", "counter", "total_tokens", "low", "high", "source")} == {
        "model": MODEL,
        "counter": expected.counter,
        "total_tokens": expected.total,
        "low": expected.low,
        "high": expected.high,
        "source": expected.source,
    }
    assert told["by_kind"] == expected.by_kind
    assert [tool["name"] for tool in told["tools"]] == ["a", "b", "c"]
    assert told["blocks"][-1]["where"] == ["messages", 2, "content", 0]
    assert len(told["requests"]) == 1
    assert told["skipped"] == []
    assert float(told["cache_read_usd"]) < float(told["uncached_usd"])


def test_a_body_is_shown_with_its_band_its_price_and_its_parts(ctxkit, body: Path) -> None:
    code, out, err = ctxkit("count", body)
    told = count(BODY)
    assert (code, err) == (0, "")
    assert out.startswith(f"{told.total:,} input tokens ({told.low:,} to {told.high:,}, {told.source}, ")
    assert "uncached, $0.00" in out
    assert "when read from the prompt cache" in out
    assert "tool definition " in out
    assert "(comes with any tool) " in out
    assert "messages.1.content.0  tool call" in out
    assert "Prices: genai-prices" in out


def test_standard_input_is_read(ctxkit, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, json.dumps(BODY).encode())
    code, out, _ = ctxkit("count", "-", "--json")
    assert (code, json.loads(out)["total_tokens"]) == (0, count(BODY).total)


def test_recorded_runs_on_standard_input_are_read(ctxkit, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, (run_of(user("Hi."), ANSWER, user("Go on."), ANSWER) + "{damaged\n").encode())
    _, out, _ = ctxkit("count", "-", "--json")
    told = json.loads(out)
    assert len(told["requests"]) == 2
    assert [(part["path"], part["line"]) for part in told["skipped"]] == [("-", 2)]


def test_a_compressed_file_is_read(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "body.json.gz"
    path.write_bytes(gzip.compress(json.dumps(BODY).encode()))
    _, out, _ = ctxkit("count", path, "--json")
    assert json.loads(out)["total_tokens"] == count(BODY).total


def test_a_text_is_counted_for_the_model_that_is_named(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("Hello there, you.")
    code, out, _ = ctxkit("count", path, "--model", "gpt-4o")
    assert code == 0
    assert out.startswith("5 tokens (exact, o200k_base)\n")


def test_anything_can_be_counted_as_a_text(ctxkit, body: Path) -> None:
    _, out, _ = ctxkit("count", body, "--text", "--json")
    assert json.loads(out)["by_kind"].keys() == {"text"}


def test_a_text_of_an_unnamed_model_has_no_price(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("Hello.")
    assert "cost unknown for an unnamed model" in ctxkit("count", path).out


def test_every_request_of_a_run_is_shown_and_the_largest_in_detail(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(run_of(user("Hi."), ANSWER, user("Go on."), ANSWER, incomplete="no tools") + "{damaged\n")
    code, out, _ = ctxkit("count", path)
    assert code == 0
    assert out.startswith("2 requests: ")
    assert "The largest: line 1, request 2" in out
    assert "Not shown there, so not counted: no tools" in out
    assert f"Not counted: {path}:2: " in out.replace("\n", "")


def test_what_an_answer_reported_stands_beside_the_count(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "pair.jsonl"
    path.write_text(json.dumps({"api": "messages", "request": BODY, "usage": {"input_tokens": 777}}) + "\n")
    assert "777 were reported" in ctxkit("count", path).out
    path.write_text(path.read_text() * 2)
    assert ctxkit("count", path).out.count("777") == 3


def test_one_line_can_be_chosen(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "bodies.jsonl"
    path.write_text(json.dumps(BODY) + "\n" + json.dumps({**BODY, "model": "gpt-4o"}) + "\n")
    _, out, _ = ctxkit("count", path, "--line", 2, "--json")
    assert json.loads(out)["model"] == "gpt-4o"
    assert ctxkit("count", path, "--line", 3) == (2, "", f"ctxkit: {path}: no request starts at line 3\n")


def test_long_tables_are_cut_and_blocks_shows_all(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    turns = [message for number in range(30) for message in (user(f"Step {number}."), ANSWER)]
    path.write_text(run_of(*turns))
    cut, whole = ctxkit("count", path).out, ctxkit("count", path, "--blocks").out
    assert "By request (20 of 30; --blocks shows all)" in cut
    assert "Other blocks, the largest first (10 of 59; --blocks shows all)" in cut
    assert "shows all" not in whole
    assert "messages.58.content" in whole


def test_a_file_gets_json_by_its_name(ctxkit, body: Path, tmp_path: Path) -> None:
    data = tmp_path / "count.json"
    assert ctxkit("count", body, "-o", data) == (0, "", "")
    assert json.loads(data.read_text())["model"] == MODEL


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"a": 1}', ":1: not a request body of any wire that is known here"),
        (b'{"messages": [{"role": "user", "content": 7}]}', ":1: messages.0.content must be a list, not int"),
        (b"\x1f\x8b\x00", ": can't be read: "),
    ],
)
def test_what_can_not_be_counted_is_refused_with_its_place(
    ctxkit, tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    code, out, err = ctxkit("count", path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"ctxkit: {path}{reason}")


def test_wrong_use_is_refused(ctxkit, body: Path, tmp_path: Path) -> None:
    missing = f"ctxkit: {tmp_path}/nothing: can't be read: No such file or directory\n"
    assert ctxkit("count", tmp_path / "nothing") == (2, "", missing)
    assert ctxkit("count") == (2, "", "ctxkit: name a FILE to count, or - for standard input\n")
    assert "unknown wire 'soap'" in ctxkit("count", body, "--wire", "soap").err


def test_what_was_learned_is_used_shown_and_forgotten(ctxkit, body: Path) -> None:
    before = json.loads(ctxkit("count", body, "--json").out)
    learn()
    after = json.loads(ctxkit("count", body, "--json").out)
    assert after["source"] == "calibrated"
    assert abs(after["total_tokens"] - 500) < abs(before["total_tokens"] - 500)
    ((row),) = json.loads(ctxkit("count", "--calibration", "--json").out)["models"]
    assert (row["model"], row["wire"], row["observations"]) == (MODEL, ANTHROPIC, 3)
    shown = ctxkit("count", "--calibration").out
    assert MODEL in shown
    assert row["last_seen"] in shown
    assert json.loads(ctxkit("count", "--reset", "gpt-4o", "--json").out)["models"] == [row]
    assert json.loads(ctxkit("count", "--reset", MODEL, "--json").out)["models"] == []
    learn()
    assert "Nothing was learned yet" in ctxkit("count", "--reset").out
    assert "Nothing was learned yet" in ctxkit("count", "--calibration").out


def test_the_help_has_an_example_and_names_every_key_of_the_json(ctxkit, body: Path) -> None:
    _, out, _ = ctxkit("count", "--help")
    assert "ctxkit count request.json" in out[out.index("Examples:") :]
    told = json.loads(ctxkit("count", body, "--json").out)
    keys = {*told, *told["requests"][0], *told["blocks"][0], *told["tools"][0]}
    assert [key for key in sorted(keys) if key not in out] == []
