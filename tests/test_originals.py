"""What is kept of whole texts, and what handles tell."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ctxkit
from ctxkit.condense import CALL_AGAIN
from ctxkit.drive import run
from ctxkit.flow import Flow, perform
from ctxkit.messages import ModelRequest
from ctxkit.originals import RECALL_TOOL, Originals
from ctxkit.recall import definition
from ctxkit.stores import MemoryStore, SqliteStore
from ctxkit.testing import ScriptedModel
from ctxkit.wire import wire_named

NOBODY = ScriptedModel([])
TEXTS = st.text() | st.text(st.characters(categories=["Cs", "L"]))


class BrokenStore(MemoryStore):
    """A store that is away."""

    def put(self, key: str, value: Any, *, ttl_seconds: float | None = None, token: str = "") -> Flow[bool]:
        def fail() -> bool:
            raise ConnectionError("the store is away")

        return perform(fail)


@given(text=TEXTS)
def test_what_is_kept_comes_back_to_the_same_character(text: str) -> None:
    originals = Originals()
    handle = run(originals.keep(text), NOBODY)
    assert handle == originals.handle(text)
    assert run(originals.get(handle), NOBODY) == text


@given(one=TEXTS, other=TEXTS)
def test_equal_texts_have_equal_handles_and_others_do_not(one: str, other: str) -> None:
    assert (Originals().handle(one) == Originals().handle(other)) is (one == other)


def test_a_handle_is_short_and_holds_nothing_of_the_text() -> None:
    handle = Originals().handle("secret " * 1_000)
    assert len(handle) == 18
    assert "secret" not in handle


def test_a_handle_of_another_namespace_leads_nowhere() -> None:
    store = MemoryStore()
    mine, theirs = Originals(store, namespace="me"), Originals(store, namespace="them")
    handle = run(theirs.keep("their text"), NOBODY)
    assert run(theirs.get(handle), NOBODY) == "their text"
    assert run(mine.get(handle), NOBODY) is None
    assert mine.handle("their text") != handle


def test_handles_survive_a_restart_with_a_durable_store(tmp_path: Any) -> None:
    handle = run(Originals(SqliteStore(tmp_path / "kept")).keep("a text"), NOBODY)
    assert run(Originals(SqliteStore(tmp_path / "kept")).get(handle), NOBODY) == "a text"


def test_a_text_is_kept_for_its_time() -> None:
    now = [0.0]
    originals = Originals(MemoryStore(clock=lambda: now[0]), ttl_seconds=60)
    handle = run(originals.keep("a text"), NOBODY)
    now[0] = 59
    assert run(originals.get(handle), NOBODY) == "a text"
    now[0] = 60
    assert run(originals.get(handle), NOBODY) is None


def test_a_time_to_live_below_zero_is_refused() -> None:
    with pytest.raises(ctxkit.ConfigError, match="ttl_seconds"):
        Originals(ttl_seconds=0)


def test_a_text_that_has_no_room_has_no_handle_and_the_model_calls_the_tool_again() -> None:
    originals = Originals(MemoryStore(max_bytes=100))
    handle = run(originals.keep("x" * 1_000), NOBODY)
    assert handle == ""
    assert originals.how(handle) == CALL_AGAIN


def test_a_store_that_fails_is_noted_and_breaks_nothing(task: ctxkit.Task) -> None:
    assert run(Originals(BrokenStore()).keep("a text"), NOBODY) == ""
    assert task.faults == {"Originals: ConnectionError": 1}


def test_the_note_names_the_tool_and_the_handle() -> None:
    assert Originals().how("r-1") == 'read it with recall_tool_result(handle="r-1")'


@pytest.mark.parametrize("wire", ["anthropic_messages", "openai_chat", "openai_responses"])
def test_a_request_tells_whether_the_model_can_read(wire: str) -> None:
    body = {"messages": [], "input": [], "tools": [definition(wire)]}
    assert Originals().readable_in(ModelRequest(wire_named(wire), body))
    assert not Originals().readable_in(ModelRequest(wire_named(wire), {**body, "tools": []}))
    assert definition(wire).get("name", RECALL_TOOL) == RECALL_TOOL
