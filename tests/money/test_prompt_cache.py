"""The simulated prompt cache reads and writes what the providers' published rules say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.messages import Block, Histories, ModelRequest, Prompt, Turn
from ctxkit.money.cache_rules import RULES, cache_rules
from ctxkit.money.prompt_cache import Prefix, PromptCache, simulate
from ctxkit.tokens import block_counter_for, pieces, shape_of
from ctxkit.usage import Usage
from ctxkit.wire import READERS, wire_named

AT = datetime(2026, 11, 30, tzinfo=UTC)
CLAUDE = "claude-sonnet-5"
MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}

Body = dict[str, Any]


def sized(turn: Turn) -> Iterator[tuple[Block | None, Any, int]]:
    """A block says how large it is: `900 tools` has 900 tokens."""
    for block in turn.blocks:
        yield block, None, int((block.text or "0").removeprefix("file ").split()[0].strip('"{}'))


def new_cache() -> PromptCache:
    return PromptCache(pieces=sized)


def prompt(body: Body, wire: str = "anthropic_messages") -> Prompt:
    return Prompt(READERS[wire], {"model": CLAUDE, **body})


def text(said: str, **more: Any) -> Body:
    return {"type": "text", "text": said, **more}


def user(*parts: Body) -> Body:
    return {"role": "user", "content": list(parts)}


def assistant(*parts: Body) -> Body:
    return {"role": "assistant", "content": list(parts)}


def buckets(usage: Usage | None) -> tuple[int | None, int, int, int | None]:
    """Whole prompt, read, written, neither."""
    assert usage is not None
    return usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.uncached_tokens


def take(cache: PromptCache, body: Body, *, minute: float | None = None) -> tuple[int | None, ...]:
    at = None if minute is None else AT + timedelta(minutes=minute)
    return buckets(cache.take(prompt(body), at=at))


def test_only_what_stands_in_front_of_a_mark_is_written_and_then_read() -> None:
    cache = new_cache()
    first = {"system": [text("2000 rules", **MARK)], "messages": [user(text("100 task"))]}
    assert take(cache, first) == (2_100, 0, 2_000, 100)
    assert take(cache, first) == (2_100, 2_000, 0, 100)
    bare = {"system": "2000 rules", "messages": [user(text("100 task"))]}
    assert take(new_cache(), bare) == (2_100, 0, 0, 2_100)


def test_a_mark_at_the_top_level_stands_at_the_end_of_the_prompt() -> None:
    cache = new_cache()
    messages = [user(text("2000 task"))]
    assert take(cache, {**MARK, "messages": messages}) == (2_000, 0, 2_000, 0)
    messages = [*messages, assistant(text("50 answer")), user(text("70 more", **HOUR))]
    assert take(cache, {**MARK, "messages": messages}) == (2_120, 2_000, 120, 0)


def test_moving_a_mark_and_writing_a_text_as_a_block_change_nothing() -> None:
    cache = new_cache()
    take(cache, {"messages": [user(text("2000 task", **MARK))]})
    grown = [{"role": "user", "content": "2000 task"}, assistant(text("50 a")), user(text("70 b", **MARK))]
    assert take(cache, {"messages": grown}) == (2_120, 2_000, 120, 0)


def test_a_mark_on_a_part_of_a_result_marks_the_result() -> None:
    part = text("3000 lines", **MARK)
    call = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": [part]}
    request = prompt({"messages": [user(text("5 task")), assistant(call), user(result)]})
    cache = PromptCache(pieces=lambda turn: ((block, None, 1_000) for block in turn.blocks))
    assert buckets(cache.take(request)) == (3_000, 0, 3_000, 0)


@pytest.mark.parametrize(("model", "least"), [("claude-sonnet-5", 1_024), ("claude-opus-5-5", 512)])
def test_a_prompt_below_the_minimum_is_not_cached(model: str, least: int) -> None:
    cache = new_cache()
    short, long = (
        {"model": model, **MARK, "messages": [user(text(f"{size} task"))]} for size in (least - 1, least)
    )
    assert take(cache, short) == (least - 1, 0, 0, least - 1)
    assert take(cache, short) == (least - 1, 0, 0, least - 1)
    assert take(cache, long) == (least, 0, least, 0)


def test_what_is_kept_more_than_twenty_places_back_is_not_found() -> None:
    """Each mark is looked back from by 20 places, its own one included."""
    start = text("2000 task")
    for added, read in ((19, 2_000), (20, 0)):
        cache = new_cache()
        take(cache, {**MARK, "messages": [user(start)]})
        more = [text(f"10 part {number}") for number in range(added)]
        assert take(cache, {**MARK, "messages": [user(start, *more)]})[1] == read


def test_a_second_mark_inside_the_look_back_finds_what_the_last_one_does_not() -> None:
    cache = new_cache()
    take(cache, {**MARK, "messages": [user(text("2000 task"))]})
    more = [text(f"10 part {number}") for number in range(40)]
    marked = [*more[:9], {**more[9], **MARK}, *more[10:]]
    assert take(cache, {**MARK, "messages": [user(text("2000 task"), *marked)]}) == (2_400, 2_000, 400, 0)


def test_parallel_calls_and_their_results_are_one_place_each_for_the_look_back() -> None:
    cache = new_cache()
    task = user(text("2000 task"))
    take(cache, {**MARK, "messages": [task]})
    names = [f"call_{number}" for number in range(30)]
    calls = [{"type": "tool_use", "id": name, "name": "5", "input": {}} for name in names]
    results = [{"type": "tool_result", "tool_use_id": name, "content": "9 lines"} for name in names]
    grown = {**MARK, "messages": [task, assistant(*calls), user(*results)]}
    assert take(cache, grown) == (2_420, 2_000, 420, 0)


def test_no_more_than_four_marks_count() -> None:
    parts = [text(f"2000 part {number}", **MARK) for number in range(6)]
    for number, read in ((3, 6_000), (2, 0)):
        cache = new_cache()
        take(cache, {"messages": [user(*parts)]})
        assert take(cache, {"messages": [user(*parts[:number])]})[1] == read


@pytest.mark.parametrize(("mark", "minutes"), [(MARK, 5), (HOUR, 60)])
def test_what_is_kept_lapses_after_its_lifetime_without_use(mark: Body, minutes: int) -> None:
    cache = new_cache()
    body = {**mark, "messages": [user(text("2000 task"))]}
    moments = [0, minutes, 2 * minutes, 3 * minutes + 1, 3 * minutes + 2]
    assert [take(cache, body, minute=minute)[1] for minute in moments] == [0, 2_000, 2_000, 0, 2_000]


def test_reading_a_longer_beginning_keeps_the_shorter_ones_it_goes_on_from() -> None:
    cache = new_cache()
    messages: list[Body] = [user(text("2000 task"))]
    for minute in range(0, 20, 4):
        take(cache, {**MARK, "messages": messages}, minute=minute)
        messages = [*messages, assistant(text("50 step")), user(text(f"60 result {minute}"))]
    edited = [messages[0], assistant(text("50 other")), user(text("60 result"))]
    assert take(cache, {**MARK, "messages": edited}, minute=20)[1] == 2_000
    assert take(cache, {**MARK, "messages": [*edited[:1], assistant(text("7 x"))]}, minute=27)[1] == 0


def test_a_mark_inside_what_is_read_keeps_that_place_too() -> None:
    cache = new_cache()
    first, last = text("2000 rules"), text("100 task", **MARK)
    take(cache, {"messages": [user(first, last)]}, minute=0)
    assert take(cache, {"messages": [user({**first, **MARK}, last)]}, minute=1) == (2_100, 2_100, 0, 0)
    assert take(cache, {"messages": [user({**first, **MARK}, text("9 task"))]}, minute=5)[1] == 2_000


def test_writes_for_an_hour_reach_up_to_their_last_mark() -> None:
    body = {
        "system": [text("2000 rules", **HOUR)],
        "messages": [user(text("300 task", **MARK), text("10 rest"))],
    }
    usage = new_cache().take(prompt(body))
    assert usage is not None
    assert (usage.cache_write_tokens, usage.cache_write_1h_tokens, usage.uncached_tokens) == (
        2_300,
        2_000,
        10,
    )


def full(**changes: Any) -> Body:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    body: Body = {
        "tools": [{"name": "2000", "input_schema": {}, **MARK}],
        "system": [text("300 rules", **MARK)],
        "messages": [user(text("100 task", **MARK))],
    }
    if changes.pop("image", False):
        body["messages"] = [user(text("100 task", **MARK), image)]
    return body | changes


@pytest.mark.parametrize(
    ("change", "read"),
    [
        ({"max_tokens": 9}, 2_400),
        ({"tool_choice": {"type": "any"}}, 2_300),
        ({"thinking": {"type": "enabled", "budget_tokens": 2_000}}, 2_300),
        ({"output_config": {"effort": "low"}}, 2_300),
        ({"image": True}, 2_300),
        ({"system": [text("301 rules", **MARK)]}, 2_000),
        ({"speed": "fast"}, 2_000),
        ({"tools": [{"name": "2001", "input_schema": {}, **MARK}]}, 0),
        ({"model": "claude-opus-5"}, 0),
    ],
)
def test_a_changed_setting_spoils_what_the_provider_says_it_spoils(change: Body, read: int) -> None:
    """Tools and model spoil everything; the system prompt and speed that and the messages; choice of tool,
    thinking, effort and images the messages alone."""

    def named(turn: Turn) -> Iterator[tuple[Block | None, Any, int]]:
        for block in turn.blocks:
            said = block.tool if block.kind == "tool_definition" else block.text or "0"
            yield block, None, int(str(said).split()[0])

    cache = PromptCache(pieces=named)
    assert buckets(cache.take(prompt(full())))[:3] == (2_400, 0, 2_400)
    usage = cache.take(prompt(full(**change)))
    assert usage is not None
    assert usage.cache_read_tokens == read


def chat(*messages: str, model: str = "gpt-5", **settings: Any) -> Prompt:
    roles = [{"role": "user" if at % 2 == 0 else "assistant", "content": m} for at, m in enumerate(messages)]
    return prompt({"model": model, "messages": roles, **settings}, "openai_chat")


def test_older_openai_models_read_in_steps_whatever_was_sent_before() -> None:
    """From 1,024 tokens on, in steps of 128; writing is not charged and not reported."""
    cache = new_cache()
    assert buckets(cache.take(chat("1500 task"))) == (1_500, 0, 0, 1_500)
    assert buckets(cache.take(chat("1500 task", "40 a", "70 b"))) == (1_610, 1_408, 0, 202)
    assert buckets(cache.take(chat("1500 task", "40 a", "90 c"))) == (1_630, 1_536, 0, 94)
    assert buckets(cache.take(chat("1500 task", "40 a", model="gpt-5-mini")))[1] == 0
    assert buckets(cache.take(chat("1500 task", reasoning_effort="low")))[1] == 0


def test_a_prompt_of_an_automatic_cache_lapses_too() -> None:
    cache = new_cache()
    sent = [cache.take(chat("1500 task"), at=AT + timedelta(minutes=minute)) for minute in (0, 30, 61)]
    assert [buckets(usage)[1] for usage in sent] == [0, 1_408, 0]


def test_what_is_too_short_for_an_automatic_cache_is_not_read() -> None:
    cache = new_cache()
    assert [buckets(cache.take(chat("1023 task")))[1] for _ in range(2)] == [0, 0]


def test_newer_openai_models_keep_the_end_of_each_prompt_and_report_the_write() -> None:
    cache = new_cache()
    take_chat = partial(chat, model="gpt-6.1-terra")
    assert buckets(cache.take(take_chat("1500 task"))) == (1_500, 0, 1_500, 0)
    assert buckets(cache.take(take_chat("1500 task", "40 a", "70 b"))) == (1_610, 1_500, 110, 0)
    assert buckets(cache.take(take_chat("1500 task", "40 a", "90 c"))) == (1_630, 1_500, 130, 0)


def test_newer_openai_models_may_be_asked_for_twelve_hours_or_for_nothing() -> None:
    options = {"prompt_cache_options": {"ttl": "12h"}}
    usage = new_cache().take(chat("1500 task", model="gpt-6.1-terra", **options))
    assert usage is not None
    assert usage.cache_write_tokens == usage.cache_write_12h_tokens == 1_500
    explicit = {"prompt_cache_options": {"mode": "explicit"}}
    assert buckets(new_cache().take(chat("1500 task", model="gpt-6.1-terra", **explicit)))[2] == 0


def test_a_cache_point_marks_what_stands_in_front_of_it() -> None:
    point = {"cachePoint": {"type": "default"}}
    model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    messages = [{"role": "user", "content": [{"text": "2000 task"}, point, {"text": "30 more"}]}]
    request = prompt({"model": model, "messages": messages}, "bedrock_converse")
    assert buckets(new_cache().take(request)) == (2_030, 0, 2_000, 30)


def test_gemini_reads_without_being_asked_and_names_no_lifetime() -> None:
    contents = [{"role": "user", "parts": [{"text": "5000 task"}]}]
    request = prompt({"model": "gemini-3.1-pro", "contents": contents}, "gemini")
    cache = new_cache()
    sent = [cache.take(request, at=AT + timedelta(days=day)) for day in (0, 1)]
    assert [buckets(usage)[1] for usage in sent] == [0, 5_000]
    rules = cache_rules("gemini-3.1-pro")
    assert rules is not None and rules.usual_lifetime == ""


def test_a_model_without_known_rules_is_not_simulated() -> None:
    cache = new_cache()
    body = {"model": "grok-4", "messages": [user(text("2000 task"))]}
    assert cache.take(prompt(body)) is None
    assert [one.charge for one in simulate(cache, [(prompt(body), AT)])] == [None]
    assert PromptCache(pieces=sized, rules=cache_rules("gpt-5")).take(prompt(body)) is not None


def test_every_rule_names_its_source_and_the_day() -> None:
    assert cache_rules(None) is None
    assert all(rules.source and rules.read_on == "2026-11-30" for rules in RULES)
    assert {cache_rules(name) for name in ("anthropic/claude-opus-4.6", "claude-opus-4-5-20251101")} == {
        cache_rules("claude-haiku-4-5")
    }


def test_requests_are_priced_at_the_rates_of_their_prompt_and_day() -> None:
    """Opus 5.5: 4 dollars a million, writing 1.25 times, reading 0.05 times."""
    body = {"model": "claude-opus-5-5", **MARK, "messages": [user(text("100000 task"))]}
    sent = list(simulate(new_cache(), [(prompt(body), AT), (prompt(body), AT), (prompt(body), None)]))
    assert [one.charge and one.charge.total_usd for one in sent] == [Decimal("0.5"), Decimal("0.02"), None]
    later = simulate(new_cache(), [(prompt(body), None)], prices_at=AT)
    assert [one.charge and one.charge.total_usd for one in later] == [Decimal("0.5")]


def test_beyond_a_price_cliff_every_token_is_dearer() -> None:
    """Haiku 5.5: five times as much for a prompt beyond 100,000 tokens."""
    cost = []
    for size in (100_000, 101_000):
        body = {"model": "claude-haiku-5-5", **MARK, "messages": [user(text(f"{size} task"))]}
        *_, last = simulate(new_cache(), [(prompt(body), AT)] * 2, provider="anthropic")
        cost.append(last.charge and last.charge.total_usd)
    assert cost == [Decimal("0.001"), Decimal("0.00505")]


def test_who_answers_is_taken_from_the_request_where_it_says() -> None:
    body = {"model": CLAUDE, "messages": [user(text("1000000 task"))]}
    request = ModelRequest(wire_named("anthropic_messages"), body, provider="nobody")
    assert [one.charge for one in simulate(new_cache(), [(request, AT)])] == [None]


def test_what_a_request_has_besides_its_blocks_stands_in_front() -> None:
    cache = PromptCache(pieces=sized, size=lambda _: 2_100)
    assert take(cache, {**MARK, "messages": [user(text("1000 task"))]}) == (2_100, 0, 2_100, 0)


def test_tokens_are_those_of_the_counter_that_is_given() -> None:
    counter = block_counter_for(CLAUDE, "anthropic_messages")
    cache = PromptCache(
        pieces=partial(pieces, counter=counter), size=lambda one: shape_of(one, counter).total
    )
    tools = [{"name": "read", "description": "Reads a file.", "input_schema": {"type": "object"}}]
    body = {**MARK, "tools": tools, "messages": [user(text("word " * 3_000))]}
    request = prompt(body)
    total = shape_of(request, counter).total
    assert buckets(cache.take(request)) == (total, 0, total, 0)
    assert buckets(cache.take(request)) == (total, total, 0, 0)


def test_a_growing_history_is_read_once() -> None:
    seen: list[Turn] = []

    def watched(turn: Turn) -> Iterator[tuple[Block | None, Any, int]]:
        seen.append(turn)
        return sized(turn)

    cache, histories = PromptCache(pieces=watched), Histories()
    messages = [user(text("2000 task"))]
    for step in range(50):
        cache.take(Prompt(READERS["anthropic_messages"], {"model": CLAUDE, "messages": messages}, histories))
        messages = [*messages, assistant(text("5 step")), user(text(f"7 result {step}"))]
    assert len(seen) == 1 + 99


def test_a_prompt_may_be_given_as_positions_alone() -> None:
    cache = new_cache()
    head = Prefix().then(b"tools", 3_000, kind="tool_definition", mark="1h")
    first = head.then(b"task", 100, kind="user_text", mark="")
    usage = cache.send(first, model=CLAUDE, at=AT)
    assert usage == Usage(3_100, 0, cache_write_tokens=3_100, cache_write_1h_tokens=3_000)
    later = cache.send(first.then(b"more", 50, kind="user_text"), model=CLAUDE, at=AT + timedelta(minutes=9))
    assert buckets(later) == (3_150, 3_000, 100, 50)


@given(
    runs=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=12), min_size=1, max_size=8),
    model=st.sampled_from(["claude-sonnet-5", "gpt-5", "gpt-6.1-terra", "gemini-3.1-pro"]),
)
def test_nothing_is_read_that_was_not_sent_and_buckets_add_up(runs: list[list[int]], model: str) -> None:
    cache = new_cache()
    sent: list[list[int]] = []
    for run in runs:
        prefix = Prefix()
        for part in run:
            prefix = prefix.then(bytes([part]), 1_000 * (part + 1), kind="user_text", mark="")
        usage = cache.send(prefix, model=model)
        assert usage is not None and usage.uncached_tokens is not None
        longest = max((common(run, earlier) for earlier in sent), default=0)
        assert usage.cache_read_tokens <= longest
        assert usage.cache_read_tokens + usage.cache_write_tokens + usage.uncached_tokens == sum(
            1_000 * (part + 1) for part in run
        )
        sent.append(run)


def common(left: list[int], right: list[int]) -> int:
    """The tokens of what two runs begin with."""
    total = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        total += 1_000 * (one + 1)
    return total
