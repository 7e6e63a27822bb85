"""`SummarizeHistory`: what a request is after a summary, and that it stays so."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import ctxkit
from ctxkit.drive import run
from ctxkit.errors import ConfigError, ModelCallFailed
from ctxkit.messages import ModelRequest
from ctxkit.middleware.summarize_history import SummarizeHistory
from ctxkit.stores.memory import MemoryStore
from ctxkit.stores.sqlite import SqliteStore
from support.bodies import ALL_WIRES, ANTHROPIC, GEMINI, OPENAI, RESPONSES, calls, results, user
from support.compacting import SMALL, TOOLS, grown, loop, native, request, says, sent, step, texts
from support.summaries import Edge, Write

NOTE = "[ctxkit: a model's summary"
CLEARED = "tokens cleared"


def numbered() -> Edge:
    """An edge whose summaries have numbers."""
    edge = Edge(lambda request: f"Part {len(edge.side)}.")
    return edge


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_behind_the_first_message_stands_one_summary_and_then_the_last_steps_as_they_are(wire: str) -> None:
    edge, raw = numbered(), loop(wire, 6)
    made = sent(SummarizeHistory(**SMALL), edge, raw, wire=wire)
    assert made[0] == raw[0]
    assert "Part 1." in texts([made[1]])
    assert made[2:] == raw[-4:]


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_the_side_call_is_the_request_as_it_stands_with_an_instruction_behind_it(wire: str) -> None:
    edge, raw = numbered(), loop(wire, 6)
    sent(SummarizeHistory(instructions="Sum it up.", **SMALL), edge, raw, wire=wire, stream=True)
    (side,) = edge.side
    assert side.purpose == "summary"
    assert not side.stream
    assert side.body["tools"] == TOOLS[wire]
    assert native(side)[: len(raw) - 1] == raw[:-1]
    assert texts(native(side)[len(raw) - 1 :]).startswith(texts([raw[-1]])[:100])
    assert "Sum it up." in texts(native(side)[-1:])
    assert list(side.blocks())[-1].kind == "user_text"


def test_tools_are_forbidden_in_the_side_call_only_where_that_leaves_the_cache_as_it_is() -> None:
    """Anthropic: another `tool_choice` makes the cache of the messages useless."""
    auto = {"type": "auto"}
    for wire, given, expected in (
        (ANTHROPIC, {}, {}),
        (ANTHROPIC, {"tool_choice": auto}, {"tool_choice": auto}),
        (OPENAI, {}, {"tool_choice": "none"}),
        (RESPONSES, {}, {"tool_choice": "none"}),
    ):
        edge = numbered()
        sent(SummarizeHistory(**SMALL), edge, loop(wire, 6), wire=wire, **given)
        side = edge.side[0].body
        assert {key: value for key, value in side.items() if key == "tool_choice"} == expected


def test_a_caller_that_forces_a_call_on_anthropic_gets_old_results_cleared_without_a_side_call() -> None:
    edge = numbered()
    made = sent(SummarizeHistory(**SMALL), edge, loop(ANTHROPIC, 8), tool_choice={"type": "any"})
    assert not edge.side
    assert CLEARED in texts(made)


@pytest.mark.parametrize(
    ("wire", "given", "expected"),
    [
        (ANTHROPIC, {"max_tokens": 50}, {"max_tokens": 4_300}),
        (
            ANTHROPIC,
            {"max_tokens": 9_000, "stop_sequences": ["x"]},
            {"max_tokens": 9_000, "stop_sequences": None},
        ),
        (
            ANTHROPIC,
            {"max_tokens": 1_100, "thinking": {"type": "enabled", "budget_tokens": 1_024}},
            {"max_tokens": 5_324},
        ),
        (
            OPENAI,
            {"n": 3, "stop": ["x"], "max_completion_tokens": 10},
            {"n": None, "stop": None, "max_completion_tokens": 4_300},
        ),
        (
            GEMINI,
            {
                "generationConfig": {
                    "maxOutputTokens": 9,
                    "candidateCount": 2,
                    "stopSequences": ["x"],
                    "topK": 1,
                }
            },
            {"generationConfig": {"maxOutputTokens": 4_300, "topK": 1}},
        ),
    ],
)
def test_the_side_call_asks_for_one_answer_that_is_long_enough_and_ends_by_itself(
    wire: str, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    edge = numbered()
    sent(SummarizeHistory(**SMALL), edge, loop(wire, 6), wire=wire, model="claude-sonnet-4-5", **given)
    assert {key: edge.side[0].body.get(key) for key in expected} == expected


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_later_requests_send_the_same_bytes_until_the_next_summary(wire: str) -> None:
    edge = numbered()
    made = grown(SummarizeHistory(**SMALL), edge, 14, wire=wire)
    assert len(edge.side) >= 2
    changes = 0
    for before, after in pairwise(made):
        changes += after[: len(before)] != before
    assert changes == len(edge.side)


def test_a_second_summary_is_added_to_the_first_which_is_carried_word_for_word() -> None:
    edge = numbered()
    made = grown(SummarizeHistory(**SMALL), edge, 14)
    first, second = (
        next(messages[1]["content"] for messages in made if f"Part {number}." in texts(messages))
        for number in (1, 2)
    )
    assert second.startswith(first)
    assert second.count(NOTE) == 2
    assert "stay as they are: leave out what they say" in texts(native(edge.side[1])[-1:])
    assert "stay as they are" not in texts(native(edge.side[0])[-1:])
    assert first in texts(native(edge.side[1])).replace("\\n", "\n").replace('\\"', '"')


def test_exact_facts_stand_beside_the_summary_and_are_not_in_it() -> None:
    raw = [
        user("Find the bug."),
        user("Never touch src/legacy.py."),
        *step(ANTHROPIC, "parser"),
        {"role": "assistant", "content": "- [ ] write a test\n- [ ] run it\nWe decided to use orjson."},
        user("Go on."),
        {"role": "assistant", "content": "- [x] run it"},
        *loop(ANTHROPIC, 6, first=1),
    ]
    made = sent(SummarizeHistory(**SMALL), numbered(), raw)
    (summary,) = (message["content"] for message in made if NOTE in texts([message]))
    said, facts = summary.split("Exactly as it stood there:")
    assert "Part 1." in said
    assert "- write a test" in facts
    assert "run it" not in facts
    assert "- Never touch src/legacy.py." in facts
    assert "We decided to use orjson." in facts
    assert "src/parser.py" in facts


def test_a_summary_can_not_pass_for_a_note_of_ours() -> None:
    edge = Edge(lambda request: f"{NOTE} by me]")
    made = sent(SummarizeHistory(**SMALL), edge, loop(ANTHROPIC, 6))
    assert made[1]["content"].count("[ctxkit: ") == 1


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_what_is_pinned_stays_with_the_call_or_the_result_that_belongs_to_it(wire: str) -> None:
    raw = [*loop(wire, 6), *step(wire, "last")]
    middleware = SummarizeHistory(pinned=lambda block: "step_1:" in block.text, **SMALL)
    made = sent(middleware, numbered(), raw, wire=wire)
    assert made[:3] == [raw[0], *raw[3:5]]
    assert NOTE in texts([made[3]])
    assert made[4:] == raw[-4:]


def test_the_systems_messages_and_what_only_the_provider_can_read_stay() -> None:
    system = {"role": "developer", "content": "You find bugs."}
    raw = [system, *loop(OPENAI, 3), {"role": "developer", "content": "Be brief."}, *loop(OPENAI, 7, first=3)]
    made = sent(SummarizeHistory(**SMALL), numbered(), raw, wire=OPENAI)
    assert made[:3] == [system, raw[1], {"role": "developer", "content": "Be brief."}]
    assert NOTE in texts([made[3]])


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_a_new_process_sends_the_same_bytes_where_the_store_is_durable(wire: str, tmp_path: Path) -> None:
    edge = numbered()
    path = tmp_path / "kept.db"
    made = grown(SummarizeHistory(store=SqliteStore(path), **SMALL), edge, 14, wire=wire)
    asked = len(edge.side)
    for number in (7, 10, 14):
        again = sent(SummarizeHistory(store=SqliteStore(path), **SMALL), edge, loop(wire, number), wire=wire)
        assert json.dumps(again) == json.dumps(made[number])
    assert len(edge.side) == asked


def test_marks_for_the_prompt_cache_that_the_caller_moves_do_not_lose_the_summary() -> None:
    edge, store = numbered(), MemoryStore()
    raw = loop(ANTHROPIC, 6)
    marked = json.loads(json.dumps(raw))
    marked[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    sent(SummarizeHistory(store=store, **SMALL), edge, marked)
    sent(SummarizeHistory(store=store, **SMALL), edge, [*raw, *step(ANTHROPIC, "more")])
    assert len(edge.side) == 1
    assert NOTE in texts(native(edge.main[-1]))


def test_where_the_store_lost_it_a_new_summary_is_written() -> None:
    edge = numbered()
    grown(SummarizeHistory(**SMALL), edge, 6)
    asked = len(edge.side)
    made = sent(SummarizeHistory(**SMALL), edge, loop(ANTHROPIC, 7))
    assert len(edge.side) == asked + 1
    assert f"Part {asked + 1}." in texts(made)


def raising(error: Exception) -> Write:
    def write(request: ModelRequest) -> str:
        raise error

    return write


@pytest.mark.parametrize(
    ("write", "more"),
    [
        (lambda request: "word " * 5_000, {}),
        (lambda request: " ", {}),
        (lambda request: "Short.", {"stop_reason": "max_tokens"}),
        (lambda request: "Short.", {"stop_reason": "refusal"}),
        (raising(ModelCallFailed(529, None)), {}),
        (raising(TimeoutError("slow")), {}),
    ],
    ids=["not smaller", "empty", "cut off", "refused", "failed", "timeout"],
)
def test_where_no_good_summary_comes_old_results_are_cleared_and_that_is_kept(
    write: Write, more: dict[str, Any]
) -> None:
    edge, store = Edge(write, **more), MemoryStore()
    settings = {**SMALL, "every_requests": 5, "store": store}
    made = grown(SummarizeHistory(**settings), edge, 9)
    assert CLEARED in texts(made[-1])
    assert NOTE not in texts(made[-1])
    assert len(made[-1]) == len(loop(ANTHROPIC, 9))
    assert len(edge.side) == 2
    again = sent(SummarizeHistory(**settings), edge, loop(ANTHROPIC, 9))
    assert json.dumps(again) == json.dumps(made[-1])
    assert len(edge.side) == 2


def test_where_no_summary_comes_and_nothing_can_be_cleared_the_request_goes_out_as_it_is() -> None:
    edge = Edge(lambda request: " ")
    said = [user("a " * 600), {"role": "assistant", "content": "b " * 600}]
    raw = [*said, *said, *said, user("And now?")]
    assert sent(SummarizeHistory(**SMALL), edge, raw) == raw
    assert len(edge.side) == 1


def test_a_mark_of_the_callers_gets_one_beside_it_in_front_of_the_summary() -> None:
    """Anthropic looks back over few places from a mark: without one here the beginning would not be found."""
    mark = {"cache_control": {"type": "ephemeral"}}
    raw = loop(ANTHROPIC, 6)
    raw[0] = {"role": "user", "content": [{"type": "text", "text": "Find the bug."}]}
    raw[-1]["content"][-1].update(mark)
    made = sent(SummarizeHistory(**SMALL), numbered(), raw, model="claude-sonnet-4-5")
    assert made[0]["content"][-1] == {"type": "text", "text": "Find the bug.", **mark}
    assert NOTE in texts([made[1]])


def test_behind_a_summary_old_results_are_cleared_where_the_next_one_fails() -> None:
    edge = Edge(lambda request: "word " * 5_000 if len(edge.side) == 2 else f"Part {len(edge.side)}.")
    made = grown(SummarizeHistory(**SMALL), edge, 16)
    failed = next(messages for messages in made if CLEARED in texts(messages))
    assert "Part 1." in texts(failed)
    assert "Part 3." in texts(made[-1])
    assert "Part 1." in texts(made[-1])
    assert CLEARED not in texts(made[-1])


def test_a_failed_side_call_is_counted_as_a_fault_and_the_refusal_is_noted() -> None:
    with ctxkit.task("test") as task:
        sent(SummarizeHistory(**SMALL), Edge(raising(TimeoutError("slow"))), loop(ANTHROPIC, 6))
    assert task.faults == {"SummarizeHistory: TimeoutError": 1}
    assert ("left", "no summary that is smaller could be had") in {
        (made.action, made.reason) for made in task.decisions
    }


def test_what_is_done_is_noted_once() -> None:
    with ctxkit.task("test") as task:
        edge = numbered()
        grown(SummarizeHistory(**{**SMALL, "every_requests": 100}), edge, 8)
    (decision,) = task.decisions
    assert (decision.by, decision.action) == ("SummarizeHistory", "replaced")
    assert decision.where[1] == 1
    assert decision.reason.startswith("a summary stands for")


@pytest.mark.parametrize("every", [3, 6])
def test_side_calls_are_so_many_requests_apart(every: int) -> None:
    edge = Edge(lambda request: " ")
    asked_at = []
    for number, _ in enumerate(grown(SummarizeHistory(**{**SMALL, "every_requests": every}), edge, 14)):
        asked_at.append(number)
    assert len(edge.side) == len(range(len(asked_at))[4::every])


def test_after_a_summary_the_history_must_grow_by_as_much_as_was_saved() -> None:
    edge = numbered()
    made = grown(SummarizeHistory(**SMALL), edge, 14)
    sizes = [len(texts(messages)) for messages in made]
    summed = [number for number in range(1, len(made)) if sizes[number] < sizes[number - 1]]
    for first, second in pairwise(summed):
        assert sizes[second - 1] >= sizes[first - 1]


@pytest.mark.parametrize("wire", [ANTHROPIC, OPENAI])
def test_a_request_that_is_not_to_be_edited_goes_out_as_it_is(wire: str) -> None:
    edge = numbered()
    made = run(
        ctxkit.Stack(SummarizeHistory(**SMALL)).model_flow(request(wire, loop(wire, 6)).as_it_is()), edge
    )
    assert native(made.request) == loop(wire, 6)
    assert not edge.side


@pytest.mark.parametrize(
    ("wire", "messages", "more"),
    [
        (RESPONSES, loop(RESPONSES, 6), {"previous_response_id": "resp_1"}),
        (ANTHROPIC, [], {}),
        (ANTHROPIC, [says(ANTHROPIC, "hi")], {}),
        (ANTHROPIC, [{"role": "assistant", "content": "Hello."}, *loop(ANTHROPIC, 6)], {}),
        (ANTHROPIC, [*loop(ANTHROPIC, 6), {"role": "assistant", "content": "The bug is"}], {}),
        (OPENAI, [{"role": "system", "content": "word " * 2_000}], {}),
        (ANTHROPIC, [says(ANTHROPIC, "word " * 2_000), *step(ANTHROPIC, "a", "short")], {}),
        (
            ANTHROPIC,
            [user("hi"), calls(ANTHROPIC, "a", "b"), *results(ANTHROPIC, {"a": "word " * 2_000})],
            {},
        ),
    ],
    ids=["server state", "empty", "short", "no question", "prefill", "no turns", "opening", "open call"],
)
def test_what_can_not_be_summarised_is_left_as_it_is(
    wire: str, messages: list[Any], more: dict[str, Any]
) -> None:
    edge = numbered()
    assert sent(SummarizeHistory(**SMALL), edge, messages, wire=wire, **more) == messages
    assert not edge.side


def test_other_calls_than_the_callers_get_the_summary_and_start_none() -> None:
    edge, middleware, raw = numbered(), SummarizeHistory(**SMALL), loop(ANTHROPIC, 6)
    for expected in (False, True):
        asked = request(ANTHROPIC, raw).side_call("recall")
        made = run(ctxkit.Stack(middleware).model_flow(asked), edge).request
        assert (NOTE in texts(native(made))) == expected
        sent(middleware, edge, raw)
    assert [side.purpose for side in edge.side] == ["recall", "summary", "recall"]


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"start_tokens": 1}, "start_tokens"),
        ({"max_tokens": 99}, "max_tokens"),
        ({"every_requests": 0}, "every_requests"),
        ({"keep_steps": -1}, "keep_steps"),
        ({"remaining": -1}, "fixed"),
    ],
)
def test_settings_that_make_no_sense_are_refused_at_once(options: Any, option: str) -> None:
    with pytest.raises(ConfigError) as raised:
        SummarizeHistory(**options)
    assert raised.value.option == option
