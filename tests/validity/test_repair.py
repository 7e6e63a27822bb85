"""What a repair does to each kind of problem, and what it leaves alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit.errors import BodyError, ConfigError
from ctxkit.validity import Edit, repair
from ctxkit.validity.editing import NO_RESULT
from support.bodies import ANTHROPIC, OPENAI, calls, results
from support.validity import (
    assistant,
    mended,
    messages,
    refused,
    searched,
    text,
    thinking,
    tool_result,
    tool_use,
    user,
    web_search,
)

RESPONSES, GEMINI = "openai_responses", "gemini"
ASK, GO_ON, DONE = user("Find the bug."), user("Go on."), assistant(text("Done."))
SYSTEM = {"role": "system", "content": "Be brief."}
MARK = {"cache_control": {"type": "ephemeral"}}


def of(*history: Any, **more: Any) -> list[Any]:
    """The messages of a mended history of Anthropic's."""
    return list(mended(messages(*history, **more), ANTHROPIC).body["messages"])


def test_each_edit_names_its_rule_its_place_and_what_was_done() -> None:
    repaired = mended(messages(ASK, calls(ANTHROPIC, "a"), user(tool_result("b"), text("Go on."))), ANTHROPIC)
    assert repaired.edits == (
        Edit(
            "tool_use_has_its_result",
            ("messages", 1, "content", 0),
            "added a result that says that none is available",
        ),
        Edit("tool_result_has_its_tool_use", ("messages", 2, "content", 1), "left it out"),
    )


def test_a_body_may_be_given_as_its_bytes() -> None:
    body = messages(ASK, calls(ANTHROPIC, "a"), model="claude-opus-5")
    repaired = repair(json.dumps(body).encode())
    assert repaired.body["messages"][2:] == [user(tool_result("a", NO_RESULT))]
    assert list(repaired.body) == ["messages", "model"]


def test_what_is_no_body_is_refused() -> None:
    with pytest.raises(BodyError):
        repair(b"[]")
    with pytest.raises(BodyError):
        repair({"model": "m"})
    with pytest.raises(ConfigError):
        repair(messages(ASK), wire="morse")


