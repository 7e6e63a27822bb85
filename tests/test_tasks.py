"""Tasks keep apart what runs side by side, nest, and report what was booked to them."""

from __future__ import annotations

import asyncio
import threading
from contextvars import copy_context
from decimal import Decimal

import pytest

import ctxkit
from ctxkit.ledger import Attempt, Decision
from ctxkit.tasks import KEPT_ATTEMPTS, NO_TASK
from ctxkit.usage import Charge, Usage


def attempt(model: str | None = "m", *, usd: str = "0.5") -> Attempt:
    charge = Charge(output_usd=Decimal(usd))
    return Attempt("", "main", model, "anthropic_messages", "billed", usage=Usage(10, 1), charge=charge)


def test_a_task_is_current_within_its_block() -> None:
    before = ctxkit.current_task()
    with ctxkit.task("fix-bug") as task:
        assert ctxkit.current_task() is task
        assert (task.name, task.path) == ("fix-bug", "fix-bug")
    assert ctxkit.current_task() is before


def test_what_runs_in_no_task_has_one_that_stands_for_none() -> None:
    assert copy_context().run(ctxkit.current_task) is NO_TASK
    with ctxkit.task("first") as task:
        assert task.parent is None
    assert NO_TASK.children == []


def test_a_task_ends_with_its_block_also_where_that_raises() -> None:
    before = ctxkit.current_task()
    with pytest.raises(ZeroDivisionError), ctxkit.task("fails"):
        raise ZeroDivisionError
    assert ctxkit.current_task() is before


def test_nested_tasks_book_to_the_inner_one_and_report_together() -> None:
    with ctxkit.task("outer") as outer:
        ctxkit.current_task().book(attempt())
        with ctxkit.task("inner") as inner:
            ctxkit.current_task().book(attempt(usd="0.25"))
        with ctxkit.task("second"):
            pass
    assert (inner.parent, inner.path) == (outer, "outer / inner")
    report = outer.report()
    assert [(row.id, row.totals.requests) for row in report.tasks] == [
        ("outer", 1),
        ("outer / inner", 1),
        ("outer / second", 0),
    ]
    assert report.totals.cost_usd == Decimal("0.75")
    assert inner.report().totals.cost_usd == Decimal("0.25")


def test_a_report_is_of_its_moment() -> None:
    with ctxkit.task("fix-bug") as task:
        task.book(attempt())
        report = task.report()
        task.book(attempt())
    assert report.totals.requests == 1
    assert task.report().totals.requests == 2


def test_a_report_holds_the_attempts_of_each_task() -> None:
    with ctxkit.task("outer") as outer:
        ctxkit.current_task().book(attempt("a"))
        with ctxkit.task("inner"):
            ctxkit.current_task().book(attempt("b"))
    assert [[one.model for one in row.attempts] for row in outer.report().tasks] == [["a"], ["b"]]


def test_a_report_names_the_model_that_answered_most() -> None:
    with ctxkit.task("fix-bug") as task:
        assert task.report().tasks[0].model is None
        for model in ("a", "b", None, "b"):
            task.book(attempt(model))
    assert task.report().tasks[0].model == "b"


def test_threads_do_not_inherit_a_task_unless_they_run_in_a_copy_of_its_context() -> None:
    seen = {}
    with ctxkit.task("fix-bug") as task:
        context = copy_context()
        bare = threading.Thread(target=lambda: seen.update(bare=ctxkit.current_task()))
        copied = threading.Thread(target=lambda: seen.update(copied=context.run(ctxkit.current_task)))
        for thread in (bare, copied):
            thread.start()
            thread.join()
    assert seen == {"bare": NO_TASK, "copied": task}


def test_asyncio_tasks_keep_apart() -> None:
    async def work(name: str) -> str:
        with ctxkit.task(name):
            await asyncio.sleep(0)
            return ctxkit.current_task().path

    async def both() -> list[str]:
        with ctxkit.task("outer"):
            return list(await asyncio.gather(work("a"), work("b")))

    assert asyncio.run(both()) == ["outer / a", "outer / b"]


def test_many_threads_may_book_to_one_task() -> None:
    with ctxkit.task("fix-bug") as task:
        threads = [
            threading.Thread(target=lambda: [task.book(attempt()) for _ in range(200)]) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert task.report().totals.requests == 1_600


def test_old_attempts_are_dropped_and_still_counted() -> None:
    with ctxkit.task("long") as task:
        for _ in range(KEPT_ATTEMPTS + 1):
            task.book(attempt())
    assert len(task.attempts) == KEPT_ATTEMPTS
    assert task.totals.requests == KEPT_ATTEMPTS + 1


def test_a_middleware_remembers_one_thing_a_task_made_on_first_use() -> None:
    with ctxkit.task("a") as one, ctxkit.task("b") as other:
        assert one.memory("key", list) is one.memory("key", list)
        assert one.memory("key", list) is not other.memory("key", list)
        assert one.memory("key", list) is not one.memory("other key", list)


def test_a_fault_is_new_once_a_task() -> None:
    with ctxkit.task("a") as one, ctxkit.task("b") as other:
        assert [
            one.book_fault("X: KeyError"),
            one.book_fault("X: KeyError"),
            other.book_fault("X: KeyError"),
        ] == [
            True,
            False,
            True,
        ]
    assert one.faults == {"X: KeyError": 2}


def test_the_last_ten_thousand_decisions_of_a_task_are_kept() -> None:
    with ctxkit.task("long") as task:
        for number in range(10_002):
            task.decide(Decision("Mine", "left", "tool_result", ("messages", number), None, None, "why"))
    assert len(task.decisions) == 10_000
    assert task.decisions[0].where == ("messages", 2)
