"""No edit makes a request one that the provider refuses; where one did, the caller's own goes out."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

import ctxkit
from ctxkit.drive import run
from ctxkit.messages import Histories, ModelRequest
from ctxkit.testing import ModelServer, ScriptedModel, failure, reply
from ctxkit.wire import wire_named

CALL = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "a long result"}
MESSAGES: list[Any] = [
    {"role": "user", "content": "Look."},
    {"role": "assistant", "content": [CALL]},
    {"role": "user", "content": [RESULT]},
]
REFUSAL: dict[str, Any] = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
        "different conversation.",
    },
}


class DropsResults(ctxkit.Middleware):
    """A trimmer as peers have them: it parts a call from its result."""

    def wrap_model_call(
        self, request: ModelRequest, call_next: ctxkit.ModelNext
    ) -> ctxkit.Flow[ctxkit.ModelResponse]:
        return call_next(request.with_messages([turn.native for turn in request.turns[:-1]]))


class Shouts(ctxkit.Middleware):
    """A valid edit: the last result in capitals."""

    def wrap_model_call(
        self, request: ModelRequest, call_next: ctxkit.ModelNext
    ) -> ctxkit.Flow[ctxkit.ModelResponse]:
        return call_next(
            request.with_result_texts({block: block.text.upper() for block in request.tool_results()})
        )


def asked(messages: list[Any], histories: Histories | None = None, **more: Any) -> ModelRequest:
    body = {"model": "claude-sonnet-5", "max_tokens": 9, "messages": messages, **more}
    wire = wire_named("anthropic_messages")
    return ModelRequest(wire=wire, body=body, raw=b"own", histories=histories or Histories())


def sent(model: ScriptedModel) -> list[ModelRequest]:
    return [call for call in model.calls if isinstance(call, ModelRequest)]


def test_an_edit_that_parts_a_call_from_its_result_is_not_sent(task: ctxkit.Task) -> None:
    """Anthropic: each `tool_use` block must have a corresponding `tool_result` block in the next message."""
    model = ScriptedModel([reply(text="Seen.")])
    run(ctxkit.Stack(DropsResults(), ctxkit.TokenMeter()).model_flow(asked(MESSAGES)), model)
    assert [request.raw for request in sent(model)] == [b"own"]
    assert [fault.split()[:2] for fault in task.report().tasks[0].faults] == [["an", "edit"]]


def test_a_valid_edit_is_sent(task: ctxkit.Task) -> None:
    model = ScriptedModel([reply(text="Seen.")])
    run(ctxkit.Stack(Shouts()).model_flow(asked(MESSAGES)), model)
    assert [block.text for block in sent(model)[0].tool_results()] == ["A LONG RESULT"]
    assert not task.faults


def test_what_was_wrong_before_the_edit_is_the_callers_to_see(task: ctxkit.Task) -> None:
    broken = [*MESSAGES, {"role": "assistant", "content": [{**CALL, "id": "c2"}]}, MESSAGES[0]]
    model = ScriptedModel([reply(text="Seen.")])
    run(ctxkit.Stack(Shouts()).model_flow(asked(broken)), model)
    assert sent(model)[0].raw is None
    assert not task.faults


def test_an_edit_that_makes_the_body_unreadable_is_not_sent(task: ctxkit.Task) -> None:
    class Breaks(ctxkit.Middleware):
        def wrap_model_call(
            self, request: ModelRequest, call_next: ctxkit.ModelNext
        ) -> ctxkit.Flow[ctxkit.ModelResponse]:
            return call_next(request.edit(messages="none"))

    model = ScriptedModel([reply(text="Seen.")], price_cache=False)
    run(ctxkit.Stack(Breaks()).model_flow(asked(MESSAGES)), model)
    assert [request.raw for request in sent(model)] == [b"own"]
    assert task.faults["an edit broke the rule readable_body"] == 1


@pytest.mark.parametrize(
    "said",
    [
        REFUSAL["error"]["message"],
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        "messages: final message must end with a user turn",
    ],
)
def test_a_refused_edit_goes_out_again_without_it_and_that_history_is_left_alone(
    said: str, task: ctxkit.Task
) -> None:
    histories = Histories()
    stack = ctxkit.Stack(Shouts(), ctxkit.TokenMeter())
    refusal = {"type": "error", "error": {"type": "invalid_request_error", "message": said}}
    model = ScriptedModel([failure(400, refusal), reply(text="Seen."), reply(text="Again.")])
    run(stack.model_flow(asked(MESSAGES, histories)), model)
    longer = [*MESSAGES, {"role": "assistant", "content": "Seen."}, {"role": "user", "content": "And?"}]
    run(stack.model_flow(asked(longer, histories)), model)
    assert [request.raw for request in sent(model)] == [None, b"own", b"own"]
    assert [attempt.outcome for attempt in task.attempts] == ["not_billed", "billed", "billed"]
    assert task.faults["the provider refused an edited history"] == 1


@pytest.mark.parametrize(
    "answer",
    [
        failure(400, {"type": "error", "error": {"message": "model: no such model"}}),
        failure(429, REFUSAL),
    ],
)
def test_other_refusals_of_an_edited_request_reach_the_caller_at_once(answer: Any) -> None:
    model = ScriptedModel([answer])
    with pytest.raises(ctxkit.ModelCallFailed):
        run(ctxkit.Stack(Shouts()).model_flow(asked(MESSAGES)), model)
    assert len(sent(model)) == 1


def test_a_refusal_of_the_callers_own_history_reaches_the_caller_at_once() -> None:
    model = ScriptedModel([failure(400, REFUSAL)])
    with pytest.raises(ctxkit.ModelCallFailed):
        run(ctxkit.Stack(ctxkit.TokenMeter()).model_flow(asked(MESSAGES)), model)
    assert len(sent(model)) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_through_the_sdk_a_refused_edit_costs_the_caller_nothing(task: ctxkit.Task, *, stream: bool) -> None:
    with ModelServer([failure(400, REFUSAL), reply(text="Seen.")]) as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0)
        wrapped = ctxkit.wrap(client, ctxkit.Stack(Shouts(), ctxkit.TokenMeter()))
        options: dict[str, Any] = {"model": "claude-sonnet-5", "max_tokens": 9, "messages": MESSAGES}
        if stream:
            with wrapped.messages.stream(**options) as events:
                text = events.get_final_text()
        else:
            text = wrapped.messages.create(**options).content[0].text
        wrapped.close()
    assert text == "Seen."
    assert [b"A LONG" in request.body for request in server.requests] == [True, False]


def test_a_side_call_of_a_request_that_is_left_alone_can_still_be_made() -> None:
    request = asked(MESSAGES, stream=True).as_it_is()
    assert request.edit(max_tokens=1) is request
    assert request.side_call("summary", max_tokens=1).body["max_tokens"] == 1


def test_a_middleware_leaves_a_request_alone_that_is_not_to_be_edited(task: ctxkit.Task) -> None:
    long = [*MESSAGES[:2], {"role": "user", "content": [{**RESULT, "content": "a long result " * 200}]}]
    request = asked(long).as_it_is()
    model = ScriptedModel([reply(text="Seen.")])
    run(ctxkit.Stack(ctxkit.TruncateToolResults(max_tokens=100)).model_flow(request), model)
    assert sent(model)[0].raw == b"own"
    assert task.decisions == ()


class Unreadable(dict[str, Any]):
    """A message that breaks whoever looks at it."""

    def get(self, key: str, default: Any = None) -> Any:
        raise RuntimeError("a fault of ctxkit's own")


class MakesUnreadable(ctxkit.Middleware):
    """Passes on a message that no rule was written for."""

    def wrap_model_call(
        self, request: ModelRequest, call_next: ctxkit.ModelNext
    ) -> ctxkit.Flow[ctxkit.ModelResponse]:
        return call_next(request.with_messages([Unreadable(role="user", content="Other.")]))


def test_a_fault_in_the_last_look_itself_never_breaks_the_call(task: ctxkit.Task) -> None:
    model = ScriptedModel([reply(text="Seen.")])
    response = run(ctxkit.Stack(MakesUnreadable()).model_flow(asked(MESSAGES)), model)
    assert response.text == "Seen."
    assert [request.raw for request in sent(model)] == [b"own"]
    assert task.faults["the look at an edit: RuntimeError"] == 1


def test_a_history_that_can_not_be_looked_at_is_still_asked() -> None:
    model = ScriptedModel([reply(text="Seen.", usage=ctxkit.Usage(1, 1))], price_cache=False)
    response = run(ctxkit.Stack().model_flow(asked([Unreadable(MESSAGES[0])])), model)
    assert response.text == "Seen."
