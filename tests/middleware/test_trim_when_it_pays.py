"""`TrimHistory` without thresholds: when it clears follows from prices, growth and what is stable."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

import ctxkit
from ctxkit.errors import ConfigError
from ctxkit.flow import ask_model
from ctxkit.messages import Block, Histories, ModelRequest
from ctxkit.money.break_even import RemainingTurns
from ctxkit.money.prompt_cache import PromptCache, simulate
from ctxkit.originals import RECALL_TOOL
from ctxkit.testing import ScriptedModel, both
from ctxkit.tokens import block_counter_for, pieces, shape_of
from ctxkit.validity import problems_of
from support.bodies import ANTHROPIC, OPENAI, WIRES, calls, request_of, result_texts, results, user
from support.flows import first_request

MODELS = {ANTHROPIC: "claude-sonnet-4-5", OPENAI: "gpt-5"}
WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa "
RESULT = WORDS * 60
MARK = {"cache_control": {"type": "ephemeral"}}


def loop(wire: str, steps: int, *, result: str = RESULT, written: str = "") -> list[dict[str, Any]]:
    """A loop of calls whose results are all alike in size."""
    messages = [user("Find the bug.")]
    for number in range(steps):
        inputs = {"path": f"src/{number}.py", **({"text": written} if written else {})}
        messages += [
            calls(wire, f"call_{number}", inputs=inputs),
            *results(wire, {f"call_{number}": f"{number} {result}"}),
        ]
    return messages


def requests_of(wire: str, messages: Sequence[Any], **body: Any) -> list[ModelRequest]:
    """What a loop sends along the way."""
    histories = Histories()
    ends = [end for end, message in enumerate(messages) if message["role"] == "assistant"]
    return [
        request_of(wire, messages[:end], histories=histories, **{"model": MODELS[wire], **body})
        for end in (*ends, len(messages))
    ]


def sent(middleware: ctxkit.TrimHistory, request: ModelRequest) -> ModelRequest:
    return first_request(ctxkit.Stack(middleware).wrap_model_call(request, ask_model))


def is_stub(text: Any) -> bool:
    return isinstance(text, str) and text.startswith("[ctxkit: ")


def cleared(request: ModelRequest) -> list[bool]:
    return [is_stub(text) for text in result_texts(request.wire.name, request.body["messages"])]


def dollars(requests: Sequence[ModelRequest]) -> Decimal:
    """What the requests cost through the simulated prompt cache, their ends being marked."""
    model = requests[0].model
    counter = block_counter_for(model, requests[0].wire.name)
    cache = PromptCache(
        pieces=partial(pieces, counter=counter), size=lambda prompt: shape_of(prompt, counter).total
    )
    marked = [(request.edit(**MARK), None) for request in requests]
    charges = [one.charge for one in simulate(cache, marked, prices_at=datetime(2026, 11, 30, tzinfo=UTC))]
    assert all(charges)
    return sum((charge.total_usd for charge in charges if charge), Decimal(0))


@pytest.mark.parametrize("wire", WIRES)
def test_a_long_loop_is_cleared_in_few_batches_and_costs_less(wire: str) -> None:
    requests = requests_of(wire, loop(wire, 200))
    middleware = ctxkit.TrimHistory()
    edited = [sent(middleware, request) for request in requests]
    changes = sum(
        after.body["messages"][: len(before.body["messages"])] != before.body["messages"]
        for before, after in pairwise(edited)
    )
    assert 1 <= changes <= 8
    assert dollars(edited) < Decimal("0.6") * dollars(requests)
    assert not any(problems_of(request) for request in edited)


@pytest.mark.parametrize("steps", [5, 40, 55, 60, 65, 90])
def test_a_loop_costs_at_most_what_the_gate_said_more_whenever_it_ends(steps: int, task: ctxkit.Task) -> None:
    """What a batch costs in its own turn is all that can be lost, where the loop ends before it paid."""
    requests = requests_of(ANTHROPIC, loop(ANTHROPIC, steps))
    middleware = ctxkit.TrimHistory()
    edited = [sent(middleware, request) for request in requests]
    promised = sum((one.delta0_usd for one in task.edit_decisions if one.taken), Decimal(0))
    assert dollars(edited) <= (dollars(requests) + promised) * Decimal("1.005")
    assert any(one.taken for one in task.edit_decisions) == (steps > 55)


@pytest.mark.parametrize("wire", WIRES)
def test_raw_history_in_gives_the_same_bytes_out_over_a_thousand_turns_and_a_restart(wire: str) -> None:
    requests = requests_of(wire, loop(wire, 500, result=WORDS * 30))
    middleware = ctxkit.TrimHistory()
    edited = [sent(middleware, request) for request in requests]
    for place in (300, 999 // 2, 500):
        request = requests[place]
        again = json.loads(json.dumps(request.body["messages"]))
        anew = sent(ctxkit.TrimHistory(), request_of(wire, again, model=MODELS[wire]))
        assert json.dumps(anew.body) == json.dumps(edited[place].body)


def test_each_batch_that_was_considered_is_in_the_log_with_its_numbers(task: ctxkit.Task) -> None:
    *_, request = requests_of(ANTHROPIC, loop(ANTHROPIC, 150))
    sent(ctxkit.TrimHistory(), request)
    decisions = task.edit_decisions
    taken = [one for one in decisions if one.taken]
    refused = [one for one in decisions if not one.taken]
    assert taken
    assert refused
    for one in taken:
        assert one.by == "TrimHistory"
        assert one.net_saving_usd >= 0
        assert one.removed_tokens > one.suffix_tokens * Decimal("0.05")
        assert one.break_even_turns is not None
        assert one.break_even_turns <= one.expected_turns
        assert (one.write, one.read) == (Decimal("1.25"), Decimal("0.1"))
    for one in refused:
        assert one.break_even_turns is not None
        assert one.break_even_turns > one.expected_turns
        assert "are expected to come" in one.reason


def test_no_batch_is_made_that_would_not_pay(task: ctxkit.Task) -> None:
    *_, request = requests_of(ANTHROPIC, loop(ANTHROPIC, 80))
    assert any(cleared(sent(ctxkit.TrimHistory(remaining=1_000), request)))
    assert sent(ctxkit.TrimHistory(remaining=0), request) is request
    assert sent(ctxkit.TrimHistory(remaining=1_000, min_net_saving_usd=1_000), request) is request
    learned = RemainingTurns.from_lengths([1_000] * 5)
    assert any(cleared(sent(ctxkit.TrimHistory(remaining=learned), request)))


def test_a_batch_at_a_size_that_the_user_named_need_not_pay_unless_asked(task: ctxkit.Task) -> None:
    *_, request = requests_of(ANTHROPIC, loop(ANTHROPIC, 20))
    named = {"start_tokens": 2_000, "target_tokens": 1_000, "remaining": 0}
    assert any(cleared(sent(ctxkit.TrimHistory(**named), request)))
    assert any(decision.reason == "the history passed 2,000 tokens" for decision in task.decisions)
    assert sent(ctxkit.TrimHistory(**named, min_net_saving_usd=1), request) is request


def test_dearer_models_are_cleared_later() -> None:
    """The cheaper reading is beside writing, the longer it pays to carry on."""
    requests = requests_of(ANTHROPIC, loop(ANTHROPIC, 150))
    remaining = {"remaining": 10_000}

    def first(model: str) -> int:
        middleware = ctxkit.TrimHistory(**remaining)
        bodies = [request_of(ANTHROPIC, request.body["messages"], model=model) for request in requests[::5]]
        return next(place for place, request in enumerate(bodies) if sent(middleware, request) is not request)

    assert first("gpt-4.1") < first("claude-sonnet-4-5")


def test_a_model_without_a_price_is_weighed_by_what_most_caches_take(task: ctxkit.Task) -> None:
    *_, request = requests_of(ANTHROPIC, loop(ANTHROPIC, 150), model="nobody-knows-it")
    assert any(cleared(sent(ctxkit.TrimHistory(), request)))
    assert {(one.write, one.read) for one in task.edit_decisions} == {(Decimal("1.25"), Decimal("0.1"))}


def test_a_history_that_would_pass_the_models_window_is_cleared_before(task: ctxkit.Task) -> None:
    *_, request = requests_of(OPENAI, loop(OPENAI, 150, result=WORDS * 100), model="gpt-4o")
    assert shape_of(request, block_counter_for("gpt-4o", OPENAI)).total > 128_000
    made = sent(ctxkit.TrimHistory(target_tokens=120_000, remaining=0), request)
    assert shape_of(made, block_counter_for("gpt-4o", OPENAI)).total < 128_000
    assert any("the model takes" in one.reason for one in task.edit_decisions)


def test_a_history_is_cleared_before_it_passes_a_price_cliff() -> None:
    messages = loop(OPENAI, 170, result=WORDS * 120)
    options = {"target_tokens": 190_000, "remaining": 10, "min_batch_tokens": 0}
    model = "gemini-2.5-pro"
    requests = [request_of(OPENAI, messages[:end], model=model) for end in range(201, len(messages), 10)]
    counter = block_counter_for(model, OPENAI)
    sizes = [shape_of(request, counter).total for request in requests]
    assert sizes[0] < 200_000 < sizes[-1]
    made = [sent(ctxkit.TrimHistory(**options), request) for request in requests]
    assert all(shape_of(request, counter).total <= 200_000 for request in made)


@pytest.mark.parametrize("wire", WIRES)
def test_long_arguments_of_old_calls_go_and_short_ones_stay(wire: str) -> None:
    messages = loop(wire, 12, result="done", written=WORDS * 60)
    request = request_of(wire, messages, model=MODELS[wire])
    options = {"start_tokens": 2_000, "target_tokens": 500, "keep_steps": 2}
    made = sent(ctxkit.TrimHistory(**options), request)
    inputs = [
        dict(made.wire.call_input(block.native)) for block in made.blocks() if block.kind == "tool_call"
    ]
    assert [one["path"] for one in inputs] == [f"src/{number}.py" for number in range(12)]
    stubs = [is_stub(one["text"]) for one in inputs]
    assert stubs == [True] * 10 + [False] * 2
    assert not problems_of(made)
    assert sent(ctxkit.TrimHistory(**options, clear_arguments=False), request) is request


def test_nested_arguments_keep_their_shape() -> None:
    inputs = {"edits": [{"path": "a", "new": WORDS * 60}, {"path": "b", "new": "x", "count": 3}], "ok": True}
    messages = [
        user("Go."),
        *(calls(ANTHROPIC, "a", inputs=inputs), *results(ANTHROPIC, {"a": "done"})),
        *(calls(ANTHROPIC, "b"), *results(ANTHROPIC, {"b": "done"})),
    ]
    request = request_of(ANTHROPIC, messages)
    made = sent(ctxkit.TrimHistory(start_tokens=300, target_tokens=0, keep_steps=1), request)
    given = made.body["messages"][1]["content"][0]["input"]
    assert is_stub(given["edits"][0]["new"])
    assert given["edits"][0]["path"] == "a"
    assert given["edits"][1:] == inputs["edits"][1:]
    assert given["ok"] is True
    assert request.body["messages"][1]["content"][0]["input"] == inputs


def test_calls_with_thinking_behind_them_keep_their_arguments() -> None:
    call = calls(ANTHROPIC, "a", inputs={"text": WORDS * 60})["content"]
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    options = {"start_tokens": 300, "target_tokens": 0, "keep_steps": 1}
    after = [*results(ANTHROPIC, {"a": "done"}), calls(ANTHROPIC, "b"), *results(ANTHROPIC, {"b": "done"})]
    for content, goes in (([*call, thought], False), ([thought, *call], True)):
        messages = [user("Go."), {"role": "assistant", "content": content}, *after]
        request = request_of(ANTHROPIC, messages, model=MODELS[ANTHROPIC])
        assert (sent(ctxkit.TrimHistory(**options), request) is not request) == goes


def test_what_is_pinned_is_never_cleared() -> None:
    def plan(block: Block) -> bool:
        return block.call_id == "call_1"

    request = request_of(ANTHROPIC, loop(ANTHROPIC, 8), model=MODELS[ANTHROPIC])
    options = {"start_tokens": 1_000, "target_tokens": 0, "keep_steps": 1}
    made = cleared(sent(ctxkit.TrimHistory(**options, pinned=plan), request))
    assert made == [True, False, *[True] * 5, False]


def test_large_and_old_results_go_first() -> None:
    messages = [user("Go.")]
    for one, text in {"a": "small " * 60, "b": RESULT, "c": "small " * 60, "d": "done"}.items():
        messages += [calls(ANTHROPIC, one), *results(ANTHROPIC, {one: text})]
    request = request_of(ANTHROPIC, messages)
    size = shape_of(request, block_counter_for("m", ANTHROPIC)).total
    options = {"start_tokens": size - 1, "target_tokens": size - 300, "keep_steps": 1}
    assert cleared(sent(ctxkit.TrimHistory(**options), request)) == [False, True, False, False]


@pytest.mark.parametrize("wire", WIRES)
def test_a_stub_says_how_to_read_the_result_again_only_where_the_model_can(wire: str) -> None:
    originals = ctxkit.Originals()
    middleware = ctxkit.TrimHistory(start_tokens=1_000, target_tokens=0, keep_steps=1, originals=originals)
    messages = loop(wire, 4, written=WORDS * 30)
    without = sent(middleware, request_of(wire, messages)).body["messages"]
    assert all(RECALL_TOOL not in text for text in result_texts(wire, without))
    schema = {"type": "object", "properties": {}}
    tool: dict[str, Any] = {"name": RECALL_TOOL, "input_schema": schema}
    if wire == OPENAI:
        tool = {"type": "function", "function": {"name": RECALL_TOOL, "parameters": schema}}
    made = sent(middleware, request_of(wire, messages, tools=[tool])).body["messages"]
    first = result_texts(wire, messages)[0]
    handle = originals.handle(first)
    assert f'{RECALL_TOOL}(handle="{handle}")' in result_texts(wire, made)[0]
    assert both(lambda: originals.get(handle), ScriptedModel([])) == first


@pytest.mark.parametrize("wire", WIRES)
def test_an_image_that_a_tool_gave_is_cleared(wire: str) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    if wire == OPENAI:
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    messages = [user("Look.")]
    for number in range(4):
        messages += [calls(wire, f"c{number}"), *results(wire, {f"c{number}": [image]})]
    options = {"start_tokens": 100, "target_tokens": 0, "keep_steps": 1, "min_batch_tokens": 0}
    made = sent(ctxkit.TrimHistory(**options), request_of(wire, messages, model=MODELS[wire]))
    assert cleared(made) == [True, True, True, False]


def marks(request: ModelRequest) -> list[tuple[int, str]]:
    """The marked messages, and how long each is kept."""
    return [
        (index, part["cache_control"].get("ttl", "5m"))
        for index, message in enumerate(request.body["messages"])
        for part in message["content"]
        if isinstance(part, dict) and "cache_control" in part
    ]


def marked_loop(*, ttl: str | None = None, marked_tools: int = 0) -> ModelRequest:
    """A loop whose caller marks the end, and some of its tools."""
    control = {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}
    messages = loop(ANTHROPIC, 8)
    messages[0] = user("Go.")
    messages[0]["content"] = [{"type": "text", "text": "Go."}]
    messages[-1]["content"][-1]["cache_control"] = control
    tools = [{"name": f"t{n}", "input_schema": {}, "cache_control": control} for n in range(marked_tools)]
    return request_of(ANTHROPIC, messages, model=MODELS[ANTHROPIC], **({"tools": tools} if tools else {}))


def once(request: ModelRequest, **options: Any) -> ctxkit.TrimHistory:
    """What clears a history in a single batch, at its end."""
    size = shape_of(request, block_counter_for(request.model, ANTHROPIC)).total
    return ctxkit.TrimHistory(start_tokens=size - 1, target_tokens=0, keep_steps=2, **options)


@pytest.mark.parametrize("ttl", [None, "1h"])
def test_the_last_block_in_front_of_what_was_cleared_is_marked_as_the_caller_marks(ttl: str | None) -> None:
    def pinned(block: Block) -> bool:
        return block.call_id in {"call_0", "call_1"}

    request = marked_loop(ttl=ttl)
    made = sent(once(request, pinned=pinned), request)
    assert cleared(made) == [False] * 2 + [True] * 4 + [False] * 2
    assert marks(made) == [(5, ttl or "5m"), (16, ttl or "5m")]
    assert not problems_of(made)


def test_no_mark_is_set_where_the_caller_marks_nothing_or_has_none_left() -> None:
    unmarked = request_of(ANTHROPIC, loop(ANTHROPIC, 8), model=MODELS[ANTHROPIC])
    unpriced = request_of(ANTHROPIC, marked_loop().body["messages"], model="m")
    for request, expected in {
        unmarked: [],
        marked_loop(marked_tools=2): [(1, "5m"), (16, "5m")],
        marked_loop(marked_tools=3): [(16, "5m")],
        unpriced: [(16, "5m")],
    }.items():
        made = sent(once(request), request)
        assert any(cleared(made))
        assert marks(made) == expected


def test_a_mark_of_the_callers_own_at_that_place_is_enough() -> None:
    request = marked_loop()
    messages = list(request.body["messages"])
    call = dict(messages[1]["content"][0], cache_control={"type": "ephemeral"})
    messages[1] = {**messages[1], "content": [call]}
    request = request_of(ANTHROPIC, messages, model=MODELS[ANTHROPIC])
    assert marks(sent(once(request), request)) == [(1, "5m"), (16, "5m")]


def test_where_nothing_stands_in_front_that_can_be_marked_nothing_is() -> None:
    request = marked_loop()
    messages = [{"role": "assistant", "content": "I look."}, *request.body["messages"][2:]]
    request = request_of(ANTHROPIC, messages, model=MODELS[ANTHROPIC])
    assert len(marks(sent(once(request, clear_arguments=False), request))) == 1


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"start_tokens": 100}, "target_tokens"),
        ({"target_tokens": -1}, "target_tokens"),
        ({"keep_steps": -1}, "keep_steps"),
        ({"min_batch_tokens": -1}, "min_batch_tokens"),
        ({"remaining": -1}, "fixed"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options: Any, option: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ctxkit.TrimHistory(**options)
    assert caught.value.option == option
