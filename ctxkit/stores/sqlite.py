"""Values kept in an SQLite file that many threads and processes share.

No connection goes through a fork, as SQLite demands: before one, stores let go of their files.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakSet

from ctxkit.errors import ConfigError
from ctxkit.flow import Flow, perform
from ctxkit.stores.base import LEASE_SECONDS, check_positive, poll

# "ctxs", where SQLite keeps what a file is for.
APPLICATION_ID = 0x63747873

_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS kept (
    key TEXT PRIMARY KEY,
    value BLOB NOT NULL,
    size INTEGER NOT NULL,
    until REAL NOT NULL,
    used INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS kept_by_use ON kept (used, size);
CREATE INDEX IF NOT EXISTS kept_by_time ON kept (until);
CREATE TABLE IF NOT EXISTS leads (
    key TEXT PRIMARY KEY,
    token TEXT NOT NULL,
    until REAL NOT NULL
) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
COMMIT;
"""
_TOUCH = (
    "UPDATE kept SET used = (SELECT max(used) + 1 FROM kept) "
    "WHERE key = ? AND until > ? AND used < (SELECT max(used) FROM kept)"
)
_PUT = (
    "INSERT OR REPLACE INTO kept (key, value, size, until, used) "
    "VALUES (?, ?, ?, ?, (SELECT coalesce(max(used), 0) + 1 FROM kept))"
)
_MAKE_ROOM = (
    "DELETE FROM kept WHERE key IN (SELECT key FROM "
    "(SELECT key, sum(size) OVER (ORDER BY used DESC, key) AS total FROM kept) WHERE total > ?)"
)
_LEAD = (
    "INSERT INTO leads (key, token, until) VALUES (?1, ?2, ?3) ON CONFLICT (key) "
    "DO UPDATE SET token = ?2, until = ?3 WHERE until <= ?4"
)
_KEYS = (
    "SELECT key FROM kept WHERE substr(key, 1, length(?1)) = ?1 "
    "UNION SELECT key FROM leads WHERE substr(key, 1, length(?1)) = ?1"
)


