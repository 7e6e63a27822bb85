"""`TrimHistory`: old results go in batches, pairs stay pairs, and the same bytes are sent again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ctxkit
from ctxkit.errors import ConfigError
from ctxkit.flow import ask_model
from ctxkit.messages import Block, Histories, ModelRequest
from ctxkit.tokens import block_counter_for, counter_for, shape_of
from ctxkit.validity import problems_of
from support.bodies import (
    ANTHROPIC,
    IMAGE,
    WIRES,
    calls,
    of_body,
    request_of,
    result_texts,
    results,
    rounds,
    user,
)
from support.flows import first_request

BINDS, FREE = "claude-opus-5-5", "claude-sonnet-4-5"
WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa "
TEXT = WORDS * 20


def trim(start: int, target: int, **options: Any) -> ctxkit.TrimHistory:
    """A middleware that clears as soon as anything can go, and keeps no round, where not told otherwise."""
    settings = {"keep_steps": 0, "min_batch_tokens": 0, **options}
    return ctxkit.TrimHistory(start_tokens=start, target_tokens=target, **settings)


def sent(middleware: ctxkit.TrimHistory, request: ModelRequest) -> ModelRequest:
    """The request that goes further in."""
    return first_request(ctxkit.Stack(middleware).wrap_model_call(request, ask_model))


def trimmed(middleware: ctxkit.TrimHistory, wire: str, messages: Sequence[Any], **body: Any) -> list[Any]:
    """The results of the messages as they are sent."""
    return result_texts(wire, sent(middleware, request_of(wire, messages, **body)).body["messages"])


def is_note(content: Any) -> bool:
    return isinstance(content, str) and content.startswith("[ctxkit: ") and "tokens cleared; " in content


def tokens_of(request: ModelRequest) -> int:
    return shape_of(request, block_counter_for(request.model, request.wire.name)).total


def requests_of(wire: str, messages: Sequence[Any]) -> Iterator[list[Any]]:
    """What a loop sends along the way: the messages up to each answer, and all of them."""
    for end, message in enumerate(messages):
        if message["role"] == "assistant":
            yield list(messages[:end])
    yield list(messages)


@pytest.mark.parametrize("wire", WIRES)
def test_nothing_changes_until_the_first_threshold_is_passed(wire: str) -> None:
    request = request_of(wire, rounds(wire, [TEXT] * 5))
    size = tokens_of(request)
    assert sent(trim(size, 0), request) is request
    assert sent(trim(size - 1, 0), request) is not request


@pytest.mark.parametrize("wire", WIRES)
def test_the_oldest_results_go_until_the_second_threshold_is_reached(wire: str) -> None:
    request = request_of(wire, rounds(wire, [TEXT] * 10))
    size = tokens_of(request)
    edited = sent(trim(size - 1, size // 2), request)
    texts = result_texts(wire, edited.body["messages"])
    cleared = [is_note(text) for text in texts]
    assert cleared == sorted(cleared, reverse=True)
    assert cleared.count(True) >= 5
    assert tokens_of(edited) <= size // 2 < tokens_of(edited) + counter_for(None).count(TEXT)


@pytest.mark.parametrize("wire", WIRES)
def test_a_note_says_what_stood_there(wire: str) -> None:
    tokens = block_counter_for("m", wire).count_said(
        next(request_of(wire, rounds(wire, [WORDS * 700])).tool_results())
    )
    (note,) = trimmed(trim(100, 0), wire, rounds(wire, [WORDS * 700], tool="grep"))
    assert note == f"[ctxkit: result of {tokens:,} tokens cleared; call grep again]"
    assert "," in f"{tokens:,}"


def test_a_note_of_a_failed_call_says_that_it_failed_and_the_result_stays_an_error() -> None:
    failed = {"type": "tool_result", "tool_use_id": "a", "content": TEXT, "is_error": True}
    request = request_of(ANTHROPIC, [calls(ANTHROPIC, "a"), {"role": "user", "content": [failed]}])
    (block,) = sent(trim(100, 0), request).body["messages"][1]["content"]
    assert block["content"].startswith("[ctxkit: failed result of ")
    assert {**block, "content": TEXT} == failed


@pytest.mark.parametrize("wire", WIRES)
def test_a_note_is_never_cleared_itself(wire: str) -> None:
    """Where notes alone are above the threshold, those of large results would still shrink by a digit."""
    once = sent(trim(1, 0), request_of(wire, rounds(wire, [WORDS * 700])))
    assert sent(trim(1, 0), once) is once


@pytest.mark.parametrize("wire", WIRES)
def test_a_result_without_its_call_is_cleared_too(wire: str) -> None:
    (note,) = trimmed(trim(100, 0), wire, results(wire, {"gone": TEXT}))
    assert note.endswith("call the tool again]")


def test_images_go_with_the_texts_beside_them() -> None:
    content = [{"type": "text", "text": TEXT}, IMAGE, {"type": "text", "text": TEXT}]
    little = [IMAGE, {"type": "text", "text": "A cat."}]
    messages = [
        calls(ANTHROPIC, "a", "b", "c"),
        *results(ANTHROPIC, {"a": content, "b": [IMAGE], "c": little}),
    ]
    assert all(map(is_note, trimmed(trim(100, 0), ANTHROPIC, messages)))
    assert trimmed(trim(100_000, 0), ANTHROPIC, messages) == [content, [IMAGE], little]


@pytest.mark.parametrize("content", ["", None, "short", "word " * 25, []])
def test_what_is_hardly_longer_than_a_note_stays(content: Any) -> None:
    request = request_of(ANTHROPIC, [calls(ANTHROPIC, "a"), *results(ANTHROPIC, {"a": content})])
    assert sent(trim(1, 0), request) is request


def test_only_results_of_the_clients_own_tools_are_cleared() -> None:
    ran = {"type": "mcp_tool_result", "tool_use_id": "b", "content": TEXT}
    request = request_of(
        ANTHROPIC,
        [user(TEXT), calls(ANTHROPIC, "a", inputs={"text": TEXT}), {"role": "assistant", "content": [ran]}],
        system=TEXT,
    )
    assert sent(trim(1, 0, clear_arguments=False), request) is request


@pytest.mark.parametrize("exempt", [["read_*"], "read_*"])
@pytest.mark.parametrize("wire", WIRES)
def test_results_of_exempt_tools_are_never_cleared(wire: str, exempt: Any) -> None:
    messages = [calls(wire, "a", tool="read_plan"), *results(wire, {"a": TEXT})]
    messages += [calls(wire, "b", tool="search"), *results(wire, {"b": TEXT})]
    kept, cleared = trimmed(trim(1, 0, exempt=exempt), wire, messages)
    assert kept == TEXT
    assert is_note(cleared)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("keep", [0, 1, 3])
def test_the_last_rounds_of_calls_are_kept_with_all_their_results(wire: str, keep: int) -> None:
    messages = [user("Look.")]
    for number in range(5):
        ids = [f"{number}{letter}" for letter in "abc"]
        messages += [calls(wire, *ids), *results(wire, dict.fromkeys(ids, TEXT)), user("Go on.")]
    cleared = [is_note(text) for text in trimmed(trim(1, 0, keep_steps=keep), wire, messages)]
    assert cleared == [True] * 3 * (5 - keep) + [False] * 3 * keep


@pytest.mark.parametrize("wire", WIRES)
def test_some_of_the_results_of_one_answer_may_go_before_the_others(wire: str) -> None:
    ids = ["a", "b", "c"]
    messages = [calls(wire, *ids), *results(wire, dict.fromkeys(ids, TEXT))]
    size = tokens_of(request_of(wire, messages))
    assert [is_note(text) for text in trimmed(trim(size - 1, size - 100), wire, messages)] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("wire", WIRES)
def test_a_batch_that_is_too_small_is_not_worth_it(wire: str) -> None:
    messages = rounds(wire, [TEXT] * 4)
    size = tokens_of(request_of(wire, messages))
    note = tokens_of(request_of(wire, rounds(wire, trimmed(trim(1, 0), wire, messages))))
    possible = (size - note) // 2
    options = {"keep_steps": 2}
    enough = trim(size - 1, 0, min_batch_tokens=possible, **options)
    assert [is_note(text) for text in trimmed(enough, wire, messages)] == [True, True, False, False]
    request = request_of(wire, messages)
    assert sent(trim(size - 1, 0, min_batch_tokens=possible + 1, **options), request) is request


def test_without_a_smallest_batch_it_is_a_quarter_of_the_distance() -> None:
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, [TEXT] * 4))
    size = tokens_of(request)
    saved = size - tokens_of(sent(trim(size - 1, size - 2), request))
    enough = trim(size - 1, size - 1 - 4 * saved, min_batch_tokens=None, keep_steps=3)
    assert sent(enough, request) is not request
    too_little = trim(size - 1, size - 5 - 4 * saved, min_batch_tokens=None, keep_steps=3)
    assert sent(too_little, request) is request


@pytest.mark.parametrize("wire", WIRES)
def test_over_three_hundred_turns_the_bytes_change_at_a_few_batches_alone(wire: str) -> None:
    """A prompt cache reads what begins like the request before, so every other change costs money."""
    middleware = ctxkit.TrimHistory(start_tokens=40_000, target_tokens=24_000)
    messages = rounds(wire, [f"result {number}: {TEXT}" for number in range(300)])
    histories = Histories()
    bodies: list[str] = []
    sizes: list[int] = []
    for raw in requests_of(wire, messages):
        request = sent(middleware, request_of(wire, raw, histories=histories))
        bodies.append(json.dumps(request.body))
        sizes.append(tokens_of(request))
    rewritten = [not after.startswith(before[:-2]) for before, after in pairwise(bodies)]
    assert 3 <= sum(rewritten) <= 6
    assert max(sizes) <= 40_000
    one_round = 600
    assert all(size <= 24_000 + one_round for size, new in zip(sizes[1:], rewritten, strict=True) if new)


@pytest.mark.parametrize("wire", WIRES)
def test_a_new_process_sends_the_same_bytes(wire: str) -> None:
    middleware = trim(2_000, 800, keep_steps=1)
    histories = Histories()
    for count, raw in enumerate(requests_of(wire, rounds(wire, [TEXT] * 60))):
        known = sent(middleware, request_of(wire, raw, histories=histories)).body
        if count % 5 == 0:
            read_anew = json.loads(json.dumps(raw))
            assert json.dumps(sent(middleware, request_of(wire, read_anew)).body) == json.dumps(known)


def test_middlewares_with_other_settings_decide_for_themselves() -> None:
    messages, histories = rounds(ANTHROPIC, [TEXT] * 3, tool="read_plan"), Histories()
    cleared = [
        [is_note(text) for text in trimmed(middleware, ANTHROPIC, messages, histories=histories)]
        for middleware in (
            trim(1, 0),
            trim(1, 0, keep_steps=1),
            trim(1, 0, exempt=["read_*"]),
            trim(9_000, 0),
        )
    ]
    assert cleared == [[True] * 3, [True, True, False], [False] * 3, [False] * 3]


def thinking_rounds(*thoughts: str) -> list[Any]:
    """A round of calls for each thought; an empty one is none."""
    messages = [user("Look.")]
    for number, thought in enumerate(thoughts):
        name = f"call_{number}"
        messages += [calls(ANTHROPIC, name, thinking=thought), *results(ANTHROPIC, {name: TEXT})]
    return messages


@pytest.mark.parametrize(
    ("model", "expected"), [(FREE, [True] * 5), (BINDS, [False, False, True, True, True])]
)
def test_where_thinking_is_bound_to_the_history_nothing_in_front_of_it_is_cleared(
    model: str, expected: list[bool]
) -> None:
    """A replayed thinking block counts only if all earlier message content equals what it was made under."""
    messages = thinking_rounds("", "", "hm", "", "")
    size = tokens_of(request_of(ANTHROPIC, messages, model=model))
    texts = trimmed(trim(size - 1, 0), ANTHROPIC, messages, model=model)
    assert [is_note(text) for text in texts] == expected


def test_a_model_that_nobody_knows_is_taken_to_bind_its_thinking() -> None:
    messages = thinking_rounds("hm", "hm")
    size = tokens_of(request_of(ANTHROPIC, messages))
    assert trimmed(trim(size - 1, 0), ANTHROPIC, messages, model="unheard-of")[0] == TEXT


def test_redacted_thinking_is_thinking() -> None:
    redacted = {"type": "redacted_thinking", "data": "x"}
    messages = [*thinking_rounds("", ""), {"role": "assistant", "content": [redacted]}]
    for model, changes in ((BINDS, False), (FREE, True)):
        before = tokens_of(request_of(ANTHROPIC, messages[:-1], model=model))
        request = request_of(ANTHROPIC, messages, model=model)
        assert (sent(trim(before, 0), request) is not request) == changes


TOOLS = st.sampled_from(["search", "read_file"])
RESULTS = st.one_of(
    st.integers(0, 60).map(lambda words: WORDS * words), st.just("é🐈\ud83d<|endoftext|>" * 30)
)
ROUNDS = st.tuples(TOOLS, st.lists(RESULTS, min_size=1, max_size=3), st.booleans(), st.booleans())
SETTINGS = st.builds(
    lambda target, distance, share, keep: ctxkit.TrimHistory(
        start_tokens=target + distance,
        target_tokens=target,
        keep_steps=keep,
        min_batch_tokens=distance * share // 4,
        exempt=["read_*"],
    ),
    st.integers(0, 1_500),
    st.integers(1, 1_500),
    st.integers(0, 4),
    st.integers(0, 3),
)


def history(wire: str, made: Sequence[tuple[str, list[str], bool, bool]]) -> list[Any]:
    """Rounds of parallel calls; some with thinking where the wire has it, some followed by a user's text."""
    messages = [user("Look.")]
    for number, (tool, texts, thinks, goes_on) in enumerate(made):
        contents = {f"{number}_{place}": text for place, text in enumerate(texts)}
        messages.append(calls(wire, *contents, tool=tool, thinking="hm" if thinks else ""))
        messages += results(wire, contents)
        if goes_on:
            messages.append(user("Go on."))
    return messages


