"""`TrimHistory` where thinking is bound: edits wait for the user's turn, and what they break is left out.

Anthropic, preserved thinking: a replayed thinking block counts only if all earlier content equals that under
which it was made, and the thinking of the running tool loop must be sent as it came.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ctxkit
from ctxkit.flow import ask_model
from ctxkit.messages import Histories, ModelRequest
from ctxkit.safety import broken_by_edit
from ctxkit.validity import problems_of
from support.bodies import ANTHROPIC, calls, request_of, result_texts, results, user
from support.flows import first_request

BINDS, FREE = "claude-opus-5-5", "claude-sonnet-4-5"
TEXT = "alpha beta gamma delta epsilon zeta eta theta iota kappa " * 20
THINKING = {"type": "enabled", "budget_tokens": 1_024}


def loop(*names: str, thinking: str = "hm") -> list[Any]:
    """A round of calls for each name, with thinking before every call."""
    return [
        message
        for name in names
        for message in (calls(ANTHROPIC, name, thinking=thinking), *results(ANTHROPIC, {name: TEXT}))
    ]


def answered(text: str = "Done.") -> dict[str, Any]:
    thought = {"type": "thinking", "thinking": "so", "signature": "s"}
    return {"role": "assistant", "content": [thought, {"type": "text", "text": text}]}


def sent(raw: list[Any], *, model: str = BINDS, histories: Histories | None = None) -> ModelRequest:
    trimmer = ctxkit.TrimHistory(start_tokens=600, target_tokens=300, keep_steps=1, min_batch_tokens=0)
    request = request_of(ANTHROPIC, raw, model=model, thinking=THINKING, histories=histories or Histories())
    return first_request(ctxkit.Stack(trimmer).wrap_model_call(request, ask_model))


def cleared(request: ModelRequest) -> list[bool]:
    return ["tokens cleared; " in text for text in result_texts(ANTHROPIC, request.body["messages"])]


def thoughts(request: ModelRequest) -> list[int]:
    """The places of the messages that are sent with their thinking."""
    return [
        place
        for place, turn in enumerate(request.turns)
        if any(block.kind == "thinking" for block in turn.blocks)
    ]


def test_in_the_running_tool_loop_nothing_in_front_of_its_thinking_is_cleared() -> None:
    request = sent([user("Look."), *loop("a", "b", "c")])
    assert cleared(request) == [False, False, False]
    assert thoughts(request) == [1, 3, 5]


def test_what_stands_behind_the_last_thinking_may_go_at_any_time() -> None:
    request = sent([user("Look."), *loop("a", "b"), *loop("c", "d", thinking="")])
    assert cleared(request) == [False, True, True, False]
    assert thoughts(request) == [1, 3]


def test_when_the_user_speaks_again_results_go_and_the_thinking_behind_them_goes_too() -> None:
    request = sent([user("Look."), *loop("a", "b", "c"), answered(), user("And now?")])
    assert cleared(request) == [True, True, False]
    assert thoughts(request) == [1]
    assert problems_of(request) == ()


def test_thinking_that_is_left_out_stays_out_and_later_thinking_stays_in() -> None:
    histories = Histories()
    raw = [user("Look."), *loop("a", "b", "c"), answered(), user("And now?")]
    first = sent(raw, histories=histories)
    second = sent([*raw, *loop("d")], histories=histories)
    before, after = (json.dumps(request.body["messages"]) for request in (first, second))
    assert after.startswith(before[:-1])
    assert thoughts(second) == [1, 9]


def test_a_message_that_is_nothing_but_thinking_keeps_what_stands_in_front_of_it() -> None:
    """Anthropic: a message's content must not be empty."""
    only = {"role": "assistant", "content": [{"type": "thinking", "thinking": "so", "signature": "s"}]}
    raw = [user("Look."), *loop("a", thinking=""), only, user("Go on."), *loop("b", "c"), answered()]
    request = sent([*raw, user("And now?")])
    assert cleared(request) == [False, True, False]
    assert thoughts(request) == [3, 5]


def test_a_model_that_leaves_history_free_keeps_its_thinking() -> None:
    request = sent([user("Look."), *loop("a", "b", "c"), answered(), user("And now?")], model=FREE)
    assert cleared(request) == [True, True, False]
    assert thoughts(request) == [1, 3, 5, 7]


def test_what_was_decided_is_in_the_log_once(task: ctxkit.Task) -> None:
    histories = Histories()
    raw = [user("Look."), *loop("a", "b", "c")]
    sent(raw, histories=histories)
    raw += [answered(), user("And now?")]
    for _ in range(2):
        sent(raw, histories=histories)
    assert [(one.action, one.kind, one.where[1]) for one in task.decisions] == [
        ("left", "tool_result", 2),
        ("replaced", "tool_result", 2),
        ("replaced", "tool_result", 4),
        ("dropped", "thinking", 3),
        ("dropped", "thinking", 5),
        ("dropped", "thinking", 7),
    ]
    assert all(one.by == "TrimHistory" and one.reason for one in task.decisions)


def test_every_task_with_that_history_has_the_decision() -> None:
    histories = Histories()
    raw = [user("Look."), *loop("a", "b", "c"), answered(), user("And now?")]
    logs = []
    for name in ("first", "second"):
        with ctxkit.task(name) as task:
            sent(raw, histories=histories)
        logs.append(task.decisions)
    assert logs[0] == logs[1] != ()


def test_truncation_says_what_it_cut(task: ctxkit.Task) -> None:
    request = request_of(ANTHROPIC, [user("Look."), *loop("a")], model=BINDS)
    first_request(
        ctxkit.Stack(ctxkit.TruncateToolResults(max_tokens=100)).wrap_model_call(request, ask_model)
    )
    (decision,) = task.decisions
    assert (decision.by, decision.action, decision.call_id) == ("TruncateToolResults", "replaced", "a")


@given(st.lists(st.sampled_from(["loop", "thinking loop", "answer", "user"]), max_size=14))
def test_no_thinking_is_ever_sent_behind_an_edit_that_it_was_not_made_under(kinds: list[str]) -> None:
    """Every thinking block that is sent stands behind exactly what stood in front of it when it was made."""
    histories = Histories()
    raw = [user("Look.")]
    made_under: dict[int, str] = {}
    for number, kind in enumerate(kinds):
        request = sent(raw, histories=histories)
        messages = request.body["messages"]
        assert broken_by_edit(request) == ()
        for place in thoughts(request):
            assert made_under[place] == json.dumps(messages[:place])
        if kind == "user" and raw[-1]["role"] == "user":
            raw = [*raw, answered(), user("And now?")]
        elif kind == "user":
            raw = [*raw, user("And now?")]
        elif kind == "answer":
            raw = [*raw, answered(), user("Go on.")]
        else:
            raw = [*raw, *loop(f"call_{number}", thinking="hm" if kind == "thinking loop" else "")]
        for place in range(len(messages), len(raw)):
            if any(
                part.get("type") == "thinking" for part in raw[place]["content"] if isinstance(part, dict)
            ):
                made_under[place] = json.dumps([*messages, *raw[len(messages) : place]])


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-fable-5-2@20261001", "unheard-of"])
def test_what_is_not_known_to_leave_history_free_is_bound(model: str) -> None:
    assert thoughts(sent([user("Look."), *loop("a", "b", "c"), answered(), user("And?")], model=model)) == [1]
