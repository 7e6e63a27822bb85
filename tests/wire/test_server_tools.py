"""Anthropic's own tools: those that the provider runs are not the client's, and those of its schema are."""

from __future__ import annotations

from typing import Any

import pytest

import ctxkit
from ctxkit.messages import Block
from ctxkit.middleware.truncate_tool_results import TruncateToolResults
from ctxkit.testing import ScriptedModel, both, native
from support.bodies import ANTHROPIC, answer_body, answer_to, request_of, user


def blocks_of(*parts: Any) -> list[Block]:
    return list(request_of(ANTHROPIC, [{"role": "assistant", "content": list(parts)}]).blocks())


def use(name: str, call_id: str = "srv", **arguments: Any) -> dict[str, Any]:
    return {"type": "server_tool_use", "id": call_id, "name": name, "input": arguments}


def result(kind: str, content: Any, call_id: str = "srv") -> dict[str, Any]:
    return {"type": kind, "tool_use_id": call_id, "content": content}


RAN = {"type": "bash_code_execution_result", "stdout": "a.py", "stderr": "", "return_code": 0, "content": []}
FOUND = {
    "type": "tool_search_tool_search_result",
    "tool_references": [{"type": "tool_reference", "tool_name": "x"}],
}
FETCHED = {
    "type": "web_fetch_result",
    "url": "u",
    "content": {"type": "document", "source": {"data": "Cats."}},
}


@pytest.mark.parametrize(
    ("tool", "kind", "content", "text"),
    [
        ("web_search", "web_search_tool_result", [{"type": "web_search_result", "title": "Cats"}], "Cats"),
        ("web_fetch", "web_fetch_tool_result", FETCHED, "Cats."),
        ("code_execution", "code_execution_tool_result", {"stdout": "2"}, "2"),
        ("bash_code_execution", "bash_code_execution_tool_result", RAN, "a.py"),
        ("text_editor_code_execution", "text_editor_code_execution_tool_result", {"content": "x"}, "x"),
        ("tool_search_tool_bm25", "tool_search_tool_result", FOUND, "tool_reference"),
        ("advisor", "advisor_tool_result", {"type": "advisor_result", "text": "Hm."}, "Hm."),
        ("web_search", "web_search_tool_result", {"error_code": "max_uses_exceeded"}, "max_uses_exceeded"),
    ],
)
def test_a_result_of_the_provider_knows_its_call_and_is_not_the_clients(
    tool: str, kind: str, content: Any, text: str
) -> None:
    call, found = blocks_of(use(tool, query="x"), result(kind, content))
    assert [(block.kind, block.tool, block.call_id, block.client) for block in (call, found)] == [
        ("tool_call", tool, "srv", False),
        ("tool_result", tool, "srv", False),
    ]
    assert text in found.text


def test_a_result_of_an_mcp_server_is_its_text() -> None:
    call = {"type": "mcp_tool_use", "id": "m", "name": "ask", "server_name": "wiki", "input": {}}
    texts = [{"type": "text", "text": "Cats"}, {"type": "text", "text": "purr."}]
    _, found = blocks_of(call, result("mcp_tool_result", texts, "m"))
    assert (found.tool, found.text, found.client) == ("ask", "Cats\npurr.", False)


def test_a_listing_of_an_mcp_server_is_definitions() -> None:
    (found,) = blocks_of({"type": "mcp_tool_listing", "mcp_server_name": "wiki", "tools": [{"name": "ask"}]})
    assert (found.kind, found.tool, found.text) == ("tool_definition", "wiki", '[{"name":"ask"}]')


def test_a_turn_may_mix_server_and_client_tools_and_only_the_clients_are_called() -> None:
    """Anthropic's docs: the pending server block stays in the turn, and is answered by the provider."""
    content = [
        use("web_search", "srv_1"),
        result("web_search_tool_result", [], "srv_1"),
        use("web_fetch", "srv_2"),
        {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {}, "caller": {"type": "direct"}},
    ]
    answer = answer_to(request_of(ANTHROPIC, []), content=content, stop_reason="tool_use")
    assert [(call.name, call.call_id) for call in answer.tool_calls] == [("ls", "toolu_1")]


