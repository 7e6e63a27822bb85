"""A request of one user text and nothing of the history it was asked from, in each wire's own form.

Read from the types of the `anthropic` SDK 2.14.0, the `openai` SDK 3.57.0 and `google-genai` 3.6.1 on
2026-11-30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ctxkit.messages import ModelRequest

# What stays of the body, as the address or the cloud asks for it.
KEPT = ("model", "anthropic_version")


def plain_request(
    request: ModelRequest, *, purpose: str, model: str | None, system: str, text: str, max_output_tokens: int
) -> ModelRequest:
    """A side call that asks one thing, without tools and without the history.

    Args:
        request: The request that it goes beside; to the same address with the same keys.
        purpose: What it is booked under.
        model: The model asked; that of the request where left out.
        system: The system prompt.
        text: What the user says.
        max_output_tokens: The most tokens of the answer, reasoning included.
    """
    kept = {key: request.body[key] for key in KEPT if key in request.body}
    said = _BODIES[request.wire.name](request.body, system, text, max_output_tokens)
    changes = {} if model is None else {"model": model}
    return replace(request, body={**kept, **said}, raw=None).side_call(purpose, **changes)


def _anthropic(body: Mapping[str, Any], system: str, text: str, limit: int) -> dict[str, Any]:
    return {"max_tokens": limit, "system": system, "messages": [{"role": "user", "content": text}]}


def _openai_chat(body: Mapping[str, Any], system: str, text: str, limit: int) -> dict[str, Any]:
    """Servers kin to OpenAI's may only know the older name of the limit."""
    limited = "max_tokens" if "max_tokens" in body else "max_completion_tokens"
    messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
    return {limited: limit, "messages": messages}


def _openai_responses(body: Mapping[str, Any], system: str, text: str, limit: int) -> dict[str, Any]:
    said = [{"role": "user", "content": text}]
    return {"max_output_tokens": limit, "store": False, "instructions": system, "input": said}


def _gemini(body: Mapping[str, Any], system: str, text: str, limit: int) -> dict[str, Any]:
    return {
        "generationConfig": {"maxOutputTokens": limit},
        "systemInstruction": {"parts": [{"text": system}]},
        "contents": [{"role": "user", "parts": [{"text": text}]}],
    }


_BODIES: Mapping[str, Callable[[Mapping[str, Any], str, str, int], dict[str, Any]]] = {
    "anthropic_messages": _anthropic,
    "openai_chat": _openai_chat,
    "openai_responses": _openai_responses,
    "gemini": _gemini,
}
