"""What Anthropic's Messages API refuses: for every rule, a body that breaks it and one that does not.

Each test quotes the provider.
"""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.validity import validate
from support.bodies import ANTHROPIC
from support.validity import (
    assistant,
    broken,
    messages,
    said,
    searched,
    text,
    thinking,
    tool_result,
    tool_use,
    user,
    web_search,
)

MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
ASK = user("Find the bug.")


def test_a_tool_loop_with_parallel_calls_is_accepted() -> None:
    body = messages(
        ASK,
        assistant(text("I look."), tool_use("a"), tool_use("b")),
        user(tool_result("b"), tool_result("a"), text("And hurry.")),
        assistant(text("Done.")),
        user("Thanks."),
    )
    assert broken(body, ANTHROPIC) == []


def test_a_message_has_a_known_role() -> None:
    """`messages: Unexpected role "tool". Allowed roles are "user" or "assistant".`"""
    body = messages(ASK, {"role": "tool", "content": "Found."})
    assert broken(body, ANTHROPIC) == [("role_is_known", ("messages", 1, "role"))]
    assert said(body, ANTHROPIC) == (
        'messages: Unexpected role "tool". Allowed roles are "user" or "assistant".'
    )


@pytest.mark.parametrize(
    ("model", "refuses"),
    [("claude-sonnet-4-6", True), ("claude-opus-4-8", False), ("claude-fable-5", False), ("m", False)],
)
def test_a_system_message_is_refused_by_models_before_its_time(model: str, refuses: bool) -> None:
    """`messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, ...`"""
    body = messages(
        ASK, {"role": "system", "content": "Be brief."}, assistant(text("Yes.")), ASK, model=model
    )
    expected = [("system_message_is_supported", ("messages", 1, "role"))] if refuses else []
    assert broken(body, ANTHROPIC) == expected


def test_calls_are_the_assistants_and_results_are_the_users() -> None:
    """`messages.9: `tool_result` blocks can only be in `user` messages`."""
    call, result = messages(user(text("Hi."), tool_use("a"))), messages(ASK, assistant(tool_result("a")), ASK)
    assert broken(call, ANTHROPIC) == [("block_stands_in_its_role", ("messages", 0, "content", 1))]
    assert broken(result, ANTHROPIC) == [("block_stands_in_its_role", ("messages", 1, "content", 0))]
    assert said(result, ANTHROPIC) == "messages.1: `tool_result` blocks can only be in `user` messages"


def test_a_text_is_not_empty() -> None:
    """`messages: text content blocks must be non-empty`."""
    body = messages(user(text("Hi."), text("")))
    assert broken(body, ANTHROPIC) == [("text_is_not_empty", ("messages", 0, "content", 1))]
    assert said(body, ANTHROPIC) == "messages: text content blocks must be non-empty"
    assert (
        said(messages(ASK, system=[text("")]), ANTHROPIC) == "system: text content blocks must be non-empty"
    )
    assert broken(messages(user(text("Hi."))), ANTHROPIC) == []


@pytest.mark.parametrize("message", [user(" \n"), user(text("Hi."), text("\n\n"))])
def test_a_text_is_not_only_white_space(message: dict[str, Any]) -> None:
    """`messages: text content blocks must contain non-whitespace text`."""
    assert (
        said(messages(message), ANTHROPIC) == "messages: text content blocks must contain non-whitespace text"
    )


def test_white_space_between_cited_texts_is_not_judged() -> None:
    cited = text("It is sunny.", citations=[{"type": "web_search_result_location"}])
    assert broken(messages(ASK, assistant(cited, text(" "), cited), ASK), ANTHROPIC) == []


def test_an_empty_text_is_not_marked_for_the_cache() -> None:
    """`messages.0.content.1.text: cache_control cannot be set for empty text blocks`."""
    body = messages(user(text("Hi."), text("", **MARK)))
    assert ("marked_text_is_not_empty", ("messages", 0, "content", 1)) in broken(body, ANTHROPIC)
    assert broken(messages(user(text("Hi.", **MARK))), ANTHROPIC) == []


