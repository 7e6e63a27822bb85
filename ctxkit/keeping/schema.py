"""The tables of a ledger file, version by version, and how a file comes to the newest one.

A file says in its header that it is a ledger, and of which version. Nothing is written to a file that is
something else, or newer than what is known here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress

from ctxkit.errors import ConfigError

# "ctxk", where SQLite keeps what a file is for.
APPLICATION_ID = 0x6374786B

# What makes each version out of the one before it. Once released, a step is never changed: add another one.
STEPS: tuple[Sequence[str], ...] = (
    (
        """
        CREATE TABLE attempts (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            started REAL NOT NULL,
            seconds REAL NOT NULL,
            task TEXT NOT NULL,
            turn INTEGER,
            purpose TEXT NOT NULL,
            model TEXT,
            provider TEXT,
            wire TEXT NOT NULL,
            outcome TEXT NOT NULL,
            status INTEGER,
            error TEXT,
            retry INTEGER NOT NULL,
            cut_tokens INTEGER NOT NULL,
            miss_reason TEXT,
            usage TEXT,
            charge TEXT,
            shares TEXT NOT NULL,
            tool_calls TEXT NOT NULL,
            sent TEXT,
            answered TEXT NOT NULL
        )
        """,
    ),
)


def prepare(connection: sqlite3.Connection, *, name: str, steps: Sequence[Sequence[str]] = STEPS) -> None:
    """Make a ledger of an empty file, and bring an older ledger to the newest version.

    Args:
        connection: To the file, in autocommit mode.
        name: What errors call the file.
        steps: What makes each version out of the one before it.

    Raises:
        ConfigError: The file is no ledger, or of a newer version; it is left as it is.
        sqlite3.Error: It is no SQLite file, or can't be read or written.
    """
    with connection:
        # In one transaction, as another process may be making the ledger.
        connection.execute("BEGIN")
        version = _version(connection, name, len(steps))
    if version < len(steps):
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            # Asked again, as another process may have been quicker.
            for step in steps[_version(connection, name, len(steps)) :]:
                for statement in step:
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {len(steps)}")
    # Where another process makes this change, SQLite may refuse to wait: the change holds for all of them.
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")


def _version(connection: sqlite3.Connection, name: str, newest: int) -> int:
    """The version of a ledger; 0 for an empty file."""
    made_for, version, tables = (
        connection.execute(query).fetchone()[0]
        for query in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
    )
    if made_for != APPLICATION_ID and (made_for, version, tables) != (0, 0, 0):
        raise ConfigError(f"{name}: is an SQLite file, but no ledger: name another file", option="path")
    if version > newest:
        raise ConfigError(
            f"{name}: is a ledger of version {version}, and this ctxkit knows those up to {newest}: "
            f"update ctxkit, or name another file",
            option="path",
        )
    return int(version)