class TestAnthropic:
    """Anthropic's Messages API."""

    def test_a_stub_stands_where_the_result_should(self) -> None:
        assert of(ASK, calls(ANTHROPIC, "a")) == [
            ASK,
            calls(ANTHROPIC, "a"),
            user(tool_result("a", NO_RESULT)),
        ]
        assert of(ASK, calls(ANTHROPIC, "a"), SYSTEM, GO_ON)[2:] == [
            user(tool_result("a", NO_RESULT)),
            SYSTEM,
            GO_ON,
        ]

    def test_a_result_that_stands_too_far_behind_is_moved(self) -> None:
        late = [
            ASK,
            calls(ANTHROPIC, "a", "b"),
            user(tool_result("a")),
            DONE,
            user(tool_result("b"), text("Go.")),
        ]
        assert of(*late) == [
            ASK,
            calls(ANTHROPIC, "a", "b"),
            user(tool_result("a"), tool_result("b")),
            DONE,
            user(text("Go.")),
        ]

    def test_the_result_of_a_later_call_of_that_id_is_not_taken(self) -> None:
        again = [calls(ANTHROPIC, "a"), user(tool_result("a"), text("Go on."))]
        assert of(ASK, calls(ANTHROPIC, "a"), GO_ON, *again)[2:] == [
            user(tool_result("a", NO_RESULT), text("Go on.")),
            *again,
        ]

    def test_a_result_is_not_moved_from_where_nothing_else_is_left_to_answer(self) -> None:
        body = messages(ASK, calls(ANTHROPIC, "a", "b"), user(tool_result("a")), DONE, user(tool_result("b")))
        repaired = repair(body, wire=ANTHROPIC)
        assert repaired.body["messages"][2] == user(tool_result("a"), tool_result("b", NO_RESULT))
        assert [problem.rule for problem in repaired.unresolved] == ["tool_result_has_its_tool_use"]

    def test_calls_of_messages_in_a_row_are_answered_in_one(self) -> None:
        assert of(ASK, calls(ANTHROPIC, "a"), calls(ANTHROPIC, "b"), user(tool_result("b")))[3:] == [
            user(tool_result("a", NO_RESULT), tool_result("b"))
        ]

    def test_results_move_to_the_front_across_messages_in_a_row(self) -> None:
        first, second = tool_result("a"), tool_result("b")
        history = [ASK, calls(ANTHROPIC, "a", "b"), user(first), user("Look:"), user(second), GO_ON]
        assert of(*history)[2:] == [user(first), user(second, text("Look:")), user(text("Go on."))]

    def test_an_emptied_message_goes_with_its_last_block(self) -> None:
        assert of(ASK, assistant(text("")), user(text(" ")), GO_ON) == [ASK, GO_ON]
        assert of(ASK, {"role": "assistant", "content": ""}, user("  "), GO_ON) == [ASK, GO_ON]

    def test_a_message_goes_from_the_middle_though_the_caller_began_the_answer(self) -> None:
        begun = assistant(text("The bug is"))
        assert of(ASK, user(tool_result("a")), ASK, begun) == [ASK, ASK, begun]

    def test_a_message_that_is_all_there_is_stays(self) -> None:
        assert [rule for rule, _ in refused(messages(user("")), ANTHROPIC)] == ["message_is_not_empty"]

    def test_an_empty_text_before_a_missing_result_goes_for_good(self) -> None:
        assert of(ASK, calls(ANTHROPIC, "a"), user(""))[2:] == [user(tool_result("a", NO_RESULT))]

    def test_an_empty_system_prompt_is_left_out(self) -> None:
        assert "system" not in mended(messages(ASK, system=[text("")]), ANTHROPIC).body
        assert "system" not in mended(messages(ASK, system=" "), ANTHROPIC).body
        body = mended(messages(ASK, system=[text(""), text("Be brief.")]), ANTHROPIC).body
        assert body["system"] == [text("Be brief.")]

    def test_a_second_result_is_left_out(self) -> None:
        first, second = tool_result("a", "1"), tool_result("a", "2")
        assert of(ASK, calls(ANTHROPIC, "a"), user(first, second))[2:] == [user(first)]

    def test_a_call_of_the_providers_own_tool_goes_when_its_result_is_lost(self) -> None:
        assert of(ASK, assistant(text("I search."), web_search("s")), GO_ON)[1] == assistant(
            text("I search.")
        )
        assert of(ASK, assistant(searched("s"), text("Sunny.")), GO_ON)[1] == assistant(text("Sunny."))

    def test_an_empty_compaction_is_left_out(self) -> None:
        assert of(ASK, assistant({"type": "compaction", "content": ""}, text("Done.")), GO_ON)[1] == DONE

    def test_of_five_marks_the_ones_that_serve_most_are_kept(self) -> None:
        """The last two of the messages, then those of system and tools, then the other ones."""
        head = {
            "system": [text("Be brief.", **MARK)],
            "tools": [{"name": "find", "input_schema": {}, **MARK}],
        }
        marked = [user(text(str(number), **MARK)) for number in range(4)]
        repaired = mended(messages(*marked, **head), ANTHROPIC)
        assert [MARK.keys() <= message["content"][0].keys() for message in repaired.body["messages"]] == [
            False,
            False,
            True,
            True,
        ]
        assert {key: repaired.body[key] for key in head} == head
        assert repaired.edits[0].what == "took cache_control off messages.0.content.0, messages.1.content.0"

    def test_a_mark_at_the_top_leaves_room_for_three(self) -> None:
        body = messages(user(*[text(str(number), **MARK) for number in range(4)], text("Hi.")), **MARK)
        content = mended(body, ANTHROPIC).body["messages"][0]["content"]
        assert [MARK.keys() <= part.keys() for part in content] == [False, True, True, True, False]

    def test_the_thinking_of_a_running_loop_is_never_touched(self) -> None:
        loop = [assistant(thinking(), text(""), tool_use("a")), user(tool_result("a"), text(""))]
        assert of(ASK, *loop) == [ASK, assistant(thinking(), tool_use("a")), user(tool_result("a"))]


