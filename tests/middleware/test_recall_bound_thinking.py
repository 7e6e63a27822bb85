"""`RecallToolResults` where thinking is bound: the tool is there from the first thought on, or never.

Anthropic, preserved thinking: a replayed thinking block counts only if the tools and all earlier content are
those under which it was made.
"""

from __future__ import annotations

from typing import Any

import pytest

import ctxkit
from ctxkit.drive import run
from ctxkit.messages import ModelRequest
from ctxkit.middleware.recall_tool_results import RecallToolResults
from ctxkit.originals import Originals
from ctxkit.stores import SqliteStore
from ctxkit.testing import checked
from support.bodies import ANTHROPIC
from support.recalling import Caller, Model, answer, reading, searching

BINDS, FREE = "claude-opus-5-5", "claude-sonnet-4-5"


def thinking(model: str) -> Caller:
    """A caller whose model thinks."""
    return Caller(ANTHROPIC, model=model, thinking={"type": "enabled", "budget_tokens": 1_024})


def asked(caller: Caller, recall: ctxkit.Middleware, *answers: Any) -> list[ModelRequest]:
    """What is sent for the next request of a caller, who takes over the answer."""
    model = Model(*answers)
    caller.take(run(checked(recall).model_flow(caller.request()), model), "result")
    return model.requests


def offers(request: ModelRequest) -> bool:
    return Originals().readable_in(request)


@pytest.mark.parametrize("model", [BINDS, FREE, "some-model"])
def test_a_loop_that_had_the_tool_from_the_start_keeps_it(model: str) -> None:
    caller, recall = thinking(model), RecallToolResults(Originals())
    for number in range(3):
        (request,) = asked(caller, recall, answer(ANTHROPIC, "", [searching(number)], thinking="hm"))
        assert offers(request)


@pytest.mark.parametrize(("model", "offered"), [(BINDS, False), (FREE, True)])
def test_a_loop_with_thoughts_made_without_it_gets_it_only_where_they_are_free(
    model: str, offered: bool
) -> None:
    caller, silent = thinking(model), ctxkit.Stack()
    asked(caller, silent, answer(ANTHROPIC, "", [searching(1)], thinking="hm"))
    (request,) = asked(caller, RecallToolResults(Originals()), answer(ANTHROPIC, "Done."))
    assert offers(request) is offered


def test_a_loop_without_thoughts_gets_it_at_any_time() -> None:
    caller, silent = thinking(BINDS), ctxkit.Stack()
    asked(caller, silent, answer(ANTHROPIC, "", [searching(1)]))
    (request,) = asked(caller, RecallToolResults(Originals()), answer(ANTHROPIC, "Done."))
    assert offers(request)


def test_with_a_durable_store_a_loop_keeps_it_after_a_restart(tmp_path: Any) -> None:
    caller = thinking(BINDS)
    for number in range(3):
        recall = RecallToolResults(Originals(SqliteStore(tmp_path / "kept")))
        (request,) = asked(caller, recall, answer(ANTHROPIC, "", [searching(number)], thinking="hm"))
        assert offers(request)


def test_thoughts_behind_a_read_are_sent_with_all_that_they_were_made_under() -> None:
    caller, recall = thinking(BINDS), RecallToolResults(Originals())
    _, before = asked(
        caller,
        recall,
        answer(ANTHROPIC, "", [reading(1, "r-0")], thinking="where?"),
        answer(ANTHROPIC, "", [searching(1)], thinking="so"),
    )
    (after,) = asked(caller, recall, answer(ANTHROPIC, "Done.", thinking="well"))
    assert after.body["messages"][:3] == before.body["messages"]
    assert after.body["tools"] == before.body["tools"]
    assert [part["type"] for part in after.body["messages"][3]["content"]] == ["thinking", "tool_use"]
