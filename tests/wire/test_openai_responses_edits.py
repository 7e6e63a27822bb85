"""What is changed in the items of OpenAI's Responses API, what is added to them, and what an answer says."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from ctxkit.messages import ToolCall
from ctxkit.usage import Usage
from ctxkit.wire import wire_named
from support.bodies import RESPONSES, answer_to, request_of, user

WIRE = wire_named(RESPONSES)
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}


def called(call_id: str, *, arguments: str = "{}") -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "ls", "arguments": arguments}


def answered(call_id: str, output: Any, *, kind: str = "function_call") -> dict[str, Any]:
    return {"type": f"{kind}_output", "call_id": call_id, "output": output}


def test_other_texts_replace_only_the_texts_of_their_outputs() -> None:
    """Reasoning beside a call stays what it was: `encrypted_content` can't be made again."""
    outcome = {"type": "exit", "exit_code": 0}
    items = [
        {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gAAA"},
        called("a"),
        called("b"),
        {**answered("a", "long"), "x": 1},
        answered("b", [IMAGE, {"type": "input_text", "text": "long"}]),
        answered(
            "c", [{"stdout": "1", "stderr": "2", "outcome": outcome}, {"stdout": "3"}], kind="shell_call"
        ),
        user("and?"),
    ]
    request = request_of(RESPONSES, items, store=False, include=["reasoning.encrypted_content"])
    before = deepcopy(request.body)
    edited = request.with_result_texts(dict(zip(request.tool_results(), "ABC", strict=True)))
    assert request.body == before
    assert edited.body["include"] == before["include"]
    assert edited.body["input"][3:6] == [
        {**answered("a", "A"), "x": 1},
        answered("b", [IMAGE, {"type": "input_text", "text": "B"}]),
        answered(
            "c",
            [{"stdout": "C", "stderr": "", "outcome": outcome}, {"stdout": "", "stderr": ""}],
            kind="shell_call",
        ),
    ]
    assert [edited.body["input"][place] is items[place] for place in (0, 1, 2, 6)] == [True] * 4


def result_of(kind: str, content: Any, *, is_error: bool = False) -> dict[str, Any]:
    call = ToolCall("t", {}, "a", {"type": kind})
    return WIRE.result(call, content, is_error=is_error)


def test_a_result_is_of_the_type_that_its_call_asks_for() -> None:
    made = {"type": "function_call_output", "call_id": "a"}
    assert WIRE.result(ToolCall("ls", {}, "a"), "x", is_error=False) == {**made, "output": "x"}
    assert result_of("function_call", [IMAGE]) == {**made, "output": [IMAGE]}
    assert result_of("custom_tool_call", "x")["type"] == "custom_tool_call_output"
    assert result_of("local_shell_call", "x")["output"] == "x"
    shot = {"type": "computer_screenshot", "image_url": "data:"}
    assert result_of("computer_call", [shot])["output"] == shot


def test_a_failed_result_says_so_in_its_own_way_or_else_in_its_text() -> None:
    assert result_of("function_call", "x", is_error=True)["output"] == "Error: x"
    assert result_of("function_call", [IMAGE], is_error=True)["output"] == [IMAGE]
    assert [result_of("apply_patch_call", "x", is_error=failed)["status"] for failed in (False, True)] == [
        "completed",
        "failed",
    ]
    (entry,) = result_of("shell_call", "x", is_error=True)["output"]
    assert entry == {"stdout": "x", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}


def test_an_answer_has_its_text_its_calls_its_usage_and_its_end() -> None:
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Let me look."}],
    }
    usage = {"input_tokens": 95, "input_tokens_details": {"cached_tokens": 90}, "output_tokens": 7}
    answer = answer_to(
        request_of(RESPONSES, []),
        output=[{"type": "reasoning", "summary": []}, said, called("a", arguments='{"path":"."}')],
        usage=usage,
        tool_usage={"web_search": {"num_requests": 2}},
        service_tier="flex",
        model="gpt-5",
    )
    assert answer.text == "Let me look."
    assert answer.tool_calls == (ToolCall("ls", {"path": "."}, "a"),)
    assert answer.tool_calls[0].native is answer.body["output"][2]
    assert (answer.stop_reason, answer.model) == ("completed", "gpt-5")
    assert answer.usage == Usage(95, 7, cache_read_tokens=90, web_search_requests=2, service_tier="flex")
    assert answer.blocks[1].where == ("output", 1, "content", 0)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "max_output_tokens",
        ),
        ({"status": "completed", "incomplete_details": None}, "completed"),
        ({"status": "failed"}, "failed"),
        ({}, None),
    ],
)
def test_an_answer_ends_for_the_reason_that_it_is_incomplete_for_or_with_its_status(
    body: dict[str, Any], reason: str | None
) -> None:
    assert WIRE.stop_reason(body) == reason


@pytest.mark.parametrize("output", [None, []])
def test_an_answer_that_says_nothing_is_empty(output: Any) -> None:
    answer = answer_to(request_of(RESPONSES, []), output=output, usage=None)
    assert (answer.blocks, answer.text, answer.usage, answer.tool_calls) == ((), "", None, ())


def test_arguments_under_no_known_key_are_empty() -> None:
    assert WIRE.call_input({"type": "function_call"}) == {}
