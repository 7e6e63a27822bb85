"""Tells what a provider would refuse a request for, before it is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxkit.errors import BodyError
from ctxkit.messages import ModelRequest
from ctxkit.validity import anthropic_messages, gemini, openai_chat, openai_responses
from ctxkit.validity.problems import Problem, Rules
from ctxkit.wire import wire_named, wire_of
from ctxkit.wire.native import body_object, loads

RULES: Mapping[str, Rules] = {
    "anthropic_messages": anthropic_messages.RULES,
    "openai_chat": openai_chat.RULES,
    "openai_responses": openai_responses.RULES,
    "gemini": gemini.RULES,
}


def validate(body: Mapping[str, Any] | bytes, *, wire: str | None = None) -> list[Problem]:
    """Tell what is wrong with a request body; nothing, as far as known here, where the list is empty.

    ```python
    for problem in validate(body):
        print(problem.rule, problem.where, problem.message)
    ```

    Args:
        body: The body, as JSON or as its bytes.
        wire: The wire's name; left out, it is told from the body.

    Returns:
        The problems, with the provider's own words for each.

    Raises:
        BodyError: It is no request body, or not what its wire says.
        ConfigError: There is no such wire.
    """
    return list(problems_of(request_of(body, wire=wire)))


def problems_of(request: ModelRequest) -> tuple[Problem, ...]:
    """Tell what is wrong with a request; of a history that grew, only what is new is looked at.

    Returns:
        The problems; none for a wire without rules.

    Raises:
        BodyError: The body is malformed.
    """
    rules = RULES.get(request.wire.name)
    return () if rules is None else rules.problems(request)


def request_of(body: Mapping[str, Any] | bytes, *, wire: str | None = None) -> ModelRequest:
    """A body as a request.

    Raises:
        BodyError: It is no request body.
        ConfigError: There is no such wire.
    """
    native = body_object(loads(body)) if isinstance(body, bytes) else body
    known = wire_of(native) if wire is None else wire_named(wire)
    if known is None:
        raise BodyError("not a request body of any wire that is known here; name its wire if it is one")
    return ModelRequest(known, native)