HISTORIES = st.tuples(st.sampled_from(WIRES), st.lists(ROUNDS, max_size=12)).map(
    lambda drawn: (drawn[0], history(*drawn))
)


def keeps(block: Block, model: str) -> bool:
    """Whether a block is never left out: of a model that binds its thinking, the thinking may be."""
    return model == FREE or block.kind != "thinking"


@given(HISTORIES, SETTINGS, st.sampled_from([BINDS, FREE]))
def test_whatever_is_cleared_the_history_stays_valid_and_clearing_again_changes_nothing(
    drawn: tuple[str, list[Any]], middleware: ctxkit.TrimHistory, model: str
) -> None:
    wire, messages = drawn
    before = deepcopy(messages)
    request = request_of(wire, messages, model=model)
    edited = sent(middleware, request)
    assert messages == before
    blocks = [[block for block in one.blocks() if keeps(block, model)] for one in (request, edited)]
    for old, new in zip(*blocks, strict=True):
        assert (old.kind, old.call_id, old.tool) == (new.kind, new.call_id, new.tool)
        assert old.text == new.text or (is_note(new.text) and old.tool == "search")
    assert problems_of(edited) == problems_of(request)
    assert tokens_of(edited) <= tokens_of(request)
    assert sent(middleware, edited) is edited