class TestChat:
    """OpenAI's Chat Completions API."""

    def test_stubs_stand_in_the_order_of_their_calls(self) -> None:
        (found,) = results(OPENAI, {"b": "Found."})
        history = [ASK, calls(OPENAI, "a", "b", "c"), found, GO_ON]
        ids = [one.get("tool_call_id") for one in mended(messages(*history), OPENAI).body["messages"]]
        assert ids == [None, None, "a", "b", "c", None]

    def test_the_answer_to_a_later_call_of_that_id_is_not_taken(self) -> None:
        again = [calls(OPENAI, "a"), *results(OPENAI, {"a": "Found."})]
        repaired = mended(messages(ASK, calls(OPENAI, "a"), GO_ON, *again), OPENAI).body["messages"]
        assert repaired[2]["content"] == NO_RESULT
        assert repaired[3:] == [GO_ON, *again]

    def test_an_answer_is_not_moved_from_where_nothing_else_is_left_to_answer(self) -> None:
        first, second = results(OPENAI, {"a": "Found.", "b": "Found."})
        body = messages(ASK, calls(OPENAI, "a", "b"), first, {"role": "assistant", "content": "Hm."}, second)
        repaired = repair(body, wire=OPENAI)
        assert repaired.body["messages"][3]["content"] == NO_RESULT
        assert [problem.rule for problem in repaired.unresolved] == ["tool_message_has_its_call"]

    def test_a_second_answer_is_left_out_unless_two_calls_have_its_id(self) -> None:
        twice = [*results(OPENAI, {"a": "1"}), *results(OPENAI, {"a": "2"})]
        body = messages(ASK, calls(OPENAI, "a"), *twice)
        assert mended(body, OPENAI).body["messages"][2:] == twice[:1]
        two = messages(ASK, calls(OPENAI, "a", "a"), *twice)
        assert [rule for rule, _ in refused(two, OPENAI)] == ["tool_call_has_one_message"]

    def test_a_call_without_an_id_can_not_be_answered(self) -> None:
        call = {"type": "function", "function": {"name": "find", "arguments": "{}"}}
        body = messages(ASK, {"role": "assistant", "tool_calls": [call]}, GO_ON)
        assert [rule for rule, _ in refused(body, OPENAI)] == ["tool_call_has_its_message"]


def test_a_call_of_anthropics_without_an_id_can_not_be_answered() -> None:
    body = messages(ASK, assistant({"type": "tool_use", "name": "find", "input": {}}), GO_ON)
    assert {rule for rule, _ in refused(body, ANTHROPIC)} == {
        "tool_id_has_its_form",
        "tool_use_has_its_result",
    }


class TestResponses:
    """OpenAI's Responses API."""

    CALL: dict[str, Any] = {"type": "function_call", "call_id": "a", "name": "find", "arguments": "{}"}
    REASONING: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}

    def test_a_stub_stands_behind_the_batch(self) -> None:
        custom = {"type": "custom_tool_call", "call_id": "b", "name": "run", "input": ""}
        body = {"input": [ASK, self.CALL, custom, GO_ON]}
        assert [item.get("type") for item in mended(body, RESPONSES).body["input"]] == [
            None,
            "function_call",
            "custom_tool_call",
            "custom_tool_call_output",
            "function_call_output",
            None,
        ]

    def test_a_screenshot_can_not_be_made_up(self) -> None:
        body = {"input": [ASK, {"type": "computer_call", "call_id": "a", "id": "cu_1", "action": {}}, GO_ON]}
        assert [rule for rule, _ in refused(body, RESPONSES)] == ["call_has_its_output"]

    def test_reasoning_of_a_running_loop_is_never_touched(self) -> None:
        output = {"type": "function_call_output", "call_id": "a", "output": "Found."}
        running = {"input": [ASK, self.CALL, self.REASONING, output]}
        over = {"input": [ASK, self.CALL, self.REASONING, output, GO_ON]}
        assert [rule for rule, _ in refused(running, RESPONSES)] == ["reasoning_has_its_item"]
        assert mended(over, RESPONSES).body["input"] == [ASK, self.CALL, output, GO_ON]

    def test_an_item_that_stands_there_twice_goes_where_both_are_the_same(self) -> None:
        item = {"type": "message", "role": "assistant", "id": "msg_1", "content": "Done."}
        same = {"input": [ASK, item, dict(item), GO_ON]}
        other = {"input": [ASK, item, {**item, "content": "Not yet."}, GO_ON]}
        assert mended(same, RESPONSES).body["input"] == [ASK, item, GO_ON]
        assert refused(other, RESPONSES) == [
            ("item_ids_are_unique", "the two items differ, and it can't be told which of them is right")
        ]


