"""`LimitSpend(on_limit="finish")`: the last request that fits asks for an answer and allows no tool."""

from __future__ import annotations

import gc
import logging
from decimal import Decimal
from typing import Any

import pytest

import ctxkit
from ctxkit.drive import run
from ctxkit.errors import ModelCallFailed, SpendLimitReached
from ctxkit.flow import Flow, Middleware, ModelNext, done
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.middleware.limit_spend import INSTRUCTION
from ctxkit.testing import Answer, ScriptedModel, both, checked, failure, native, reply
from ctxkit.tokens.calibration import CALIBRATION
from support.bodies import ALL_WIRES, ANTHROPIC, answer_body, answer_to, calls, request_of, results, user
from support.streams import END, Runner, Streamed

TOOLS = [{"name": "search", "input_schema": {"type": "object"}}]
CALL = reply(tool_calls=[("search", {})])
SAID = reply("It is sunny.")


def asked(*texts: str, **body: Any) -> ModelRequest:
    """The request of a loop in which the tool has given these texts."""
    messages = [user("Is it sunny?")]
    for number, text in enumerate(texts):
        messages += [calls(ANTHROPIC, f"c{number}"), *results(ANTHROPIC, {f"c{number}": text})]
    given = {"model": "claude-sonnet-5", "max_tokens": 500, "tools": TOOLS, **body}
    return request_of(ANTHROPIC, messages, **given)


def send(limit: Middleware, answer: Answer, request: ModelRequest | None = None) -> ModelRequest:
    """What is sent of a request that is answered so."""
    model = ScriptedModel([answer])
    run(checked(ctxkit.Stack(limit)).model_flow(request or asked()), model)
    (sent,) = model.calls
    assert isinstance(sent, ModelRequest)
    return sent


def refused(limit: Middleware, request: ModelRequest | None = None) -> SpendLimitReached:
    """The error that a limit raises instead of sending anything."""
    with pytest.raises(SpendLimitReached) as raised:
        run(ctxkit.Stack(limit).model_flow(request or asked()), ScriptedModel([]))
    return raised.value


def is_last(request: ModelRequest) -> bool:
    return INSTRUCTION in str(request.body)


def finishing(**limits: Any) -> ctxkit.LimitSpend:
    return ctxkit.LimitSpend(on_limit="finish", **limits)


def test_the_last_request_that_fits_asks_for_an_answer_and_a_further_one_raises(task: ctxkit.Task) -> None:
    limit = finishing(max_requests=3)
    for _ in range(2):
        assert not is_last(send(limit, CALL))
    sent = send(limit, SAID)
    assert is_last(sent)
    assert sent.body["tool_choice"] == {"type": "none"}
    assert sent.body["tools"] == TOOLS
    error = refused(limit)
    assert (error.spent, error.limit, error.unit, error.task) == (3, 3, "requests", "test")
    assert not task.faults


def test_a_task_whose_limit_was_not_reached_by_its_last_answer_is_finished_all_the_same(
    task: ctxkit.Task,
) -> None:
    limit = finishing(max_tokens=5_000, finish_tokens=4_800)
    request = asked("word " * 100, max_tokens=4_900)
    assert is_last(send(limit, reply("It is sunny.", usage=ctxkit.Usage(100, 10)), request))
    error = refused(limit)
    assert (error.spent, error.limit, error.unit) == (110, 5_000, "tokens")


@pytest.mark.parametrize("limits", [{"max_requests": 0}, {"max_tokens": 20}, {"max_cost_usd": "0.00001"}])
def test_nothing_is_sent_where_the_limit_is_reached_before_the_first_request(
    limits: dict[str, Any], task: ctxkit.Task
) -> None:
    assert refused(finishing(**limits)).spent == 0


def test_the_first_request_is_the_last_where_no_other_fits_behind_it(task: ctxkit.Task) -> None:
    assert is_last(send(finishing(max_requests=1), SAID))


@pytest.mark.parametrize("unit", ["tokens", "usd"])
def test_room_for_the_last_request_is_held_back(unit: str, task: ctxkit.Task) -> None:
    request = asked("word " * 1_000, max_tokens=5_000)
    count = CALIBRATION.count(request)
    tokens = count.total + count.high + 300
    usd = Decimal(2 * (count.total + count.high) + 10 * 300) / 1_000_000
    fitting: dict[str, Any] = {"max_tokens": tokens} if unit == "tokens" else {"max_cost_usd": usd}
    less = {key: limit - (1 if unit == "tokens" else Decimal("1e-9")) for key, limit in fitting.items()}
    assert not is_last(send(finishing(**fitting, finish_tokens=300), CALL, request))
    assert is_last(send(finishing(**less, finish_tokens=300), SAID, request))


def test_no_more_is_held_back_for_an_answer_than_the_request_allows(task: ctxkit.Task) -> None:
    request = asked("word " * 1_000, max_tokens=300)
    count = CALIBRATION.count(request)
    limit = finishing(max_tokens=count.total + count.high + 300)
    assert not is_last(send(limit, CALL, request))