def test_what_is_no_tool_is_kept_as_what_it_is() -> None:
    uploaded = {"type": "container_upload", "file_id": "file_1"}
    searched = {
        "type": "search_result",
        "source": "s",
        "title": "t",
        "content": [{"type": "text", "text": "Cats."}],
    }
    first, second = blocks_of(uploaded, searched)
    assert (first.kind, first.native) == ("other", uploaded)
    assert (second.kind, second.images) == ("document", 0)
    assert "Cats." in second.text


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ({"type": "bash_20250124", "name": "bash"}, "bash"),
        (
            {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
            "str_replace_based_edit_tool",
        ),
        ({"type": "computer_20251124", "name": "computer", "display_width_px": 1}, "computer"),
        ({"type": "memory_20250818", "name": "memory"}, "memory"),
        ({"type": "web_search_20250305", "name": "web_search", "max_uses": 5}, "web_search"),
        (
            {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
            "tool_search_tool_bm25",
        ),
        ({"type": "browser_toolset_20260801"}, "browser"),
        ({"type": "computer_toolset_20260801"}, "computer"),
        ({"type": "mcp_toolset", "mcp_server_name": "wiki"}, "wiki"),
    ],
)
def test_a_definition_goes_by_the_name_that_the_model_uses(tool: dict[str, Any], name: str) -> None:
    (found,) = request_of(ANTHROPIC, [], tools=[tool]).tools
    assert found.tool == name


def test_a_tool_whose_loading_is_deferred_is_no_part_of_the_prompt() -> None:
    """Recorded requests with hundreds of tokens of deferred tools cost no more than those without."""
    tool = {"name": "ls", "input_schema": {"type": "object"}}
    now, later = request_of(ANTHROPIC, [], tools=[tool, {**tool, "defer_loading": True}]).tools
    assert now.text.startswith('{"name":"ls"')
    assert (later.tool, later.text) == ("ls", "")


@pytest.mark.parametrize("tool", ["bash", "str_replace_based_edit_tool", "memory", "left_click"])
def test_results_of_anthropics_client_tools_are_cut_like_any_other(tool: str) -> None:
    call = {"type": "tool_use", "id": "a", "name": tool, "input": {"command": "view"}}
    answered = {"type": "tool_result", "tool_use_id": "a", "content": "line\n" * 4_000}
    server = [
        use("bash_code_execution"),
        result("bash_code_execution_tool_result", {**RAN, "stdout": "x " * 9_000}),
    ]
    messages = [
        {"role": "assistant", "content": [*server, call]},
        {"role": "user", "content": [answered]},
    ]
    stack = ctxkit.Stack(TruncateToolResults(max_tokens=200))
    request = request_of(ANTHROPIC, messages)
    sent = both(lambda: stack.model_flow(request), ScriptedModel([native(answer_body(ANTHROPIC))])).request
    assert len(sent.body["messages"][1]["content"][0]["content"]) < 2_000
    assert sent.body["messages"][0] is messages[0]


def test_a_paused_turn_is_an_answer_like_any_other_and_each_resend_is_booked(task: ctxkit.Task) -> None:
    """Anthropic's docs: send the turn back as it is, to let the model go on."""
    paused = answer_body(ANTHROPIC, content=[use("web_search", query="cats")], stop_reason="pause_turn")
    model = ScriptedModel([native(paused), native(paused), native(answer_body(ANTHROPIC))])
    stack = ctxkit.Stack(ctxkit.TokenMeter())
    messages = [user("Any cats?")]
    reasons = []
    for _ in range(3):
        answer = ctxkit.drive.run(stack.model_flow(request_of(ANTHROPIC, messages)), model)
        reasons.append(answer.stop_reason)
        messages = [messages[0], {"role": "assistant", "content": answer.body["content"]}]
    assert reasons == ["pause_turn", "pause_turn", "end_turn"]
    assert [attempt.outcome for attempt in task.attempts] == ["billed"] * 3
    assert [attempt.tool_calls for attempt in task.attempts] == [("web_search",), ("web_search",), ()]