class SqliteStore:
    """Keeps bytes in an SQLite file, the least recently used dropped first.

    Threads and processes of one machine may share the file. What was put is there after the process is
    killed. Where a flow is awaited, the file is read and written in a thread.

    Args:
        path: The file, made where it is missing, in a folder that exists.
        max_bytes: How much is kept, keys included; the file is somewhat larger.
        lease_seconds: After how long a leader that has not landed is taken for lost.
        timeout_seconds: How long to wait while other processes write.
        clock: Gives the time in seconds, the same one in every process.

    Raises:
        ConfigError: A limit is not above zero, or the file can't be opened as a store.
    """

    keeps_objects = False

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int = 256 * 1024 * 1024,
        lease_seconds: float = LEASE_SECONDS,
        timeout_seconds: float = 5.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        check_positive(max_bytes, "max_bytes")
        check_positive(lease_seconds, "lease_seconds")
        self.path = Path(path).absolute()
        self._max_bytes = max_bytes
        self._lease_seconds = lease_seconds
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        with self._connected():
            _STORES.add(self)

    def get(self, key: str) -> Flow[Any]:
        """The value kept under a key; `None` where there is none, or its time is over."""

        def read() -> bytes | None:
            now = self._clock()
            with self._connected() as connection:
                connection.execute(_TOUCH, (key, now))
                query = "SELECT value FROM kept WHERE key = ? AND until > ?"
                row = connection.execute(query, (key, now)).fetchone()
            return None if row is None else row[0]

        return perform(read)

    def put(self, key: str, value: Any, *, ttl_seconds: float | None = None, token: str = "") -> Flow[bool]:
        """Keep a value where it fits and its token, if it has one, leads; whether it is kept."""

        def write() -> bool:
            now, size = self._clock(), len(key) + len(value)
            until = float("inf") if ttl_seconds is None else now + ttl_seconds
            with self._writing() as connection:
                leads = "SELECT 1 FROM leads WHERE key = ? AND token = ?"
                if token and connection.execute(leads, (key, token)).fetchone() is None:
                    return False
                connection.execute("DELETE FROM kept WHERE key = ? OR until <= ?", (key, now))
                if size > self._max_bytes:
                    return False
                connection.execute(_PUT, (key, value, size, until))
                ((total,),) = connection.execute("SELECT sum(size) FROM kept")
                if total > self._max_bytes:
                    connection.execute(_MAKE_ROOM, (self._max_bytes,))
            return True

        return perform(write)

    def delete(self, key: str) -> Flow[None]:
        """Forget a key: what is kept, and who leads it."""

        def forget() -> None:
            with self._writing() as connection:
                connection.execute("DELETE FROM kept WHERE key = ?", (key,))
                connection.execute("DELETE FROM leads WHERE key = ?", (key,))

        return perform(forget)

    def keys(self, prefix: str) -> Flow[list[str]]:
        """The keys with this beginning that have a value or a leader."""

        def read() -> list[str]:
            with self._connected() as connection:
                return [key for (key,) in connection.execute(_KEYS, (prefix,))]

        return perform(read)

    def lead(self, key: str, token: str) -> Flow[bool]:
        """Whether the caller leads the key now; `False` where another one does."""

        def write() -> bool:
            now = self._clock()
            with self._connected() as connection:
                changed = connection.execute(_LEAD, (key, token, now + self._lease_seconds, now))
                return changed.rowcount == 1

        return perform(write)

    def wait(self, key: str) -> Flow[None]:
        """Wait until nobody leads the key, or its leader is lost."""
        return poll(lambda: perform(lambda: self._is_led(key)))

    def land(self, key: str, token: str) -> Flow[None]:
        """End the lead of this token; that of any other stays."""

        def write() -> None:
            with self._connected() as connection:
                connection.execute("DELETE FROM leads WHERE key = ? AND token = ?", (key, token))

        return perform(write)

    def close(self) -> None:
        """Let go of the file; a store that is used again opens it again."""
        with self._lock:
            self._let_go()

    def _is_led(self, key: str) -> bool:
        with self._connected() as connection:
            query = "SELECT 1 FROM leads WHERE key = ? AND until > ?"
            return connection.execute(query, (key, self._clock())).fetchone() is not None

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one thread at a time; each statement is committed by itself."""
        with self._lock:
            if self._connection is None:
                self._connection = _open(self.path, self._timeout_seconds)
            yield self._connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """The connection, in a transaction that no other writer comes between."""
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                yield connection

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _before_fork(self) -> None:
        self._lock.acquire()
        self._let_go()

    def _after_fork(self) -> None:
        self._lock.release()


def _open(path: Path, timeout_seconds: float) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(
            path, timeout=timeout_seconds, isolation_level=None, check_same_thread=False
        )
        try:
            _prepare(connection)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise ConfigError(f"{path}: can't be opened as a store: {error}", option="path") from None
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    """Make a store of an empty file; one that is something else is left as it is."""
    ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_master")
    ((application,),) = connection.execute("PRAGMA application_id")
    if application != APPLICATION_ID and (tables or application):
        raise sqlite3.DatabaseError("the file holds something else")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    if application != APPLICATION_ID:
        connection.executescript(_SCHEMA)


_STORES: WeakSet[SqliteStore] = WeakSet()
_forking: list[SqliteStore] = []
_fork_lock = Lock()


def _before_fork() -> None:
    _fork_lock.acquire()
    _forking.extend(_STORES)
    for store in _forking:
        store._before_fork()


def _after_fork() -> None:
    for store in _forking:
        store._after_fork()
    _forking.clear()
    _fork_lock.release()


if sys.platform != "win32":  # pragma: no branch - there are no forks on Windows
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
