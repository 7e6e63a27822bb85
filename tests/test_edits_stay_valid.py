"""What no editing middleware, and no stack of them, may do to a history that the provider accepts.

Every test sends a history request by request, as a loop does, and looks behind every middleware whether the
provider would still accept it. There are over 2,000 histories in the profile `ci`, and over 100,000 in
`nightly`.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import ctxkit
from ctxkit.ledger import Decision
from ctxkit.messages import Histories, ModelRequest
from ctxkit.middleware.repair_history import RepairHistory
from ctxkit.testing import checked
from ctxkit.validity import problems_of
from ctxkit.wire.thinking import binds_thinking
from support.flows import first_request
from support.valid_histories import VALID_HISTORIES, History

TRUNCATE = st.builds(
    ctxkit.TruncateToolResults,
    max_tokens=st.sampled_from([100, 150, 400]),
    per_tool=st.sampled_from([None, {"read_*": 200}]),
    exempt=st.sampled_from([(), ("bash",)]),
)
TRIM = st.builds(
    lambda target, distance, share, **more: ctxkit.TrimHistory(
        start_tokens=target + distance, target_tokens=target, min_batch_tokens=distance // share, **more
    ),
    target=st.sampled_from([0, 200, 500, 1_000]),
    distance=st.sampled_from([50, 200, 800]),
    share=st.sampled_from([1, 4, 1_000]),
    keep_steps=st.sampled_from([0, 0, 1, 2]),
    exempt=st.sampled_from([(), (), ("bash",)]),
)
DEDUPE = st.builds(ctxkit.DedupeToolResults, min_tokens=st.sampled_from([0, 100]))
REPAIR = st.builds(RepairHistory)
STACKS = st.lists(TRIM | TRUNCATE | TRIM | DEDUPE | REPAIR, min_size=1, max_size=4).map(
    lambda middlewares: ctxkit.Stack(*middlewares)
)
# What arrives at the provider is looked at from one side in each test.
on_all_wires = pytest.mark.parametrize("wire", VALID_HISTORIES)


@dataclass(frozen=True)
class Sent:
    """One request of a history.

    Attributes:
        request: As the caller made it.
        arrived: As it arrived at the provider.
        decisions: What was decided in it and not before.
    """

    request: ModelRequest
    arrived: ModelRequest
    decisions: tuple[Decision, ...]


def drawn(data: st.DataObject, wire: str) -> tuple[History, ctxkit.Stack]:
    """A history that the provider accepts, and what edits it."""
    history, stack = data.draw(VALID_HISTORIES[wire], label="history"), data.draw(STACKS, label="stack")
    note(f"settings: {[vars(middleware) for middleware in stack.middlewares]}")
    return history, stack


def replayed(history: History, stack: ctxkit.Stack) -> list[Sent]:
    """Send a history request by request; every middleware leaves each valid, and none fails."""
    histories, sent = Histories(), []
    with ctxkit.task("replay") as task:
        for end in history.ends:
            request, known = history.request(end, histories), len(task.decisions)
            sent.append(Sent(request, through(stack, request), task.decisions[known:]))
    assert task.faults == {}
    return sent


def through(stack: ctxkit.Stack, request: ModelRequest) -> ModelRequest:
    """What arrives at the provider."""
    assert problems_of(request) == ()
    return first_request(checked(stack).model_flow(request))


def messages(request: ModelRequest) -> list[Any]:
    """The native messages of a request, without marks for the prompt cache: these may move."""
    return [without_marks(message) for message in request.wire.messages(request.body)]


def without_marks(value: Any) -> Any:
    """A native value without `cache_control`."""
    if isinstance(value, dict):
        return {key: without_marks(inner) for key, inner in value.items() if key != "cache_control"}
    return [without_marks(inner) for inner in value] if isinstance(value, list) else value


def pairs(request: ModelRequest) -> list[Any]:
    """All blocks but thinking, message by message: what they are, and what ties calls and results."""
    return [
        (turn.role, [(one.kind, one.tool, one.call_id) for one in turn.blocks if one.kind != "thinking"])
        for turn in request.turns
    ]


@on_all_wires
@given(data=st.data())
def test_every_call_keeps_its_result_and_every_message_its_place(data: st.DataObject, wire: str) -> None:
    for one in replayed(*drawn(data, wire)):
        assert pairs(one.arrived) == pairs(one.request)


@on_all_wires
@given(data=st.data())
def test_the_callers_own_body_is_never_touched(data: st.DataObject, wire: str) -> None:
    history, stack = drawn(data, wire)
    before = deepcopy(history)
    for one in replayed(history, stack):
        key = one.request.wire.messages_key
        assert {**one.arrived.body, key: ()} == {**one.request.body, key: ()}
    assert history == before


@on_all_wires
@given(data=st.data())
def test_what_was_sent_is_sent_again_but_for_what_the_decision_log_names(
    data: st.DataObject, wire: str
) -> None:
    before: list[Any] = []
    for one in replayed(*drawn(data, wire)):
        decided = [int(made.where[1]) for made in one.decisions if made.action != "left"]
        kept = min([len(before), *decided])
        assert messages(one.arrived)[:kept] == before[:kept]
        before = messages(one.arrived)


@on_all_wires
@given(data=st.data())
def test_only_what_the_decision_log_names_is_changed(data: st.DataObject, wire: str) -> None:
    decided: set[int] = set()
    for one in replayed(*drawn(data, wire)):
        decided |= {int(made.where[1]) for made in one.decisions if made.action != "left"}
        for place, (raw, arrived) in enumerate(
            zip(messages(one.request), messages(one.arrived), strict=True)
        ):
            assert arrived == raw or place in decided


@on_all_wires
@given(data=st.data())
def test_what_was_edited_once_is_not_edited_again(data: st.DataObject, wire: str) -> None:
    history, stack = drawn(data, wire)
    for one in replayed(history, stack):
        again = replace(one.request, body=one.arrived.body, histories=Histories())
        assert through(stack, again).body == one.arrived.body


@on_all_wires
@given(data=st.data())
def test_a_new_process_sends_the_same(data: st.DataObject, wire: str) -> None:
    history, stack = drawn(data, wire)
    last = replayed(history, stack)[-1]
    assert through(stack, history.request(history.ends[-1])).body == last.arrived.body


@given(data=st.data())
def test_bound_thinking_is_sent_behind_what_it_was_made_under_or_not_at_all(data: st.DataObject) -> None:
    """Anthropic: a replayed thinking block counts only if all earlier content is what it was made under."""
    history, stack = drawn(data, "anthropic_messages")
    sent = replayed(history, stack)
    made_under: dict[int, list[Any]] = {}
    for one, following in zip(sent, [*history.ends[1:], len(history.messages)], strict=True):
        arrived = messages(one.arrived)
        for place, turn in enumerate(one.arrived.turns):
            if any(block.kind == "thinking" for block in turn.blocks):
                assert (
                    not binds_thinking(history.wire, one.request.model)
                    or made_under[place] == arrived[:place]
                )
        for place in range(len(arrived), following):
            made_under[place] = [*arrived, *history.messages[len(arrived) : place]]