def test_a_result_too_large_for_what_is_left_is_not_sent_at_all(task: ctxkit.Task) -> None:
    limit = finishing(max_tokens=3_000, finish_tokens=1_000)
    assert not is_last(send(limit, reply(tool_calls=[("search", {})], usage=ctxkit.Usage(100, 10))))
    assert refused(limit, asked("word " * 5_000)).spent == 110


def test_of_the_last_request_nothing_is_taken_to_be_in_the_cache(task: ctxkit.Task) -> None:
    """Economics of Anthropic's cache: another tool_choice invalidates what is cached of the messages."""
    first = asked("word " * 2_000)
    count = CALIBRATION.count(first)
    read = reply(
        tool_calls=[("search", {})], usage=ctxkit.Usage(count.total, 1_000, cache_read_tokens=count.total)
    )
    later = request_of(
        ANTHROPIC,
        [*first.body["messages"], user("Go on.")],
        histories=first.histories,
        model="claude-sonnet-5",
        tools=TOOLS,
        max_tokens=0,
    )
    spent = Decimal("0.2") * count.total + 10 * 1_000
    later_count = CALIBRATION.count(later)
    new = later_count.total - count.total
    needed = spent + Decimal("0.2") * count.total + 2 * new + 2 * later_count.high
    for less, ends in ((Decimal(0), False), (Decimal("1e-9"), True)):
        limit = finishing(max_cost_usd=needed / 1_000_000 - less, finish_tokens=0)
        send(limit, read, first)
        assert is_last(send(limit, CALL, later)) is ends


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_both_colours_finish_in_every_wire(wire: str) -> None:
    request = request_of(
        wire, [{"role": "user", "parts": [{"text": "Hi."}]} if wire == "gemini" else user("Hi.")]
    )

    def flow() -> Flow[ModelResponse]:
        return (yield from ctxkit.Stack(finishing(max_requests=1), Instead()).model_flow(request))

    with ctxkit.task("wire"):
        assert both(flow, ScriptedModel([])).text == INSTRUCTION


class Instead(Middleware):
    """Answers with the last text that it is asked."""

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        *_, last = request.blocks()
        return done(answer_to(request, last.text))


def test_a_streamed_last_answer_passes_as_it_arrives(runner: Runner, task: ctxkit.Task) -> None:
    limit = finishing(max_requests=1)
    flow = ctxkit.Stack(limit).model_flow(asked(stream=True))
    streamed = Streamed(runner, flow, [("It is ", "sunny.", END)]).start()
    assert streamed.next() == "It is "
    assert streamed.rest() == ["sunny.", END]
    assert is_last(streamed.asked[0])
    assert refused(limit).spent == 1


def test_a_last_answer_that_is_left_midway_has_used_what_was_held_back(
    runner: Runner, task: ctxkit.Task
) -> None:
    limit = finishing(max_requests=1)
    flow = ctxkit.Stack(limit).model_flow(asked(stream=True))
    streamed = Streamed(runner, flow, [("It is ", "sunny.", END)]).start()
    streamed.next()
    streamed.close()
    assert is_last(streamed.asked[0])
    assert refused(limit).spent == 1


@pytest.mark.parametrize("lost", [failure(429), failure(504)])
def test_a_last_request_that_failed_is_tried_again_where_it_still_fits(
    lost: Answer, task: ctxkit.Task
) -> None:
    request = asked("word " * 3_000)
    limit = finishing(max_requests=2, max_tokens=CALIBRATION.count(request).total + 1_000, finish_tokens=100)
    with pytest.raises(ModelCallFailed):
        send(limit, lost, request)
    if lost.status == 429:
        assert is_last(send(limit, SAID, request))
    else:
        assert refused(limit, request).__notes__


def test_a_loop_that_ended_by_itself_holds_nothing_back() -> None:
    limit = finishing(max_requests=4, scope="shared")
    with ctxkit.task("goes on"):
        send(limit, CALL)
        with ctxkit.task("ends"):
            assert not is_last(send(limit, SAID))
        with ctxkit.task("next"):
            assert is_last(send(limit, SAID))
        assert is_last(send(limit, SAID))


def test_what_is_held_back_for_one_task_is_not_used_by_another() -> None:
    limit = finishing(max_requests=3, scope="shared")
    with ctxkit.task("first") as first:
        send(limit, CALL)
        with ctxkit.task("second"):
            assert is_last(send(limit, SAID))
            assert refused(limit).spent == 2
        assert is_last(send(limit, SAID))
    assert first.children


def test_a_task_that_is_gone_holds_nothing_back() -> None:
    limit = finishing(max_requests=3, scope="shared")
    with ctxkit.task("gone"):
        send(limit, CALL)
    gc.collect()
    with ctxkit.task("next"):
        assert not is_last(send(limit, CALL))
        assert is_last(send(limit, SAID))