@given(HISTORIES, SETTINGS, st.sampled_from([BINDS, FREE]))
def test_along_a_loop_bytes_change_only_for_a_whole_batch_and_never_in_front_of_bound_thinking(
    drawn: tuple[str, list[Any]], middleware: ctxkit.TrimHistory, model: str
) -> None:
    wire, messages = drawn
    histories = Histories()
    raw = [request_of(wire, known, histories=histories, model=model) for known in requests_of(wire, messages)]
    steps = [(request, sent(middleware, request)) for request in raw]
    for (raw_before, before), (raw_after, after) in pairwise(steps):
        length = len(before.body["messages"])
        if json.dumps(after.body["messages"][:length]) == json.dumps(before.body["messages"]):
            continue
        freed = tokens_of(raw_after) - tokens_of(after) - (tokens_of(raw_before) - tokens_of(before))
        assert freed >= max(1, middleware.settings.min_batch_tokens or 0)
        answer = after.turns[length]
        assert model == FREE or all(block.kind != "thinking" for block in answer.blocks)


@given(HISTORIES, st.integers(1, 1_500), st.integers(0, 3))
def test_above_the_first_threshold_nothing_is_left_that_could_go(
    drawn: tuple[str, list[Any]], start: int, keep: int
) -> None:
    wire, messages = drawn
    edited = sent(trim(start, start // 2, keep_steps=keep), request_of(wire, messages, model=FREE))
    if tokens_of(edited) > start:
        left = [(int(str(block.call_id).partition("_")[0]), block.text) for block in edited.tool_results()]
        rounds_made = max((number for number, _ in left), default=0) + 1
        old = [text for number, text in left if number < rounds_made - keep]
        assert all(is_note(text) or len(text) <= len(WORDS) * 8 for text in old)


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"start_tokens": 10, "target_tokens": 10}, "target_tokens"),
        ({"start_tokens": 10, "target_tokens": -1}, "target_tokens"),
        ({"keep_steps": -1}, "keep_steps"),
        ({"min_batch_tokens": -1}, "min_batch_tokens"),
        ({"start_tokens": 10, "target_tokens": 4, "min_batch_tokens": 7}, "min_batch_tokens"),
    ],
)
def test_settings_that_make_no_sense_are_refused_at_once(options: Any, option: str) -> None:
    with pytest.raises(ConfigError, match=option) as raised:
        ctxkit.TrimHistory(**options)
    assert raised.value.option == option


def test_a_request_that_makes_no_sense_goes_out_as_it_is(task: ctxkit.Task) -> None:
    request = of_body(ANTHROPIC, {"messages": 7})
    assert sent(trim(1, 0), request) is request
    assert task.faults == {"TrimHistory: BodyError": 1}
