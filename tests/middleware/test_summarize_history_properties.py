"""What `SummarizeHistory` may not do to any history that a provider accepts, on all four wires."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import ctxkit
from ctxkit.drive import run
from ctxkit.messages import Histories, ModelRequest, ModelResponse
from ctxkit.middleware.summarize_history import SummarizeHistory
from ctxkit.stores.memory import MemoryStore
from ctxkit.testing import checked
from ctxkit.validity import problems_of
from ctxkit.wire.thinking import binds_thinking
from support.summaries import Edge
from support.valid_histories import VALID_HISTORIES, History

SETTINGS = st.fixed_dictionaries(
    {
        "start_tokens": st.sampled_from([100, 400, 1_500]),
        "keep_steps": st.sampled_from([0, 1, 2]),
        "max_tokens": st.sampled_from([100, 200]),
        "every_requests": st.sampled_from([1, 2]),
    }
)
PINNED = {"nothing": None, "bash": lambda block: block.tool == "bash"}
on_all_wires = pytest.mark.parametrize("wire", VALID_HISTORIES)


class Recording(Edge):
    """An edge that knows which main request each side call followed.

    Attributes:
        asked_after: The side calls, each with the main request before it.
    """

    def __init__(self, *, failing: bool) -> None:
        super().__init__(lambda request: "fox " * 3_000 if failing and len(self.side) % 2 else "Part.")
        self.asked_after: list[tuple[ModelRequest, ModelRequest]] = []

    def model(self, request: ModelRequest) -> ModelResponse:
        if request.purpose != "main" and self.main:
            self.asked_after.append((request, self.main[-1]))
        return super().model(request)


@dataclass(frozen=True)
class Replay:
    """A history that was sent request by request.

    Attributes:
        requests: As the caller made them.
        edge: What arrived at the provider.
        fresh: The same middleware in another process.
    """

    requests: list[ModelRequest]
    edge: Recording
    fresh: SummarizeHistory


def replayed(data: st.DataObject, history: History, *, failing: bool | None = None) -> Replay:
    """Send a history as a loop does; every request that arrives is valid, and no middleware fails.

    Where it is `failing`, every other summary is far too long.
    """
    settings, pinned = data.draw(SETTINGS, label="settings"), data.draw(st.sampled_from(sorted(PINNED)))
    failing = data.draw(st.booleans(), label="failing") if failing is None else failing
    note(f"settings: {settings}, pinned: {pinned}")
    store, histories = MemoryStore(), Histories()
    edge = Recording(failing=failing)
    made = [SummarizeHistory(store=store, pinned=PINNED[pinned], **settings) for _ in range(2)]
    stack, requests = checked(ctxkit.Stack(made[0])), []
    with ctxkit.task("replay") as task:
        for end in history.ends:
            request = history.request(end, histories)
            requests.append(request)
            run(stack.model_flow(request), edge)
    assert task.faults == {}
    return Replay(requests, edge, made[1])


def messages(request: ModelRequest) -> list[Any]:
    return list(request.wire.messages(request.body))


@on_all_wires
@given(data=st.data())
def test_what_arrives_is_valid_and_the_callers_own_body_is_never_touched(
    data: st.DataObject, wire: str
) -> None:
    history = data.draw(VALID_HISTORIES[wire], label="history")
    before = deepcopy(history)
    replay = replayed(data, history)
    for arrived in [*replay.edge.main, *replay.edge.side]:
        assert problems_of(arrived) == ()
    assert history == before


@on_all_wires
@given(data=st.data())
def test_a_new_process_with_the_same_store_sends_the_same_and_asks_for_nothing(
    data: st.DataObject, wire: str
) -> None:
    history = data.draw(VALID_HISTORIES[wire], label="history")
    replay = replayed(data, history)
    for end, arrived in zip(history.ends, replay.edge.main, strict=True):
        edge = Edge(lambda request: pytest.fail("a summary is written again"))
        run(ctxkit.Stack(replay.fresh).model_flow(history.request(end)), edge)
        assert edge.main[-1].body == arrived.body


@on_all_wires
@given(data=st.data())
def test_a_side_call_begins_with_what_was_sent_before_it_and_changes_neither_tools_nor_system(
    data: st.DataObject, wire: str
) -> None:
    """So the provider reads all of that from its prompt cache."""
    history = data.draw(VALID_HISTORIES[wire], label="history")
    replay = replayed(data, history, failing=False)
    for side, before in replay.edge.asked_after:
        assert side.purpose == "summary"
        assert side.head is replay.requests[0].head
        assert messages(side)[: len(messages(before))] == messages(before)


@given(data=st.data())
def test_bound_thinking_is_sent_behind_what_it_was_made_under_or_not_at_all(data: st.DataObject) -> None:
    """Anthropic: a replayed thinking block counts only if all earlier content is what it was made under."""
    history = data.draw(VALID_HISTORIES["anthropic_messages"], label="history")
    replay = replayed(data, history)
    made_under: dict[int, list[Any]] = {}
    for request, arrived, following in zip(
        replay.requests, replay.edge.main, [*history.ends[1:], len(history.messages)], strict=True
    ):
        sent, raw = messages(arrived), messages(request)
        shift = len(raw) - len(sent)
        for place, turn in enumerate(arrived.turns):
            if any(block.kind == "thinking" for block in turn.blocks):
                assert (
                    not binds_thinking(history.wire, request.model)
                    or made_under[place + shift] == sent[:place]
                )
        for place in range(len(raw), following):
            made_under[place] = [*sent, *history.messages[len(raw) : place]]