def test_a_loop_whose_request_failed_holds_nothing_back(task: ctxkit.Task) -> None:
    limit = finishing(max_requests=2, scope="shared")
    with pytest.raises(ModelCallFailed):
        send(limit, failure(400))
    with ctxkit.task("next"):
        assert not is_last(send(limit, CALL))


def test_a_nested_task_finishes_by_the_limit_of_the_task_around_it_which_still_has_its_own_last_request() -> (
    None
):
    limit = finishing(max_requests=4)
    with ctxkit.task("outer"):
        send(limit, CALL)
        with ctxkit.task("inner"):
            assert not is_last(send(limit, CALL))
            assert is_last(send(limit, SAID))
            assert refused(limit).task == "outer"
        assert is_last(send(limit, SAID))
        assert refused(limit).spent == 4


def test_side_calls_leave_room_for_the_last_request_and_are_never_made_the_last(task: ctxkit.Task) -> None:
    limit = finishing(max_requests=3)
    send(limit, CALL)
    assert not is_last(send(limit, SAID, asked().side_call("summary")))
    assert refused(limit, asked().side_call("summary")).spent == 2
    assert is_last(send(limit, SAID))
    assert refused(limit, asked().side_call("summary")).spent == 3


def test_a_request_that_is_open_to_no_edit_is_sent_as_long_as_it_fits(task: ctxkit.Task) -> None:
    limit = finishing(max_requests=2)
    for _ in range(2):
        assert not is_last(send(limit, CALL, asked().as_it_is()))
    assert refused(limit, asked().as_it_is()).spent == 2


def test_while_a_tool_of_the_provider_runs_the_last_request_goes_out_as_it_is(task: ctxkit.Task) -> None:
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    messages = [user("Is it sunny?"), {"role": "assistant", "content": [search]}]
    limit = finishing(max_requests=1)
    request = request_of(ANTHROPIC, messages, tools=[{"type": "web_search_20250305", "name": "web_search"}])
    assert send(limit, SAID, request).body is request.body
    assert refused(limit).spent == 1
    assert not task.faults


def test_thinking_that_is_bound_to_its_history_is_left_in_front_of_the_question(task: ctxkit.Task) -> None:
    messages = [
        user("Is it sunny?"),
        calls(ANTHROPIC, "a", thinking="I should look."),
        *results(ANTHROPIC, {"a": "word " * 2_000}),
        calls(ANTHROPIC, "b", thinking="I should look again."),
        *results(ANTHROPIC, {"b": "Sunny."}),
    ]
    body = {
        "model": "claude-opus-5-5",
        "tools": TOOLS,
        "thinking": {"type": "enabled", "budget_tokens": 1_024},
    }
    request = request_of(ANTHROPIC, messages, **body)
    stack = ctxkit.Stack(
        finishing(max_requests=1), ctxkit.TrimHistory(start_tokens=1_000, target_tokens=0, keep_steps=1)
    )
    model = ScriptedModel([SAID])
    run(checked(stack).model_flow(request), model)
    (sent,) = model.calls
    assert isinstance(sent, ModelRequest)
    assert sent.body["messages"][:-1] == messages[:-1]
    assert sent.body["messages"][-1]["content"][:-1] == messages[-1]["content"]
    assert is_last(sent)
    assert {key: sent.body[key] for key in body} == body


def test_an_answer_that_calls_a_tool_all_the_same_is_the_last_one(task: ctxkit.Task) -> None:
    limit = finishing(max_requests=1)
    send(limit, CALL)
    assert refused(limit).unit == "requests"


def test_an_answer_that_cannot_be_read_ends_its_loop(task: ctxkit.Task) -> None:
    limit = finishing(max_requests=3)
    send(limit, native(answer_body(ANTHROPIC, content=7)))
    with ctxkit.task("next"):
        assert not is_last(send(limit, CALL))


def test_an_answer_made_on_the_way_costs_nothing_and_finishes_too(task: ctxkit.Task) -> None:
    class Remembers(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            return done(ModelResponse(request.wire, answer_to(request).body, request, local=True))

    limit = finishing(max_requests=1)
    run(ctxkit.Stack(limit, Remembers()).model_flow(asked()), ScriptedModel([]))
    assert refused(limit).spent == 0


def test_it_is_logged_that_a_task_is_asked_to_finish(
    task: ctxkit.Task, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="ctxkit"):
        send(finishing(max_requests=1), SAID)
    assert caplog.messages == ["LimitSpend asks task 'test' to finish: its requests run out"]


def test_with_raise_nothing_is_changed_and_nothing_held_back(task: ctxkit.Task) -> None:
    limit = ctxkit.LimitSpend(max_requests=2)
    for _ in range(2):
        assert send(limit, CALL).body == asked().body
    assert refused(limit).spent == 2
