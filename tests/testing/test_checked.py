"""`checked` names the middleware that breaks a history, and is not seen otherwise."""

from __future__ import annotations

import pytest

import ctxkit
from ctxkit.drive import run
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.testing import ScriptedModel, checked, reply
from support.bodies import ANTHROPIC, calls, request_of, results, rounds, user


class DropFirstMessage(ctxkit.Middleware):
    """Cuts a history where it must not be cut."""

    def wrap_model_call(
        self, request: ModelRequest, call_next: ctxkit.ModelNext
    ) -> ctxkit.Flow[ModelResponse]:
        return call_next(request.with_messages(list(request.body["messages"])[2:]))


class NoMessages(ctxkit.Middleware):
    """Makes a body that is none."""

    def wrap_model_call(
        self, request: ModelRequest, call_next: ctxkit.ModelNext
    ) -> ctxkit.Flow[ModelResponse]:
        return call_next(request.edit(messages="none"))


def asked(stack: ctxkit.Middleware, request: ModelRequest) -> ModelRequest:
    """The request that arrives at the model."""
    model = ScriptedModel([reply("Done.")])
    run(checked(stack).model_flow(request), model)
    (sent,) = model.calls
    assert isinstance(sent, ModelRequest)
    return sent


def test_the_middleware_that_breaks_a_history_is_named_with_the_rule_and_the_place() -> None:
    stack = ctxkit.Stack(ctxkit.TokenMeter(), DropFirstMessage(), ctxkit.TruncateToolResults())
    broken = (
        r"^DropFirstMessage broke the rule tool_result_has_its_tool_use at messages\.0\.content\.0: .*call_0"
    )
    with pytest.raises(AssertionError, match=broken):
        asked(stack, request_of(ANTHROPIC, rounds(ANTHROPIC, ["Found."])))


def test_a_body_that_can_not_be_read_any_more_is_named_too() -> None:
    with pytest.raises(AssertionError, match=r"^NoMessages broke the rule readable_body at messages: "):
        asked(NoMessages(), request_of(ANTHROPIC, [user("Hello.")]))


def test_a_stack_that_breaks_nothing_sends_what_it_sends_unchecked() -> None:
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, ["the quick brown fox " * 200]))
    stack = ctxkit.Stack(ctxkit.TruncateToolResults(max_tokens=100))
    unchecked = next(stack.model_flow(request))
    assert isinstance(unchecked, ModelRequest)
    assert asked(stack, request).body == unchecked.body != request.body


def test_what_the_callers_own_request_breaks_is_held_against_nobody() -> None:
    request = request_of(ANTHROPIC, results(ANTHROPIC, {"a": "the quick brown fox " * 200}))
    assert asked(ctxkit.TruncateToolResults(max_tokens=100), request).body != request.body
    unanswered = request_of(ANTHROPIC, [user("Look."), calls(ANTHROPIC, "a")])
    assert asked(ctxkit.Stack(), unanswered) is unanswered
