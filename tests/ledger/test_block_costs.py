"""What each block cost over all requests that it was sent in; the rows add up to the bill exactly."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ctxkit
from ctxkit.drive import run
from ctxkit.ledger import Attempt, BlockCost, Placed, Sent, block_costs
from ctxkit.messages import Histories
from ctxkit.money import Share
from ctxkit.profile import profile
from ctxkit.testing import ScriptedModel, failure, reply
from ctxkit.transcripts import RecordedRequest, Transcript
from ctxkit.usage import Charge, Usage
from support.bodies import ANTHROPIC, RESPONSES, WIRES, calls, request_of, results, rounds, user
from support.runs import GPT, LONG, RUNS, used
from support.runs import run as recorded

MODEL = "claude-sonnet-4-5"


def attempts_of(*runs: Transcript) -> Sequence[Attempt]:
    """The attempts of recorded runs."""
    report = profile(runs, keep_attempts=True)
    return [attempt for row in report.tasks for attempt in row.attempts]


def sums(attempts: Sequence[Attempt]) -> dict[Any, tuple[int, Decimal]]:
    """What the shares of attempts add up to, by kind, tool and whether they are carried."""
    made: dict[Any, list[Any]] = defaultdict(lambda: [0, Decimal(0)])
    for attempt in attempts:
        for share in attempt.shares:
            total = made[share.kind, share.tool, share.carried]
            total[0] += share.input_tokens + share.output_tokens
            total[1] += share.cost_usd or 0
    return {key: (tokens, usd) for key, (tokens, usd) in made.items() if tokens or usd}


def assert_adds_up(attempts: Sequence[Attempt]) -> list[BlockCost]:
    """The rows of a kind and tool hold every token and dollar of its shares."""
    rows = block_costs(attempts)
    made: dict[Any, list[Any]] = defaultdict(lambda: [0, Decimal(0)])
    for row in rows:
        for carried, tokens, usd in (
            (False, row.new_tokens + row.output_tokens, (row.new_usd or 0) + (row.output_usd or 0)),
            (True, row.carried_tokens, row.carried_usd or 0),
        ):
            made[row.kind, row.tool, carried][0] += tokens
            made[row.kind, row.tool, carried][1] += usd
    assert {key: (tokens, usd) for key, (tokens, usd) in made.items() if tokens or usd} == sums(attempts)
    assert all(min(row.new_tokens, row.carried_tokens, row.output_tokens) >= 0 for row in rows)
    return rows


def row_of(rows: Sequence[BlockCost], kind: str, call_id: str | None = None) -> BlockCost:
    """The one row of a kind, and of a call where one is named."""
    (row,) = [row for row in rows if row.kind == kind and call_id in (None, row.call_id)]
    return row


@pytest.mark.parametrize("wire", RUNS)
def test_the_rows_of_a_run_add_up_to_its_bill(wire: str) -> None:
    rows = assert_adds_up(attempts_of(RUNS[wire]))
    result = row_of(rows, "tool_result")
    assert (result.task, result.turn, result.tool, result.requests) == ("run", 2, "find", 1)
    assert result.new_usd is not None and result.new_usd > 0
    assert (result.carried_usd, result.output_usd, result.cost_usd) == (0, 0, result.new_usd)
    definition = row_of([row for row in rows if row.tool == "find"], "tool_definition")
    assert (definition.turn, definition.requests) == (1, 2)
    assert definition.new_tokens > 0 < definition.carried_tokens


def test_a_call_is_written_once_and_carried_from_then_on() -> None:
    rows = assert_adds_up(attempts_of(RUNS["anthropic_messages"]))
    call = row_of(rows, "tool_call")
    assert (call.turn, call.call_id, call.new_tokens, call.output_tokens) == (1, "c1", 0, 30)
    assert call.output_usd == Decimal("0.00045")
    assert call.carried_tokens > 0
    assert call.cost_usd == (call.carried_usd or 0) + call.output_usd


def growing(texts: Sequence[str], **more: Any) -> Transcript:
    """A run that asks again after every result; each request reads from the cache what the last one sent."""
    messages: list[Any] = rounds(ANTHROPIC, texts)
    requests = []
    size = 0
    for number in range(len(texts) + 1):
        new = 100 + (len(texts[number - 1]) // 4 if number else 0)
        requests.append(used(2 * number + 1, size + new, 20, cached=size))
        size += new
    return recorded(*requests, messages=messages, model=MODEL, **more)


def test_an_early_result_costs_more_than_the_same_one_later() -> None:
    rows = assert_adds_up(attempts_of(growing(["word " * 200] * 5)))
    by_call = [row_of(rows, "tool_result", f"call_{number}") for number in range(5)]
    assert [row.turn for row in by_call] == [2, 3, 4, 5, 6]
    assert [row.requests for row in by_call] == [5, 4, 3, 2, 1]
    costs = [row.cost_usd or 0 for row in by_call]
    assert costs == sorted(costs, reverse=True)
    assert by_call[-1].carried_usd == 0


def test_what_the_model_wrote_is_the_same_block_where_it_comes_back_in_other_bytes() -> None:
    attempts = [*attempts_of(RUNS["anthropic_messages"])]
    attempts[0] = replace(attempts[0], answered=(replace(attempts[0].answered[0], digest="", call_id=None),))
    call = row_of(assert_adds_up(attempts), "tool_call")
    assert call.output_tokens > 0 < call.carried_tokens


def test_reasoning_that_nobody_shows_has_a_row_for_its_turn() -> None:
    usage = Usage(400, 30, reasoning_tokens=20)
    hidden = recorded(RecordedRequest(1, usage), RecordedRequest(3, replace(usage, input_tokens=900)))
    rows = [row for row in assert_adds_up(attempts_of(hidden)) if row.kind == "thinking"]
    assert [(row.turn, row.output_tokens, row.tokens, row.call_id) for row in rows] == [
        (1, 20, 0, None),
        (2, 20, 0, None),
    ]


def test_what_a_log_hides_has_one_row_and_leaves_the_rest_its_place() -> None:
    rows = assert_adds_up(attempts_of(growing(["word " * 200] * 3, incomplete="no system prompt")))
    hidden = row_of(rows, "unrecorded")
    assert (hidden.turn, hidden.tokens, hidden.requests) == (None, 0, 0)
    assert hidden.new_tokens > 0
    assert len([row for row in rows if row.kind == "tool_result" and row.new_tokens]) == 3


def test_a_malformed_run_has_rows_without_blocks() -> None:
    attempts = attempts_of(recorded(used(1, 400, 30), messages=[{"role": "user", "content": 5}]))
    assert attempts[0].sent is None
    rows = assert_adds_up(attempts)
    assert [(row.kind, row.tokens) for row in rows] == [("assistant_text", 0), ("other", 0)]


def test_without_a_price_the_cost_is_unknown_and_what_took_nothing_cost_nothing() -> None:
    rows = assert_adds_up(attempts_of(recorded(used(1, 400, 30), model="nobodys-model")))
    question = row_of(rows, "user_text")
    assert question.new_tokens > 0
    assert (question.new_usd, question.carried_usd) == (None, 0)
    assert replace(question, carried_usd=None, output_usd=None).cost_usd is None


def test_what_is_free_is_split_by_its_tokens() -> None:
    free = recorded(used(1, 1_000, 1, stop_reason="refusal"))
    assert row_of(assert_adds_up(attempts_of(free)), "user_text").new_usd == 0


def test_what_is_finer_than_a_unit_is_in_the_rows_too() -> None:
    sent = Sent(
        None, 0, 0, (Placed("system", None, None, "a", 10), Placed("system", None, None, "b", 30)), 40
    )
    cost = Decimal("0.1") + Decimal("1e-15")
    attempt = Attempt(
        "t", "main", MODEL, ANTHROPIC, "billed", usage=Usage(40, 0), charge=Charge(uncached_usd=cost),
        shares=(Share("system", None, 40, 0, cost),), sent=sent,
    )  # fmt: skip
    small, large = assert_adds_up([attempt])
    assert float(small.new_usd or 0) == pytest.approx(0.025)
    assert (small.new_usd or 0) + (large.new_usd or 0) == cost


def test_tasks_are_kept_apart() -> None:
    rows = assert_adds_up(attempts_of(growing(["one"], id="a"), growing(["one", "two"], id="b")))
    assert [row.requests for row in rows if row.call_id == "call_0" and row.kind == "tool_result"] == [1, 2]
    assert {row.task for row in rows} == {"a", "b"}


def test_where_the_beginning_is_missing_the_rest_still_adds_up() -> None:
    attempts = attempts_of(growing(["word " * 50] * 4))[2:]
    rows = assert_adds_up(attempts)
    assert [row.call_id for row in rows if row.kind == "tool_result"] == ["call_1", "call_2", "call_3"]
    empty = replace(attempts[0], sent=Sent("gone", 0, 0, (), 7), answered=())
    assert_adds_up([empty, *attempts])


class Conversation:
    """Requests of one live task, booked by a meter."""

    def __init__(self, *around: ctxkit.Middleware, wire: str = ANTHROPIC) -> None:
        self.wire = wire
        self.stack = ctxkit.Stack(*around, ctxkit.TokenMeter())
        self.histories = Histories()

    def ask(self, messages: Sequence[Any], *, read: int = 0, fails: bool = False, **body: Any) -> None:
        """Send a request; the answer says how much of it was read from the cache."""
        usage = Usage(read + 500, 25, cache_read_tokens=read)
        model = ScriptedModel([failure(429) if fails else reply("Done.", usage=usage)])
        request = request_of(self.wire, messages, histories=self.histories, **{"model": MODEL, **body})
        try:
            run(self.stack.model_flow(request), model)
        except ctxkit.ModelCallFailed:
            assert fails


def test_an_edited_result_stays_one_block(task: ctxkit.Task) -> None:
    loop = Conversation()
    loop.ask(rounds(ANTHROPIC, ["word " * 100]))
    loop.ask([*rounds(ANTHROPIC, ["cleared"]), user("Go on.")], read=100)
    rows = assert_adds_up(task.attempts)
    result = row_of(rows, "tool_result")
    assert (result.requests, result.turn) == (2, 2)
    assert result.tokens > 50


def test_definitions_in_another_order_stay_the_same_blocks(task: ctxkit.Task) -> None:
    tools = [{"name": name, "description": name * 20, "input_schema": {}} for name in ("ls", "grep")]
    loop = Conversation()
    for order in (tools, tools[::-1], tools):
        loop.ask([user("hi"), user("hi")], tools=order, system="Be brief.")
    rows = assert_adds_up(task.attempts)
    blocks = [row for row in rows if row.requests]
    assert [(row.kind, row.tool, row.requests) for row in blocks] == [
        ("tool_definition", "ls", 3),
        ("tool_definition", "grep", 3),
        ("system", None, 3),
        ("user_text", None, 3),
        ("user_text", None, 3),
    ]


def test_what_the_model_wrote_is_found_again_once(task: ctxkit.Task) -> None:
    loop = Conversation()
    said = [{"role": "assistant", "content": [{"type": "text", "text": text}]} for text in ("Done.", "More.")]
    loop.ask([user("hi")])
    loop.ask([user("hi"), *said])
    rows = [row for row in assert_adds_up(task.attempts) if row.kind == "assistant_text"]
    assert [(row.turn, row.output_tokens, row.requests) for row in rows] == [
        (1, 25, 1),
        (3, 0, 1),
        (3, 25, 0),
    ]


def test_an_attempt_that_was_not_billed_sent_nothing_that_counts(task: ctxkit.Task) -> None:
    loop = Conversation()
    loop.ask(rounds(ANTHROPIC, ["one"]))
    loop.ask(rounds(ANTHROPIC, ["one", "two"]), fails=True)
    loop.ask(rounds(ANTHROPIC, ["one", "two"]), read=500)
    rows = assert_adds_up(task.attempts)
    assert row_of(rows, "tool_result", "call_0").requests == 2
    assert row_of(rows, "tool_result", "call_1").requests == 1


@pytest.mark.parametrize("loops", [2, 12])
def test_loops_side_by_side_in_one_task_share_its_beginning(task: ctxkit.Task, loops: int) -> None:
    """More of them than are kept whole are put together again."""
    attempts: list[Attempt] = []
    first = attempts_of(growing(["word " * 20], id="run"))
    attempts.extend(first)
    for number in range(loops):
        new = Placed("tool_result", "search", f"call {number}", f"{number}", 50)
        sent = Sent(first[-1].id, 3, first[-1].sent.tokens if first[-1].sent else 0, (new,), 200)
        share = Share("tool_result", "search", 300, 0, Decimal("0.001"))
        attempts.append(replace(first[-1], id=f"{number}", sent=sent, shares=(share,), answered=()))
    rows = assert_adds_up(attempts)
    assert row_of(rows, "tool_result", "call_0").requests == loops + 1
    assert all(row_of(rows, "tool_result", f"call {number}").requests == 1 for number in range(loops))


def test_parallel_results_and_their_calls_each_have_a_row(task: ctxkit.Task) -> None:
    loop = Conversation()
    asked = [user("hi"), calls(ANTHROPIC, "a", "b")]
    loop.ask([*asked, *results(ANTHROPIC, {"a": "word " * 10, "b": "word " * 90})])
    rows = assert_adds_up(task.attempts)
    small, large = row_of(rows, "tool_result", "a"), row_of(rows, "tool_result", "b")
    assert (large.new_usd or 0) > 4 * (small.new_usd or 0) > 0


def test_reasoning_that_is_shown_is_the_block_that_it_is() -> None:
    run = RUNS[RESPONSES]
    thought = row_of(assert_adds_up(attempts_of(run)), "thinking")
    assert (thought.turn, thought.requests) == (1, 1)
    assert thought.output_tokens > 0 < thought.carried_tokens


tokens = st.integers(0, 5_000)
usages = st.builds(
    lambda read, written, rest, said, thought: Usage(
        read + written + rest,
        said,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=thought,
    ),
    tokens, tokens, tokens, tokens, st.integers(0, 100),
)  # fmt: skip
requests = st.builds(
    RecordedRequest,
    input_messages=st.integers(0, 5),
    usage=st.none() | usages,
    output_known=st.booleans(),
    model=st.sampled_from([None, GPT, "nobodys-model"]),
)


@given(
    st.lists(requests, max_size=6),
    st.sampled_from(list(RUNS)),
    st.none() | st.just("no"),
    st.integers(0, 3),
)
def test_whatever_was_sent_the_rows_add_up_to_the_shares(
    made: list[RecordedRequest], wire: str, incomplete: str | None, skipped: int
) -> None:
    assert_adds_up(attempts_of(replace(RUNS[wire], requests=tuple(made), incomplete=incomplete))[skipped:])


@given(
    st.sampled_from(WIRES), st.lists(st.lists(st.sampled_from(["a", "word " * 30]), max_size=3), max_size=5)
)
def test_whatever_a_caller_sends_next_the_rows_add_up_to_the_shares(
    wire: str, histories: list[list[str]]
) -> None:
    with ctxkit.task("test") as task:
        loop = Conversation(wire=wire)
        for number, texts in enumerate(histories):
            loop.ask(rounds(wire, texts), read=100 * number)
    assert_adds_up(task.attempts)


def large_session(count: int) -> Iterator[Attempt]:
    """Requests that each send two blocks more than the last, which is read from the cache."""
    for number in range(count):
        size, old = 120 * (number + 1), 120 * number
        added = tuple(Placed("tool_result", "ls", f"{number} {nth}", "", 60) for nth in range(2))
        charge = Charge(uncached_usd=Decimal(120) / 10**6, cache_read_usd=Decimal(old) / 10**7)
        yield Attempt(
            task="t",
            purpose="main",
            model=MODEL,
            wire=ANTHROPIC,
            outcome="billed",
            usage=Usage(size, 0, cache_read_tokens=old),
            charge=charge,
            shares=(
                Share("tool_result", "ls", old, 0, charge.cache_read_usd, carried=True),
                Share("tool_result", "ls", 120, 0, charge.uncached_usd),
            ),
            id=f"{number}",
            sent=Sent(f"{number - 1}" if number else None, 2 * number, old, added, size, carried_tokens=old),
        )


def test_a_large_session_takes_a_moment() -> None:
    """The bound leaves room for a busy machine."""
    attempts = list(large_session(5_000))
    started = time.process_time()
    rows = block_costs(attempts)
    assert time.process_time() - started < 5
    assert len(rows) == 10_000
    assert sum(row.cost_usd or 0 for row in rows) == sum(
        one.charge.total_usd for one in attempts if one.charge
    )
    first, last = rows[0], rows[-1]
    assert (first.requests, last.requests) == (5_000, 1)
    assert float(first.new_usd or 0) == pytest.approx(60 / 10**6)
    assert float(first.carried_usd or 0) == pytest.approx(4_999 * 60 / 10**7)
    assert (float(last.new_usd or 0), last.carried_usd) == (pytest.approx(60 / 10**6), 0)


def test_a_long_result_is_worth_more_than_the_short_ones_around_it() -> None:
    rows = assert_adds_up(attempts_of(growing(["short", LONG * 3, "short"])))
    first, long, last = (row_of(rows, "tool_result", f"call_{number}").cost_usd or 0 for number in range(3))
    assert long > 20 * max(first, last)
