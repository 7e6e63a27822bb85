"""Tasks: named stretches of work that attempts are booked to.

The running task is a context variable, so threads and asyncio tasks keep apart and nested tasks nest. A
thread that should book to its parent's task runs in a copy of the context, as `asyncio.to_thread` and
`functions.run_tools` do.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from ctxkit.ledger import Attempt, Decision, EditDecision, Reuse, Totals
from ctxkit.reports import Report, TaskRow

S = TypeVar("S")
KEPT_ATTEMPTS = 10_000
_log = logging.getLogger("ctxkit")


class Task:
    """A named stretch of work and what was booked to it. Made by `task`.

    Attributes:
        name: What the user calls it.
        parent: The task it was started in; `None` for one at the top.
        totals: The sums of its own attempts, without those of nested tasks.
        attempts: Its own last attempts, oldest first, at most 10,000.
        children: The tasks that were started in it.
        faults: How often a middleware failed in it, by middleware and exception.
        reused: What was saved by giving earlier results again, by tool.
    """

    def __init__(self, name: str, parent: Task | None = None) -> None:
        self.name = name
        self.parent = parent
        self.totals = Totals()
        self.attempts: deque[Attempt] = deque(maxlen=KEPT_ATTEMPTS)
        self.children: list[Task] = []
        self._decisions: dict[Decision, None] = {}
        self._weighed: dict[EditDecision, None] = {}
        self.faults: Counter[str] = Counter()
        self.reused: dict[str, Reuse] = {}
        self._memory: dict[Hashable, object] = {}
        self._lock = threading.Lock()

    @property
    def path(self) -> str:
        """Its name behind the names of the tasks it is nested in."""
        return self.name if self.parent is None else f"{self.parent.path} / {self.name}"

    def book(self, attempt: Attempt) -> None:
        """Add an attempt."""
        with self._lock:
            self.attempts.append(attempt)
            self.totals.add(attempt)

    def decide(self, decision: Decision) -> None:
        """Note what a middleware decided; a decision that is known is not noted again."""
        self._keep(self._decisions, decision)

    def weigh(self, decision: EditDecision) -> None:
        """Note an edit of the history that was weighed; one that is known is not noted again."""
        self._keep(self._weighed, decision)

    def _keep(self, kept: dict[S, None], decision: S) -> None:
        with self._lock:
            kept.setdefault(decision)
            if len(kept) > KEPT_ATTEMPTS:
                del kept[next(iter(kept))]

    @property
    def edit_decisions(self) -> tuple[EditDecision, ...]:
        """The edits of the history that were weighed in it by what they cost and save, taken or not."""
        with self._lock:
            return tuple(self._weighed)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What middlewares decided about blocks in it, each once, at most the last 10,000."""
        with self._lock:
            return tuple(self._decisions)

    def book_fault(self, where: str) -> bool:
        """Count a fault of a middleware; whether it is the first of its kind in this task."""
        with self._lock:
            self.faults[where] += 1
            return self.faults[where] == 1

    def book_reuse(self, tool: str, seconds: float) -> None:
        """Count an earlier result of a tool that was given again, and how long its run took."""
        with self._lock:
            self.reused[tool] = self.reused.get(tool, Reuse()).more(seconds)

    def memory(self, key: Hashable, make: Callable[[], S]) -> S:
        """What a middleware remembers about this task, made on first use."""
        with self._lock:
            if key not in self._memory:
                self._memory[key] = make()
            return self._memory[key]  # type: ignore[return-value]

    def report(self) -> Report:
        """What this task and the tasks nested in it used and cost, up to now."""
        return Report([task._row() for task in self._walk()])

    def _walk(self) -> Iterator[Task]:
        yield self
        for child in list(self.children):
            yield from child._walk()

    def _row(self) -> TaskRow:
        with self._lock:
            totals = Totals()
            totals.merge(self.totals)
            models = Counter(attempt.model for attempt in self.attempts if attempt.model)
            faults, reused = dict(self.faults), dict(self.reused)
            attempts = tuple(self.attempts)
        model = models.most_common(1)[0][0] if models else None
        return TaskRow(self.path, "live", model, totals, faults=faults, reused=reused, attempts=attempts)


# Where attempts go when no task is running.
NO_TASK = Task("(no task)")
_current: ContextVar[Task] = ContextVar("ctxkit.task", default=NO_TASK)


def note_fault(
    where: str, error: Exception | None = None, *, so: str = "the call goes on without it"
) -> None:
    """Count a fault of a middleware, or of ctxkit, in the running task; the first of its kind is logged.

    Args:
        where: What failed, and how.
        error: The exception, where there was one.
        so: What happens in spite of it.
    """
    if current_task().book_fault(where):
        _log.warning("%s; %s", where, so, exc_info=error)


@contextmanager
def task(name: str) -> Iterator[Task]:
    """Book every model call of the block to a task of this name.

    Args:
        name: What reports call it.

    Returns:
        The task; `task.report()` works within the block and after it.
    """
    parent = _current.get()
    started = Task(name, None if parent is NO_TASK else parent)
    if started.parent is not None:
        started.parent.children.append(started)
    token = _current.set(started)
    try:
        yield started
    finally:
        _current.reset(token)


def current_task() -> Task:
    """The running task, or the one that stands for none."""
    return _current.get()
