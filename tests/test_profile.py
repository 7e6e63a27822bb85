"""What recorded runs used and cost, whatever wire they are in and whatever their log leaves out."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.errors import ConfigError
from ctxkit.ledger import Attempt, Line, Totals
from ctxkit.profile import profile
from ctxkit.reports import TaskRow
from ctxkit.tokens import block_counter_for, shape_of
from ctxkit.transcripts import RecordedRequest, Skipped, Transcript, load
from ctxkit.usage import Usage
from support.bodies import request_of
from support.runs import ANTHROPIC, CLAUDE, GPT, LONG, RUNS, run, used

DATA = Path(__file__).parents[2] / "shared" / "data"


def profiled(transcript: Transcript) -> TaskRow:
    """The one row of a run's profile."""
    (row,) = profile([transcript]).tasks
    return row


def assert_adds_up(totals: Totals) -> None:
    """The lines of a breakdown hold every token and every dollar of the sums."""
    lines = totals.lines.values()
    assert sum(line.cost_usd for line in lines) == totals.cost_usd
    assert sum(line.input_tokens for line in lines) == totals.input_tokens
    assert sum(line.output_tokens for line in lines) == totals.output_tokens


@pytest.mark.parametrize("wire", RUNS)
def test_a_run_in_any_wire_is_split_by_kind_and_tool(wire: str) -> None:
    totals = profiled(RUNS[wire]).totals
    assert (totals.requests, totals.input_tokens, totals.output_tokens) == (2, 1_300, 40)
    assert totals.cost_usd > 0
    assert not totals.is_lower_bound
    assert totals.tool_calls == {"find": 1}
    lines = totals.lines
    assert {("system", None), ("user_text", None), ("tool_definition", "find")} <= lines.keys()
    assert (
        lines["tool_call", "find"].output_tokens + lines.get(("thinking", None), Line()).output_tokens == 30
    )
    assert lines["assistant_text", None].output_tokens == 10
    assert lines["tool_result", "find"].input_tokens > 200
    assert_adds_up(totals)


def test_an_answer_of_several_items_is_one_answer() -> None:
    lines = profiled(RUNS["openai_responses"]).totals.lines
    assert lines["thinking", None].output_tokens > 0
    assert lines["tool_call", "find"].output_tokens > 0


def test_messages_that_no_request_has_sent_are_no_part_of_an_answer() -> None:
    messages = [*ANTHROPIC, {"role": "user", "content": LONG}, {"role": "assistant", "content": "Oh."}]
    lines = profiled(run(used(3, 900, 10), messages=messages)).totals.lines
    assert [key for key, line in lines.items() if line.output_tokens] == [("assistant_text", None)]


def test_an_answer_that_the_log_does_not_show_was_text() -> None:
    lines = profiled(run(used(4, 900, 50))).totals.lines
    assert lines["assistant_text", None].output_tokens == 50


def test_the_model_is_the_one_that_answered_most() -> None:
    requests = [used(1, 9, 1, model="gpt-4o"), used(3, 9, 1, model="gpt-4o"), used(3, 9, 1)]
    assert profiled(run(*requests)).model == "gpt-4o"
    assert profiled(run()).model == CLAUDE


def test_each_request_is_priced_as_the_model_that_answered_it_and_at_its_time() -> None:
    cheap = profiled(run(used(1, 1_000_000, 0, model="claude-haiku-4-5"))).totals
    dear = profiled(run(used(1, 1_000_000, 0, model="claude-opus-4-1"))).totals
    assert cheap.cost_usd < dear.cost_usd
    off_peak, peak = datetime(2025, 8, 1, 17, tzinfo=UTC), datetime(2025, 8, 1, 12, tzinfo=UTC)
    costs = [
        profiled(run(used(1, 1_000_000, 0, timestamp=at), model="deepseek-chat", provider="deepseek")).totals
        for at in (off_peak, peak)
    ]
    assert costs[0].cost_usd < costs[1].cost_usd


def test_a_refusal_is_free() -> None:
    assert profiled(run(used(1, 1_000, 1, stop_reason="refusal"))).totals.known_cost_usd == 0


def test_a_model_without_a_price_costs_an_unknown_amount() -> None:
    totals = profiled(run(used(1, 100, 10), model="nobodys-model")).totals
    assert totals.known_cost_usd is None
    assert totals.requests_unpriced == 1
    assert totals.input_tokens == 100


