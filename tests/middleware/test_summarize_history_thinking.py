"""`SummarizeHistory` where thinking is bound to the history, or tied to what follows it.

Anthropic, preserved thinking: a replayed thinking block counts only if all earlier content equals that under
which it was made, and the thinking of the running tool loop must be sent as it came.
"""

from __future__ import annotations

from typing import Any

import ctxkit
from ctxkit.messages import Histories
from ctxkit.middleware.summarize_history import SummarizeHistory
from ctxkit.stores.memory import MemoryStore
from support.bodies import ANTHROPIC, GEMINI, calls, results, user
from support.compacting import SMALL, WORDS, sent, step, texts
from support.summaries import Edge

BINDS, FREE = "claude-opus-5-5", "claude-sonnet-4-5"
NOTE = "[ctxkit: a model's summary"


def thinking(*names: str) -> list[Any]:
    """A round of calls for each name, with thinking before every call."""
    return [
        message
        for name in names
        for message in (calls(ANTHROPIC, name, thinking=f"hm {name}"), *results(ANTHROPIC, {name: WORDS}))
    ]


def answered(*parts: dict[str, Any]) -> dict[str, Any]:
    thought = {"type": "thinking", "thinking": "so", "signature": "s"}
    return {"role": "assistant", "content": [thought, *parts]}


TEXT = {"type": "text", "text": "Done."}
LOOP = [user("Look."), *thinking("a", "b", "c", "d", "e", "f")]


def test_a_running_loop_with_bound_thinking_is_left_alone_until_the_user_speaks_again() -> None:
    edge, middleware, histories = Edge(), SummarizeHistory(**SMALL), Histories()
    assert sent(middleware, edge, LOOP, model=BINDS, histories=histories) == LOOP
    assert not edge.side
    raw = [*LOOP, answered(TEXT), user("And now?")]
    made = sent(middleware, edge, raw, model=BINDS, histories=histories)
    assert NOTE in texts([made[1]])
    assert "hm" not in texts(made)
    assert made[-1] == raw[-1]
    more = [*raw, *thinking("g")]
    assert sent(middleware, edge, more, model=BINDS, histories=histories) == [*made, *thinking("g")]
    assert len(edge.side) == 1


def test_a_pinned_message_with_bound_thinking_waits_for_the_user_too_and_loses_it() -> None:
    raw = [*LOOP[:3], user("Go on."), *(message for name in "defghi" for message in step(ANTHROPIC, name))]
    middleware = SummarizeHistory(pinned=lambda block: block.call_id == "a", **SMALL)
    edge = Edge()
    assert sent(middleware, edge, raw, model=BINDS) == raw
    assert not edge.side
    made = sent(
        middleware, edge, [*raw, {"role": "assistant", "content": "Done."}, user("And?")], model=BINDS
    )
    assert made[1]["content"] == calls(ANTHROPIC, "a")["content"]
    assert NOTE in texts([made[3]])


def test_a_running_loop_without_thinking_behind_the_cut_is_summarised_on_any_model() -> None:
    raw = [user("Look."), *(message for name in "abcdef" for message in step(ANTHROPIC, name))]
    assert NOTE in texts(sent(SummarizeHistory(**SMALL), Edge(), raw, model=BINDS))


def test_the_thinking_that_is_left_out_is_noted_once() -> None:
    with ctxkit.task("test") as task:
        middleware, edge, histories = SummarizeHistory(**SMALL), Edge(), Histories()
        raw = [*LOOP, answered(TEXT), user("And now?")]
        for _ in range(2):
            sent(middleware, edge, raw, model=BINDS, histories=histories)
    dropped = [made for made in task.decisions if made.action == "dropped"]
    assert len(dropped) == 2
    assert {made.kind for made in dropped} == {"thinking"}


def test_a_new_process_leaves_the_same_thinking_out_and_sends_later_thinking() -> None:
    store, edge = MemoryStore(), Edge()
    raw = [*LOOP, answered(TEXT), user("And now?"), *thinking("g")]
    made = [
        sent(SummarizeHistory(store=store, **SMALL), edge, raw[:length], model=BINDS)
        for length in (len(raw) - 2, len(raw))
    ]
    assert made[1] == [*made[0], *thinking("g")]
    assert len(edge.side) == 1


def test_where_a_message_is_nothing_but_bound_thinking_it_is_not_cut_in_front_of_it() -> None:
    raw = [*LOOP, answered(), user("And now?")]
    edge = Edge()
    assert sent(SummarizeHistory(**{**SMALL, "keep_steps": 1}), edge, raw, model=BINDS) == raw
    assert not edge.side


def test_on_a_model_that_does_not_bind_it_thinking_stays_as_it_is() -> None:
    made = sent(SummarizeHistory(**SMALL), Edge(), LOOP, model=FREE)
    assert NOTE in texts([made[1]])
    assert made[2:] == LOOP[-4:]


def test_a_loop_that_must_begin_with_thinking_is_cut_where_it_does() -> None:
    """Anthropic: with thinking on, the running loop's first answer begins with thinking."""
    thinks = {"thinking": {"type": "enabled", "budget_tokens": 1_024}}
    raw = [
        user("Look."),
        *thinking("a", "b", "c", "d"),
        *(message for name in "efg" for message in step(ANTHROPIC, name)),
    ]
    made = sent(SummarizeHistory(**SMALL), Edge(), raw, model=FREE, **thinks)
    assert NOTE in texts([made[1]])
    assert made[2:] == raw[7:]


def test_a_cut_that_the_provider_would_refuse_is_not_made_and_an_earlier_one_is() -> None:
    """Gemini 3: in the running turn the first call of each step is signed; the earlier turn's need not be."""
    unsigned = [message for name in "abcdef" for message in step(GEMINI, name)]
    raw = [{"role": "user", "parts": [{"text": "Look."}]}, *unsigned]
    answer = [{"role": "model", "parts": [{"text": "Done."}]}, {"role": "user", "parts": [{"text": "More."}]}]
    edge = Edge()
    made = sent(
        SummarizeHistory(**{**SMALL, "keep_steps": 1}),
        edge,
        [*raw, *answer],
        wire=GEMINI,
        model="gemini-3-pro",
    )
    assert NOTE in texts([made[1]])
    assert made[2:] == answer


def test_while_a_tool_of_the_providers_own_still_runs_no_summary_is_asked_for() -> None:
    """Anthropic: the user may not speak before the result is there."""
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "fox"}}
    waiting = {"role": "assistant", "content": [search, *calls(ANTHROPIC, "w")["content"]]}
    raw = [user("Look."), *(message for name in "abcdef" for message in step(ANTHROPIC, name))]
    raw = [*raw, waiting, *results(ANTHROPIC, {"w": "x"})]
    edge = Edge()
    assert sent(SummarizeHistory(**SMALL), edge, raw, model=FREE) == raw
    assert not edge.side
