"""The recording that ships with the demo: where it comes from, its two shapes, and its tools."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from ctxkit.demo.extract import extract
from ctxkit.demo.recorded import (
    RECORDING,
    Outcome,
    RecordedTools,
    as_anthropic,
    recorded_bill,
    recorded_outcome,
    recording,
    user_turns,
)

DATA = Path(__file__).parents[3] / "shared" / "data"
CREDITS = RECORDING.with_name("CREDITS.md")


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data is not here")
def test_the_extract_command_gives_the_shipped_file_byte_for_byte() -> None:
    command = [sys.executable, "-m", "ctxkit.demo.extract", str(DATA)]
    assert subprocess.run(command, capture_output=True, check=True).stdout == RECORDING.read_bytes()


def corpus(folder: Path, *lines: bytes) -> Path:
    """A corpus of these lines."""
    path = folder / "transcripts" / "tau2_gpt41.jsonl.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(b"".join(lines)))
    return folder


def test_the_recording_s_line_is_found_among_others(tmp_path: Path) -> None:
    made = corpus(tmp_path, b'{"id": "another"}\n', RECORDING.read_bytes(), b'{"id": "a third"}\n')
    assert extract(made) == RECORDING.read_bytes()


def test_extracting_from_a_corpus_without_the_recording_says_so(tmp_path: Path) -> None:
    made = corpus(tmp_path, b'{"id": "another"}\n')
    with pytest.raises(LookupError, match="holds no recording 'tau2-airline-default-920a69e8'"):
        extract(made)


def test_the_recording_is_small() -> None:
    assert RECORDING.stat().st_size < 60_000


def test_the_credits_name_the_recording_s_origin_and_licence() -> None:
    credits = CREDITS.read_text(encoding="utf-8")
    source = recording().meta["source"]
    for named in (RECORDING.name, source["repo"], source["commit"], source["path"], source["licence"]):
        assert named in credits
    assert "Copyright (c) 2025 Sierra Research" in credits
    assert "Permission is hereby granted, free of charge" in credits


def test_the_run_goes_from_the_user_s_first_message_to_the_last_answer() -> None:
    run = recording()
    assert [message["role"] for message in run.messages[:2]] == ["system", "user"]
    assert run.messages[-1]["role"] == "assistant"
    assert user_turns(run)[0].startswith("Hi! I have a flight booked from Atlanta to Philadelphia")
    assert len(user_turns(run)) == 5


def test_every_request_of_the_run_is_answered_by_the_message_behind_it() -> None:
    run = recording()
    answers = [run.messages[request.input_messages]["role"] for request in run.requests]
    assert answers == ["assistant"] * 10


def test_the_recorded_bill_is_what_openai_reported() -> None:
    assert recorded_bill(recording()) == {
        "model": "gpt-4.1",
        "requests": 10,
        "input_tokens": 49_829,
        "output_tokens": 761,
        "cost_usd": "0.047378",
    }


def test_parallel_results_go_into_the_user_message_behind_their_calls() -> None:
    messages = as_anthropic(recording(), model="m").messages
    called = [
        [part["id"] for part in message["content"] if part["type"] == "tool_use"]
        for message in messages
        if message["role"] == "assistant"
    ]
    answered = [
        [part["tool_use_id"] for part in message["content"]]
        for message in messages
        if message["role"] == "user" and isinstance(message["content"], list)
    ]
    assert answered == [ids for ids in called if ids]
    assert max(map(len, answered)) == 2


def test_the_anthropic_shape_has_the_same_system_prompt_and_tools() -> None:
    run = recording()
    shaped = as_anthropic(run, model="claude")
    assert (shaped.wire, shaped.model) == ("anthropic_messages", "claude")
    assert shaped.system == run.messages[0]["content"]
    functions = [tool["function"] for tool in run.tools]
    assert [(tool["name"], tool["description"], tool["input_schema"]) for tool in shaped.tools] == [
        (function["name"], function["description"], function["parameters"]) for function in functions
    ]


def test_both_shapes_say_and_call_the_same() -> None:
    run = recording()
    said = [
        part
        for message in as_anthropic(run, model="m").messages
        if message["role"] == "assistant"
        for part in message["content"]
    ]
    assert recorded_outcome(run) == Outcome(
        answers=[part["text"] for part in said if part["type"] == "text"],
        tool_calls=[(part["name"], part["input"]) for part in said if part["type"] == "tool_use"],
    )


def test_shaping_a_run_leaves_it_as_it_was() -> None:
    run = recording()
    before = json.dumps([run.tools, run.messages])
    as_anthropic(run, model="m")
    assert json.dumps([run.tools, run.messages]) == before


def test_a_tool_gives_what_it_gave_to_the_same_call() -> None:
    tools = RecordedTools(recording())
    details = json.loads(tools.run("get_reservation_details", {"reservation_id": "UHDAHF"}))
    assert details["reservation_id"] == "UHDAHF"
    assert tools.calls == [("get_reservation_details", {"reservation_id": "UHDAHF"})]


def test_every_recorded_call_has_its_result_once() -> None:
    tools = RecordedTools(recording())
    calls = recorded_outcome(recording()).tool_calls
    for name, arguments in calls:
        tools.run(name, arguments)
    assert tools.calls == calls
    with pytest.raises(LookupError, match="the recorded run has no such call left: get_user_details"):
        tools.run(*calls[0])


def test_a_call_that_was_never_made_is_refused() -> None:
    with pytest.raises(LookupError, match=r"no such call left: calculate\(\{\}\)"):
        RecordedTools(recording()).run("calculate", {})
