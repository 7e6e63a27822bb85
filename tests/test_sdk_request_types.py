"""What ctxkit sends is what the SDKs' own request types allow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import pytest
from anthropic.types import MessageCreateParams
from hypothesis import assume, given
from hypothesis import strategies as st
from openai.types.chat import CompletionCreateParams
from openai.types.responses import ResponseCreateParams
from pydantic import TypeAdapter, ValidationError

import ctxkit
from ctxkit.middleware.repair_history import RepairHistory
from ctxkit.testing import checked
from support.flows import first_request
from support.valid_histories import VALID_HISTORIES

TYPES: Mapping[str, Any] = {
    "anthropic_messages": MessageCreateParams,
    "openai_chat": CompletionCreateParams,
    "openai_responses": ResponseCreateParams,
}
STACK = ctxkit.Stack(
    ctxkit.TruncateToolResults(max_tokens=150),
    ctxkit.TrimHistory(start_tokens=300, target_tokens=100, keep_steps=0),
    ctxkit.DedupeToolResults(min_tokens=0),
    RepairHistory(),
    ctxkit.PlaceCacheBreakpoints(),
)


@cache
def adapter(wire: str) -> TypeAdapter[Any]:
    """Checks bodies of a wire against the SDK's type; made once, as that takes seconds."""
    return TypeAdapter(TYPES[wire])


def accept(wire: str, body: Mapping[str, Any]) -> None:
    """Raise `ValidationError` where the SDK's type doesn't allow a body."""
    exhaust(adapter(wire).validate_python(body))


def exhaust(value: Any) -> None:
    """Go through all of a checked value: pydantic checks what an iterable holds only when it is asked for."""
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        for one in value:
            exhaust(one)


@pytest.mark.parametrize("wire", TYPES)
@given(data=st.data())
def test_every_edited_body_is_one_of_the_sdks_own_type(data: st.DataObject, wire: str) -> None:
    history = data.draw(VALID_HISTORIES[wire])
    assume(history.typed)
    request = history.request(history.ends[-1])
    accept(wire, request.body)
    sent = first_request(checked(STACK).model_flow(request))
    accept(wire, sent.body)


@pytest.mark.parametrize("wire", TYPES)
def test_a_body_of_no_type_is_refused_by_the_check_itself(wire: str) -> None:
    history = {
        "messages": [{"role": "user", "content": [{"type": "hologram"}]}],
        "input": [{"type": "hologram"}],
    }
    with pytest.raises(ValidationError):
        accept(wire, {"model": "m", "max_tokens": 1, **history})
