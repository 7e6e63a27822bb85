"""The command line as a user meets it: arguments in; an exit code, standard output and errors out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from ctxkit.cli import main


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def ctxkit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process."""

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["ctxkit", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Outcome(ended.value.code or 0, *capsys.readouterr())

    return run
