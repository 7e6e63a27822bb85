"""What an attempt sent, told by the one before it: what is new, what changed, and who changed it."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.ledger import Before, Change, Decision, Sent, closest, compare, standing_of
from ctxkit.messages import Histories, ModelRequest
from ctxkit.tokens import BlockCounter, shape_of
from support.bodies import (
    ALL_WIRES,
    ANTHROPIC,
    OPENAI,
    RESPONSES,
    WIRES,
    calls,
    request_of,
    results,
    rounds,
    user,
)
from support.histories import BODIES
from support.runs import RUNS


class Letters:
    """Counts a token a letter."""

    name = "letters"

    def count(self, text: str) -> int:
        return len(text)


COUNTER = BlockCounter(Letters())
MARK = {"cache_control": {"type": "ephemeral"}}
TOOLS = [{"name": name, "input_schema": {}} for name in ("ls", "grep", "read")]


class Loop:
    """Requests of one process, each compared with the one before it."""

    def __init__(self, wire: str = ANTHROPIC) -> None:
        self.wire = wire
        self.histories = Histories()
        self.last: Before | None = None
        self.requests: list[ModelRequest] = []

    def request(self, messages: Sequence[Any], **body: Any) -> ModelRequest:
        return request_of(self.wire, messages, histories=self.histories, **body)

    def send(self, request: ModelRequest, *decisions: Decision) -> Sent:
        sent = compare(self.last, request, COUNTER, decisions=lambda: decisions)
        self.requests.append(request)
        self.last = Before.of(f"attempt {len(self.requests)}", request)
        return sent

    def says(self, messages: Sequence[Any], **body: Any) -> Sent:
        return self.send(self.request(messages, **body))


def change(sent: Sent) -> Change:
    assert sent.change is not None
    return sent.change


@pytest.mark.parametrize("wire", WIRES)
def test_the_first_attempt_of_a_task_sends_everything(wire: str) -> None:
    loop = Loop(wire)
    sent = loop.says(rounds(wire, ["a result"]))
    assert (sent.after, sent.kept, sent.kept_tokens, sent.change) == (None, 0, 0, None)
    assert [(block.kind, block.tool) for block in sent.added] == [
        ("user_text", None),
        ("tool_call", "search"),
        ("tool_result", "search"),
    ]
    assert (
        sum(block.tokens for block in sent.added) == sent.tokens == shape_of(loop.requests[0], COUNTER).total
    )


@pytest.mark.parametrize("wire", WIRES)
def test_a_history_that_goes_on_sends_what_is_new(wire: str) -> None:
    loop = Loop(wire)
    first, second = loop.says(rounds(wire, ["one"])), loop.says(rounds(wire, ["one", "two"]))
    assert (second.after, second.kept, second.change) == ("attempt 1", 3, None)
    assert second.kept_tokens == first.tokens
    assert [(block.kind, block.call_id) for block in second.added] == [
        ("tool_call", "call_1"),
        ("tool_result", "call_1"),
    ]
    assert second.kept_tokens + sum(block.tokens for block in second.added) == second.tokens


def test_the_same_request_again_sends_nothing_new() -> None:
    loop = Loop()
    first, again = (loop.says(rounds(ANTHROPIC, ["one"])) for _ in range(2))
    assert (again.kept, again.kept_tokens, again.added, again.change) == (3, first.tokens, (), None)


@pytest.mark.parametrize("wire", RUNS)
def test_everything_up_to_the_last_answer_is_carried_and_the_turn_follows_it(wire: str) -> None:
    """What stands behind the answer, such as the results it asked for, is new."""
    if wire not in ALL_WIRES:
        pytest.skip("requests of this wire are read from logs alone")
    run = RUNS[wire]
    loop = Loop(wire)
    first, second = (loop.request(run.messages[: one.input_messages]) for one in run.requests)
    sent = [loop.send(first), loop.send(second)]
    assert [standing_of(one, COUNTER).answers + 1 for one in (first, second)] == [1, 2]
    assert sent[0].carried_tokens == 0
    result = sent[1].added[-1]
    assert result.kind == "tool_result"
    assert sent[1].carried_tokens == sent[1].tokens - result.tokens


def test_of_an_answer_of_several_items_each_is_a_part_and_answers_side_by_side_are_several() -> None:
    items = RUNS[RESPONSES].messages
    assert standing_of(Loop(RESPONSES).request(items), COUNTER).answers == 2
    chat = [user("hi"), {"role": "assistant", "content": "one"}, {"role": "assistant", "content": "two"}]
    assert standing_of(Loop(OPENAI).request(chat), COUNTER).answers == 2


def test_a_message_without_blocks_adds_none() -> None:
    sent = Loop().says([user(""), {"role": "assistant", "content": []}, user("hi")])
    assert [block.kind for block in sent.added] == ["user_text"]
    assert sent.carried_tokens == 0


def test_what_the_caller_changed_is_the_callers() -> None:
    loop = Loop()
    loop.says(rounds(ANTHROPIC, ["one", "two"]))
    sent = loop.says([*rounds(ANTHROPIC, ["one"]), user("Something else.")])
    assert (sent.after, sent.kept) == ("attempt 1", 3)
    assert [block.kind for block in sent.added] == ["user_text"]
    told = change(sent)
    assert told.block is not None
    assert (told.block.kind, told.block.call_id) == ("tool_call", "call_1")
    assert (told.by, told.middleware, told.where) == ("caller", None, "messages.3.content")
    assert told.reason == "the caller sent another user text here"


def test_what_the_caller_left_out_is_the_callers() -> None:
    loop = Loop()
    loop.says(rounds(ANTHROPIC, ["one", "two"]))
    sent = loop.says(rounds(ANTHROPIC, ["one"]))
    assert (sent.kept, sent.added) == (3, ())
    told = change(sent)
    assert (told.by, told.where) == ("caller", "messages.3.content.0")
    assert told.reason == "the caller left out what stood here"


def test_a_change_in_the_middle_of_a_turn_is_found_block_by_block() -> None:
    loop = Loop()
    question = rounds(ANTHROPIC, [])
    asked = [*question, calls(ANTHROPIC, "a", "b")]
    loop.says([*asked, *results(ANTHROPIC, {"a": "one", "b": "two"})])
    sent = loop.says([*asked, *results(ANTHROPIC, {"a": "one", "b": "other"})])
    assert (sent.kept, change(sent).where) == (4, "messages.2.content.1")
    assert [block.call_id for block in sent.added] == ["b"]


@pytest.mark.parametrize("wire", WIRES)
def test_parallel_results_in_another_order_are_told_from_other_changes(wire: str) -> None:
    loop = Loop(wire)
    asked = [user("hi"), calls(wire, "a", "b", "c")]
    contents = {"a": "one", "b": "two", "c": "three"}
    loop.says([*asked, *results(wire, contents)])
    sent = loop.says([*asked, *results(wire, {one: contents[one] for one in "acb"}), user("Go on.")])
    assert (sent.kept, change(sent).by) == (5, "result_order")
    assert change(sent).reason == "the same results of parallel calls stand in another order"


def test_tools_in_another_order_are_told_from_other_tools() -> None:
    loop = Loop()
    loop.says([user("hi")], tools=TOOLS, system="Be brief.")
    swapped = loop.says([user("hi")], tools=[TOOLS[0], TOOLS[2], TOOLS[1]], system="Be brief.")
    assert (swapped.kept, change(swapped).by, change(swapped).where) == (1, "tool_order", "tools.1")
    assert len(swapped.added) == 4
    fewer = loop.says([user("hi")], tools=TOOLS[:1], system="Be brief.")
    assert (fewer.kept, change(fewer).by, change(fewer).where) == (1, "caller", "system")


def test_another_model_shares_no_cache_though_it_is_sent_the_same() -> None:
    loop = Loop()
    loop.says(rounds(ANTHROPIC, ["one"]))
    sent = loop.says(rounds(ANTHROPIC, ["one", "two"]), model="n")
    assert (sent.kept, len(sent.added)) == (3, 2)
    assert sent.change == Change(None, "model", None, "model", "the model was m and is n")
    unnamed = loop.send(replace(loop.requests[-1], body={"messages": [user("hi")]}))
    assert change(unnamed).reason == "the model was n and is unknown"


def test_a_cache_mark_that_moves_on_changes_nothing() -> None:
    """Moving `cache_control` does not invalidate the cache; a string stands for one text block."""
    loop = Loop()
    said = {"type": "text", "text": "hi", **MARK}
    answer = calls(ANTHROPIC, "a")
    (found,) = results(ANTHROPIC, {"a": [{"type": "text", "text": "found"}]})
    marked = {**found, "content": [{**found["content"][0], **MARK}]}
    loop.says([{"role": "user", "content": [said]}], tools=[TOOLS[0], {**TOOLS[1], **MARK}])
    second = loop.says([user("hi"), answer, marked], tools=TOOLS[:2])
    third = loop.says([user("hi"), answer, found, user("Go on.")], tools=TOOLS[:2])
    assert (second.kept, second.change, len(second.added)) == (3, None, 2)
    assert (third.kept, third.change, len(third.added)) == (5, None, 1)


def test_the_same_text_said_by_somebody_else_is_another_block() -> None:
    loop = Loop()
    loop.says([user("hi"), user("yes")])
    sent = loop.says([user("hi"), {"role": "assistant", "content": "yes"}])
    assert (sent.kept, change(sent).by) == (1, "caller")


def test_equal_turns_of_another_process_are_known_by_their_bytes() -> None:
    loop = Loop()
    loop.says(rounds(ANTHROPIC, ["one"]))
    loop.histories = Histories()
    sent = loop.says(rounds(ANTHROPIC, ["one", "two"]))
    assert (sent.after, sent.kept, sent.change, len(sent.added)) == ("attempt 1", 3, None, 2)


def test_without_the_turns_of_the_one_before_there_is_nothing_to_compare_with() -> None:
    loop = Loop()
    loop.says([user("hi")])
    loop.histories = Histories()
    loop.requests.clear()
    gc.collect()
    sent = loop.says([user("hi"), user("there")])
    assert (sent.after, sent.kept, sent.change, len(sent.added)) == (None, 0, None, 2)


class TestEdits:
    """Requests that middlewares edited."""

    def edited(self, loop: Loop, texts: Sequence[str], cut: Mapping[int, str]) -> ModelRequest:
        request = loop.request(rounds(ANTHROPIC, texts))
        blocks = list(request.tool_results())
        return request.with_result_texts({blocks[nth]: text for nth, text in cut.items()})

    def decided(self, call_id: str | None, where: tuple[str | int, ...], **more: Any) -> Decision:
        told: dict[str, Any] = {"by": "TrimHistory", "action": "replaced", "reason": "it is old", **more}
        return Decision(kind="tool_result", where=where, tool="search", call_id=call_id, **told)

    def test_an_edit_that_stays_is_no_change(self) -> None:
        loop = Loop()
        loop.send(self.edited(loop, ["one"], {0: "cut"}))
        assert loop.send(self.edited(loop, ["one", "two"], {0: "cut"})).change is None

    def test_a_new_edit_of_what_stood_there_before_is_its_middlewares(self) -> None:
        loop = Loop()
        loop.says(rounds(ANTHROPIC, ["one", "two"]))
        request = self.edited(loop, ["one", "two", "three"], {0: "cleared"})
        sent = loop.send(
            request,
            self.decided("call_0", ("messages", 2, "content", 0)),
            self.decided("call_0", ("messages", 2, "content", 0), action="left", by="Other"),
            self.decided("call_1", ("messages", 4, "content", 0), by="Other"),
        )
        assert sent.kept == 2
        assert [block.call_id for block in sent.added] == ["call_0", "call_1", "call_1", "call_2", "call_2"]
        told = change(sent)
        assert (told.by, told.middleware, told.reason) == ("middleware", "TrimHistory", "it is old")
        assert told.where == "messages.2.content.0"

    def test_a_decision_without_a_call_is_known_by_its_place(self) -> None:
        loop = Loop()
        loop.says(rounds(ANTHROPIC, ["one", "two"]))
        mended = self.decided(None, ("messages", 2), by="RepairHistory", action="repaired")
        sent = loop.send(self.edited(loop, ["one", "two"], {0: "mended"}), mended)
        assert change(sent).middleware == "RepairHistory"

    def test_an_edit_that_is_given_up_is_a_middlewares_too(self) -> None:
        loop = Loop()
        loop.send(self.edited(loop, ["one"], {0: "cut"}))
        told = change(loop.says(rounds(ANTHROPIC, ["one", "two"])))
        assert (told.by, told.middleware) == ("middleware", None)
        assert told.reason == "a middleware edits it in another way than before"

    def test_what_the_caller_changed_in_front_of_an_edit_is_the_callers(self) -> None:
        loop = Loop()
        loop.send(self.edited(loop, ["one", "two"], {1: "cut"}))
        told = change(loop.send(self.edited(loop, ["other", "two"], {1: "cut otherwise"})))
        assert (told.by, told.where) == ("caller", "messages.2.content.0")

    def test_what_the_caller_changed_behind_an_edit_does_not_hide_it(self) -> None:
        loop = Loop()
        loop.send(self.edited(loop, ["one", "two"], {0: "cut"}))
        assert change(loop.send(self.edited(loop, ["one", "other"], {0: "otherwise"}))).by == "middleware"

    def test_where_the_callers_own_request_is_gone_the_change_counts_as_its(self) -> None:
        loop = Loop()
        request = self.edited(loop, ["one"], {0: "cut"})
        loop.send(request)
        assert loop.last is not None
        gone = Before.of("lost", request_of(ANTHROPIC, [user("hi")])).asked
        gc.collect()
        assert gone() is None
        loop.last = replace(loop.last, asked=gone)
        assert change(loop.says(rounds(ANTHROPIC, ["one", "two"]))).by == "caller"


def test_of_loops_side_by_side_each_is_compared_with_its_own_last_prompt() -> None:
    loop = Loop()
    one, other = (loop.request([user("hi"), user(text)]) for text in ("one", "other"))
    known = [Before.of("one", one), Before.of("other", other)]
    for name, request in (("one", one), ("other", other)):
        found = closest(known, loop.request([*request.body["messages"], user("Go on.")]))
        assert found is not None
        assert found.attempt == name


def test_of_prompts_that_have_as_much_in_common_the_last_is_taken() -> None:
    loop = Loop()
    requests = [loop.request([user(text)]) for text in ("one", "two")]
    known = [Before.of(str(nth), request) for nth, request in enumerate(requests)]
    assert closest(known, loop.request([user("three")])) is known[1]
    assert closest(known[:1], loop.request([user("three")])) is known[0]
    assert closest([], loop.request([user("three")])) is None


@given(st.sampled_from(WIRES), st.data())
def test_what_is_kept_and_what_is_added_are_the_prompt(wire: str, data: st.DataObject) -> None:
    loop = Loop(wire)
    sizes: list[int] = []
    for body in data.draw(st.lists(BODIES[wire], min_size=1, max_size=3)):
        request = loop.request(body["messages"], **{key: body[key] for key in body if key != "messages"})
        sent = loop.send(request)
        blocks = list(request.blocks())
        assert sent.kept + len(sent.added) == len(blocks)
        assert [block.digest.hex() for block in blocks[sent.kept :]] == [one.digest for one in sent.added]
        assert sent.kept_tokens + sum(one.tokens for one in sent.added) == sent.tokens
        assert 0 <= sent.carried_tokens <= sent.tokens
        if sizes and sent.change is None:
            assert sent.kept == sizes[-1]
        sizes.append(len(blocks))
