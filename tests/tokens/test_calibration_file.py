"""What was learned is kept in a file of numbers that processes share without losing or breaking anything."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.messages import Histories, ModelRequest
from ctxkit.tokens.calibration import Calibration
from ctxkit.tokens.calibration_file import FILE_VERSION, CalibrationFile, keep_calibration
from ctxkit.usage import Usage
from ctxkit.wire import wire_named

DAY = date(2026, 11, 30)


def calibration_of() -> Calibration:
    return Calibration(today=lambda: DAY)


def request_of(text: str, *, model: str = "gpt-5", histories: Histories | None = None) -> ModelRequest:
    body = {"model": model, "messages": [{"role": "user", "content": text}]}
    return ModelRequest(wire_named("openai_chat"), body, histories=histories or Histories())


def teach(calibration: Calibration, times: int, *, model: str = "gpt-5", beyond: int = 3) -> None:
    for number in range(times):
        request = request_of(f"question {number}", model=model)
        calibration.observe(request, Usage(calibration_of().count(request).total + beyond, 1))


def observations(path: Path) -> dict[str, int]:
    """How many observations a file has of each model."""
    models = json.loads(path.read_bytes())["models"]
    return {model["model"]: model["observations"] for model in models if not model["model"].endswith("*")}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "calibration.json"


def test_what_was_learned_is_there_in_the_next_process(path: Path) -> None:
    first, second = calibration_of(), calibration_of()
    kept = keep_calibration(path, calibration=first)
    teach(first, 12)
    kept.close()
    keep_calibration(path, calibration=second).close()
    assert second.show() == first.show()
    assert second.count(request_of("new")) == first.count(request_of("new"))


def test_what_was_learned_before_the_file_was_named_is_kept_too(path: Path) -> None:
    calibration = calibration_of()
    teach(calibration, 4)
    keep_calibration(path, calibration=calibration).close()
    assert observations(path) == {"gpt-5": 4}


def test_a_file_is_written_now_and_then_and_not_at_every_answer(path: Path) -> None:
    calibration = calibration_of()
    kept = keep_calibration(path, calibration=calibration)
    teach(calibration, 49)
    assert not path.exists()
    teach(calibration, 1)
    assert observations(path) == {"gpt-5": 50}
    kept.close()


def test_a_file_is_written_after_a_while_however_few_the_answers(path: Path) -> None:
    now = [0.0]
    calibration = calibration_of()
    calibration.keeper = CalibrationFile(path, calibration, clock=lambda: now[0])
    teach(calibration, 1)
    assert not path.exists()
    now[0] = 31.0
    teach(calibration, 1, model="gpt-4o")
    assert observations(path) == {"gpt-5": 1, "gpt-4o": 1}


def test_a_file_that_holds_nothing_but_an_outlier_can_be_read_again(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    calibration = calibration_of()
    teach(calibration, 1, beyond=90_000)
    keep_calibration(path, calibration=calibration).close()
    assert observations(path) == {"gpt-5": 0}
    with caplog.at_level(logging.WARNING, "ctxkit.tokens"):
        keep_calibration(path, calibration=calibration_of()).close()
    assert not caplog.records


def test_nothing_learned_leaves_the_file_untouched(path: Path) -> None:
    calibration = calibration_of()
    kept = keep_calibration(path, calibration=calibration)
    teach(calibration, 3)
    kept.save()
    written = path.stat().st_mtime_ns
    kept.save()
    kept.close()
    assert path.stat().st_mtime_ns == written


def test_what_two_calibrations_add_adds_up(path: Path) -> None:
    one, other = calibration_of(), calibration_of()
    files = [keep_calibration(path, calibration=calibration) for calibration in (one, other)]
    for round_ in range(3):
        teach(one, 5)
        teach(other, 7)
        files[round_ % 2].save()
    for file in (*files, *files):
        file.save()
    assert observations(path) == {"gpt-5": 36}
    assert one.show() == other.show()
    for file in files:
        file.close()


def test_a_model_that_is_reset_stays_forgotten(path: Path) -> None:
    one, other = calibration_of(), calibration_of()
    files = [keep_calibration(path, calibration=calibration) for calibration in (one, other)]
    teach(one, 5)
    teach(one, 6, model="gpt-4o")
    for file in files:
        file.save()
    one.reset("gpt-5")
    for file in files:
        file.save()
    assert observations(path) == {"gpt-4o": 6}
    assert [row.model for row in other.show()] == ["gpt-4o"]
    teach(other, 2)
    for file in reversed(files):
        file.close()
    assert observations(path) == {"gpt-4o": 6, "gpt-5": 2}


def test_a_calibration_that_moves_to_another_file_is_kept_in_that_one_alone(path: Path) -> None:
    calibration = calibration_of()
    first = keep_calibration(path, calibration=calibration)
    teach(calibration, 2)
    second = keep_calibration(path.with_name("other.json"), calibration=calibration)
    teach(calibration, 3, model="gpt-4o")
    first.save()
    second.close()
    assert observations(path) == {"gpt-5": 2}
    assert observations(second.path) == {"gpt-4o": 3}


@pytest.mark.parametrize(
    ("content", "fix"),
    [
        (b"", "delete it"),
        (b"\xff not json", "delete it"),
        (b"[]", "delete it"),
        (b"{}", "delete it"),
        (b'{"version": 1, "models": [{"model": "gpt-5"}]}', "delete it"),
        (b'{"version": 2, "models": []}', "update ctxkit"),
    ],
)
def test_a_damaged_or_newer_file_is_left_alone_with_a_warning_that_names_the_fix(
    path: Path, content: bytes, fix: str, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    calibration = calibration_of()
    with caplog.at_level(logging.WARNING, "ctxkit.tokens"):
        kept = keep_calibration(path, calibration=calibration)
        teach(calibration, 60)
        kept.close()
    assert path.read_bytes() == content
    (record,) = caplog.records
    assert str(path) in record.getMessage()
    assert fix in record.getMessage()
    assert calibration.count(request_of("new")).source == "calibrated"


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model.update(sums=model["sums"][:-1]),
        lambda model: model.update(sums=[-1e9, *model["sums"][1:]]),
        lambda model: model.update(sums=[None, *model["sums"][1:]]),
        lambda model: model.update(weight=-1),
        lambda model: model.update(squares=float("inf")),
        lambda model: model.update(seen="yesterday"),
        lambda model: model.pop("observations"),
    ],
)
def test_numbers_that_can_not_be_are_damage(
    path: Path, change: Callable[[dict[str, Any]], Any], caplog: pytest.LogCaptureFixture
) -> None:
    calibration = calibration_of()
    kept = keep_calibration(path, calibration=calibration)
    teach(calibration, 3)
    kept.close()
    content = json.loads(path.read_bytes())
    change(content["models"][0])
    damaged = json.dumps(content)
    path.write_text(damaged)
    with caplog.at_level(logging.WARNING, "ctxkit.tokens"):
        keep_calibration(path, calibration=calibration_of()).close()
    assert "damaged" in caplog.text
    assert path.read_text() == damaged


def test_a_folder_that_can_not_be_written_breaks_no_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(b"")
    calibration = calibration_of()
    with caplog.at_level(logging.WARNING, "ctxkit.tokens"):
        kept = keep_calibration(tmp_path / "file" / "calibration.json", calibration=calibration)
        teach(calibration, 120)
        kept.close()
    assert len(caplog.records) == 1
    assert [row.observations for row in calibration.show()] == [120]


def test_a_save_waits_for_nobody_unless_it_is_told_to(path: Path) -> None:
    path.parent.mkdir()
    lock = path.with_name("calibration.json.lock")
    lock.touch()
    calibration = calibration_of()
    file = CalibrationFile(path, calibration)
    teach(calibration, 2)
    started = time.monotonic()
    file.save()
    assert time.monotonic() - started < 1.0
    file.save(wait_seconds=0.05)
    assert not path.exists()
    lock.unlink()
    file.save()
    assert observations(path) == {"gpt-5": 2}
    assert not lock.exists()


def test_the_lock_of_a_dead_process_is_taken_away(path: Path) -> None:
    path.parent.mkdir()
    lock = path.with_name("calibration.json.lock")
    lock.touch()
    long_ago = time.time() - 60
    os.utime(lock, (long_ago, long_ago))
    calibration = calibration_of()
    teach(calibration, 2)
    CalibrationFile(path, calibration).save(wait_seconds=1.0)
    assert observations(path) == {"gpt-5": 2}


SCRIPT = textwrap.dedent("""
    import sys
    from ctxkit.messages import ModelRequest
    from ctxkit.tokens.calibration import CALIBRATION
    from ctxkit.tokens.calibration_file import keep_calibration
    from ctxkit.usage import Usage
    from ctxkit.wire import wire_named

    keep_calibration(sys.argv[1])
    for number in range(120):
        body = {"model": sys.argv[2], "messages": [{"role": "user", "content": f"question {number}"}]}
        CALIBRATION.observe(ModelRequest(wire_named("openai_chat"), body), Usage(12, 1))
