"""The tool that reads hidden texts, in the shape of every wire. It never changes, so that prefixes stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ctxkit.messages import ModelRequest
from ctxkit.originals import RECALL_TOOL
from ctxkit.wire.gemini import DECLARATIONS
from ctxkit.wire.last_request import ANSWERS, GEMINI_SETTINGS
from ctxkit.wire.usage_fields import mapping

DESCRIPTION = (
    "Read a tool result that was shortened to save space: the original is kept whole. A note in the "
    "shortened result names its handle. Without further arguments it reads from the start. A long text is "
    "given part by part, and each part says how to go on."
)
PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "handle": {"type": "string", "description": "The handle that the note names."},
        "first_line": {"type": "integer", "description": "The first line to read, from 1."},
        "last_line": {"type": "integer", "description": "The last line to read."},
        "search": {
            "type": "string",
            "description": "Show only the lines that hold this text, each with its number; "
            "| stands between alternatives, .* for any gap.",
        },
        "first_char": {"type": "integer", "description": "Where to begin in the first line, from 1."},
    },
    "required": ["handle"],
}


def definition(wire: str) -> dict[str, Any]:
    """The tool's definition, as it stands among the tools of a request.

    Args:
        wire: The wire's name; for Gemini it is one of the `functionDeclarations`.
    """
    named: dict[str, Any] = {"name": RECALL_TOOL, "description": DESCRIPTION}
    if wire == "anthropic_messages":
        return {**named, "input_schema": PARAMETERS}
    if wire == "openai_chat":
        return {"type": "function", "function": {**named, "parameters": PARAMETERS}}
    if wire == "openai_responses":
        return {"type": "function", **named, "parameters": PARAMETERS, "strict": False}
    return {**named, "parameters": PARAMETERS}


def with_tool(request: ModelRequest) -> ModelRequest:
    """A request with the tool behind all others; itself where it has no tools or asks for several answers.

    Gemini's own tools can't be mixed with functions on all models, so there it needs a function beside it.
    """
    tools = request.body.get("tools")
    if not isinstance(tools, list) or not tools or _several_answers(request.body):
        return request
    extended = _WAYS.get(request.wire.name, _appended)(tools, definition(request.wire.name))
    return request if extended is None else request.edit(tools=extended)


def _appended(tools: list[Any], tool: dict[str, Any]) -> list[Any]:
    return [*tools, tool]


def _declared(tools: list[Any], function: dict[str, Any]) -> list[Any] | None:
    for index in reversed(range(len(tools))):
        key = next((key for key in DECLARATIONS if mapping(tools[index]).get(key)), None)
        if key is not None:
            made = {**tools[index], key: [*tools[index][key], function]}
            return [*tools[:index], made, *tools[index + 1 :]]
    return None


_WAYS: Mapping[str, Callable[[list[Any], dict[str, Any]], list[Any] | None]] = {"gemini": _declared}


def _several_answers(body: Mapping[str, Any]) -> bool:
    settings = [body, *(mapping(body.get(key)) for key in GEMINI_SETTINGS)]
    return any(one.get(key) not in (None, 1) for one in settings for key in ANSWERS)