def test_what_stood_before_a_compaction_is_not_sent_after_it() -> None:
    messages = [{"role": "user", "content": LONG}, ANTHROPIC[3], {"role": "user", "content": "A summary."}]
    marks = [{"at": 2, "kind": "compaction"}, {"at": None}, "no mark"]
    compacted = run(used(3, 100, 5), messages=messages, meta={"marks": marks})
    frame = ("system", None)
    assert profiled(compacted).totals.lines.keys() == {frame, ("user_text", None), ("assistant_text", None)}
    assert ("assistant_text", None) in profiled(run(used(3, 100, 0), messages=messages)).totals.lines
    assert profiled(run(used(3, 100, 0), messages=messages, meta={"marks": marks})).totals.lines.keys() == {
        frame,
        ("user_text", None),
    }


def test_the_request_for_a_compaction_still_sends_what_stood_before() -> None:
    messages = [{"role": "user", "content": LONG}, ANTHROPIC[3], {"role": "user", "content": "A summary."}]
    asked = run(used(2, 100, 0), messages=messages, meta={"marks": [{"at": 2}]})
    assert ("assistant_text", None) in profiled(asked).totals.lines


@pytest.mark.parametrize("model", [CLAUDE, GPT])
def test_what_an_incomplete_log_hides_is_unrecorded_as_far_as_it_was_billed(model: str) -> None:
    shown = profiled(run(used(1, 100, 1), model=model)).totals
    assert ("unrecorded", None) not in shown.lines
    billed = 24_000
    hidden = profiled(run(used(1, billed, 1), model=model, incomplete="no system prompt"))
    lines = hidden.totals.lines
    visible = lines["user_text", None].input_tokens + lines["system", None].input_tokens
    assert lines["unrecorded", None].input_tokens == billed - visible
    request = request_of("anthropic_messages", ANTHROPIC[:1], model=model)
    assert visible == shape_of(request, block_counter_for(model, "anthropic_messages")).total
    assert hidden.notes == ("no system prompt",)


def test_nothing_is_unrecorded_where_less_was_billed_than_the_log_shows() -> None:
    totals = profiled(run(used(3, 5, 1), incomplete="no system prompt")).totals
    assert ("unrecorded", None) not in totals.lines


def test_unknown_output_leaves_the_input_in_the_sums_and_the_cost_a_lower_bound() -> None:
    row = profiled(run(used(1, 1_000, 3), used(3, 2_000, 4, output_known=False)))
    totals = row.totals
    assert (totals.input_tokens, totals.output_tokens, totals.requests_unmeasured) == (3_000, 3, 1)
    assert totals.is_lower_bound
    assert totals.requests_unpriced == 0
    assert totals.cost_usd == profiled(run(used(1, 1_000, 3), used(3, 2_000, 0))).totals.cost_usd
    assert row.notes == ("the output tokens of some requests are placeholders in this log, and left out",)
    assert_adds_up(totals)


def test_a_request_without_usage_is_unmeasured_and_its_calls_still_count() -> None:
    totals = profiled(run(RecordedRequest(1), RecordedRequest(3))).totals
    assert (totals.requests, totals.requests_unmeasured, totals.tool_calls["find"]) == (2, 2, 1)
    assert totals.known_cost_usd is None
    assert totals.lines == {}


def test_what_the_log_says_it_cost_stands_beside_what_it_costs_here() -> None:
    requests = [used(1, 10_000, 0, recorded_cost_usd=Decimal(cost)) for cost in ("0.03", "0.0299999999999")]
    row = profiled(run(*requests, used(3, 10, 1)))
    assert row.recorded_cost_usd == Decimal("0.0599999999999")
    assert row.notes == ()


def test_a_log_that_says_nothing_of_cost_leaves_it_unknown() -> None:
    assert profiled(run(used(1, 10, 0))).recorded_cost_usd is None


def test_another_cost_in_the_log_is_pointed_out() -> None:
    """As in tau2-bench, whose usage leaves out the cache reads that its cost takes into account."""
    (differs,) = profiled(run(used(1, 10_000, 0, recorded_cost_usd=Decimal("0.01")))).notes
    assert differs.startswith("the log itself says another cost")


def test_a_recorded_cost_is_never_compared_with_an_unknown_one() -> None:
    recorded = used(1, 10, 0, recorded_cost_usd=Decimal("0.01"), model="nobodys-model")
    assert profiled(run(recorded)).notes == ()


def attempts_of(*runs: Transcript) -> list[Sequence[Attempt]]:
    """The attempts of each run."""
    return [row.attempts for row in profile(runs, keep_attempts=True).tasks]