def test_a_compaction_has_a_summary_or_failed() -> None:
    """`Empty string content is not allowed.` (types of the SDK; `null` is a failed compaction)."""
    empty = messages(ASK, assistant({"type": "compaction", "content": ""}, text("Go on.")), ASK)
    failed = messages(ASK, assistant({"type": "compaction", "content": None}, text("Go on.")), ASK)
    assert broken(empty, ANTHROPIC) == [("compaction_is_not_empty", ("messages", 1, "content", 0))]
    assert broken(failed, ANTHROPIC) == []


@pytest.mark.parametrize("call_id", ["functions.bash:0", "call|1", None])
def test_the_id_of_a_call_has_the_form_of_anthropics(call_id: Any) -> None:
    """`messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`."""
    body = messages(ASK, assistant(tool_use(call_id)), user(tool_result(call_id)))
    assert [(problem.rule, problem.message) for problem in validate(body, wire=ANTHROPIC)] == [
        ("tool_id_has_its_form", f"messages.{place}: String should match pattern '^[a-zA-Z0-9_-]+$'")
        for place in ("1.content.0.tool_use.id", "2.content.0.tool_result.tool_use_id")
    ]


def test_only_the_assistants_last_message_may_be_empty() -> None:
    """`all messages must have non-empty content except for the optional final assistant message`."""
    inside = messages(ASK, {"role": "assistant", "content": ""}, ASK)
    users = messages(ASK, assistant(text("Yes?")), user(""))
    last = messages(ASK, assistant())
    assert broken(inside, ANTHROPIC) == [("message_is_not_empty", ("messages", 1))]
    assert broken(users, ANTHROPIC) == [("message_is_not_empty", ("messages", 2))]
    assert broken(last, ANTHROPIC) == []
    assert said(inside, ANTHROPIC) == (
        "messages.1: all messages must have non-empty content except for the optional final assistant message"
    )


@pytest.mark.parametrize(
    "following",
    [
        [user(text("Stop."))],
        [user(tool_result("b"))],
        [{"role": "system", "content": "Be brief."}, user(tool_result("a"), tool_result("b"))],
        [],
    ],
)
def test_every_call_is_answered_in_the_very_next_message(following: list[Any]) -> None:
    """`messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a. Each
    `tool_use` block must have a corresponding `tool_result` block in the next message.`"""
    body = messages(ASK, assistant(tool_use("a"), tool_use("b")), *following)
    assert ("tool_use_has_its_result", ("messages", 1, "content", 0)) in broken(body, ANTHROPIC)


def test_messages_of_one_role_in_a_row_are_one_message() -> None:
    """ "Consecutive user or assistant turns in your request will be combined into a single turn."""
    body = messages(
        ASK,
        assistant(tool_use("a")),
        assistant(tool_use("b")),
        user(tool_result("b")),
        user(tool_result("a")),
        user(text("Go on.")),
    )
    assert broken(body, ANTHROPIC) == []


def test_results_come_first_in_their_message() -> None:
    """A follow-up that puts content before the results "fails earlier, with the client tool error"."""
    inside = messages(ASK, assistant(tool_use("a")), user(text("Here:"), tool_result("a")))
    across = messages(ASK, assistant(tool_use("a")), user(text("Here:")), user(tool_result("a")))
    assert broken(inside, ANTHROPIC) == [("tool_results_come_first", ("messages", 2, "content", 1))]
    assert broken(across, ANTHROPIC) == [("tool_results_come_first", ("messages", 3, "content", 0))]
    assert said(inside, ANTHROPIC).startswith(
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a."
    )


@pytest.mark.parametrize(
    ("before", "index"),
    [
        ([], 0),
        ([ASK], 1),
        ([ASK, assistant(text("Yes."))], 2),
        ([assistant(tool_use("a")), user(tool_result("a")), assistant()], 3),
    ],
)
def test_every_result_answers_a_call_of_the_message_right_before(before: list[Any], index: int) -> None:
    """`messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a. Each `tool_result`
    block must have a corresponding `tool_use` block in the previous message.`"""
    found = broken(messages(*before, user(tool_result("a"))), ANTHROPIC)
    assert ("tool_result_has_its_tool_use", ("messages", index, "content", 0)) in found


