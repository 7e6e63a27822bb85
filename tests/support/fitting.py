"""What the tests of `FitWindow` share: requests of known models, and what is sent for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxkit.flow import ask_model
from ctxkit.messages import ModelRequest
from ctxkit.middleware.fit_window import FitWindow
from ctxkit.safety import broken_by_edit
from ctxkit.tokens import CALIBRATION
from support.bodies import (
    ANTHROPIC,
    OPENAI,
    request_of,
    result_texts,
)
from support.flows import first_request

MODELS = {ANTHROPIC: "claude-sonnet-4-5", OPENAI: "gpt-4.1"}
TEXT = "alpha beta gamma delta epsilon zeta eta theta iota kappa " * 40


def asked(wire: str, messages: Sequence[Any], **body: Any) -> ModelRequest:
    return request_of(wire, messages, **{"model": MODELS[wire], "max_tokens": 100, **body})


def sent(middleware: FitWindow, request: ModelRequest) -> ModelRequest:
    """The request that goes further in, looked at by the rules of its provider."""
    fitted = first_request(middleware.wrap_model_call(request, ask_model))
    assert broken_by_edit(fitted) == ()
    return fitted


def high(request: ModelRequest) -> int:
    return CALIBRATION.count(request).high


def texts(request: ModelRequest) -> list[Any]:
    return result_texts(request.wire.name, request.body["messages"])


def is_cleared(text: Any) -> bool:
    return isinstance(text, str) and "tokens cleared; " in text
