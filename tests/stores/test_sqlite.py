"""`SqliteStore`: bounded, shared by processes, and there after a kill."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path

import pytest

from ctxkit.errors import ConfigError
from ctxkit.stores import SqliteStore
from support.stores import Asked


def kept(store: Asked, *keys: str) -> list[str]:
    """Which of the keys have a value."""
    return [key for key in keys if store.get(key) is not None]


def opened(path: Path, **options: int) -> Asked:
    return Asked(SqliteStore(path, **options), None)


def test_the_least_recently_used_values_make_room(tmp_path: Path) -> None:
    store = opened(tmp_path / "store.db", max_bytes=30)
    for key in "abc":
        store.put(key, bytes(9))
    store.get("a")
    store.put("d", bytes(19))
    assert kept(store, "a", "b", "c", "d") == ["a", "d"]
    store.close()


def test_a_value_too_large_for_the_store_is_not_kept_and_neither_is_what_it_replaces(tmp_path: Path) -> None:
    store = opened(tmp_path / "store.db", max_bytes=20)
    store.put("a", b"old")
    store.put("b", b"stays")
    assert not store.put("a", bytes(20))
    assert kept(store, "a", "b") == ["b"]
    store.close()


def test_a_closed_store_opens_again_and_has_what_it_had(tmp_path: Path) -> None:
    store = opened(tmp_path / "store.db")
    store.put("key", b"value")
    store.close()
    store.close()
    assert store.get("key") == b"value"
    store.close()


def test_what_was_put_is_there_after_the_process_is_killed(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "from ctxkit.stores import SqliteStore\n"
        "store = SqliteStore(sys.argv[1])\n"
        "for number in range(50):\n"
        "    next(store.put(f'key {number}', b'value')).blocking()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path / "store.db")], timeout=60)
    assert ended.returncode == -signal.SIGKILL
    store = opened(tmp_path / "store.db")
    assert len(store.keys("key ")) == 50
    store.close()


def put_some(path: Path, first: int) -> None:
    store = opened(path)
    for number in range(first, first + 25):
        store.put(f"key {number}", b"value")
    store.close()


def test_processes_that_open_one_new_file_at_once_lose_nothing(tmp_path: Path) -> None:
    context = get_context("spawn")
    writers = [context.Process(target=put_some, args=(tmp_path / "store.db", 25 * one)) for one in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0] * 4
    store = opened(tmp_path / "store.db")
    assert len(store.keys("key ")) == 100
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks on this system")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_opens_the_file_anew(tmp_path: Path) -> None:
    store = opened(tmp_path / "store.db")
    store.put("parent", b"value")
    child = os.fork()
    if child == 0:  # pragma: no cover - runs in the other process
        store.put("child", b"value")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert kept(store, "parent", "child") == ["parent", "child"]
    store.close()


@pytest.mark.parametrize("content", ["text", "table"])
def test_a_file_that_is_something_else_is_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.db"
    if content == "text":
        path.write_text("no database " * 100)
    else:
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE other (x)")
        connection.close()
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="can't be opened as a store") as raised:
        SqliteStore(path)
    assert raised.value.option == "path"
    assert path.read_bytes() == before


def test_a_file_in_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be opened as a store"):
        SqliteStore(tmp_path / "missing" / "store.db")
