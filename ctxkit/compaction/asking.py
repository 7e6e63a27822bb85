"""The call that asks for a summary: the request as it stands, with one instruction behind it.

So the provider reads all but the instruction from its prompt cache. How each wire says it was read from the
types of the `anthropic` SDK 2.14.0, the `openai` SDK 3.57.0 and `google-genai` 3.6.1 on 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.wire.last_request import ANSWERS, GEMINI_SETTINGS, OUTPUT_LIMITS, last_request
from ctxkit.wire.native import string
from ctxkit.wire.usage_fields import known, mapping

PURPOSE = "summary"
# How each wire says that an answer came to its own end.
FINISHED = frozenset({"end_turn", "stop_sequence", "stop", "completed", "STOP"})
# What an answer may take beside its text, as models that reason count that in.
REASONING_TOKENS = 4_000
# Another choice of tools makes Anthropic read all messages anew: its prompt caching guide, second hand, read
# on 2026-11-30.
CHOICE_SPOILS_CACHE = "anthropic_messages"
FORCED = frozenset({"any", "tool"})
# What would cut a summary short, or ask for several; none of it is a part of the prompt.
LEFT_OUT = frozenset({*ANSWERS, "stop", "stop_sequences", "stopSequences"})


def summary_call(request: ModelRequest, instruction: str, *, summary_tokens: int) -> ModelRequest | None:
    """The side call for a summary; `None` where the caller's choice of tools lets no text be written.

    Tools are forbidden where that leaves the prompt cache as it is; elsewhere the instruction must do.

    Args:
        request: The request as it would be sent.
        instruction: What the user asks for, in one paragraph.
        summary_tokens: How many tokens a summary may have; a lower limit of the request is raised.
    """
    asked = last_request(request, instruction)
    if request.wire.name == CHOICE_SPOILS_CACHE:
        choice = request.body.get("tool_choice")
        if string(mapping(choice).get("type")) in FORCED:
            return None
        asked = asked.edit(remove=("tool_choice",)) if choice is None else asked.edit(tool_choice=choice)
    budget = known(mapping(request.body.get("thinking")).get("budget_tokens")) or 0
    body = _one_answer(asked.body, summary_tokens + budget)
    for key in GEMINI_SETTINGS:
        if key in body:
            body[key] = _one_answer(mapping(body[key]), summary_tokens + budget)
    return replace(asked, body=body, raw=None).side_call(PURPOSE)


def summary_in(response: ModelResponse) -> str | None:
    """What the model wrote; `None` where it did not come to its end, or called a tool instead."""
    said = response.text.strip()
    finished = response.stop_reason in FINISHED and response.complete and not response.tool_calls
    return said if said and finished else None


def _one_answer(settings: Mapping[str, Any], least: int) -> dict[str, Any]:
    """Settings that ask for a single answer, which may have so many tokens and ends by itself."""
    return {
        key: least + REASONING_TOKENS if key in OUTPUT_LIMITS and (known(value) or least) < least else value
        for key, value in settings.items()
        if key not in LEFT_OUT
    }
