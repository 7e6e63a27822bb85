"""What stands for a cleared result, and for a call without its long arguments, on every wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

import ctxkit
from ctxkit.flow import ask_model
from ctxkit.messages import ModelRequest
from ctxkit.validity import problems_of
from support.bodies import GEMINI, OPENAI, RESPONSES, request_of
from support.flows import first_request

LONG = "alpha beta gamma delta epsilon " * 60
SCREEN = {"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBORw0KGgo="}


def trimmed(wire: str, messages: list[Any], **body: Any) -> list[Any]:
    """The messages as they are sent once all but the last round was cleared."""
    trim = ctxkit.TrimHistory(start_tokens=300, target_tokens=0, keep_steps=1, min_batch_tokens=0)
    request: ModelRequest = request_of(wire, messages, **body)
    made = first_request(ctxkit.Stack(trim).wrap_model_call(request, ask_model))
    assert not problems_of(made)
    return list(made.wire.messages(made.body))


def function_call(call_id: str, **arguments: Any) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": call_id,
        "name": "write",
        "arguments": json.dumps(arguments),
    }


def test_items_of_responses_are_cleared() -> None:
    shell = {"type": "shell_call", "call_id": "b", "action": {"commands": ["ls"]}, "status": "completed"}
    outcome = {"type": "exit", "exit_code": 0}
    shown = {"stdout": LONG, "stderr": "", "outcome": outcome}
    items = [
        {"role": "user", "content": "Go."},
        function_call("a", path="x.py", text=LONG),
        {"type": "function_call_output", "call_id": "a", "output": LONG},
        shell,
        {"type": "shell_call_output", "call_id": "b", "output": [shown]},
        {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": LONG},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "done"},
        {"role": "user", "content": "Go on."},
        function_call("z"),
        {"type": "function_call_output", "call_id": "z", "output": "done"},
    ]
    made = trimmed(RESPONSES, items, model="gpt-5")
    arguments = json.loads(made[1]["arguments"])
    assert arguments["path"] == "x.py"
    assert arguments["text"].startswith("[ctxkit: ")
    assert made[2]["output"].startswith("[ctxkit: result of ")
    (output,) = made[4]["output"]
    assert output["stdout"].startswith("[ctxkit: result of ")
    assert output["outcome"] == outcome
    assert made[5:] == items[5:]


def test_a_screenshot_that_must_be_an_image_stays() -> None:
    call = {"type": "computer_call", "call_id": "a", "id": "i", "action": {"type": "screenshot"}}
    items = [
        {"role": "user", "content": "Look."},
        {**call, "pending_safety_checks": [], "status": "completed"},
        {"type": "computer_call_output", "call_id": "a", "output": SCREEN},
        {"role": "user", "content": "Go on."},
        function_call("z"),
        {"type": "function_call_output", "call_id": "z", "output": "done"},
    ]
    assert trimmed(RESPONSES, items, model="gpt-5") == items


@pytest.mark.parametrize("place", ["output", "error"])
def test_parts_of_gemini_are_cleared_and_signed_calls_stay(place: str) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    call = {"functionCall": {"name": "write", "args": {"path": "x.py", "text": LONG}}}
    signed = {**call, "thoughtSignature": "s"}
    response = {"name": "write", "response": {place: LONG}, "parts": [image]}
    contents = [
        {"role": "user", "parts": [{"text": "Go."}]},
        {"role": "model", "parts": [call, signed]},
        {"role": "user", "parts": [{"functionResponse": response}, {"functionResponse": response}]},
        {"role": "model", "parts": [{"functionCall": {"name": "write", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "write", "response": {"output": "ok"}}}]},
    ]
    made = trimmed(GEMINI, contents)
    plain, kept = made[1]["parts"]
    assert plain["functionCall"]["args"]["path"] == "x.py"
    assert plain["functionCall"]["args"]["text"].startswith("[ctxkit: ")
    assert kept == signed
    for part in made[2]["parts"]:
        assert list(part["functionResponse"]) == ["name", "response"]
        assert part["functionResponse"]["response"][place].startswith("[ctxkit: ")


def test_the_text_that_a_custom_tool_is_called_with_stays() -> None:
    custom = {"id": "a", "type": "custom", "custom": {"name": "sql", "input": LONG}}
    plain = {"id": "z", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [custom]},
        {"role": "tool", "tool_call_id": "a", "content": "done"},
        {"role": "assistant", "content": None, "tool_calls": [plain]},
        {"role": "tool", "tool_call_id": "z", "content": "done"},
    ]
    assert trimmed(OPENAI, messages) == messages
