"""Our own format: what was recorded comes back byte for byte, and damage costs no more than it must."""

from __future__ import annotations

import json
import tracemalloc
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ctxkit
from ctxkit.drive import run
from ctxkit.flow import ask_model
from ctxkit.middleware.record_transcript import RecordTranscript
from ctxkit.profile import profile
from ctxkit.testing import ScriptedModel, reply
from ctxkit.transcripts import Skipped, Transcript, load
from ctxkit.transcripts.recording import Body, Recording
from ctxkit.transcripts.requests import request_body
from ctxkit.wire.native import dumps
from support.bodies import ANTHROPIC, of_body, request_of, rounds, user
from support.histories import BODIES, MESSAGE_KEYS

EDGE = ScriptedModel(lambda body, call: reply(text=f"Answer {call}."))
LINE = {
    "kind": "attempt",
    "run": "r",
    "task": "t",
    "started": 100.0,
    "seconds": 1.0,
    "purpose": "main",
    "wire": ANTHROPIC,
    "outcome": "billed",
}


def loaded(path: Path) -> tuple[list[Transcript], list[Skipped]]:
    skipped: list[Skipped] = []
    return list(load(path, on_skip=skipped.append)), skipped


def attempts(transcripts: list[Transcript]) -> list[Any]:
    return [attempt for transcript in transcripts for attempt in transcript.meta["attempts"]]


def record(recorder: RecordTranscript, body: dict[str, Any], *, wire: str = ANTHROPIC) -> None:
    run(recorder.wrap_model_call(of_body(wire, body), ask_model), EDGE)


def loop(recorder: RecordTranscript, turns: int, *, words: int = 3) -> None:
    for turn in range(1, turns + 1):
        messages = rounds(ANTHROPIC, [f"{number} " + "word " * words for number in range(turn)])
        record(recorder, {"model": "claude-sonnet-5", "messages": messages})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


KINDS = st.sampled_from(sorted(BODIES)).flatmap(lambda wire: st.tuples(st.just(wire), BODIES[wire]))


@given(st.lists(KINDS, min_size=1, max_size=5), st.integers(1, 4_000))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_same_requests_come_back_byte_for_byte(
    path: Path, drawn: list[tuple[str, dict[str, Any]]], section_bytes: int
) -> None:
    path.unlink(missing_ok=True)
    recording = Recording(path, section_bytes=section_bytes)
    bodies = []
    for wire, body in drawn:
        key = MESSAGE_KEYS[wire]
        grown = {**body, key: [*body[key], *body[key][:1]]}
        bodies += [(wire, body), (wire, grown), (wire, {**grown, key: grown[key][1:]})]
    for number, (wire, body) in enumerate(bodies):
        fields = {**LINE, "id": str(number), "wire": wire}
        request = Body(body, MESSAGE_KEYS[wire])
        recording.add(fields, bodies={"request": request}, answer={"number": number})
    transcripts, skipped = loaded(path)
    read = sorted(attempts(transcripts), key=lambda one: int(one.fields["id"]))
    assert skipped == []
    assert [dumps(one.request) for one in read] == [dumps(body) for _, body in bodies]
    assert [one.answer for one in read] == [{"number": number} for number in range(len(bodies))]


def test_a_growing_history_is_one_run(path: Path) -> None:
    loop(RecordTranscript(path), 4)
    (transcript,), skipped = loaded(path)
    assert skipped == []
    assert [request.input_messages for request in transcript.requests] == [3, 5, 7, 9]
    assert transcript.messages[:9] == rounds(ANTHROPIC, [f"{number} word word word " for number in range(4)])
    assert transcript.messages[9]["role"] == "assistant"


def test_histories_that_go_on_side_by_side_are_runs_of_their_own(path: Path) -> None:
    recorder = RecordTranscript(path)
    for turns in range(1, 4):
        for name in ("a", "b"):
            record(recorder, {"messages": rounds(ANTHROPIC, [f"{name} {turn}" for turn in range(turns)])})
            record(recorder, {"system": name, "messages": [user("Hi.")] * turns})
    transcripts, _ = loaded(path)
    assert [len(one.requests) for one in transcripts] == [3, 3, 3, 3]
    assert len({one.id for one in transcripts}) == 4
    assert [one.system for one in transcripts] == [None, "a", None, "b"]