def test_no_call_is_answered_twice() -> None:
    """`messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks
    with id: a`"""
    body = messages(ASK, assistant(tool_use("a")), user(tool_result("a"), tool_result("a")))
    assert broken(body, ANTHROPIC) == [("tool_use_has_one_result", ("messages", 2, "content", 1))]
    assert said(body, ANTHROPIC) == (
        "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks "
        "with id: a"
    )


def test_calls_of_one_message_have_ids_of_their_own() -> None:
    """`messages.1.content.1: `tool_use` ids must be unique`; recorded requests reuse them later on."""
    batch = messages(ASK, assistant(tool_use("a"), tool_use("a")), user(tool_result("a"), tool_result("a")))
    later = messages(
        ASK,
        assistant(tool_use("a")),
        user(tool_result("a")),
        assistant(tool_use("a")),
        user(tool_result("a")),
    )
    assert broken(batch, ANTHROPIC) == [("tool_ids_are_unique", ("messages", 1, "content", 1))]
    assert said(batch, ANTHROPIC) == "messages.1.content.1: `tool_use` ids must be unique"
    assert broken(later, ANTHROPIC) == []


def test_a_request_has_a_message() -> None:
    """`messages: at least one message is required`."""
    assert said(messages(), ANTHROPIC) == "messages: at least one message is required"


def test_on_bedrock_the_first_message_is_not_the_assistants() -> None:
    """`messages: first message must use the "user" role`; Anthropic itself takes it."""
    body = messages(assistant(text("How can I help?")), ASK)
    on_bedrock = {**body, "anthropic_version": "bedrock-2023-05-31"}
    assert broken(body, ANTHROPIC) == []
    assert said(on_bedrock, ANTHROPIC) == 'messages: first message must use the "user" role'
    assert broken(messages(ASK, anthropic_version="bedrock-2023-05-31"), ANTHROPIC) == []


class TestServerTools:
    """`web_search` tool use with id `s` was found without a corresponding `web_search_tool_result` block."""

    def test_a_result_stands_behind_its_call(self) -> None:
        body = messages(ASK, assistant(web_search("s"), searched("s"), text("Sunny.")), ASK)
        assert broken(body, ANTHROPIC) == []

    def test_a_call_may_wait_at_the_very_end(self) -> None:
        """A `pause_turn` response "can also end with a `server_tool_use` block that has not run"."""
        body = messages(ASK, assistant(text("I search."), web_search("s")), model="claude-opus-4-8")
        assert broken(body, ANTHROPIC) == []

    def test_a_paused_answer_goes_on_in_the_next_message(self) -> None:
        body = messages(ASK, assistant(web_search("s")), assistant(searched("s"), text("Sunny.")), ASK)
        assert broken(body, ANTHROPIC) == []

    def test_a_call_may_wait_while_the_client_answers_calls_of_its_own(self) -> None:
        """The result "answers the previous response's `server_tool_use` `id`" in the next response."""
        mixed = [ASK, assistant(web_search("s"), tool_use("a")), user(tool_result("a"))]
        assert broken(messages(*mixed), ANTHROPIC) == []
        assert broken(messages(*mixed, assistant(searched("s"), text("Sunny.")), ASK), ANTHROPIC) == []

    @pytest.mark.parametrize("more", [[text("Hurry.")], [tool_result("a"), text("Hurry.")]])
    def test_anything_but_results_ends_the_turn(self, more: list[Any]) -> None:
        """A block after the results "tells the API that the assistant turn is over"."""
        calls = [web_search("s"), *([tool_use("a")] if len(more) > 1 else [])]
        body = messages(ASK, assistant(*calls), user(*more))
        assert broken(body, ANTHROPIC) == [("server_tool_use_has_its_result", ("messages", 1, "content", 0))]
        assert said(body, ANTHROPIC) == (
            "messages.1: `web_search` tool use with id `s` was found without a corresponding "
            "`web_search_tool_result` block"
        )

    def test_a_result_without_its_call_is_refused(self) -> None:
        """`unexpected `tool_use_id` found in `web_search_tool_result` blocks: s. Each
        `web_search_tool_result` block must have a corresponding `server_tool_use` block before it.`"""
        body = messages(ASK, assistant(searched("s"), text("Sunny.")), ASK)
        assert broken(body, ANTHROPIC) == [("server_result_has_its_tool_use", ("messages", 1, "content", 0))]
        assert said(body, ANTHROPIC) == (
            "messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: s. "
            "Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it."
        )

    @pytest.mark.parametrize(
        ("call", "result"),
        [
            ({"type": "mcp_tool_use", "name": "find"}, "mcp_tool_result"),
            ({"type": "server_tool_use", "name": "tool_search_tool_regex"}, "tool_search_tool_result"),
            ({"type": "server_tool_use", "name": "bash_code_execution"}, "bash_code_execution_tool_result"),
        ],
    )
    def test_every_tool_of_the_providers_has_its_own_result(self, call: dict[str, Any], result: str) -> None:
        body = messages(ASK, assistant({**call, "id": "s", "input": {}}), ASK)
        assert said(body, ANTHROPIC).endswith(f"was found without a corresponding `{result}` block")
        native = {"type": result, "tool_use_id": "s", "content": []}
        assert (
            broken(messages(ASK, assistant({**call, "id": "s", "input": {}}, native), ASK), ANTHROPIC) == []
        )

    def test_a_connectors_result_names_its_kind_of_call(self) -> None:
        body = messages(ASK, assistant({"type": "mcp_tool_result", "tool_use_id": "s", "content": []}), ASK)
        assert "must have a corresponding `mcp_tool_use` block before it" in said(body, ANTHROPIC)


