"""`UseProviderContext`: the provider is asked as it wants to be, and a refusal never reaches the caller."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types.beta import BetaContextManagementConfigParam
from openai.types.responses.response_create_params import ContextManagement
from pydantic import TypeAdapter

import ctxkit
from ctxkit.errors import ConfigError, ModelCallFailed
from ctxkit.flow import Flow, ask_model
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.middleware.use_provider_context import UseProviderContext
from ctxkit.testing import ScriptedModel, both, reply
from ctxkit.wire.provider_context import effects
from support.bodies import (
    ALL_WIRES,
    ANTHROPIC,
    GEMINI,
    OPENAI,
    RESPONSES,
    answer_body,
    answer_to,
    request_of,
    user,
)
from support.flows import first_request

REFUSAL = {"error": {"message": "context_management: Extra inputs are not permitted"}}


def asked(request: ModelRequest, **options: Any) -> Any:
    """What a provider is asked for; `None` where the request passes as it is."""
    made = first_request(UseProviderContext(**options).wrap_model_call(request, ask_model))
    assert (made is request) == ("context_management" not in made.body or made.body == request.body)
    return None if made is request else made.body["context_management"]


def flow_of(middleware: UseProviderContext, request: ModelRequest) -> Flow[ModelResponse]:
    return ctxkit.Stack(middleware).wrap_model_call(request, ask_model)


def test_anthropic_is_asked_for_a_summary_as_its_sdk_has_it() -> None:
    made = asked(request_of(ANTHROPIC, [user("Hi.")]), start_tokens=90_000)
    assert made == {
        "edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 90_000}}]
    }
    TypeAdapter(BetaContextManagementConfigParam).validate_python(made)


def test_openai_is_asked_for_a_summary_as_its_sdk_has_it() -> None:
    made = asked(request_of(RESPONSES, [user("Hi.")]), start_tokens=90_000)
    assert made == [{"type": "compaction", "compact_threshold": 90_000}]
    TypeAdapter(list[ContextManagement]).validate_python(made)


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({}, {}),
        ({"min_batch_tokens": 5_000}, {"clear_at_least": {"type": "input_tokens", "value": 5_000}}),
        ({"exempt": "read_plan"}, {"exclude_tools": ["read_plan"]}),
    ],
)
def test_anthropic_is_asked_to_clear_as_its_sdk_has_it(options: dict[str, Any], more: dict[str, Any]) -> None:
    made = asked(request_of(ANTHROPIC, [user("Hi.")]), way="clear", start_tokens=40_000, **options)
    assert made["edits"] == [
        {
            "type": "clear_tool_uses_20250919",
            "trigger": {"type": "input_tokens", "value": 40_000},
            "keep": {"type": "tool_uses", "value": 3},
            **more,
        }
    ]
    TypeAdapter(BetaContextManagementConfigParam).validate_python(made)


@pytest.mark.parametrize("way", ["compact", "clear"])
@pytest.mark.parametrize("wire", ALL_WIRES)
def test_wires_without_such_a_way_are_asked_nothing(wire: str, way: str) -> None:
    has_none = wire in (OPENAI, GEMINI) or (wire == RESPONSES and way == "clear")
    request = request_of(wire, [user("Hi.")])
    assert (asked(request, way=way) is None) == has_none


def test_what_the_caller_asks_for_side_calls_and_requests_to_be_left_alone_pass_as_they_are() -> None:
    request = request_of(ANTHROPIC, [user("Hi.")])
    own = request_of(ANTHROPIC, [user("Hi.")], context_management={"edits": []})
    for left in (own, request.side_call("summary"), request.as_it_is()):
        assert asked(left) is None


def test_where_the_provider_refuses_the_request_goes_out_without_it_and_its_model_is_left_alone(
    task: ctxkit.Task,
) -> None:
    middleware, request = UseProviderContext(), request_of(ANTHROPIC, [user("Hi.")])
    flow = flow_of(middleware, request)
    made = first_request(flow)
    again = flow.throw(ModelCallFailed(400, REFUSAL, request=made))
    assert again is request
    with pytest.raises(StopIteration) as stopped:
        flow.send(answer_to(request))
    assert stopped.value.value.text == "Done."
    assert first_request(flow_of(middleware, request)) is request
    assert first_request(flow_of(middleware, request_of(ANTHROPIC, [user("Hi.")], model="n"))).origin
    assert dict(task.faults) == {"UseProviderContext: the provider refused context_management": 1}
    with ctxkit.task("next"):
        assert first_request(flow_of(middleware, request)).origin is request


@pytest.mark.parametrize(
    ("status", "body"), [(429, REFUSAL), (400, {"error": "max_tokens is too large"}), (500, None)]
)
def test_other_errors_pass_as_they_are(status: int, body: Any) -> None:
    flow = UseProviderContext().wrap_model_call(request_of(ANTHROPIC, [user("Hi.")]), ask_model)
    first_request(flow)
    with pytest.raises(ModelCallFailed) as caught:
        flow.throw(ModelCallFailed(status, body))
    assert caught.value.status == status


def test_what_the_provider_did_is_in_the_decision_log_once(task: ctxkit.Task) -> None:
    did = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 8}]}
    for _ in range(2):
        flow = UseProviderContext(way="clear").wrap_model_call(
            request_of(ANTHROPIC, [user("Hi.")]), ask_model
        )
        with pytest.raises(StopIteration):
            flow.send(answer_to(first_request(flow), context_management=did))
    (decision,) = task.decisions
    assert (decision.by, decision.action, decision.kind) == ("UseProviderContext", "replaced", "history")
    assert decision.reason.startswith("the provider cleared 8 tool uses")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (answer_body(ANTHROPIC), []),
        (answer_body(RESPONSES), []),
        (answer_body(ANTHROPIC, context_management={"applied_edits": []}), []),
        (
            {
                "context_management": {
                    "applied_edits": [{"cleared_tool_uses": 8, "cleared_input_tokens": 50_000}]
                }
            },
            ["the provider cleared 8 tool uses of 50,000 tokens"],
        ),
        ({"context_management": {"applied_edits": [{"cleared_thinking_turns": 2}]}}, []),
        (
            {"content": [{"type": "compaction", "content": "So far."}]},
            ["the provider put a summary in the place of what came before"],
        ),
        (
            {"output": [{"type": "compaction", "encrypted_content": "ZQ=="}]},
            ["the provider put a summary in the place of what came before"],
        ),
    ],
)
def test_an_answer_says_what_was_done(body: dict[str, Any], said: list[str]) -> None:
    assert list(effects(body)) == said


def test_a_summary_is_billed_besides_the_answer(task: ctxkit.Task) -> None:
    """A compaction's tokens are not in the top-level usage: types of the `anthropic` SDK 2.14.0."""
    iterations = [
        {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
        {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000},
    ]
    usage = {"input_tokens": 23_000, "output_tokens": 1_000, "iterations": iterations}
    stack = ctxkit.Stack(UseProviderContext(), ctxkit.TokenMeter())
    flow = stack.wrap_model_call(request_of(ANTHROPIC, [user("Hi.")], model="claude-opus-5-5"), ask_model)
    answer = answer_to(first_request(flow), model="claude-opus-5-5", usage=usage)
    with pytest.raises(StopIteration):
        flow.send(answer)
    (attempt,) = task.attempts
    assert attempt.charge is not None
    assert str(attempt.charge.total_usd.normalize()) == "0.902"


@pytest.mark.parametrize(
    ("option", "value"),
    [("way", "forget"), ("start_tokens", 49_999), ("keep_tool_uses", -1), ("min_batch_tokens", -1)],
)
def test_an_option_out_of_range_is_refused(option: str, value: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        UseProviderContext(**{option: value})
    assert caught.value.option == option


def test_it_answers_like_any_other_call_blocking_and_awaiting() -> None:
    model = ScriptedModel([reply(text="Done.")])
    request = request_of(ANTHROPIC, [user("Hi.")], model="claude-opus-5-5")
    response = both(lambda: ctxkit.Stack(UseProviderContext()).model_flow(request), model)
    assert response.text == "Done."