""")


def test_processes_at_the_same_time_lose_no_observation(path: Path) -> None:
    models = ("gpt-5", "gpt-5", "gpt-4o")
    running = [subprocess.Popen([sys.executable, "-c", SCRIPT, str(path), model]) for model in models]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    assert observations(path) == {"gpt-5": 240, "gpt-4o": 120}
    assert [file.name for file in path.parent.iterdir()] == [path.name]


FORK = textwrap.dedent("""
    import os
    teach(10)
    child = os.fork()
    teach(5 if child else 7)
    if child:
        os.waitpid(child, 0)
""")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_does_not_add_twice_what_its_parent_learned(path: Path) -> None:
    setup = SCRIPT.replace("for number in range(120):", "def teach(times):\n  for number in range(times):")
    subprocess.run([sys.executable, "-c", setup + FORK, str(path), "gpt-5"], check=True, timeout=60)
    assert observations(path) == {"gpt-5": 22}


TEXTS = st.text(min_size=4, alphabet=st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF))


@given(texts=st.lists(TEXTS, min_size=1, max_size=3), name=TEXTS)
def test_no_text_of_a_body_and_no_name_of_a_fine_tune_is_in_the_file(
    texts: list[str], name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("kept") / "calibration.json"
    calibration = calibration_of()
    for text in texts:
        request = request_of(text, model=f"ft:gpt-4o:{name}::id")
        calibration.observe(request, Usage(calibration.count(request).total + 1, 1))
    keep_calibration(path, calibration=calibration).close()
    written = path.read_text()
    assert not any(text in written for text in (*texts, name))
    for model in json.loads(written)["models"]:
        strings = {key: value for key, value in model.items() if isinstance(value, str)}
        assert strings.keys() == {"wire", "model", "counter", "seen"}
        assert strings["model"] in ("gpt-4o", "gpt-4*")


def test_the_default_file_is_in_the_users_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    kept = keep_calibration(calibration=calibration_of())
    kept.close()
    assert kept.path.name == "calibration.json"
    assert "ctxkit" in kept.path.parts


def test_a_file_says_its_version(path: Path) -> None:
    calibration = calibration_of()
    teach(calibration, 1)
    keep_calibration(path, calibration=calibration).close()
    assert json.loads(path.read_bytes())["version"] == FILE_VERSION
