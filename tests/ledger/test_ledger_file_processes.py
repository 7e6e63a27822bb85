"""A ledger file that threads and processes share: what was booked is there once, also after a kill."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from ctxkit.keeping import Ledger
from support.kept import attempt

PROCESSES = 50
ATTEMPTS = 20
# Books attempts until it has done its number, or is killed, and tells each when it is booked.
WRITER = """
import sys
from decimal import Decimal
from itertools import count, islice
from ctxkit.keeping import Ledger
from ctxkit.ledger import Attempt
from ctxkit.usage import Charge, Usage
path, name, number = sys.argv[1:]
sys.stdin.readline()
with Ledger(path) as ledger:
    for place in islice(count(), int(number) or None):
        attempt = Attempt(
            name, "main", "m", "openai_chat", "billed", id=f"{name}-{place}",
            usage=Usage(10, 1), charge=Charge(output_usd=Decimal("0.1")),
        )
        ledger.book(attempt)
        print(attempt.id, flush=True)
"""


def writer(path: Path, name: str, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(number)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_fifty_processes_one_of_them_killed_keep_every_finished_attempt_once(tmp_path: Path) -> None:
    path = tmp_path / "costs.db"
    victim = writer(path, "victim", 0)
    writers = [victim, *(writer(path, f"writer-{number}", ATTEMPTS) for number in range(PROCESSES - 1))]
    for process in writers:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert victim.stdout is not None
    told = [victim.stdout.readline().strip() for _ in range(ATTEMPTS)]
    victim.kill()
    for process in writers:
        with process:
            assert process.stdout is not None
            told += process.stdout.read().split()
    assert [process.returncode for process in writers] == [-9, *[0] * (PROCESSES - 1)]
    with Ledger(path) as ledger:
        kept = Counter(one.id for one in ledger.attempts())
        report = ledger.report()
    assert set(kept.values()) == {1}
    assert kept.keys() >= set(told)
    assert len(kept.keys() - set(told)) <= 1
    assert len(report.tasks) == PROCESSES
    assert report.totals.cost_usd == Decimal("0.1") * len(kept)


def test_many_threads_may_share_a_ledger(tmp_path: Path) -> None:
    with Ledger(tmp_path / "costs.db") as ledger:
        threads = [
            threading.Thread(target=lambda: [ledger.book(attempt()) for _ in range(50)]) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ledger.report().totals.requests == 400


def test_two_ledgers_of_one_process_may_share_a_file(tmp_path: Path) -> None:
    with Ledger(tmp_path / "costs.db") as one, Ledger(tmp_path / "costs.db") as other:
        one.book(attempt())
        other.book(attempt())
        assert len(list(one.attempts())) == len(list(other.attempts())) == 2


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Ledger]:
    """A ledger that another thread books to all the time."""
    stop = threading.Event()
    with Ledger(tmp_path / "costs.db") as ledger:

        def book() -> None:
            while not stop.is_set():
                ledger.book(attempt(task="thread"))

        thread = threading.Thread(target=book)
        thread.start()
        yield ledger
        stop.set()
        thread.join()


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
forks_with_threads = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


def in_a_fork(ledger: Ledger) -> int:
    """Book an attempt in a child of this process; its exit code."""
    child = os.fork()
    if child == 0:  # pragma: no cover - runs in the child
        try:
            ledger.book(attempt(task="child"))
            os._exit(len([one for one in ledger.attempts(task="child") if one.task != "child"]))
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@needs_fork
@forks_with_threads
def test_a_fork_books_by_a_connection_of_its_own_while_its_parent_goes_on(busy: Ledger) -> None:
    assert [in_a_fork(busy) for _ in range(5)] == [0] * 5
    busy.book(attempt(task="parent"))
    assert len(list(busy.attempts(task="child"))) == 5
    assert len(list(busy.attempts(task="parent"))) == 1


@needs_fork
@forks_with_threads
def test_a_fork_has_a_copy_of_a_ledger_in_memory() -> None:
    with Ledger() as ledger:
        ledger.book(attempt())
        assert in_a_fork(ledger) == 0
        assert [one.task for one in ledger.attempts()] == ["fix-bug"]


@needs_fork
@forks_with_threads
def test_processes_that_make_a_ledger_at_the_same_moment_all_get_it(tmp_path: Path) -> None:
    codes = []
    for round in range(15):
        path, start = tmp_path / f"{round}.db", time.monotonic() + 0.02
        children = [opened_at(start, path) for _ in range(12)]
        codes += [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert set(codes) == {0}


def opened_at(moment: float, path: Path) -> int:
    """Open a ledger in a child of this process, at a moment; the child's id."""
    child = os.fork()
    if child == 0:  # pragma: no cover - runs in the child
        try:
            while time.monotonic() < moment:
                pass
            Ledger(path).close()
            os._exit(0)
        finally:
            os._exit(1)
    return child
