"""`TokenMeter` with a ledger: both are booked to, and a fault of the ledger never reaches the caller."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

import pytest

import ctxkit
from ctxkit.drive import run
from ctxkit.keeping import Ledger
from ctxkit.testing import ScriptedModel, failure, reply
from support.bodies import ANTHROPIC, request_of, rounds, user

SECRET = "the answer to everything"


def ask(ledger: Ledger, model: ScriptedModel) -> ctxkit.ModelResponse:
    stack = ctxkit.Stack(ctxkit.TokenMeter(ledger=ledger))
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, [SECRET]), model="claude-sonnet-5")
    return run(stack.model_flow(request), model)


def test_an_attempt_is_booked_to_its_task_and_to_the_ledger(tmp_path: Path) -> None:
    with Ledger(tmp_path / "costs.db") as ledger:
        with ctxkit.task("fix-bug") as task, ctxkit.task("inner") as inner:
            ask(ledger, ScriptedModel([reply("Done.")]))
            with pytest.raises(ctxkit.ModelCallFailed):
                ask(ledger, ScriptedModel([failure(429)]))
        kept = list(ledger.attempts(task="fix-bug"))
        totals = ledger.report().totals
    assert (kept, len(kept)) == (list(inner.attempts), 2)
    assert [one.id for one in kept] == [one.id for one in inner.attempts]
    assert totals.to_dict() == task.report().totals.to_dict()


def test_what_runs_in_no_task_is_kept_all_the_same() -> None:
    with Ledger() as ledger:
        ask(ledger, ScriptedModel([reply("Done.")]))
        assert [one.task for one in ledger.attempts()] == [ctxkit.current_task().path]


def test_no_text_is_kept(tmp_path: Path, task: ctxkit.Task) -> None:
    path = tmp_path / "costs.db"
    with Ledger(path) as ledger:
        ask(ledger, ScriptedModel([reply(f"It is {SECRET}.", tool_calls=[("find", {"what": SECRET})])]))
    kept = path.read_bytes()
    assert b"find" in kept
    assert SECRET.encode() not in kept


def test_a_ledger_that_others_hold_costs_its_entry_and_not_the_call(
    tmp_path: Path, task: ctxkit.Task, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "costs.db"
    with Ledger(path, timeout_seconds=0.01) as ledger:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with caplog.at_level(logging.WARNING, "ctxkit"):
            assert ask(ledger, ScriptedModel([reply("Done.")])).text == "Done."
        holder.close()
        assert task.faults == {"the ledger: OperationalError": 1}
        assert "the attempt stands in its task alone" in caplog.text
        assert (len(task.attempts), list(ledger.attempts())) == (1, [])
        ask(ledger, ScriptedModel([reply("Done.")]))
        assert (len(task.attempts), len(list(ledger.attempts()))) == (2, 1)


def test_a_call_that_failed_fails_as_it_did_also_where_the_ledger_does(
    tmp_path: Path, task: ctxkit.Task
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    ledger = Ledger(folder / "costs.db")
    ledger.close()
    (folder / "costs.db").unlink()
    folder.rmdir()
    stack = ctxkit.Stack(ctxkit.TokenMeter(ledger=ledger))
    with pytest.raises(ctxkit.ModelCallFailed):
        run(stack.model_flow(request_of(ANTHROPIC, [user("hi")])), ScriptedModel([failure(400)]))
    assert task.faults == {"the ledger: ConfigError": 1}
    assert len(task.attempts) == 1
