"""The ledger: what is booked is kept, as it was, and nothing that is no ledger is touched."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given

from ctxkit.errors import ConfigError
from ctxkit.keeping import Ledger
from ctxkit.keeping.ledger import PAGE_ROWS
from ctxkit.keeping.schema import STEPS, prepare
from ctxkit.ledger import Attempt, Change, Placed, Sent
from ctxkit.money import Share
from ctxkit.usage import Charge, Media, Usage
from support.kept import ATTEMPTS, attempt

# What version 1 of the schema keeps.
KEPT_FIELDS = {
    Attempt: "task purpose model wire outcome status error usage charge shares tool_calls retry cut_tokens "
    "started seconds id turn provider sent answered miss_reason",
    Usage: "input_tokens output_tokens cache_read_tokens cache_write_tokens cache_write_1h_tokens "
    "cache_write_12h_tokens reasoning_tokens web_search_requests image_tool_tokens media service_tier native",
    Media: "kind input_tokens cache_read_tokens output_tokens",
    Charge: "uncached_usd cache_read_usd cache_write_usd output_usd other_usd",
    Share: "kind tool input_tokens output_tokens cost_usd carried",
    Sent: "after kept kept_tokens added tokens carried_tokens change",
    Placed: "kind tool call_id digest tokens",
    Change: "block by middleware where reason",
}


@pytest.fixture(params=["in memory", "in a file"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "costs.db" if request.param == "in a file" else None) as opened:
        yield opened


@given(ATTEMPTS)
@example(attempt(task="caf\udce9", tool="caf\udce9"))
@example(attempt(usage=Usage(2**70, 0), sent=Sent(None, 0, 0, (), 0)))
def test_any_attempt_comes_back_as_it_was_but_for_the_native_usage(one: Attempt) -> None:
    with Ledger() as ledger:
        ledger.book(one)
        (kept,) = ledger.attempts()
    assert (kept, kept.id, repr(kept.charge)) == (one, one.id, repr(one.charge))
    assert kept.usage is None or not kept.usage.native


def test_a_new_field_of_what_is_kept_needs_a_new_version_of_the_schema() -> None:
    """An older ctxkit would fail on it, unless the file says that it is newer."""
    assert len(STEPS) == 1
    assert {kind: " ".join(field.name for field in fields(kind)) for kind in KEPT_FIELDS} == KEPT_FIELDS


def test_the_same_attempt_is_kept_once(ledger: Ledger) -> None:
    one = attempt()
    ledger.book(one)
    ledger.book(replace(one, cut_tokens=7))
    assert list(ledger.attempts()) == [one]


def test_attempts_come_in_the_order_of_booking_however_many(ledger: Ledger) -> None:
    booked = [attempt(cut_tokens=number) for number in range(PAGE_ROWS + 1)]
    for one in booked:
        ledger.book(one)
    assert list(ledger.attempts()) == booked


def test_what_is_booked_while_attempts_are_read_is_not_among_them(ledger: Ledger) -> None:
    ledger.book(attempt())
    for one in ledger.attempts():
        ledger.book(replace(one, id="later"))
    assert len(list(ledger.attempts())) == 2


@pytest.mark.parametrize(
    ("task", "found"),
    [
        (None, ["fix", "fix / inner", "fix-bug", "caf\udce9", "caf\udce9 / x"]),
        ("fix", ["fix", "fix / inner"]),
        ("fix / inner", ["fix / inner"]),
        ("caf\udce9", ["caf\udce9", "caf\udce9 / x"]),
        ("inner", []),
        ("", []),
    ],
)
def test_a_task_is_found_with_the_tasks_nested_in_it(
    ledger: Ledger, task: str | None, found: list[str]
) -> None:
    for path in ("fix", "fix / inner", "fix-bug", "caf\udce9", "caf\udce9 / x"):
        ledger.book(attempt(task=path))
    assert [one.task for one in ledger.attempts(task=task)] == found


def test_what_started_before_is_left_out(ledger: Ledger) -> None:
    for started in (0.0, 99.0, 100.0, 101.0):
        ledger.book(attempt(started=started))
    since = datetime.fromtimestamp(100, UTC)
    assert [one.started for one in ledger.attempts(since=since)] == [100, 101]
    assert ledger.report(since=since).totals.requests == 2
    local = since.astimezone().replace(tzinfo=None)
    assert len(list(ledger.attempts(since=local))) == 2


def test_a_ledger_in_a_file_is_there_in_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Ledger("costs.db") as ledger:
        ledger.book(attempt("0.25"))
    with Ledger("costs.db") as ledger:
        ledger.book(attempt("0.5"))
        assert str(ledger.report().totals.cost_usd) == "0.75"
    assert [path.name for path in tmp_path.iterdir()] == ["costs.db"]


def test_a_file_that_is_used_after_closing_is_opened_again_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("costs.db")
    ledger.close()
    ledger.close()
    monkeypatch.chdir("/")
    with ledger:
        ledger.book(attempt())
        assert len(list(ledger.attempts())) == 1


def test_an_older_ledger_is_upgraded_in_place(tmp_path: Path) -> None:
    path = tmp_path / "costs.db"
    with Ledger(path) as ledger:
        ledger.book(attempt())
    newer = (*STEPS, ("ALTER TABLE attempts ADD COLUMN note TEXT", "UPDATE attempts SET note = 'old'"))
    connection = sqlite3.connect(path, isolation_level=None)
    prepare(connection, name="costs.db", steps=newer)
    prepare(connection, name="costs.db", steps=newer)
    assert connection.execute("SELECT task, note FROM attempts").fetchall() == [("fix-bug", "old")]
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    connection.close()


def test_an_upgrade_that_fails_leaves_the_ledger_at_its_version(tmp_path: Path) -> None:
    path = tmp_path / "costs.db"
    Ledger(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError):
        prepare(connection, name="costs.db", steps=(*STEPS, ("DROP TABLE attempts", "no SQL")))
    connection.close()
    with Ledger(path) as ledger:
        ledger.book(attempt())


def test_a_newer_ledger_is_refused_with_versions_and_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "costs.db"
    Ledger(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(
        ConfigError, match=r"version 99, and this ctxkit knows those up to 1: update ctxkit"
    ) as e:
        Ledger(path)
    assert (e.value.option, str(path) in str(e.value)) == ("path", True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_database_of_something_else_is_refused_and_left_untouched(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "browser.db"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute("CREATE TABLE attempts (id TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ConfigError, match=r"browser\.db: is an SQLite file, but no ledger"):
        Ledger(path)
    assert path.read_bytes() == before
    assert [left.name for left in tmp_path.iterdir()] == ["browser.db"]


def test_a_file_that_is_no_database_is_refused_and_left_untouched(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database, and longer than the header of one would be, or so I hope" * 10)
    before = path.read_bytes()
    with pytest.raises(ConfigError, match=r"notes\.txt: can't be opened as a ledger: file is not a database"):
        Ledger(path)
    assert path.read_bytes() == before


def test_a_folder_that_is_not_there_is_told_by_the_constructor(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unable to open database file"):
        Ledger(tmp_path / "nowhere" / "costs.db")


def test_writers_do_not_wait_for_readers(tmp_path: Path) -> None:
    path = tmp_path / "costs.db"
    with Ledger(path, timeout_seconds=0.01) as ledger:
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM attempts").fetchall()
        ledger.book(attempt())
        assert len(list(ledger.attempts())) == 1
        reader.close()