def test_a_history_that_was_rewritten_is_a_run_of_its_own(path: Path) -> None:
    recorder = RecordTranscript(path)
    for messages in (rounds(ANTHROPIC, ["a"]), rounds(ANTHROPIC, ["a", "b"]), [user("In short: a, b.")]):
        record(recorder, {"messages": messages})
    before, after = loaded(path)[0]
    assert [request.input_messages for request in before.requests] == [3, 5]
    assert [request.input_messages for request in after.requests] == [1]


def test_edits_of_every_request_do_not_write_the_history_again(path: Path) -> None:
    stack = ctxkit.Stack(ctxkit.TruncateToolResults(max_tokens=100), RecordTranscript(path))
    texts = [f"{number} " + "word\n" * 400 for number in range(30)]
    sizes = [0]
    for turns in range(1, 31):
        run(stack.model_flow(request_of(ANTHROPIC, rounds(ANTHROPIC, texts[:turns]))), EDGE)
        sizes.append(path.stat().st_size)
    last = attempts(loaded(path)[0])[-1]
    assert len(dumps(last.sent)) < len(dumps(last.request)) / 2
    assert sizes[-1] - sizes[-2] < 2 * (sizes[3] - sizes[2])


def test_runs_go_on_over_many_sections(path: Path) -> None:
    recording = Recording(path, section_bytes=2_000)
    histories = [
        rounds(ANTHROPIC, [f"{loop} {number}" for number in range(turn)])
        for loop in range(20)
        for turn in range(1, 6)
    ]
    for number, messages in enumerate(histories):
        body = Body({"model": "m", "messages": messages}, "messages")
        recording.add({**LINE, "id": str(number)}, bodies={"request": body})
    sections = [json.loads(line)["section"] for line in path.read_bytes().splitlines()]
    transcripts, _ = loaded(path)
    assert len(set(sections)) > 2
    assert any(sections[at] != sections[at + 1] for at in range(len(sections) - 1) if at % 5 != 4)
    assert [len(one.requests) for one in transcripts] == [5] * 20
    assert [one.request["messages"] for one in attempts(transcripts)] == histories


def test_a_section_is_not_ended_while_most_of_it_would_be_written_again(path: Path) -> None:
    recording = Recording(path, section_bytes=100)
    for number in range(20):
        messages = [user("long " * 2_000), *[user(str(one)) for one in range(number)]]
        recording.add(
            {**LINE, "id": str(number)}, bodies={"request": Body({"messages": messages}, "messages")}
        )
    assert path.stat().st_size < 20_000


def test_a_damaged_line_costs_what_it_held_and_no_usage_of_others(path: Path) -> None:
    loop(RecordTranscript(path), 4)
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], lines[1][:50], *lines[2:]]))
    (whole, lost), skipped = loaded(path)
    assert [skip.line for skip in skipped] == [2]
    assert [len(one.requests) for one in (whole, lost)] == [1, 2]
    assert lost.incomplete == "a part of what was sent stood in a line that can't be read"
    assert all(request.usage is not None for request in lost.requests)
    assert [one.request for one in attempts([lost])] == [None, None]


@pytest.mark.parametrize(
    "change",
    [
        {"kind": None},
        {"id": []},
        {"parts": 7},
        {"parts": {"first": {}}},
        {"wire": "telepathy"},
        {"started": "yesterday"},
        {"usage": {"media": 7}},
        {"ctxkit_transcript": 2},
        {"purpose": {}},
    ],
)
def test_a_line_that_makes_no_sense_is_reported_and_the_rest_is_read(
    path: Path, change: dict[str, Any]
) -> None:
    loop(RecordTranscript(path), 2)
    first, second = path.read_bytes().splitlines()
    odd = dumps({**json.loads(second), "id": "odd", **change})
    path.write_bytes(b"\n".join([first, second, odd]))
    transcripts, skipped = loaded(path)
    assert [len(one.requests) for one in transcripts] == [2]
    assert all(skip.line == 3 and skip.reason.startswith("not a line of a ctxkit") for skip in skipped)
    assert len(skipped) == (change != {"kind": None})


