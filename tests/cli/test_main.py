"""What holds for every command: versions, help, exit codes, and one line for whatever goes wrong."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import ctxkit as package

COMMAND = [sys.executable, "-c", "from ctxkit.cli import main; main()"]
RUN = '{"model": "gpt-4.1", "messages": [{"role": "user", "content": "hi"}]}\n'


def test_the_version_is_the_package_s(ctxkit) -> None:
    assert ctxkit("--version") == (0, f"ctxkit {package.__version__}\n", "")


def test_without_a_command_the_help_is_shown(ctxkit) -> None:
    code, out, err = ctxkit()
    assert code == 2
    assert "profile" in out + err
    assert err.splitlines()[-1] == "ctxkit: name a command"


@pytest.mark.parametrize("command", ["profile"])
def test_the_help_of_every_command_has_an_example(ctxkit, command: str) -> None:
    code, out, _ = ctxkit(command, "--help")
    assert code == 0
    assert f"ctxkit {command}" in out[out.index("Examples:") :]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["bogus"], "No such command 'bogus'."),
        (["profile", "--nope"], "No such option: --nope"),
        (["profile", "--top", "0"], "Invalid value for '--top'"),
        (["profile", "--top"], "Option '--top' requires an argument."),
    ],
)
def test_wrong_use_is_told_on_one_line(ctxkit, arguments: list[str], reason: str) -> None:
    code, out, err = ctxkit(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"ctxkit: {reason}")
    assert err.count("\n") == 1


def test_a_reason_of_several_lines_is_told_on_one(ctxkit) -> None:
    _, _, err = ctxkit("profile", "no\nsuch\nfile")
    assert err == "ctxkit: no such file: no such file or folder, and no match\n"


def test_output_that_its_encoding_lacks_is_replaced(ctxkit, tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "日.jsonl"
    path.write_text("no json")
    stream = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stderr", stream)
    assert ctxkit("profile", path).code == 2
    stream.flush()
    assert b"/?.jsonl:1: not JSON" in stream.buffer.getvalue()


def test_streams_that_have_no_encoding_are_left_alone(monkeypatch, ctxkit) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    assert ctxkit("bogus").code == 2
    assert "bogus" in stream.getvalue()


@pytest.mark.parametrize("options", [["--json"], []])
def test_a_reader_that_hangs_up_is_no_error(tmp_path: Path, options: list[str]) -> None:
    path = tmp_path / "run.json"
    path.write_text(RUN)
    reader, writer = os.pipe()
    os.close(reader)
    with subprocess.Popen(
        [*COMMAND, "profile", path, *options], stdout=writer, stderr=subprocess.PIPE
    ) as process:
        os.close(writer)
        assert process.communicate()[1] == b""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a named pipe holds the command at a known place")
def test_an_interrupt_ends_it_quietly_with_130(tmp_path: Path) -> None:
    path = tmp_path / "endless.jsonl"
    os.mkfifo(path)
    command = [*COMMAND, "profile", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        with path.open("wb"):
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
        assert (process.returncode, out, err) == (130, b"", b"")


def test_importing_ctxkit_loads_nothing_of_the_command_line() -> None:
    heavy = "'rich', 'typer', 'ctxkit.cli', 'ctxkit.profile', 'genai_prices'"
    code = f"import sys, ctxkit; print([name for name in ({heavy}) if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