def test_attempts_are_kept_where_they_are_asked_for() -> None:
    assert profiled(run(used(1, 10, 1))).attempts == []
    at = datetime(2026, 11, 30, 12, tzinfo=UTC)
    ((first, second),) = attempts_of(
        replace(
            RUNS["anthropic_messages"],
            provider="anthropic",
            requests=(used(1, 400, 30, timestamp=at), used(3, 900, 10, cached=400)),
        )
    )
    assert (first.started, second.started) == (at.timestamp(), 0.0)
    assert (first.turn, second.turn, first.provider) == (1, 2, "anthropic")
    assert first.sent is not None and second.sent is not None
    assert (first.sent.after, second.sent.after, second.sent.change) == (None, first.id, None)
    assert [block.kind for block in second.sent.added] == ["tool_call", "tool_result"]
    assert [block.call_id for block in first.answered] == ["c1"]


def test_a_context_that_was_compacted_no_longer_begins_like_the_one_before() -> None:
    messages = [*ANTHROPIC, {"role": "user", "content": "A summary."}]
    ((_, after),) = attempts_of(
        run(used(3, 90, 1), used(5, 30, 1), messages=messages, meta={"marks": [{"at": 4}]})
    )
    assert after.sent is not None and after.sent.change is not None
    assert (after.sent.kept, after.sent.change.by, after.turn) == (0, "caller", 1)


def test_another_model_is_told_from_another_history() -> None:
    ((_, after),) = attempts_of(run(used(1, 90, 1), used(3, 30, 1, model=GPT)))
    assert after.sent is not None and after.sent.change is not None
    assert after.sent.change.by == "model"


@pytest.mark.parametrize("at", [None, datetime(2026, 11, 30, tzinfo=UTC)])
def test_a_run_that_is_read_twice_is_counted_once(at: datetime | None) -> None:
    requests = [used(1, 400, 30, timestamp=at), used(3, 900, 10, timestamp=at)]
    twice = run(*requests), run(*requests)
    first, second = profile(twice).tasks
    assert (first.totals.requests, second.totals.requests, first.notes) == (2, 0, ())
    assert second.notes == ("2 of 2 requests stand in a run that was read before, and are counted there",)
    assert second.recorded_cost_usd is None
    ids = [[attempt.id for attempt in attempts_of(one)[0]] for one in twice]
    assert ids[0] == ids[1]


def test_sessions_that_overlap_are_counted_once() -> None:
    """A resumed session repeats the answers of the first one, with their times, under an id of its own."""
    first = datetime(2026, 11, 30, 12, tzinfo=UTC)
    shared_request = used(1, 400, 30, timestamp=first, recorded_cost_usd=Decimal("0.5"))
    new = used(3, 900, 10, timestamp=first.replace(hour=13), recorded_cost_usd=Decimal("0.25"))
    report = profile([run(shared_request, id="a"), run(shared_request, new, id="b")])
    assert [row.totals.requests for row in report.tasks] == [1, 1]
    assert [row.recorded_cost_usd for row in report.tasks] == [Decimal("0.5"), Decimal("0.25")]
    assert report.totals.input_tokens == 1_300


def test_the_providers_id_of_an_answer_stands_for_it_whenever_it_was_logged() -> None:
    first = datetime(2026, 11, 30, 12, tzinfo=UTC)
    once = used(1, 400, 30, timestamp=first, answer_id="msg_1")
    again = used(1, 400, 30, timestamp=first.replace(hour=13), answer_id="msg_1")
    other = used(1, 400, 30, timestamp=first, answer_id="msg_2")
    rows = profile([run(once, id="a"), run(again, id="b"), run(other, id="c")]).tasks
    assert [row.totals.requests for row in rows] == [1, 0, 1]


def test_requests_that_only_look_alike_all_count() -> None:
    alike = [used(1, 10, 1), used(1, 10, 1)]
    assert profiled(run(*alike)).totals.requests == 2
    assert profile([run(*alike, id="a"), run(*alike, id="b")]).totals.requests == 4
    other = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]
    assert profile([run(alike[0]), run(alike[0], messages=other)]).totals.requests == 2


MALFORMED = {"role": "user", "content": 5}


def test_a_malformed_message_stops_neither_the_run_nor_the_others() -> None:
    messages = [*ANTHROPIC[:3], MALFORMED, ANTHROPIC[3]]
    broken = run(used(1, 400, 30), RecordedRequest(4), used(4, 900, 10), messages=messages)
    first, second = profile([broken, run(used(1, 10, 1))]).tasks
    assert first.totals.requests == 3
    assert first.totals.lines["other", None].input_tokens == 900
    assert first.totals.lines["tool_call", "find"].output_tokens == 30
    (note,) = first.notes
    assert note.startswith("2 of 3 requests are malformed and could not be split")
    assert note.endswith("the first because messages.3.content must be a list, not int")
    assert second.totals.requests == 1
    assert_adds_up(first.totals)