class TestCacheMarks:
    """A maximum of 4 blocks with cache_control may be provided."""

    def test_four_blocks_may_be_marked(self) -> None:
        inner = [{"type": "text", "text": "Found.", **MARK}]
        four = messages(
            user(text("Hi.", **MARK)),
            assistant(tool_use("a")),
            user(tool_result("a", inner)),
            system=[text("Be brief.", **MARK)],
            tools=[{"name": "search", "input_schema": {}, **MARK}],
        )
        five = {**four, "system": [text("Be kind.", **MARK), text("Be brief.", **MARK)]}
        assert broken(four, ANTHROPIC) == []
        assert broken(five, ANTHROPIC) == [
            ("at_most_four_blocks_are_marked", ("messages", 2, "content", 0, "content", 0, "cache_control"))
        ]
        assert said(five, ANTHROPIC) == "A maximum of 4 blocks with cache_control may be provided. Found 5."

    def test_a_mark_at_the_top_counts_unless_the_last_block_has_one(self) -> None:
        """Automatic caching "uses one of the 4 available breakpoint slots"."""
        marked = [text(str(number), **MARK) for number in range(4)]
        last = messages(user(*marked), **MARK)
        other = messages(user(*marked, text("Hi.")), **MARK)
        assert broken(last, ANTHROPIC) == []
        assert broken(other, ANTHROPIC) == [("at_most_four_blocks_are_marked", ("cache_control",))]

    def test_the_longer_lived_come_first(self) -> None:
        """`a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.`"""
        good = messages(user(text("Hi.", **MARK)), system=[text("Be brief.", **HOUR)])
        bad = messages(user(text("Hi.", **HOUR)), system=[text("Be brief.", **MARK)])
        assert broken(good, ANTHROPIC) == []
        assert broken(bad, ANTHROPIC) == [
            ("longer_lived_marks_come_first", ("messages", 0, "content", 0, "cache_control", "ttl"))
        ]
        assert "a ttl='1h' cache_control block must not come after a ttl='5m'" in said(bad, ANTHROPIC)