def test_lines_of_a_kind_that_is_not_known_yet_are_passed_over(path: Path) -> None:
    loop(RecordTranscript(path), 1)
    with path.open("ab") as file:
        file.write(b'{"ctxkit_transcript":1,"kind":"remark","run":"r","section":"s"}\n')
    transcripts, skipped = loaded(path)
    assert (len(transcripts), skipped) == (1, [])


def test_a_clock_that_went_back_is_reported_and_the_order_of_the_lines_counts(path: Path) -> None:
    times = iter([1_000.0, 1_001.0, 400.0, 401.0, 402.0, 403.0])
    loop(RecordTranscript(path, clock=lambda: next(times)), 3)
    (transcript,), (skipped,) = loaded(path)
    assert [request.input_messages for request in transcript.requests] == [3, 5, 7]
    assert (skipped.line, skipped.reason) == (
        2,
        "the clock had gone back by 600 s; the order of the lines counts",
    )


def test_time_never_runs_backwards_within_an_attempt(path: Path) -> None:
    times = iter([1_000.0, 900.0])
    loop(RecordTranscript(path, clock=lambda: next(times)), 1)
    assert attempts(loaded(path)[0])[0].fields["seconds"] == 0


def test_a_run_that_was_copied_counts_once(path: Path) -> None:
    loop(RecordTranscript(path), 3)
    copy = path.with_name("copy.jsonl")
    copy.write_bytes(path.read_bytes() * 2)
    skipped: list[Skipped] = []
    transcripts = list(load(path, copy, on_skip=skipped.append))
    assert [len(one.requests) for one in transcripts] == [3]
    assert [skip.reason for skip in skipped] == ["6 attempts stand in what was read before"]


def test_each_run_is_given_as_soon_as_it_has_ended(path: Path) -> None:
    recorder = RecordTranscript(path)
    for number in range(40):
        with ctxkit.task(f"task {number}"):
            record(recorder, {"messages": [user("x" * 200_000 + str(number))]})
    tracemalloc.start()
    names = [one.meta["task"] for one in load(path)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert names == [f"task {number}" for number in range(40)]
    assert peak < 12_000_000


def test_the_bill_of_a_recorded_loop_is_the_one_that_was_metered(path: Path) -> None:
    with ctxkit.task("fix") as task:
        stack = ctxkit.Stack(ctxkit.TokenMeter(), RecordTranscript(path))
        for turns in range(1, 6):
            request = request_of(
                ANTHROPIC, rounds(ANTHROPIC, ["word " * 50] * turns), model="claude-sonnet-5"
            )
            run(stack.model_flow(request), ScriptedModel([reply(text="Done.")]))
    metered, recorded = task.report().totals, profile(load(path)).totals
    assert recorded.input_tokens == metered.input_tokens
    assert recorded.output_tokens == metered.output_tokens


@pytest.mark.parametrize("name", ["cassette_loops", "tau2_gpt41", "claude_code_misc"])
def test_real_requests_come_back_byte_for_byte_from_a_much_smaller_file(
    path: Path, shared_data: Path, name: str
) -> None:
    runs = load(shared_data / "transcripts" / f"{name}.jsonl.gz", on_skip=lambda skipped: None)
    recording, written = Recording(path), []
    for number, run_of in enumerate(islice((one for one in runs if one.wire in MESSAGE_KEYS), 10)):
        for recorded in run_of.requests:
            body = request_body(run_of, recorded)
            fields = {**LINE, "id": str(len(written)), "run": str(number), "wire": run_of.wire}
            recording.add(fields, bodies={"request": Body(body, MESSAGE_KEYS[run_of.wire])})
            written.append(dumps(body))
    transcripts, _ = loaded(path)
    read = sorted(attempts(transcripts), key=lambda one: int(one.fields["id"]))
    assert [dumps(one.request) for one in read] == written
    assert path.stat().st_size < sum(map(len, written)) / 2
