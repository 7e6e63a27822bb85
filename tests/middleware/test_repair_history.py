"""`RepairHistory`: a broken history goes out valid, a valid one as it is, and every edit is told once."""

from __future__ import annotations

import logging
from copy import deepcopy
from typing import Any

import pytest

import ctxkit
from ctxkit.flow import ask_model
from ctxkit.messages import Histories, ModelRequest
from ctxkit.testing import ScriptedModel, both, reply
from ctxkit.validity import problems_of
from support.bodies import ANTHROPIC, WIRES, calls, request_of, results, rounds, user


def sent(request: ModelRequest, middleware: ctxkit.RepairHistory | None = None) -> ModelRequest:
    """The request that goes further in."""
    step = next((middleware or ctxkit.RepairHistory()).wrap_model_call(request, ask_model))
    assert isinstance(step, ModelRequest)
    return step


@pytest.mark.parametrize("wire", WIRES)
def test_a_valid_request_is_sent_as_it_is(wire: str) -> None:
    request = request_of(wire, rounds(wire, ["Found."] * 3))
    assert sent(request) is request


@pytest.mark.parametrize("wire", WIRES)
def test_a_broken_request_is_sent_valid_and_the_callers_history_stays(wire: str) -> None:
    request = request_of(wire, [user("Hi."), calls(wire, "a", "b"), *results(wire, {"b": "Found."})])
    before = deepcopy(request.body)
    mended = sent(request)
    assert problems_of(request) != ()
    assert problems_of(mended) == ()
    assert request.body == before
    assert mended.origin is request


def test_it_answers_like_any_other_call_blocking_and_awaiting() -> None:
    model = ScriptedModel([reply(text="Done.")])
    request = request_of(ANTHROPIC, [user("Hi."), calls(ANTHROPIC, "a"), user("Stop.")])
    response = both(lambda: ctxkit.Stack(ctxkit.RepairHistory()).model_flow(request), model)
    assert response.text == "Done."
    (asked,) = model.calls
    assert isinstance(asked, ModelRequest)
    assert problems_of(asked) == ()


@pytest.mark.parametrize("wire", WIRES)
def test_the_same_history_becomes_the_same_bytes_while_it_grows(wire: str) -> None:
    broken = [user("Hi."), calls(wire, "a", "b"), *results(wire, {"a": "Found."}), user("Stop.")]
    grown = [*broken, *rounds(wire, ["Found."] * 2)]
    first = sent(request_of(wire, broken)).body["messages"]
    assert sent(request_of(wire, broken)).body["messages"] == first
    shared = Histories()
    for history in (grown, broken, grown):
        messages = sent(request_of(wire, history, histories=shared)).body["messages"]
        assert messages[: len(first)] == first


def test_edits_and_what_stays_broken_are_logged_once_a_task(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="ctxkit")
    unsigned: dict[str, Any] = {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}]}
    history = [user("Hi."), calls(ANTHROPIC, "a"), user("Stop."), unsigned, user("Go on.")]
    middleware = ctxkit.RepairHistory()
    for name in ("one", "two"):
        with ctxkit.task(name):
            for length in (3, 5, 5):
                sent(request_of(ANTHROPIC, history[:length]), middleware)
    call, thought = (
        "tool_use_has_its_result at messages.1.content.0",
        "thinking_is_signed at messages.3.content.0",
    )
    added = "added a result that says that none is available"
    why = "a signature can only come from the provider"
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == 2 * [
        ("INFO", f"RepairHistory mended {call}: {added}"),
        ("WARNING", f"RepairHistory can't mend {thought}: {why}"),
    ]


def test_every_edit_is_in_the_decision_log_once(task: ctxkit.Task) -> None:
    request = request_of(ANTHROPIC, [user("Hi."), calls(ANTHROPIC, "a"), user("Stop.")])
    for _ in range(2):
        sent(request)
    (decision,) = task.decisions
    assert (decision.by, decision.action) == ("RepairHistory", "repaired")
    assert (decision.kind, decision.where) == ("tool_use_has_its_result", ("messages", 1, "content", 0))
