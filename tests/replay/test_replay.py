"""`replay`: recorded runs once more through a stack."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import ctxkit
from ctxkit.drive import run as drive
from ctxkit.drive import run_async
from ctxkit.errors import ConfigError, ModelCallFailed, SpendLimitReached
from ctxkit.flow import Flow, Middleware, ModelNext, ToolNext
from ctxkit.messages import ModelRequest, ModelResponse, ToolCall, ToolResult
from ctxkit.middleware.recall_tool_results import RecallToolResults
from ctxkit.middleware.record_transcript import RecordTranscript
from ctxkit.presets import balanced, observe
from ctxkit.replay import RecordedSideCalls, ReplayReport, StandIn, replay, replay_run
from ctxkit.testing import ScriptedModel, failure, reply
from ctxkit.transcripts import RecordedRequest, Skipped, Transcript, load
from ctxkit.transcripts.requests import request_body
from ctxkit.usage import Usage
from ctxkit.wire.native import dumps
from support.bodies import ANTHROPIC, request_of, rounds, user
from support.runs import RUNS, run, used

DATA = Path(__file__).parents[3] / "shared" / "data"
START = datetime(2026, 11, 30, 12, tzinfo=UTC)
EDITABLE = sorted(RUNS.keys() - {"bedrock_converse"})


class Watch(Middleware):
    """Keeps the requests that reach it."""

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        self.requests.append(request)
        return call_next(request)


class Hide(Middleware):
    """Replaces every result of a tool by a word."""

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        return call_next(request.with_result_texts(dict.fromkeys(request.tool_results(), "hidden")))


class Summarize(Middleware):
    """Asks the model before every request."""

    def __init__(self) -> None:
        self.said: list[tuple[str, Usage | None]] = []

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        response = yield from call_next(request.side_call("summary"))
        self.said.append((response.text, response.usage))
        return (yield from call_next(request))


class EndsFirst(Middleware):
    """Drops the first message, which leaves a history that no provider takes."""

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        return call_next(request.with_messages(request.wire.messages(request.body)[2:]))


class Refuse(Middleware):
    """Stops a run before its second request."""

    raises = (SpendLimitReached,)

    def __init__(self) -> None:
        self.requests = 0

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        self.requests += 1
        if self.requests > 1:
            raise SpendLimitReached(spent=1, limit=1, unit="requests", task="run")
        return call_next(request)


class ShortTools(Middleware):
    """Cuts what tools give, and wraps nothing else."""

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []

    def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Flow[ToolResult]:
        self.calls.append(call)
        result = yield from call_next(call)
        return replace(result, content=str(result.content)[:20])


def agent_run(turns: int = 12, *, model: str = "claude-sonnet-5", **more: Any) -> Transcript:
    """A run that reads files and says what it found; every result is long, and is needed once."""
    messages: list[Any] = [{"role": "user", "content": "Find the defects."}]
    requests: list[RecordedRequest] = []
    for turn in range(turns):
        requests.append(RecordedRequest(len(messages), None, timestamp=START + timedelta(seconds=20 * turn)))
        said = [{"type": "text", "text": f"As defect_{turn - 1} shows."}] if turn else []
        call = {"type": "tool_use", "id": f"c{turn}", "name": "read", "input": {"line": turn}}
        text = f"{LONG} defect_{turn} {LONG}"
        result = {"type": "tool_result", "tool_use_id": f"c{turn}", "content": text}
        messages += [{"role": "assistant", "content": [*said, call]}, {"role": "user", "content": [result]}]
    tools = [{"name": "read", "input_schema": {"type": "object"}}]
    return run(*requests, messages=messages, tools=tools, model=model, **more)


LONG = "\n".join(f"{number}: nothing to see in this line of the file" for number in range(60))


def replayed(
    transcript: Transcript, stack: Middleware | Callable[[], Middleware], **more: Any
) -> ReplayReport:
    return replay([transcript], stack, **more)


@pytest.mark.parametrize("wire", EDITABLE)
def test_observing_sends_the_recorded_requests_byte_for_byte(wire: str) -> None:
    watch, transcript = Watch(), RUNS[wire]
    report = replayed(transcript, ctxkit.Stack(watch, observe()))
    recorded = [request_body(transcript, one) for one in transcript.requests]
    assert [dumps(request.body) for request in watch.requests] == [dumps(body) for body in recorded]
    assert report.saved_usd == 0 and report.saved_tokens == 0
    assert report.baseline.to_dict() == report.replayed.to_dict()
    assert report.runs[0].baseline.output_tokens == 40


def test_what_ctxkit_recorded_is_replayed_as_the_caller_made_it(tmp_path: Path) -> None:
    path, edge = tmp_path / "run.jsonl", ScriptedModel([reply(text="Done.")] * 2)
    stack = ctxkit.Stack(Hide(), RecordTranscript(path))
    asked = [
        request_of(ANTHROPIC, rounds(ANTHROPIC, ["Found."] * count), max_tokens=5, top_k=3)
        for count in (1, 2)
    ]
    for request in asked:
        drive(stack.model_flow(request), edge)
    watch = Watch()
    (transcript,) = load(path)
    replayed(transcript, watch)
    assert [dumps(request.body) for request in watch.requests] == [dumps(one.body) for one in asked]


def test_blocking_awaited_and_replayed_runs_send_equal_requests() -> None:
    transcript = agent_run()
    bodies = [request_body(transcript, recorded) for recorded in transcript.requests]
    script = [reply(text="Done.")] * len(bodies)
    sent: list[list[bytes]] = []
    for awaiting in (False, True):
        watch, edge = Watch(), ScriptedModel(script)
        stack = ctxkit.Stack(balanced(max_tokens=200), watch)
        for body in bodies:
            flow = stack.model_flow(request_of(ANTHROPIC, body["messages"], **_rest(body)))
            asyncio.run(run_async(flow, edge.awaiting)) if awaiting else drive(flow, edge)
        sent.append([dumps(request.body) for request in watch.requests])
    watch = Watch()
    replayed(transcript, ctxkit.Stack(balanced(max_tokens=200), watch))
    assert sent[0] == sent[1]
    assert [json.loads(body)["messages"] for body in sent[0]] == [
        json.loads(dumps(request.body))["messages"] for request in watch.requests
    ]


def _rest(body: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != "messages"}


def test_cutting_results_saves_tokens_and_dollars_on_both_sides_of_one_simulation() -> None:
    report = replayed(agent_run(), balanced(max_tokens=200))
    (one,) = report.runs
    assert report.saved_usd is not None and 0 < report.saved_usd < report.baseline.cost_usd
    assert report.saved_tokens == one.baseline.input_tokens - one.replayed.input_tokens > 0
    assert one.peak_tokens < one.baseline_peak_tokens
    assert (one.prefix_rewrites, report.invalid_requests, one.faults) == (0, 0, {})
    assert one.replayed.cut_tokens > 0
    assert report.policy.startswith("TruncateToolResults, TrimHistory")


def test_a_string_that_was_cut_away_counts_as_lost_and_its_request_is_named() -> None:
    report = replayed(agent_run(3), Hide())
    assert [(one.string, one.tool, one.call_id, one.request) for one in report.runs[0].dependencies] == [
        ("defect_0", "read", "c0", 2),
        ("defect_1", "read", "c1", 3),
    ]
    assert (report.evidence_recall, report.evidence_recoverable) == (0.0, 0.0)
    assert "Needed and not visible: 2 strings" in str(report)


def test_what_is_said_elsewhere_in_the_request_is_still_visible() -> None:
    transcript = agent_run(3)
    said = {"role": "assistant", "content": "As defect_0 shows, and defect_0 again."}
    requests = (*transcript.requests, RecordedRequest(len(transcript.messages)))
    longer = replace(transcript, messages=[*transcript.messages, said], requests=requests)
    last = [one for one in replayed(longer, Hide()).runs[0].dependencies if one.request == 4]
    assert [(one.string, one.visible) for one in last] == [("defect_0", True)]


def test_what_was_hidden_behind_a_handle_is_recoverable() -> None:
    class HideBehindHandle(Middleware):
        def __init__(self) -> None:
            self.originals = kept

        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            texts = {one: kept.how(kept.handle(one.text)) for one in request.tool_results()}
            return call_next(request.with_result_texts(texts))

    kept = ctxkit.Originals()
    report = replayed(agent_run(3), ctxkit.Stack(RecallToolResults(kept), HideBehindHandle()))
    assert (report.evidence_recall, report.evidence_recoverable) == (0.0, 1.0)
    assert report.to_dict()["tasks"][0]["evidence_recoverable"] == 1.0
    unread = replayed(agent_run(3), HideBehindHandle())
    assert (unread.evidence_recall, unread.evidence_recoverable) == (0.0, 0.0)


def test_a_later_edit_that_changes_the_beginning_is_a_rewrite() -> None:
    class HideLater(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            results = list(request.tool_results())
            return call_next(request.with_result_texts(dict.fromkeys(results[:-2], "hidden")))

    report = replayed(agent_run(6), HideLater())
    assert report.runs[0].prefix_rewrites == 3


def test_a_beginning_that_was_recorded_anew_is_no_rewrite() -> None:
    transcript = replace(agent_run(4), meta={"marks": [{"at": 4}]})
    assert replayed(transcript, observe()).runs[0].prefix_rewrites == 0


def test_an_edit_that_makes_a_request_invalid_is_counted_and_not_sent() -> None:
    report = replayed(agent_run(3), EndsFirst())
    assert report.invalid_requests == 3
    assert report.saved_tokens == 0


def test_a_run_that_a_middleware_ends_stops_there_and_loses_what_came_after() -> None:
    report = replayed(agent_run(3), Refuse())
    (one,) = report.runs
    assert (one.baseline.requests, one.replayed.requests) == (3, 1)
    assert "SpendLimitReached ended a run before request 2 of 3" in one.notes
    assert report.evidence_recall == 0.0


def test_what_wraps_tools_alone_gets_the_recorded_results_once_each() -> None:
    short, watch = ShortTools(), Watch()
    replayed(agent_run(4), ctxkit.Stack(short, watch))
    assert [(call.name, call.call_id) for call in short.calls] == [("read", f"c{n}") for n in range(3)]
    assert {block.text for block in watch.requests[-1].tool_results()} == {LONG[:20]}
    assert [request.origin for request in watch.requests] == [None] * 4


def test_tools_that_give_the_recorded_results_change_nothing() -> None:
    watch = Watch()
    transcript = agent_run(3)
    cached = ctxkit.CacheToolResults(tools={"read": 60})
    replayed(transcript, ctxkit.Stack(cached, watch))
    assert [dumps(request.body) for request in watch.requests] == [
        dumps(request_body(transcript, one)) for one in transcript.requests
    ]


def test_meters_and_recorders_of_the_stack_book_nothing_of_a_replay(tmp_path: Path) -> None:
    ledger = ctxkit.Ledger()
    stack = ctxkit.Stack(ctxkit.TokenMeter(ledger=ledger), RecordTranscript(tmp_path / "run.jsonl"))
    with ctxkit.task("mine") as mine:
        replayed(agent_run(2), stack)
    assert ledger.report().totals.requests == 0
    assert not (tmp_path / "run.jsonl").exists()
    assert (mine.children, mine.totals.requests) == ([], 0)


def test_a_side_call_is_answered_by_a_stand_in_whose_length_and_cost_are_stated() -> None:
    asking = Summarize()
    report = replayed(agent_run(2), asking, side_calls=StandIn(tokens=50))
    assert report.runs[0].side_calls == {"summary": 2}
    assert all(set(text.split()) == {"word"} for text, _ in asking.said)
    assert [usage and usage.output_tokens for _, usage in asking.said] == [pytest.approx(50, abs=3)] * 2
    assert report.saved_usd is not None and report.saved_usd < 0
    outcome = report.to_dict()
    assert outcome["side_calls"]["requests"] == {"summary": 2}
    assert "50 tokens" in outcome["side_calls"]["answered_by"]
    text = " ".join(str(report).split())
    assert re.search(r"summary \(2 calls\) for \$[\d.]+, answered by a stand-in of 50 tokens each", text)
    assert "more over 1 run" in text


@pytest.mark.parametrize("wire", EDITABLE)
def test_a_stand_in_answers_on_every_wire(wire: str) -> None:
    asking = Summarize()
    replayed(RUNS[wire], asking, side_calls=StandIn(tokens=3))
    assert [set(text.split()) for text, _ in asking.said] == [{"word"}] * len(RUNS[wire].requests)


def test_a_stand_in_without_length_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        StandIn(tokens=0)


def test_recorded_side_calls_are_given_again_and_are_no_runs_of_their_own(tmp_path: Path) -> None:
    path, asking = tmp_path / "run.jsonl", Summarize()
    gist, done, refused = reply(text="The gist."), reply(text="Done."), failure(529)
    edge = ScriptedModel([refused, refused, gist, done])
    request = request_of(ANTHROPIC, [user("Hello")], max_tokens=5)
    recording = ctxkit.Stack(asking, RecordTranscript(path))
    with ctxkit.task("mine"):
        with pytest.raises(ModelCallFailed):
            drive(recording.model_flow(request), edge)
        drive(recording.model_flow(request), edge)
    asking.said.clear()
    report = replay(load(path), asking, side_calls=RecordedSideCalls(load(path)))
    assert [text for text, _ in asking.said] == ["The gist."]
    assert [one.baseline.requests for one in report.runs] == [1]
    assert "took nothing from tool results" in " ".join(str(report).split())
    assert ["side calls" in part.reason for part in report.skipped] == [True]
    report = replay(load(path), asking, side_calls=RecordedSideCalls([], stand_in=StandIn(tokens=2)))
    assert set(asking.said[-1][0].split()) == {"word"}
    assert "0 recorded answers" in report.side_calls


def test_a_real_model_may_answer_side_calls() -> None:
    asking, edge = Summarize(), ScriptedModel([reply(text="Short.")] * 2)
    replayed(agent_run(2), asking, side_calls=edge.model)
    assert [text for text, _ in asking.said] == ["Short."] * 2


def test_what_cannot_be_replayed_is_listed_with_the_reason() -> None:
    silent = run(used(1, 10, 1), messages=[], path="silent.jsonl")
    report = replay([RUNS["bedrock_converse"], silent, agent_run(2)], observe(), skipped=[EARLIER])
    assert len(report.runs) == 1
    assert [part.path for part in report.skipped] == ["broken.jsonl", "", "silent.jsonl"]
    assert "unknown wire 'bedrock_converse'" in report.skipped[1].reason
    assert "not in this log" in report.skipped[2].reason
    with pytest.raises(ConfigError):
        replay_run(silent, observe())


EARLIER = Skipped("broken.jsonl", 3, "not JSON")


def test_malformed_requests_are_left_out_and_noted() -> None:
    transcript = agent_run(3)
    messages = [*transcript.messages[:2], {"role": "user", "content": 5}, *transcript.messages[3:]]
    (one,) = replayed(replace(transcript, messages=messages), observe()).runs
    assert one.baseline.requests == 1
    assert any("2 of 3 requests are malformed, the first because" in note for note in one.notes)
    assert one.dependencies == []


def test_a_run_of_a_model_without_known_cache_rules_has_no_cost() -> None:
    report = replayed(agent_run(3, model="a-model-of-our-own"), Hide())
    assert (report.saved_usd, report.break_even, report.simulator_error) == (None, None, None)
    assert report.saved_tokens > 0
    assert report.to_dict()["tasks"][0]["saved_usd"] is None
    assert "input tokens, at unknown cost" in str(report)
    assert "3 requests, which count in tokens" in " ".join(str(report).split())


def test_prompts_are_as_large_as_the_log_reports() -> None:
    transcript = agent_run(4)
    base = replayed(transcript, observe()).baseline.input_tokens
    requests = tuple(
        replace(recorded, usage=Usage(2_000 + 3_500 * number, 10))
        for number, recorded in enumerate(transcript.requests)
    )
    report = replayed(replace(transcript, requests=requests, incomplete="no system prompt"), observe())
    assert report.baseline.input_tokens == pytest.approx(29_000, rel=0.02)
    assert base < 20_000
    assert "no system prompt" in report.runs[0].notes
    assert report.runs[0].recorded_usd is not None
    assert "unrecorded" in report.to_dict()["baseline"]["by_kind"]


def test_a_log_that_leaves_out_its_head_has_it_in_front_of_every_prompt() -> None:
    transcript = run(used(1, 5_000, 10), incomplete="no system prompt")
    assert replayed(transcript, observe()).baseline.input_tokens == 5_000


def test_what_a_provider_reads_and_nobody_sees_is_no_reason_to_count_every_token_manifold() -> None:
    requests = tuple(replace(one, usage=Usage(400_000, 10)) for one in agent_run(3).requests)
    report = replayed(replace(agent_run(3), requests=requests), Hide())
    assert report.baseline.input_tokens == pytest.approx(1_200_000, rel=0.01)
    assert report.saved_tokens < 10_000


def test_a_client_whose_log_shows_no_marks_is_taken_to_cache_as_its_usage_says() -> None:
    def with_usage(**cache: int) -> Transcript:
        transcript = agent_run(6)
        requests = (replace(one, usage=Usage(9_000, 10, **cache)) for one in transcript.requests)
        return replace(transcript, requests=tuple(requests))

    cached = replayed(with_usage(cache_write_tokens=500, cache_write_1h_tokens=500), observe()).baseline
    plain = replayed(with_usage(), observe()).baseline
    assert cached.cache_read_tokens > 0 and cached.cache_write_tokens > 0
    assert (plain.cache_read_tokens, plain.cache_write_tokens) == (0, 0)
    shown = with_usage(cache_write_tokens=500)
    marked = [{"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}]
    read = replayed(replace(shown, system=marked), observe()).baseline.cache_read_tokens
    assert 0 < read < cached.cache_read_tokens


def test_a_log_without_cache_reads_is_noted_where_the_simulation_has_some() -> None:
    transcript = agent_run(4, model="gpt-4.1")
    requests = tuple(
        replace(one, usage=Usage(900 + 1_700 * number, 10)) for number, one in enumerate(transcript.requests)
    )
    silent = replayed(replace(transcript, requests=requests), observe()).runs[0]
    assert [note for note in silent.notes if "no reads from the prompt cache" in note]
    cached = (replace(one, usage=Usage(2_000, 10, cache_read_tokens=1_024)) for one in transcript.requests)
    told = replayed(replace(transcript, requests=tuple(cached)), observe()).runs[0]
    assert told.notes == ()


def test_placeholder_outputs_are_left_out_on_both_sides() -> None:
    requests = (replace(one, usage=Usage(900, 1), output_known=False) for one in agent_run(2).requests)
    report = replayed(replace(agent_run(2), requests=tuple(requests)), observe())
    assert report.baseline.requests_unmeasured == report.replayed.requests_unmeasured == 2
    assert report.baseline.output_tokens == 0


def test_a_saving_is_an_upper_bound_with_what_is_left_of_it_when_runs_get_longer() -> None:
    report = replayed(agent_run(), balanced(max_tokens=200))
    outcome, text = report.to_dict(), str(report)
    assert outcome["saved_is_upper_bound"] is True
    assert [row["extra_turns"] for row in outcome["extra_turns"]] == [0, 0.05, 0.15]
    left = [Decimal(row["saved_usd"]) for row in outcome["extra_turns"]]
    assert left[0] == report.saved_usd > left[1] > left[2]
    assert report.break_even is not None
    at_break_even = report.saved_if_longer(Decimal(str(report.break_even)))
    assert abs(at_break_even or 1) < Decimal("1e-9")
    assert "an upper bound" in text and "+15% turns" in text
    assert f"gone if runs get {report.break_even:.0%} longer" in " ".join(text.split())


def test_the_interval_over_runs_holds_the_share_and_is_the_same_every_time() -> None:
    runs = [agent_run(turns, id=f"run {turns}") for turns in range(3, 15)]
    outcomes = [replay(runs, lambda: balanced(max_tokens=100)).to_dict() for _ in range(2)]
    low, high = outcomes[0]["evidence_recall_interval"]
    assert low <= outcomes[0]["evidence_recall"] <= high
    assert outcomes[0]["evidence_recall_interval"] == outcomes[1]["evidence_recall_interval"]
    assert replayed(runs[0], observe()).to_dict()["evidence_recall_interval"] is None


def test_the_json_keeps_its_contract() -> None:
    outcome = json.loads(dumps(replay([agent_run(3)], Hide(), policy="hide").to_dict()))
    assert outcome.keys() >= CONTRACT
    assert {"id", "baseline_usd", "replayed_usd", "evidence_recall", "prefix_rewrites"} <= outcome["tasks"][
        0
    ].keys()
    assert outcome["policy"] == "hide"
    assert isinstance(outcome["saved_usd"], str)


CONTRACT = {
    "policy",
    "baseline",
    "replayed",
    "saved_usd",
    "saved_tokens",
    "prefix_rewrites",
    "peak_tokens",
    "evidence_recall",
    "evidence_recoverable",
    "invalid_requests",
    "tasks",
    "skipped",
}


def test_a_malformed_answer_is_booked_without_its_parts(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    edge = ScriptedModel([reply(text="Done.")])
    drive(ctxkit.Stack(RecordTranscript(path)).model_flow(request_of(ANTHROPIC, [user("Hello")])), edge)
    (transcript,) = load(path)
    broken = [replace(one, answer={"content": 5}) for one in transcript.meta["attempts"]]
    report = replayed(replace(transcript, meta={**transcript.meta, "attempts": broken}), observe())
    assert report.baseline.requests == 1
    assert report.baseline.output_tokens == transcript.requests[0].usage.output_tokens


def test_the_simulations_error_is_said() -> None:
    requests = tuple(
        replace(one, usage=Usage(900 + 1_700 * number, 10), recorded_cost_usd=None)
        for number, one in enumerate(agent_run(3).requests)
    )
    report = replayed(replace(agent_run(3), requests=requests), observe())
    assert report.simulator_error is not None
    text = " ".join(str(report).split())
    assert f"cost {abs(report.simulator_error):.1%}" in text


def test_nothing_to_replay_is_said() -> None:
    report = replay([], observe(), skipped=[EARLIER] * 7)
    assert str(report).startswith("no run was replayed")
    assert "2 more, all of them in the JSON" in str(report)
    assert report.to_dict()["evidence_recall"] is None


def test_a_notebook_shows_the_text_of_many_runs() -> None:
    runs = [agent_run(2, id=f"run <{number}>") for number in range(17)]
    html = replay(runs, observe())._repr_html_()
    assert html.startswith("<pre>") and "run &lt;3&gt;" in html
    assert "By run, the 15 dearest" in html


def test_faults_of_middlewares_are_counted() -> None:
    class Broken(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            raise ValueError("broken")

    report = replayed(agent_run(2), Broken())
    assert report.runs[0].faults == {"Broken: ValueError": 2}
    assert "Broken: ValueError (2 times)" in str(report)


def recorded_runs(name: str, most: int) -> Iterable[Transcript]:
    path = DATA / "transcripts" / name
    if not path.exists():
        pytest.skip("the shared data is not here")
    return [run for _, run in zip(range(most), load(path, on_skip=lambda _: None), strict=False)]


def test_shared_recordings_replay_without_an_invalid_request() -> None:
    runs = recorded_runs("claude_code_misc.jsonl.gz", 8)
    report = replay(runs, balanced(max_tokens=1_000))
    assert len(report.runs) == len(list(runs))
    assert (report.invalid_requests, [one.faults for one in report.runs if one.faults]) == (0, [])
    assert report.saved_tokens > 0