class TestGemini:
    """Google's Gemini API."""

    @staticmethod
    def contents(*answers: Any, called: tuple[str, ...] = ("find", "read")) -> dict[str, Any]:
        parts = [{"functionCall": {"name": name, "args": {}}} for name in called]
        hello = {"role": "user", "parts": [{"text": "Hi."}]}
        return {"contents": [hello, {"role": "model", "parts": parts}, *answers]}

    @staticmethod
    def response(name: str, **more: Any) -> dict[str, Any]:
        return {"functionResponse": {"name": name, "response": {"output": "Found."}, **more}}

    def test_missing_responses_stand_beside_the_others(self) -> None:
        body = self.contents({"role": "user", "parts": [self.response("read")]})
        (answer,) = mended(body, GEMINI).body["contents"][2:]
        assert [part["functionResponse"]["name"] for part in answer["parts"]] == ["find", "read"]
        assert answer["parts"][0]["functionResponse"]["response"] == {"output": NO_RESULT}

    def test_responses_too_many_are_left_out(self) -> None:
        surplus = [self.response(name) for name in ("find", "read", "find")]
        repaired = mended(self.contents({"role": "user", "parts": surplus}), GEMINI)
        assert repaired.body["contents"][2]["parts"] == surplus[:2]
        assert repaired.edits[0].what == "left out contents.2.parts.2"

    def test_a_response_is_told_by_its_id_before_its_name(self) -> None:
        body = self.contents(
            {"role": "user", "parts": [self.response("find", id="2")]}, called=("find", "find")
        )
        for number, part in enumerate(body["contents"][1]["parts"], 1):
            part["functionCall"]["id"] = str(number)
        (answer,) = mended(body, GEMINI).body["contents"][2:]
        assert [part["functionResponse"]["id"] for part in answer["parts"]] == ["1", "2"]

    def test_an_open_call_at_the_end_is_answered(self) -> None:
        assert mended(self.contents(), GEMINI).body["contents"][2]["role"] == "user"

    def test_responses_of_a_turn_without_calls_are_left_out(self) -> None:
        body = self.contents(
            {"role": "user", "parts": [self.response("find"), {"text": "Go on."}]}, called=()
        )
        body["contents"][1]["parts"] = [{"text": "Hi."}]
        assert mended(body, GEMINI).body["contents"][2]["parts"] == [{"text": "Go on."}]

    def test_an_empty_content_is_left_out(self) -> None:
        body = self.contents({"role": "user", "parts": [self.response("find")]}, called=("find",))
        body["contents"].insert(0, {"role": "model", "parts": []})
        assert mended(body, GEMINI).body["contents"] == body["contents"][1:]

    def test_responses_that_answer_nothing_make_room_for_stubs(self) -> None:
        repaired = mended(self.contents({"role": "user", "parts": [self.response("other")]}), GEMINI)
        (answer,) = repaired.body["contents"][2:]
        assert [part["functionResponse"]["name"] for part in answer["parts"]] == ["find", "read"]
        assert repaired.edits[0].what == (
            "left out contents.2.parts.0, added a result that says that none is available"
        )

    def test_a_content_that_answered_nothing_goes_as_a_whole(self) -> None:
        surplus = [self.response(name) for name in ("find", "read", "other")]
        body = self.contents(*({"role": "user", "parts": [one]} for one in surplus))
        repaired = mended(body, GEMINI)
        assert [content["parts"] for content in repaired.body["contents"][2:]] == [
            [one] for one in surplus[:2]
        ]
        assert len(repaired.edits) == 1
