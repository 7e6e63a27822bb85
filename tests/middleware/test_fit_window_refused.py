"""`FitWindow` where a provider refuses a prompt as too long: one cut, one retry, and what it teaches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import ctxkit
from ctxkit.errors import ModelCallFailed
from ctxkit.flow import ask_model
from ctxkit.messages import Histories, ModelRequest
from ctxkit.middleware.fit_window import FitWindow
from ctxkit.safety import broken_by_edit
from ctxkit.testing import ModelServer, failure, reply
from ctxkit.testing.answers import Answer
from support.bodies import (
    ANTHROPIC,
    OPENAI,
    answer_to,
    rounds,
    user,
)
from support.calling import SDK_CLIENTS, Sdk, Waiter
from support.fitting import TEXT, asked, high
from support.flows import first_request

ANTHROPIC_SAYS = "prompt is too long: 6000 tokens > 3000 maximum"
OPENAI_SAYS = (
    "This model's maximum context length is 3000 tokens. However, your messages resulted in 6000 tokens."
)
LIMIT_SAYS = "input length and `max_tokens` exceed context limit: 6000 + 100 > 3000, decrease input length"
GEMINI_SAYS = "The input token count (6000) exceeds the maximum number of tokens allowed (3000)."


@pytest.fixture
def wait() -> Iterator[Waiter]:
    waiter = Waiter()
    yield waiter
    waiter.close()


def refusal(wire: str, message: str) -> Answer:
    if wire == ANTHROPIC:
        return failure(400, {"type": "error", "error": {"type": "invalid_request_error", "message": message}})
    return failure(400, {"error": {"message": message, "code": "context_length_exceeded"}})


def says(sdk: Sdk) -> Answer:
    return refusal(ANTHROPIC, ANTHROPIC_SAYS) if sdk.is_anthropic else refusal(OPENAI, OPENAI_SAYS)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("kind", SDK_CLIENTS)
def test_a_refused_prompt_is_cut_once_and_both_attempts_are_booked(
    kind: Any, streamed: bool, wait: Waiter, task: ctxkit.Task
) -> None:
    sdk = Sdk(kind, wait=wait)
    messages = rounds(ANTHROPIC if sdk.is_anthropic else OPENAI, [TEXT] * 15)
    stack = FitWindow(window_tokens=1_000_000), ctxkit.TokenMeter()
    with ModelServer([says(sdk), reply("Done.")]) as server, sdk.wrapped(server, *stack) as client:
        if streamed:
            text = sdk.streamed_text(sdk.wait.items(sdk.create(client, messages, stream=True)))
        else:
            text = sdk.text(sdk.create(client, messages))
    assert text == "Done."
    first, second = (request.json for request in server.requests)
    assert first["messages"] == messages
    assert len(json.dumps(second)) < len(json.dumps(first)) / 2
    assert [attempt.outcome for attempt in task.attempts] == ["not_billed", "billed"]
    assert task.edit_decisions[0].reason == "it was forced: the provider refused the prompt as too long"
    assert task.faults == {}


@pytest.mark.parametrize("kind", SDK_CLIENTS)
def test_where_nothing_more_can_go_the_error_of_the_provider_reaches_the_caller(
    kind: Any, wait: Waiter
) -> None:
    sdk = Sdk(kind, wait=wait)
    with (
        ModelServer([says(sdk)]) as server,
        sdk.wrapped(server, FitWindow()) as client,
        pytest.raises(sdk.module.BadRequestError) as raised,
    ):
        sdk.create(client)
    assert "3000" in str(raised.value)
    assert len(server.requests) == 1


def played(middleware: FitWindow, request: ModelRequest, *errors: ModelCallFailed) -> list[ModelRequest]:
    """What is sent, in order, where errors come back and then an answer."""
    flow = middleware.wrap_model_call(request, ask_model)
    arrived = [first_request(flow)]
    for error in errors:
        step = flow.throw(error)
        assert isinstance(step, ModelRequest)
        assert broken_by_edit(step) == ()
        arrived.append(step)
    with pytest.raises(StopIteration):
        flow.send(answer_to(arrived[-1]))
    return arrived


@pytest.mark.parametrize(
    "message", [ANTHROPIC_SAYS, LIMIT_SAYS, OPENAI_SAYS, GEMINI_SAYS, "context_length_exceeded"]
)
def test_what_a_refusal_teaches_holds_for_the_rest_of_the_history(message: str) -> None:
    histories, middleware = Histories(), FitWindow()
    unknown = {"model": "nobody-knows-it", "histories": histories}
    messages = rounds(OPENAI, [TEXT] * 15)
    error = ModelCallFailed(400, {"error": {"message": message}})
    first, second = played(middleware, asked(OPENAI, messages, **unknown), error)
    assert high(second) < high(first) * 0.65
    later = rounds(OPENAI, [TEXT] * 16)
    (third,) = played(middleware, asked(OPENAI, later, **unknown))
    assert third.body["messages"][: len(messages)] == second.body["messages"]
    other = [user("Another bug."), *messages[1:]]
    (untouched,) = played(middleware, asked(OPENAI, other, **unknown))
    assert untouched.body["messages"] == other


def test_a_second_refusal_reaches_the_caller() -> None:
    request = asked(OPENAI, rounds(OPENAI, [TEXT] * 15))
    first, second = (ModelCallFailed(400, ANTHROPIC_SAYS) for _ in range(2))
    flow = FitWindow().wrap_model_call(request, ask_model)
    next(flow)
    flow.throw(first)
    with pytest.raises(ModelCallFailed) as raised:
        flow.throw(second)
    assert raised.value is second


@pytest.mark.parametrize("error", [ModelCallFailed(400, "bad tool"), ModelCallFailed(500, ANTHROPIC_SAYS)])
def test_other_errors_pass_as_they_are(error: ModelCallFailed) -> None:
    flow = FitWindow().wrap_model_call(asked(OPENAI, rounds(OPENAI, [TEXT] * 15)), ask_model)
    next(flow)
    with pytest.raises(ModelCallFailed) as raised:
        flow.throw(error)
    assert raised.value is error
