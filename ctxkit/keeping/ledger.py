"""The ledger: attempts kept in memory, or in an SQLite file that many threads and processes share.

No connection goes through a fork, as SQLite demands: before one, ledgers let go of their files.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakSet

from ctxkit.errors import ConfigError
from ctxkit.keeping.grouped import By, GroupedReport, grouped
from ctxkit.keeping.rows import COLUMNS, Stored, attempt_of, row_of
from ctxkit.keeping.schema import prepare
from ctxkit.ledger import Attempt

PAGE_ROWS = 500
BETWEEN_TASKS = " / "
_NAMES = ", ".join(COLUMNS)
_BOOK = (
    f"INSERT INTO attempts ({_NAMES}) VALUES ({', '.join('?' * len(COLUMNS))}) ON CONFLICT (id) DO NOTHING"
)
_LAST = "SELECT max(number) FROM attempts"
# As bytes, since a task may have a name that is no text for SQLite.
_PAGE = (
    f"SELECT number, {_NAMES} FROM attempts WHERE number > ?1 AND number <= ?2 AND started >= ?3 "
    f"AND substr(CAST(task || '{BETWEEN_TASKS}' AS BLOB), 1, length(?4)) = ?4 "
    f"ORDER BY number LIMIT {PAGE_ROWS}"
)


class Ledger:
    """Keeps attempts: in memory, or in a file for as long as the user wants.

    Each attempt is committed by itself, so that a process that is killed loses the one under way at most.
    Threads and processes may share a file. It holds names, numbers and digests: no text of a prompt or an
    answer, no header and no key.

    ```python
    with Ledger("costs.db") as ledger:
        client = ctxkit.wrap(anthropic.Anthropic(), TokenMeter(ledger=ledger))
        ...
        print(ledger.report(by="day"))
    ```

    Args:
        path: The file, made where it is missing, in a folder that exists; `None` keeps attempts in memory.
        timeout_seconds: How long to wait while other processes write.

    Raises:
        ConfigError: The file is no ledger, of a newer version, or can't be opened. It is left as it is.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, timeout_seconds: float = 5.0) -> None:
        self.path = None if path is None else Path(path).absolute()
        self._timeout_seconds = timeout_seconds
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        with self._connected():
            _LEDGERS.add(self)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def book(self, attempt: Attempt) -> None:
        """Keep an attempt; one whose id is known is kept once.

        Raises:
            ConfigError: The file can't be opened again.
            sqlite3.Error: It can't be written, or others wrote to it for longer than the timeout.
        """
        row = row_of(attempt)
        with self._connected() as connection:
            connection.execute(_BOOK, row)

    def attempts(self, *, since: datetime | None = None, task: str | None = None) -> Iterator[Attempt]:
        """The attempts that were kept when the iteration began, in the order in which they were booked.

        Args:
            since: Leave out what started before; a time without a zone is local.
            task: The path of a task: leave out what belongs neither to it nor to a task nested in it.

        Raises:
            ConfigError: The file can't be opened again.
            sqlite3.Error: It can't be read.
        """
        started = float("-inf") if since is None else since.timestamp()
        path = b"" if task is None else f"{task}{BETWEEN_TASKS}".encode(errors="surrogatepass")
        ((last,),) = self._rows(_LAST)
        number = 0
        while page := self._rows(_PAGE, number, last or 0, started, path):
            for _, *row in page:
                yield attempt_of(row)
            number = page[-1][0]

    def report(
        self,
        *,
        since: datetime | None = None,
        task: str | None = None,
        by: By = "task",
        keep_attempts: bool = False,
    ) -> GroupedReport:
        """What was used and what it cost: a row for each task, tool, model or day.

        Args:
            since: Leave out what started before; a time without a zone is local.
            task: The path of a task: leave out what belongs neither to it nor to a task nested in it.
            by: What gets a row. Days are local ones, the latest first; others come dearest first.
            keep_attempts: Whether each row holds its attempts; one of a tool never does.

        Raises:
            ConfigError: `by` is none of these, or the file can't be opened again.
            sqlite3.Error: It can't be read.
        """
        return grouped(self.attempts(since=since, task=task), by=by, keep_attempts=keep_attempts)

    def close(self) -> None:
        """Let go of the file, or forget what is in memory; a ledger that is used again opens again."""
        with self._lock:
            self._let_go()

    def _rows(self, query: str, *parameters: Stored) -> list[tuple[Any, ...]]:
        with self._connected() as connection:
            return connection.execute(query, parameters).fetchall()

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one thread at a time."""
        with self._lock:
            if self._connection is None:
                self._connection = _open(self.path, self._timeout_seconds)
            yield self._connection

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _before_fork(self) -> None:
        self._lock.acquire()
        # What is in memory has no file that two processes could quarrel over.
        if self.path is not None:
            self._let_go()

    def _after_fork(self) -> None:
        self._lock.release()


def _open(path: Path | None, timeout_seconds: float) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(
            ":memory:" if path is None else path,
            timeout=timeout_seconds,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            prepare(connection, name=str(path))
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise ConfigError(f"{path}: can't be opened as a ledger: {error}", option="path") from None
    return connection


_LEDGERS: WeakSet[Ledger] = WeakSet()
_forking: list[Ledger] = []
_fork_lock = Lock()


def _before_fork() -> None:
    _fork_lock.acquire()
    _forking.extend(_LEDGERS)
    for ledger in _forking:
        ledger._before_fork()


def _after_fork() -> None:
    for ledger in _forking:
        ledger._after_fork()
    _forking.clear()
    _fork_lock.release()


if sys.platform != "win32":  # pragma: no branch - there are no forks on Windows
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
