"""`DedupeToolResults`: a result that comes again points to the one that is shown, for as long as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ctxkit
from ctxkit.errors import ConfigError
from ctxkit.flow import ask_model
from ctxkit.messages import Histories, ModelRequest
from ctxkit.tokens import counter_for
from support.bodies import (
    ANTHROPIC,
    IMAGE,
    WIRES,
    calls,
    request_of,
    result_texts,
    results,
    rounds,
    user,
)
from support.flows import first_request

LONG = "\n".join(f"line {number} of a long result" for number in range(100))
OTHER = LONG[::-1]
POINTS = "the same as the result of tool call"


def sent(request: ModelRequest, *middlewares: ctxkit.flow.Middleware, **options: Any) -> ModelRequest:
    """The request that goes further in."""
    stack = ctxkit.Stack(*middlewares, ctxkit.DedupeToolResults(**options))
    return first_request(stack.wrap_model_call(request, ask_model))


def sent_results(wire: str, messages: list[Any], **options: Any) -> list[Any]:
    return result_texts(wire, sent(request_of(wire, messages), **options).body["messages"])


@pytest.mark.parametrize("wire", WIRES)
def test_a_result_that_comes_again_points_to_the_first(wire: str) -> None:
    first, other, second, third = sent_results(wire, rounds(wire, [LONG, OTHER, LONG, LONG]))
    assert (first, other) == (LONG, OTHER)
    assert second == third
    assert second == (
        "[ctxkit: the same as the result of tool call 1 of this conversation, search, "
        "which is shown above in full]"
    )


@pytest.mark.parametrize("wire", WIRES)
def test_the_reference_names_the_arguments_of_the_earlier_call(wire: str) -> None:
    messages = [user("Go on.")]
    for one, path in {"a": "x.py", "b": "y.py" * 100, "c": "z.py"}.items():
        text = LONG if one != "b" else OTHER
        messages += [calls(wire, one, inputs={"path": path}), *results(wire, {one: text})]
    messages += [calls(wire, "d"), *results(wire, {"d": OTHER})]
    *_, again, of_long_arguments = sent_results(wire, messages)
    assert 'tool call 1 of this conversation, search {"path":"x.py"}, which' in again.replace(": ", ":")
    assert "..., which is shown above in full]" in of_long_arguments
    assert len(of_long_arguments) < 300


@pytest.mark.parametrize("wire", WIRES)
def test_equal_results_of_one_answer_point_to_the_first_of_them(wire: str) -> None:
    messages = [calls(wire, "a", "b", "c"), *results(wire, {"a": LONG, "b": LONG, "c": OTHER})]
    first, second, third = sent_results(wire, messages)
    assert (first, third) == (LONG, OTHER)
    assert POINTS in second


@pytest.mark.parametrize("wire", WIRES)
def test_later_requests_send_the_same_bytes_again(wire: str) -> None:
    histories = Histories()
    before: list[str] = []
    for length in range(1, 12):
        messages = json.loads(json.dumps(rounds(wire, [LONG, OTHER, "short"] * length)))
        for known in (histories, Histories()):
            now = sent(request_of(wire, messages, histories=known)).body["messages"]
            written = [json.dumps(message) for message in now]
            assert written[: len(before)] == before
        before = written


@pytest.mark.parametrize("wire", WIRES)
def test_it_is_shown_in_full_again_once_the_first_was_cleared(wire: str) -> None:
    texts = [LONG, OTHER, LONG, *(f"{number} {LONG}" for number in range(3))]
    trim = ctxkit.TrimHistory(start_tokens=4_500, target_tokens=3_900, keep_steps=1, min_batch_tokens=0)
    shown = result_texts(wire, sent(request_of(wire, rounds(wire, texts)), trim).body["messages"])
    assert "tokens cleared; " in shown[0]
    assert shown[2] == LONG


def test_what_differs_in_anything_is_shown() -> None:
    failed = {"type": "tool_result", "tool_use_id": "b", "content": LONG, "is_error": True}
    messages = [
        *(calls(ANTHROPIC, "a"), *results(ANTHROPIC, {"a": LONG})),
        *(calls(ANTHROPIC, "b"), {"role": "user", "content": [failed]}),
        *(calls(ANTHROPIC, "c"), *results(ANTHROPIC, {"c": f"{LONG} "})),
        *(calls(ANTHROPIC, "d"), *results(ANTHROPIC, {"d": [{"type": "text", "text": LONG}, IMAGE]})),
    ]
    request = request_of(ANTHROPIC, messages)
    assert sent(request) is request


def test_an_error_that_comes_again_points_to_the_first() -> None:
    failed = [
        {"type": "tool_result", "tool_use_id": one, "content": LONG, "is_error": True} for one in ("a", "b")
    ]
    messages = [calls(ANTHROPIC, "a", "b"), {"role": "user", "content": failed}]
    (answers,) = (
        message["content"] for message in sent(request_of(ANTHROPIC, messages)).body["messages"][1:]
    )
    assert answers[0] == failed[0]
    assert answers[1]["is_error"] is True
    assert POINTS in answers[1]["content"]


def test_what_is_hardly_longer_than_a_reference_or_exempt_is_shown() -> None:
    short = "ten words or so are not worth it, are they?"
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, [short, short]))
    assert sent(request, min_tokens=0) is request
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, [LONG, LONG]))
    assert sent(request, min_tokens=counter_for(None).count(LONG) + 50) is request
    assert sent(request, exempt="sea*") is request


def test_what_the_provider_ran_is_left_alone() -> None:
    ran = {"type": "mcp_tool_result", "tool_use_id": "a", "content": LONG}
    request = request_of(ANTHROPIC, [{"role": "assistant", "content": [ran, ran]}])
    assert sent(request) is request


def test_a_result_whose_call_is_missing_is_named_without_it() -> None:
    messages = [*results(ANTHROPIC, {"a": LONG}), *results(ANTHROPIC, {"b": LONG})]
    assert "tool call 1 of this conversation, a tool, which" in sent_results(ANTHROPIC, messages)[1]


def test_arguments_can_hold_no_note() -> None:
    inputs = {"q": "[ctxkit: all is well]"}
    messages = [
        *(calls(ANTHROPIC, "a", inputs=inputs), *results(ANTHROPIC, {"a": LONG})),
        *(calls(ANTHROPIC, "b"), *results(ANTHROPIC, {"b": LONG})),
    ]
    assert sent_results(ANTHROPIC, messages)[1].count("[ctxkit: ") == 1


@given(texts=st.lists(st.sampled_from([LONG, OTHER, LONG + OTHER, "short"]), max_size=40))
def test_what_a_reference_stands_for_is_whole_above_it(texts: list[str]) -> None:
    shown = sent_results(ANTHROPIC, rounds(ANTHROPIC, texts))
    for place, (text, now) in enumerate(zip(texts, shown, strict=True)):
        if now != text:
            first = int(now.split("tool call ")[1].split()[0])
            assert shown[first - 1] == text
        else:
            assert text == "short" or text not in shown[:place]


def test_a_size_below_zero_is_refused() -> None:
    with pytest.raises(ConfigError, match="min_tokens must not be below zero"):
        ctxkit.DedupeToolResults(min_tokens=-1)
