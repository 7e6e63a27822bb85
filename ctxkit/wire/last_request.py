"""How a request says that its answer is the last of a tool loop, and how long its answers may be.

What is cached of a prompt, and what thinking is bound to, stays as it is: tools are not taken away but may
not be called, and what is asked for stands behind everything else. Read from the types of the `anthropic` SDK
2.14.0, the `openai` SDK 3.57.0 and `google-genai` 3.6.1 on 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ctxkit.messages import ModelRequest
from ctxkit.wire.gemini import DECLARATIONS
from ctxkit.wire.native import items
from ctxkit.wire.usage_fields import known, mapping

Body = Mapping[str, Any]
Append = Callable[[Any, str], Any]

OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
ANSWERS = ("n", "candidateCount", "candidate_count")
# Gemini's two spellings of where these stand.
GEMINI_SETTINGS = ("generationConfig", "generation_config")


def most_output_tokens(body: Body) -> int | None:
    """The most tokens that all answers to a request may have together; `None` where its body does not say."""
    settings = mapping(_first(body, GEMINI_SETTINGS))
    limit = known(_first({**settings, **body}, OUTPUT_LIMITS))
    answers = known(_first({**settings, **body}, ANSWERS)) or 1
    return None if limit is None else limit * answers


def last_request(request: ModelRequest, instruction: str) -> ModelRequest:
    """A request that can call no tool, and ends with an instruction of the user's.

    Args:
        request: Any request; nothing that stands in its messages is changed.
        instruction: What the user asks for, in one paragraph.

    Returns:
        The other request. While a tool of Anthropic's own still runs, as after a `pause_turn`, the user may
        not speak, and the provider refuses it.

    Raises:
        BodyError: The body is malformed.
    """
    forbid, extended = _WAYS[request.wire.name]
    messages = list(request.wire.messages(request.body))
    longer = extended(messages[-1], instruction) if messages else None
    if longer is None:
        messages.append(_message(request.wire.name, instruction))
    else:
        messages[-1] = longer
    return request.edit(**forbid(request.body)).with_messages(messages)


def _message(wire: str, said: str) -> dict[str, Any]:
    if wire == "gemini":
        return {"role": "user", "parts": [{"text": said}]}
    return {"role": "user", "content": said}


def _forbid_anthropic(body: Body) -> dict[str, Any]:
    return {"tool_choice": {"type": "none"}} if body.get("tools") else {}


def _forbid_openai(body: Body) -> dict[str, Any]:
    """The choice of no tool; the API refuses one where there is nothing to choose from."""
    choices = {"tools": "tool_choice", "functions": "function_call"}
    return {choice: "none" for key, choice in choices.items() if body.get(key)}


def _forbid_gemini(body: Body) -> dict[str, Any]:
    """The mode `NONE`; the API refuses one where no function is declared, as beside cached content."""
    if not any(
        mapping(tool).get(key) for tool in items(body.get("tools"), ("tools",)) for key in DECLARATIONS
    ):
        return {}
    key = "tool_config" if "tool_config" in body else "toolConfig"
    calling = {"functionCallingConfig": {"mode": "NONE"}}
    kept = {
        name: value for name, value in mapping(body.get(key)).items() if name != "function_calling_config"
    }
    return {key: {**kept, **calling}}


def _extend_anthropic(message: Any, said: str) -> Any:
    """The user's message with one more text behind its results; `None` where it is not the user's."""
    content = message.get("content")
    if message.get("role") != "user" or not content:
        return None
    before: Sequence[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {**message, "content": [*before, {"type": "text", "text": said}]}


def _extend_gemini(message: Any, said: str) -> Any:
    """The user's content with one more part; `None` for one that is not the user's."""
    if message.get("role", "user") != "user":
        return None
    return {**message, "parts": [*(message.get("parts") or ()), {"text": said}]}


def _never(message: Any, said: str) -> None:
    """Leave the message as it is: what the user says here is a message of its own."""


def _first(native: Body, names: Sequence[str]) -> Any:
    return next((native[name] for name in names if native.get(name) is not None), None)


_WAYS: Mapping[str, tuple[Callable[[Body], dict[str, Any]], Append]] = {
    "anthropic_messages": (_forbid_anthropic, _extend_anthropic),
    "openai_chat": (_forbid_openai, _never),
    "openai_responses": (_forbid_openai, _never),
    "gemini": (_forbid_gemini, _extend_gemini),
}
