"""`FitWindow`: what does not fit the model's window is brought under it, before it is sent or once after."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ctxkit
from ctxkit.errors import ConfigError
from ctxkit.messages import Histories
from ctxkit.middleware.fit_window import FitWindow
from ctxkit.money import prompt_sizes
from ctxkit.tokens import CALIBRATION, counter_for
from ctxkit.usage import Usage
from ctxkit.validity import problems_of
from support.bodies import (
    ANTHROPIC,
    GEMINI,
    RESPONSES,
    WIRES,
    calls,
    request_of,
    results,
    rounds,
    user,
)
from support.fitting import MODELS, TEXT, asked, high, is_cleared, sent, texts

BINDS = "claude-opus-5-5"
WINDOW = 6_000


def growing(messages: Sequence[Any]) -> Iterator[list[Any]]:
    """What a loop sends along the way."""
    for end, message in enumerate(messages):
        if message["role"] == "assistant":
            yield list(messages[:end])
    yield list(messages)


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_that_fits_with_its_answer_is_left_alone_to_the_last_token(wire: str) -> None:
    request = asked(wire, rounds(wire, [TEXT] * 8))
    window = high(request) + 100
    assert sent(FitWindow(window_tokens=window), request) is request
    assert sent(FitWindow(window_tokens=window - 1), request) is not request


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_that_does_not_fit_is_brought_under_the_window(wire: str) -> None:
    request = asked(wire, rounds(wire, [TEXT] * 20))
    before = deepcopy(request.body)
    fitted = sent(FitWindow(window_tokens=WINDOW), request)
    assert high(request) + 100 > WINDOW >= high(fitted) + 100
    cleared = [is_cleared(text) for text in texts(fitted)]
    assert cleared == sorted(cleared, reverse=True)
    assert not cleared[-1]
    assert request.body == before


def test_the_window_is_that_of_the_price_list_where_none_is_set() -> None:
    window = prompt_sizes(MODELS[ANTHROPIC], provider=None).window_tokens
    assert window is not None
    steps = 2 + window // counter_for(MODELS[ANTHROPIC]).count(TEXT * 60)
    request = asked(ANTHROPIC, rounds(ANTHROPIC, [TEXT * 60] * steps))
    assert high(request) > window
    assert high(sent(FitWindow(), request)) + 100 <= window


@pytest.mark.parametrize("wire", WIRES)
def test_what_was_fitted_is_not_fitted_again(wire: str) -> None:
    request = asked(wire, rounds(wire, [TEXT] * 20))
    middleware = FitWindow(window_tokens=WINDOW)
    once = sent(middleware, request)
    assert sent(middleware, once) is once
    assert sent(middleware, request).body == once.body


def test_a_model_of_unknown_window_is_left_alone() -> None:
    request = asked(ANTHROPIC, rounds(ANTHROPIC, [TEXT * 20] * 40), model="nobody-knows-it")
    assert sent(FitWindow(), request) is request


def test_an_answer_that_would_fill_the_window_by_itself_is_not_reserved() -> None:
    request = asked(ANTHROPIC, rounds(ANTHROPIC, [TEXT] * 3), max_tokens=WINDOW)
    assert sent(FitWindow(window_tokens=WINDOW), request) is request


def test_what_is_large_goes_first_and_exempt_and_pinned_results_stay() -> None:
    mixed = [TEXT, TEXT * 8, TEXT, TEXT]
    request = asked(ANTHROPIC, rounds(ANTHROPIC, mixed))
    window = FitWindow(window_tokens=high(request) - 100)
    assert [is_cleared(text) for text in texts(sent(window, request))] == [False, True, False, False]
    kept = FitWindow(window_tokens=2_000, exempt="search")
    assert sent(kept, request) is request
    pinned = FitWindow(window_tokens=2_000, pinned=lambda block: len(block.text) > len(TEXT))
    assert [is_cleared(text) for text in texts(sent(pinned, request))] == [True, False, True, False]


@pytest.mark.parametrize("wire", WIRES)
def test_arguments_of_calls_go_only_where_results_are_not_enough(wire: str) -> None:
    messages = [user("Find the bug.")]
    for name in ("a", "b", "c"):
        messages += [calls(wire, name, inputs={"text": TEXT}), *results(wire, {name: TEXT})]
    request = asked(wire, messages)
    size = high(request)
    some = json.dumps(sent(FitWindow(window_tokens=size), request).body)
    assert "result of" in some
    assert "tokens cleared]" not in some
    most = sent(FitWindow(window_tokens=size // 2 + 100), request)
    assert "tokens cleared]" in json.dumps(most.body)
    assert most.body["messages"][-2:] == messages[-2:]


def test_results_are_condensed_only_where_it_is_asked_for_and_stay_the_same_then() -> None:
    messages = rounds(ANTHROPIC, [TEXT, TEXT * 20])
    request = asked(ANTHROPIC, messages)
    plain = sent(FitWindow(window_tokens=2_000), request)
    assert texts(plain)[1] == TEXT * 20
    middleware = FitWindow(window_tokens=2_000, condense_tokens=400)
    condensed = sent(middleware, request)
    assert high(condensed) + 100 <= 2_000
    more = [*messages, {"role": "assistant", "content": "I see."}, user("Go on.")]
    later = sent(middleware, asked(ANTHROPIC, more, histories=request.histories))
    assert later.body["messages"][:5] == condensed.body["messages"]


def test_what_was_condensed_is_cleared_when_it_is_old() -> None:
    histories, middleware = Histories(), FitWindow(window_tokens=2_000, condense_tokens=400)
    messages = rounds(ANTHROPIC, [TEXT * 20])
    short = texts(sent(middleware, asked(ANTHROPIC, messages, histories=histories)))[0]
    assert len(short) < len(TEXT * 20)
    assert not is_cleared(short)
    longer = rounds(ANTHROPIC, [TEXT * 20, TEXT])
    assert is_cleared(texts(sent(middleware, asked(ANTHROPIC, longer, histories=histories)))[0])


@pytest.mark.parametrize("wire", WIRES)
def test_a_growing_history_is_sent_with_the_same_bytes_between_batches(wire: str) -> None:
    histories, middleware = Histories(), FitWindow(window_tokens=WINDOW)
    rewrites, before = 0, ""
    for messages in growing(rounds(wire, [TEXT] * 40)):
        body = sent(middleware, asked(wire, messages, histories=histories)).body
        now = json.dumps(body["messages"])
        rewrites += not now.startswith(before.removesuffix("]"))
        before = now
    assert 1 <= rewrites <= 20


@pytest.mark.parametrize("wire", WIRES)
def test_another_process_clears_the_same(wire: str) -> None:
    histories, middleware = Histories(), FitWindow(window_tokens=30_000)
    for messages in growing(rounds(wire, [TEXT * 4] * 40)):
        body = sent(middleware, asked(wire, messages, histories=histories)).body
        again = sent(FitWindow(window_tokens=30_000), asked(wire, messages)).body
        assert again == body


def test_a_batch_is_noted_once_and_says_that_it_was_forced(task: ctxkit.Task) -> None:
    request = asked(ANTHROPIC, rounds(ANTHROPIC, [TEXT] * 20))
    middleware = FitWindow(window_tokens=WINDOW)
    sent(middleware, request)
    noted = task.edit_decisions
    sent(middleware, request)
    assert task.edit_decisions == noted
    assert {(decision.taken, decision.by, decision.reason) for decision in noted} == {
        (
            True,
            "FitWindow",
            "it was forced: prompt and answer may have more than the 6,000 tokens that the model takes",
        )
    }


@pytest.mark.parametrize(
    "options", [{"window_tokens": 0}, {"keep_steps": 0}, {"condense_tokens": 99}], ids=str
)
def test_numbers_out_of_range_are_refused(options: Mapping[str, int]) -> None:
    with pytest.raises(ConfigError) as raised:
        FitWindow(**options)  # type: ignore[arg-type]
    assert raised.value.option in options


def thinking_loop(*names: str) -> list[Any]:
    return [
        message
        for name in names
        for message in (calls(ANTHROPIC, name, thinking="hm"), *results(ANTHROPIC, {name: TEXT}))
    ]


def test_thinking_that_is_bound_keeps_what_stands_in_front_of_it_in_a_running_loop(task: ctxkit.Task) -> None:
    """Anthropic: a replayed thinking block counts only if all earlier content is as it was."""
    names = [f"call_{number}" for number in range(20)]
    running = [user("Find the bug."), *thinking_loop(*names)]
    request = asked(ANTHROPIC, running, model=BINDS, thinking={"type": "enabled", "budget_tokens": 50})
    middleware = FitWindow(window_tokens=WINDOW, condense_tokens=100)
    assert texts(sent(middleware, request))[:-1] == [TEXT] * 19
    assert "left" in {decision.action for decision in task.decisions}
    ended = [*running, {"role": "assistant", "content": "Found it."}, user("Now mend it.")]
    fitted = sent(middleware, asked(ANTHROPIC, ended, model=BINDS))
    assert is_cleared(texts(fitted)[0])
    assert high(fitted) + 100 <= WINDOW


def test_a_request_that_may_not_be_edited_passes_as_it_is() -> None:
    request = asked(ANTHROPIC, rounds(ANTHROPIC, [TEXT] * 20)).as_it_is()
    assert sent(FitWindow(window_tokens=WINDOW), request) is request


def test_a_request_without_messages_passes_as_it_is() -> None:
    request = asked(ANTHROPIC, [])
    assert sent(FitWindow(window_tokens=1), request) is request


@given(
    st.sampled_from(WIRES),
    st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 60)), min_size=1, max_size=5),
    st.integers(800, 5_000),
    st.booleans(),
    st.sampled_from([None, 0.8, 1.3]),
)
def test_what_arrives_is_valid_and_fits_if_it_can_and_what_was_cleared_stays_as_it_is(
    wire: str, sizes: list[tuple[int, int]], window: int, condenses: bool, billed: float | None
) -> None:
    """It can where all that may go is enough; and what is learned of counts changes nothing once cleared."""
    CALIBRATION.reset()
    messages = [user("Find the bug.")]
    for number, (result, argument) in enumerate(sizes):
        name = f"call_{number}"
        messages += [calls(wire, name, inputs={"text": "word " * argument})]
        messages += results(wire, {name: "word " * result})
    condense_tokens = 200 if condenses else None
    middleware = FitWindow(window_tokens=window, condense_tokens=condense_tokens)
    histories, before = Histories(), list[Any]()
    for part in growing(messages):
        request = asked(wire, part, histories=histories)
        fitted = sent(middleware, request)
        assert not problems_of(fitted)
        assert len(fitted.turns) == len(request.turns)
        assert fitted.turns[0].native == part[0]
        if billed is None:
            least = sent(FitWindow(window_tokens=1, condense_tokens=condense_tokens), asked(wire, part))
            assert high(fitted) + 100 <= max(window, high(least) + 100)
        for old, new in zip(before, texts(fitted), strict=False):
            assert new == old or not is_cleared(old)
        before = texts(fitted)
        if billed is not None:
            CALIBRATION.observe(fitted, Usage(round(CALIBRATION.count(fitted).total * billed), 10))


RESPONSES_MESSAGES = [
    {"role": "user", "content": "Find the bug."},
    *(
        item
        for name in ("a", "b", "c")
        for item in (
            {"type": "function_call", "call_id": name, "name": "search", "arguments": "{}"},
            {"type": "function_call_output", "call_id": name, "output": TEXT},
        )
    ),
]
GEMINI_MESSAGES = [
    {"role": "user", "parts": [{"text": "Find the bug."}]},
    *(
        message
        for name in ("a", "b", "c")
        for message in (
            {"role": "model", "parts": [{"functionCall": {"id": name, "name": "search", "args": {}}}]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": name, "name": "search", "response": {"text": TEXT}}}],
            },
        )
    ),
]


@pytest.mark.parametrize(
    ("wire", "messages"), [(RESPONSES, RESPONSES_MESSAGES), (GEMINI, GEMINI_MESSAGES)], ids=str
)
def test_the_other_wires_are_fitted_too(wire: str, messages: list[Any]) -> None:
    request = request_of(wire, messages)
    fitted = sent(FitWindow(window_tokens=high(request) - 1), request)
    said = ["tokens cleared; " in block.text for block in fitted.tool_results()]
    assert said == [True, False, False]
    assert high(fitted) < high(request)
