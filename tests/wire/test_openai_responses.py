"""OpenAI's Responses API: every item is blocks of the right kind, and edits change no more than asked."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.errors import BodyError
from ctxkit.messages import Block, ToolCall
from ctxkit.wire import wire_named
from support.bodies import RESPONSES, answer_to, of_body, request_of, user

WIRE = wire_named(RESPONSES)
LS = {"type": "function", "name": "ls", "parameters": {"type": "object"}}
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}


def blocks_of(*items: Any, **body: Any) -> list[Block]:
    return list(request_of(RESPONSES, items, **body).blocks())


def seen(*items: Any) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in blocks_of(*items)]


def called(call_id: str, *, name: str = "ls", arguments: str = "{}") -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def answered(call_id: str, output: Any, *, kind: str = "function_call") -> dict[str, Any]:
    return {"type": f"{kind}_output", "call_id": call_id, "output": output}


def text(said: str) -> dict[str, Any]:
    return {"type": "input_text", "text": said}


def test_the_head_is_the_tool_definitions_and_then_the_instructions() -> None:
    tools = [
        LS,
        {"type": "custom", "name": "shell"},
        {"type": "mcp", "server_label": "wiki"},
        {"type": "web_search_preview_2025_03_11"},
        {"type": "web_search_2025_08_26"},
        {"type": "computer_use_preview"},
        {},
    ]
    request = request_of(RESPONSES, [user("hi")], tools=tools, instructions="Be brief.")
    names = ["ls", "shell", "wiki", "web_search", "web_search", "computer", None]
    assert [block.tool for block in request.tools] == names
    assert [(block.text, block.where) for block in request.system] == [("Be brief.", ("instructions",))]


def test_the_tools_of_a_namespace_are_definitions_of_their_own() -> None:
    space = {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [LS]}
    request = request_of(RESPONSES, [], tools=[space])
    assert [(block.tool, block.where) for block in request.tools] == [
        ("crm", ("tools", 0)),
        ("ls", ("tools", 0, "tools", 0)),
    ]
    assert request.tools[0].text == '{"type":"namespace","name":"crm","description":"Customers."}'


def test_texts_are_told_apart_by_role_with_and_without_a_type() -> None:
    roles = ("system", "developer", "user", "assistant", "narrator")
    typed = {"type": "message", "role": "user", "content": [text("typed")]}
    assert seen(*({"role": role, "content": role} for role in roles), typed, user("")) == [
        ("system", "system"),
        ("system", "developer"),
        ("user_text", "user"),
        ("assistant_text", "assistant"),
        ("other", "narrator"),
        ("user_text", "typed"),
    ]


def test_content_may_be_parts() -> None:
    parts = [text("see"), IMAGE, {"type": "input_file"}, {"type": "input_audio"}, {"type": "hologram"}]
    found = blocks_of({"role": "user", "content": parts})
    assert [(block.kind, block.text, block.images) for block in found] == [
        ("user_text", "see", 0),
        ("image", "", 1),
        ("document", "", 1),
        ("document", "", 1),
        ("other", '{"type":"hologram"}', 0),
    ]


def test_a_refusal_is_text_of_the_assistant() -> None:
    refused = {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    assert seen(refused) == [("assistant_text", "No.")]


def test_reasoning_is_its_text_or_else_its_summary_and_never_what_is_encrypted() -> None:
    summary = [{"type": "summary_text", "text": "Hm."}, {"type": "summary_text", "text": "So."}]
    raw = [{"type": "reasoning_text", "text": "Hm hm."}]
    assert seen(
        {"type": "reasoning", "summary": summary, "encrypted_content": "gAAA"},
        {"type": "reasoning", "summary": summary, "content": raw},
        {"type": "reasoning", "encrypted_content": "gAAA"},
    ) == [("thinking", "Hm.\nSo."), ("thinking", "Hm hm."), ("thinking", "")]


def test_parallel_calls_and_their_outputs_know_their_tool() -> None:
    found = blocks_of(
        called("a", name="grep", arguments='{"pattern":"x"}'),
        called("b"),
        answered("b", "a.py"),
        answered("a", [text("1"), text("2")]),
    )
    assert [(block.kind, block.tool, block.call_id, block.text) for block in found] == [
        ("tool_call", "grep", "a", 'grep {"pattern":"x"}'),
        ("tool_call", "ls", "b", "ls {}"),
        ("tool_result", "ls", "b", "a.py"),
        ("tool_result", "grep", "a", "1\n2"),
    ]
    assert all(block.client for block in found)


def test_a_call_that_the_provider_keeps_is_answered_all_the_same() -> None:
    """With `previous_response_id`, the request holds the output of a call, and not the call."""
    output, named, patched = blocks_of(
        answered("a", "a.py"),
        {**answered("b", "b.py"), "name": "ls"},
        answered("c", "done", kind="apply_patch_call"),
    )
    assert [output.tool, named.tool, patched.tool] == [None, "ls", "apply_patch"]
    assert output.client and named.client and patched.client


@pytest.mark.parametrize(
    ("call", "tool", "arguments"),
    [
        ({"type": "custom_tool_call", "name": "sh", "input": "ls -l"}, "sh", {"input": "ls -l"}),
        ({"type": "custom_tool_call", "name": "sh", "input": '{"a":1}'}, "sh", {"input": '{"a":1}'}),
        ({"type": "local_shell_call", "action": {"command": ["ls"]}}, "local_shell", {"command": ["ls"]}),
        ({"type": "shell_call", "action": {"commands": ["ls"]}}, "shell", {"commands": ["ls"]}),
        ({"type": "apply_patch_call", "operation": {"path": "a"}}, "apply_patch", {"path": "a"}),
        ({"type": "computer_call", "action": {"type": "click"}}, "computer", {"type": "click"}),
        (
            {"type": "computer_call", "actions": [{"type": "wait"}]},
            "computer",
            {"actions": [{"type": "wait"}]},
        ),
        ({"type": "function_call", "name": "ls", "arguments": '{"a":'}, "ls", {}),
        ({"type": "function_call", "name": "ls"}, "ls", {}),
    ],
)
def test_what_the_client_runs_is_a_call_for_the_client(
    call: dict[str, Any], tool: str, arguments: dict[str, Any]
) -> None:
    answer = answer_to(request_of(RESPONSES, []), output=[{**call, "id": "i", "call_id": "c"}])
    assert answer.tool_calls == (ToolCall(tool, arguments, "c"),)


SERVERS = [
    {"type": "web_search_call", "id": "w", "action": {"type": "search", "query": "cats"}},
    {"type": "file_search_call", "id": "f", "queries": ["cats"], "results": [{"text": "Cats purr."}]},
    {
        "type": "code_interpreter_call",
        "id": "c",
        "code": "1+1",
        "outputs": [{"type": "logs", "logs": "2"}],
    },
    {"type": "image_generation_call", "id": "g", "result": "iVBORw0KGgo="},
    {"type": "mcp_call", "id": "m", "name": "ask", "arguments": "{}", "output": "Cats.", "error": None},
    {"type": "mcp_call", "id": "e", "name": "ask", "arguments": "{}", "output": None, "error": {"code": 1}},
]


def test_what_the_provider_ran_is_a_call_and_its_result_in_one_item_and_not_the_clients() -> None:
    found = blocks_of(*SERVERS)
    assert [(block.kind, block.tool, block.text) for block in found] == [
        ("tool_call", "web_search", 'web_search {"type":"search","query":"cats"}'),
        ("tool_call", "file_search", 'file_search ["cats"]'),
        ("tool_result", "file_search", "Cats purr."),
        ("tool_call", "code_interpreter", "code_interpreter 1+1"),
        ("tool_result", "code_interpreter", '[{"type":"logs","logs":"2"}]'),
        ("tool_call", "image_generation", "image_generation "),
        ("tool_result", "image_generation", ""),
        ("tool_call", "ask", "ask {}"),
        ("tool_result", "ask", "Cats."),
        ("tool_call", "ask", "ask {}"),
        ("tool_result", "ask", '{"code":1}'),
    ]
    assert not any(block.client for block in found)
    assert [block.images for block in found if block.tool == "image_generation"] == [0, 1]
    assert [block.is_error for block in found if block.tool == "ask"] == [False, False, False, True]
    assert found[2].call_id == found[1].call_id == "f"
    assert answer_to(request_of(RESPONSES, []), output=SERVERS).tool_calls == ()


def test_programs_and_tool_searches_are_the_providers() -> None:
    found = blocks_of(
        {"type": "program", "call_id": "p", "code": "ls()"},
        {"type": "program_output", "call_id": "p", "result": "a.py"},
        {"type": "tool_search_call", "call_id": "t", "arguments": {"query": "ls"}, "execution": "client"},
        {"type": "tool_search_output", "call_id": "t", "tools": [LS], "execution": "client"},
    )
    assert [(block.kind, block.tool, block.text) for block in found[:3]] == [
        ("tool_call", "program", "program ls()"),
        ("tool_result", "program", "a.py"),
        ("tool_call", "tool_search", 'tool_search {"query":"ls"}'),
    ]
    assert found[3].text.startswith('[{"type":"function","name":"ls"')
    assert not any(block.client for block in found)


def test_a_shell_in_a_container_is_the_providers() -> None:
    hosted = {"type": "shell_call", "call_id": "s", "environment": {"type": "container_reference"}}
    ran = answered("s", [{"stdout": "a.py"}], kind="shell_call")
    for found in (blocks_of(hosted, ran), answer_to(request_of(RESPONSES, []), output=[hosted, ran]).blocks):
        assert [(block.kind, block.client) for block in found] == [
            ("tool_call", False),
            ("tool_result", False),
        ]


def test_definitions_that_come_with_the_items_are_definitions() -> None:
    listed = {"type": "mcp_list_tools", "server_label": "wiki", "tools": [{"name": "ask"}]}
    added = {"type": "additional_tools", "role": "developer", "tools": [LS]}
    found = blocks_of(listed, added)
    assert [(block.kind, block.tool) for block in found] == [
        ("tool_definition", "wiki"),
        ("tool_definition", None),
    ]
    assert found[0].text == '[{"name":"ask"}]'


def test_an_item_of_an_unknown_type_is_kept_as_what_it_is() -> None:
    (found,) = blocks_of({"type": "compaction", "id": "c", "encrypted_content": "gAAA"})
    assert (found.kind, found.text) == ("other", '{"type":"compaction","id":"c"}')


@pytest.mark.parametrize(
    ("output", "said", "images"),
    [
        ([text("see"), IMAGE], "see", 1),
        ([IMAGE], "", 1),
        ([], "", 0),
        (None, "", 0),
        ({"type": "computer_screenshot", "image_url": "data:"}, "", 1),
        ({"a": 1}, '{"a":1}', 0),
        ([{"a": 1}], '[{"a":1}]', 0),
    ],
)
def test_an_output_may_be_anything(output: Any, said: str, images: int) -> None:
    (result,) = blocks_of(answered("a", output))
    assert (result.kind, result.text, result.images) == ("tool_result", said, images)


def test_the_output_of_a_shell_is_what_its_commands_printed() -> None:
    entries = [{"stdout": "a.py", "stderr": ""}, {"stdout": "", "stderr": "no such file"}]
    (result,) = blocks_of(answered("a", entries, kind="shell_call"))
    assert (result.tool, result.text) == ("shell", "a.py\nno such file")


def test_a_failed_patch_says_so() -> None:
    failed = {**answered("a", "no such file", kind="apply_patch_call"), "status": "failed"}
    assert blocks_of(failed)[0].is_error


def test_a_prompt_may_be_a_string_and_an_edit_makes_it_an_item() -> None:
    request = of_body(RESPONSES, {"model": "m", "input": "hello"})
    (said,) = request.blocks()
    assert (said.kind, said.text, said.where) == ("user_text", "hello", ("input", 0, "content"))
    edited = request.with_messages([*(turn.native for turn in request.turns), user("and?")])
    assert edited.body == {"model": "m", "input": [user("hello"), user("and?")]}


@pytest.mark.parametrize(
    "body",
    [
        {"previous_response_id": "resp_1", "input": "and?"},
        {"conversation": {"id": "conv_1"}, "input": "and?"},
        {"prompt": {"id": "pmpt_1"}},
        {"input": [{"type": "item_reference", "id": "rs_1"}]},
    ],
)
def test_a_request_says_where_the_provider_keeps_a_part_of_its_prompt(body: dict[str, Any]) -> None:
    """OpenAI's guide: "all previous input tokens for responses in the chain are billed as input tokens"."""
    assert WIRE.has_server_state(body)
    assert not WIRE.has_server_state({"input": [user("hi")], "previous_response_id": None})
    assert isinstance(list(of_body(RESPONSES, body).blocks()), list)


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, ("input",)),
        ({"input": {}}, ("input",)),
        ({"input": [], "tools": "ls"}, ("tools",)),
        ({"input": [{"role": "user", "content": 7}]}, ("input", 0, "content")),
        ({"input": [answered("a", "x", kind="shell_call")]}, ("input", 0, "output")),
        ({"input": [], "tools": [{"type": "namespace", "tools": "ls"}]}, ("tools", 0, "tools")),
    ],
)
def test_a_malformed_body_is_refused_with_the_place(body: dict[str, Any], where: tuple[Any, ...]) -> None:
    with pytest.raises(BodyError) as raised:
        list(of_body(RESPONSES, body).blocks())
    assert raised.value.where == where


@pytest.mark.parametrize("item", ["hi", None, {"role": "user", "content": ["hi"]}])
def test_an_item_or_a_part_that_is_no_object_is_refused(item: Any) -> None:
    with pytest.raises(BodyError, match=r"input\.0.* must be a JSON object"):
        blocks_of(item)


def test_every_block_says_where_it_stands() -> None:
    items = [user("hi"), called("a"), answered("a", "x"), {"role": "user", "content": [text("y")]}, *SERVERS]
    space = {"type": "namespace", "name": "crm", "tools": [LS]}
    request = request_of(RESPONSES, items, tools=[LS, space], instructions="s")
    for block in request.blocks():
        part: Any = request.body
        for step in block.where:
            part = part[step]
        assert part is block.native