class TestThinking:
    """`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."""

    ON = {"thinking": {"type": "enabled", "budget_tokens": 1_024}}
    OFF = {"thinking": {"type": "disabled"}}

    def test_a_signed_block_without_text_is_accepted(self) -> None:
        assert broken(messages(ASK, assistant(thinking(), text("Done.")), ASK), ANTHROPIC) == []

    @pytest.mark.parametrize(
        ("signature", "words"),
        [
            (None, "messages.1.content.0.thinking.signature: Field required"),
            ("", "messages.1.content.0: Invalid `signature` in `thinking` block"),
        ],
    )
    def test_thinking_has_its_signature(self, signature: str | None, words: str) -> None:
        """`messages.1.content.0.thinking.signature: Field required`."""
        body = messages(ASK, assistant(thinking(signature=signature), text("Done.")), ASK)
        assert broken(body, ANTHROPIC) == [("thinking_is_signed", ("messages", 1, "content", 0))]
        assert said(body, ANTHROPIC) == words

    @pytest.mark.parametrize(
        ("model", "refuses"),
        [
            ("claude-sonnet-4-5-20250929", False),
            ("claude-3-5-haiku-20241022", False),
            ("claude-opus-4-20250514", False),
            ("anthropic.claude-opus-4-6-v1", True),
            ("claude-sonnet-5", True),
            ("claude-opus-4-10", True),
            ("claude-mythos-preview", False),
        ],
    )
    def test_newer_models_take_no_answer_that_the_caller_began(self, model: str, refuses: bool) -> None:
        """`This model does not support assistant message prefill. The conversation must end with a user
        message.`"""
        for begun in (assistant(text("The answer is")), assistant(), {"role": "assistant", "content": "The"}):
            expected = [("last_message_is_a_users", ("messages", 1))] if refuses else []
            assert broken(messages(ASK, begun, model=model), ANTHROPIC) == expected

    def test_an_answer_that_the_caller_began_does_not_end_with_thinking(self) -> None:
        """`messages.1: The final block in an assistant message cannot be `thinking`.`"""
        body = messages(ASK, assistant(text("Well."), thinking()))
        assert broken(body, ANTHROPIC) == [
            ("last_message_does_not_end_with_thinking", ("messages", 1, "content", 1))
        ]
        assert (
            said(body, ANTHROPIC)
            == "messages.1: The final block in an assistant message cannot be `thinking`."
        )
        assert broken(messages(*body["messages"], ASK), ANTHROPIC) == []

    def test_where_thinking_is_off_an_answer_that_the_caller_began_has_none(self) -> None:
        """`When thinking is disabled, an `assistant` message in the final position cannot contain ...`"""
        begun = assistant(thinking(), text("Well,"))
        body = messages(ASK, begun, **self.OFF)
        assert broken(body, ANTHROPIC) == [
            ("last_message_has_no_thinking_where_it_is_off", ("messages", 1, "content", 0))
        ]
        assert broken(messages(ASK, begun), ANTHROPIC) == []
        assert broken(messages(ASK, begun, ASK, **self.OFF), ANTHROPIC) == []

    def test_a_running_loop_keeps_the_thinking_that_it_began_with(self) -> None:
        """`Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a
        final `assistant` message must start with a thinking block ...`"""
        first, second = (user(tool_result(one)) for one in "ab")
        stripped = messages(ASK, assistant(tool_use("a")), first, assistant(tool_use("b")), second, **self.ON)
        kept = messages(
            ASK, assistant(thinking(), tool_use("a")), first, assistant(tool_use("b")), second, **self.ON
        )
        assert broken(stripped, ANTHROPIC) == [
            ("running_loop_starts_with_thinking", ("messages", 3, "content", 0))
        ]
        assert said(stripped, ANTHROPIC).startswith(
            "messages.3.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
        )
        assert broken(kept, ANTHROPIC) == []

    @pytest.mark.parametrize("thinks", [{}, {"thinking": {"type": "adaptive"}}, OFF])
    def test_only_manual_thinking_asks_for_it(self, thinks: dict[str, Any]) -> None:
        """With adaptive thinking, "previous assistant turns don't need to start with thinking blocks"."""
        body = messages(ASK, assistant(tool_use("a")), user(tool_result("a")), **thinks)
        assert broken(body, ANTHROPIC) == []

    def test_a_loop_that_is_over_may_have_lost_its_thinking(self) -> None:
        over = [ASK, assistant(tool_use("a")), user(tool_result("a")), assistant(text("Done.")), ASK]
        system = {"role": "system", "content": "Be brief."}
        assert broken(messages(*over, **self.ON), ANTHROPIC) == []
        assert broken(messages(*over, system, **self.ON), ANTHROPIC) == []

    def test_text_that_the_caller_began_is_named_as_what_it_is(self) -> None:
        body = messages(ASK, {"role": "assistant", "content": "Well,"}, **self.ON)
        assert "but found `text`" in said(body, ANTHROPIC)