@pytest.mark.parametrize("head", [{"system": 5}, {"tools": ["x"]}])
def test_a_malformed_head_is_noted_and_still_billed(head: dict[str, Any]) -> None:
    row = profiled(run(used(1, 400, 30), **head))
    assert row.totals.input_tokens == 400
    assert "1 of 1 requests are malformed" in row.notes[0]


def test_a_wire_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"unknown wire 'telex'; known wires: .*gemini") as caught:
        profile([run(wire="telex")])
    assert caught.value.option == "wire"


def test_what_could_not_be_read_is_looked_at_after_the_last_run() -> None:
    skipped: list[Skipped] = []

    def runs() -> Iterator[Transcript]:
        yield run()
        skipped.append(Skipped("a.jsonl", 3, "not JSON"))

    report = profile(runs(), skipped=skipped)
    assert report.to_dict()["skipped"] == [{"path": "a.jsonl", "line": 3, "reason": "not JSON"}]


class Messages(list[Any]):
    """A list that can be watched being let go."""


def test_no_more_than_one_run_is_held_in_memory() -> None:
    watched: list[weakref.ref[Messages]] = []

    def runs() -> Iterator[Transcript]:
        for _ in range(3):
            assert all(reference() is None for reference in watched)
            messages = Messages(ANTHROPIC)
            watched.append(weakref.ref(messages))
            made = run(used(1, 10, 1), used(3, 10, 1), messages=messages)
            del messages
            yield made
            del made

    assert len(profile(runs()).tasks) == 3


class Counted(dict[str, Any]):
    """A message that counts how often its content is read."""

    reads = 0

    def get(self, key: str, default: Any = None) -> Any:
        self.reads += key == "content"
        return super().get(key, default)


def test_a_message_is_read_once_however_many_requests_send_it() -> None:
    roles = ("user", "assistant")
    messages = [Counted(role=roles[number % 2], content=f"word {number}") for number in range(100)]
    profile([run(*(used(sent, 10 * sent, 1) for sent in range(1, 100, 2)), messages=messages)])
    assert {message.reads for message in messages} == {1}


tokens = st.integers(0, 50_000)
usages = st.builds(
    lambda read, cached, written, output, thinking: Usage(
        read + cached + written,
        output,
        cache_read_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=thinking,
    ),
    tokens, tokens, tokens, tokens, tokens,
)  # fmt: skip
requests = st.builds(
    RecordedRequest,
    input_messages=st.integers(0, 5),
    usage=st.none() | usages,
    output_known=st.booleans(),
    model=st.sampled_from([None, GPT, "nobodys-model"]),
)


@given(
    recorded=st.lists(requests, max_size=6),
    wire=st.sampled_from(list(RUNS)),
    incomplete=st.none() | st.just("no"),
)
def test_kinds_and_tools_add_up_to_the_bill_exactly(
    recorded: list[RecordedRequest], wire: str, incomplete: str | None
) -> None:
    report = profile([replace(RUNS[wire], requests=tuple(recorded), incomplete=incomplete)])
    assert report.totals.requests == len(recorded)
    assert_adds_up(report.totals)


def shared(name: str) -> Path:
    """A file of the shared data; skips the test where it is not here."""
    path = DATA / name
    if not path.exists():
        pytest.skip("the shared data is not here")
    return path


@pytest.mark.parametrize(
    "family", ["cassette_loops", "claude_code_misc", "codex", "inspect_logs", "openhands"]
)
def test_every_recorded_family_adds_up_and_is_never_malformed(family: str) -> None:
    report = profile(load(shared(f"transcripts/{family}.jsonl.gz")))
    assert report.totals.requests > 0
    assert_adds_up(report.totals)
    assert not [note for row in report.tasks for note in row.notes if "malformed" in note]


def test_recorded_runs_cost_what_the_client_that_recorded_them_says() -> None:
    """The pi coding agent prices every request itself."""
    runs = list(load(shared("transcripts/pi_coding_agent.jsonl.gz")))
    for recorded, row in zip(runs, profile(runs).tasks, strict=True):
        costs = [request.recorded_cost_usd for request in recorded.requests]
        assert float(row.totals.cost_usd) == pytest.approx(float(sum(cost for cost in costs if cost)))
