"""`ctxkit profile`: what it reads, what it prints, and what it says when there is nothing to read."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COMMAND = [sys.executable, "-c", "from ctxkit.cli import main; main()"]
TOTALS = {
    "requests",
    "requests_unmeasured",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "cost_usd",
    "by_kind",
    "by_tool",
}


def pair(name: str, *, tokens: int = 1_000, tool: str = "find") -> str:
    """A line with a request and its answer."""
    request = {
        "model": "gpt-4.1",
        "tools": [{"type": "function", "function": {"name": tool, "parameters": {"type": "object"}}}],
        "messages": [{"role": "user", "content": "Where is the fox?"}],
    }
    usage = {"prompt_tokens": tokens, "completion_tokens": 10}
    answer = {"choices": [{"message": {"role": "assistant", "content": "Here."}}], "usage": usage}
    return (
        json.dumps({"id": name, "api": "chat", "request": request, "response": answer, "usage": usage}) + "\n"
    )


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with three runs in two files, one of them with a damaged line."""
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "a.jsonl").write_text(pair("one") + "{damaged\n" + pair("two", tokens=3_000))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(pair("three", tokens=2_000).encode()))
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without any session files."""
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    return tmp_path


def test_a_folder_is_read_and_told_in_text(ctxkit, runs: Path) -> None:
    code, out, err = ctxkit("profile", runs)
    assert (code, err) == (0, "")
    assert out.startswith("3 requests, 6,000 input tokens, 30 output tokens, $0.0122")
    for title in ("By kind", "By tool", "By task"):
        assert title in out


def test_json_is_one_object_of_the_documented_shape(ctxkit, runs: Path) -> None:
    code, out, err = ctxkit("profile", runs, "--json")
    report: dict[str, Any] = json.loads(out)
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert report["totals"].keys() >= TOTALS
    assert [task["id"] for task in report["tasks"]] == ["one", "two", "three"]
    assert all(task.keys() >= {*TOTALS, "format", "model"} for task in report["tasks"])
    (skipped,) = report["skipped"]
    assert (skipped["path"], skipped["line"]) == (str(runs / "a.jsonl"), 2)
    for breakdown in ("by_kind", "by_tool"):
        costs = [part["cost_usd"] for part in report["totals"][breakdown].values()]
        assert sum(float(cost) for cost in costs if cost) == pytest.approx(
            float(report["totals"]["cost_usd"])
        )


def test_files_globs_and_folders_may_be_mixed(ctxkit, runs: Path) -> None:
    _, out, _ = ctxkit("profile", runs / "b.jsonl.gz", runs / "a*", "--json")
    assert [task["id"] for task in json.loads(out)["tasks"]] == ["three", "one", "two"]


def test_top_says_how_many_tasks_are_shown(ctxkit, runs: Path) -> None:
    _, out, _ = ctxkit("profile", runs, "--top", 1)
    assert "\ntwo " in out
    assert "\n(2 more) " in out
    assert "\nthree " not in out


def test_a_file_gets_text_or_json_by_its_name(ctxkit, runs: Path, tmp_path: Path) -> None:
    text, data = tmp_path / "report.txt", tmp_path / "report.json"
    assert ctxkit("profile", runs, "-o", text, "--top", 1) == (0, "", "")
    assert ctxkit("profile", runs, "--output", data) == (0, "", "")
    assert text.read_text().startswith("3 requests, ")
    assert "(2 more)" in text.read_text()
    assert json.loads(data.read_text())["totals"]["requests"] == 3


@pytest.mark.parametrize(
    ("ending", "start"),
    [("html", "<!doctype html>"), ("folded", "one;turn"), ("csv", "id,task,"), ("CSV", "id,task,")],
)
def test_a_report_is_written_by_the_ending_of_its_file(
    ctxkit, runs: Path, tmp_path: Path, ending: str, start: str
) -> None:
    file = tmp_path / f"report.{ending}"
    assert ctxkit("profile", runs, "-o", file) == (0, "", "")
    assert file.read_text().startswith(start)


def test_a_page_and_json_can_be_had_at_once(ctxkit, runs: Path, tmp_path: Path) -> None:
    code, out, _ = ctxkit("profile", runs, "--json", "-o", tmp_path / "report.html")
    assert (code, json.loads(out)["totals"]["requests"]) == (0, 3)
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")


def test_a_page_that_cannot_be_written_is_said_in_one_line(ctxkit, runs: Path, tmp_path: Path) -> None:
    code, _, err = ctxkit("profile", runs, "-o", tmp_path / "gone" / "report.html")
    assert (code, err.count("\n")) == (2, 1)
    assert "can't be written" in err


def test_parquet_without_its_library_names_the_extra(
    ctxkit, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = ctxkit("profile", runs, "-o", tmp_path / "costs.parquet")
    assert (code, err.count("\n")) == (2, 1)
    assert "ctxkit[parquet]" in err


def test_json_is_printed_and_written_where_both_are_asked_for(ctxkit, runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "report"
    code, out, _ = ctxkit("profile", runs, "--json", "-o", file)
    assert code == 0
    assert out == file.read_text()


def test_a_file_that_cannot_be_written_is_named(ctxkit, runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "missing" / "report.json"
    assert ctxkit("profile", runs, "-o", file) == (
        2,
        "",
        f"ctxkit: {file}: can't be written: No such file or directory\n",
    )


def test_names_with_lone_surrogates_can_be_printed_and_written(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(pair("one", tool="\ud800") * 2)
    assert "?" in ctxkit("profile", path).out
    assert "\ud800" in json.loads(ctxkit("profile", path, "--json").out)["totals"]["by_tool"]
    assert ctxkit("profile", path, "-o", tmp_path / "report.txt").code == 0


def test_a_path_that_does_not_exist_is_refused_before_anything_is_read(ctxkit, runs: Path) -> None:
    code, out, err = ctxkit("profile", runs, runs / "nothing")
    assert (code, out) == (2, "")
    assert err == f"ctxkit: {runs}/nothing: no such file or folder, and no match\n"


def test_input_without_any_run_is_refused_with_file_line_and_reason(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"type": "user", "uuid": "u", "sessionId": "s", "message": {}}\n')
    code, out, err = ctxkit("profile", path, "--json")
    assert (code, out) == (2, "")
    assert err == f"ctxkit: {path}:1: a message without content (and 1 more)\n"


def test_the_reason_stands_alone_where_one_thing_was_skipped(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("")
    assert ctxkit("profile", path).err == f"ctxkit: {path}: the file is empty\n"


def test_an_empty_folder_is_refused(ctxkit, tmp_path: Path) -> None:
    assert ctxkit("profile", tmp_path) == (2, "", f"ctxkit: {tmp_path}: no file in it\n")


def test_runs_without_requests_are_a_result(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    line = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "hi"}}
    path.write_text(json.dumps(line) + "\n")
    code, out, _ = ctxkit("profile", path)
    assert code == 0
    assert out.startswith("these runs hold no request to a model")


def test_without_a_path_the_session_files_of_coding_agents_are_read(ctxkit, home: Path) -> None:
    session = home / ".claude" / "projects" / "p" / "s.jsonl"
    session.parent.mkdir(parents=True)
    message = {
        "id": "m",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "hello"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 100, "output_tokens": 5},
    }
    session.write_text(
        json.dumps({"type": "assistant", "uuid": "u", "sessionId": "s", "message": message}) + "\n"
    )
    code, out, _ = ctxkit("profile", "--json")
    assert code == 0
    assert [task["format"] for task in json.loads(out)["tasks"]] == ["claude_code"]


def test_without_session_files_it_says_where_it_looked(ctxkit, home: Path) -> None:
    code, out, err = ctxkit("profile")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    for place in ("~/.claude/projects", "CLAUDE_CONFIG_DIR", "~/.codex/sessions", "CODEX_HOME"):
        assert place in err


def test_progress_shows_on_a_terminal_and_never_in_the_output(runs: Path) -> None:
    pty = pytest.importorskip("pty")
    terminal, screen = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    with subprocess.Popen(
        [*COMMAND, "profile", runs, "--json"], stdout=subprocess.PIPE, stderr=screen, env=environment
    ) as process:
        out, _ = process.communicate()
    os.close(screen)
    shown = os.read(terminal, 100_000).decode()
    os.close(terminal)
    assert json.loads(out)["totals"]["requests"] == 3
    assert "run 3" in shown


def test_a_shared_recording_is_profiled_from_the_command_line(ctxkit, tmp_path: Path) -> None:
    recording = Path(__file__).parents[3] / "shared" / "data" / "raw" / "codex"
    if not recording.is_dir():
        pytest.skip("the shared data is not here")
    shutil.copytree(recording, tmp_path / "codex")
    code, out, _ = ctxkit("profile", tmp_path / "codex")
    assert code == 0
    assert "unrecorded" in out
