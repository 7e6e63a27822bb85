"""Which models are taken to bind their thinking to what stood before it."""

from __future__ import annotations

import pytest

from ctxkit.wire.thinking import binds_thinking
from support.bodies import ANTHROPIC, OPENAI


@pytest.mark.parametrize(
    "model",
    [
        "claude-2.1",
        "claude-instant-1.2",
        "claude-3-7-sonnet-20250219",
        "claude-sonnet-4-20250514",
        "claude-opus-4-8",
        "claude-sonnet-5",
        "claude-opus-5@20260101",
        "anthropic/claude-haiku-5",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ],
)
def test_earlier_models_leave_the_history_free(model: str) -> None:
    assert not binds_thinking(ANTHROPIC, model)


@pytest.mark.parametrize(
    "model",
    ["claude-opus-5-5", "claude-fable-5-1", "claude-mythos-5-2", "claude-sonnet-6", "my-fine-tune", "", None],
)
def test_later_and_unknown_models_are_taken_to_bind_it(model: str | None) -> None:
    assert binds_thinking(ANTHROPIC, model)


@pytest.mark.parametrize("model", ["gpt-6-astra", None])
def test_only_anthropic_signs_its_thinking(model: str | None) -> None:
    assert not binds_thinking(OPENAI, model)
