"""Requests of one conversation under a limit, and what a limit says of itself."""

from __future__ import annotations

from typing import Any

import pytest

import ctxkit
from ctxkit.drive import run
from ctxkit.errors import SpendLimitReached
from ctxkit.flow import Middleware
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.testing import ScriptedModel, reply
from ctxkit.tokens.calibration import CALIBRATION
from support.bodies import ANTHROPIC, request_of, user

CLAUDE = "claude-sonnet-5"  # 2 dollars a million tokens of input, 10 of output, 0.20 read from the cache


def asked(text: str = "hi", *, model: str = CLAUDE, **body: Any) -> ModelRequest:
    """A first request, in a process of its own."""
    return request_of(ANTHROPIC, [user(text)], model=model, **body)


def size(request: ModelRequest) -> int:
    """What its input is expected to have."""
    return CALIBRATION.count(request).total


def worst(request: ModelRequest, output_tokens: int) -> int:
    """What is reserved in tokens for a request whose answers may have so many."""
    return CALIBRATION.count(request).high + output_tokens


def used(input_tokens: int, output_tokens: int, **more: int) -> Any:
    """An answer that reports so many tokens."""
    return reply("hi", usage=ctxkit.Usage(input_tokens, output_tokens, **more))


def ask(limit: Middleware, model: ScriptedModel, request: ModelRequest | None = None) -> ModelResponse:
    """What the model answers under the limit."""
    response: ModelResponse = run(ctxkit.Stack(limit).model_flow(request or asked()), model)
    return response


def refused(limit: Middleware, request: ModelRequest | None = None) -> SpendLimitReached:
    """The error that a limit raises instead of sending anything."""
    model = ScriptedModel([])
    with pytest.raises(SpendLimitReached) as raised:
        ask(limit, model, request)
    assert model.calls == []
    return raised.value
