"""Counting a body or a text, and all requests of a file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ctxkit.counting import CountReport, count, count_file, count_text
from ctxkit.errors import BodyError, ConfigError
from ctxkit.money import rates
from ctxkit.transcripts import Skipped, Transcript, load
from support.bodies import ANTHROPIC, GEMINI, OPENAI, RESPONSES, calls, results, user

TOOL = {"name": "search", "description": "Search the web.", "input_schema": {"type": "object"}}
BODY = {
    "model": "claude-sonnet-5-5",
    "system": "Be brief.",
    "tools": [TOOL],
    "messages": [user("Find cats."), calls(ANTHROPIC, "a"), *results(ANTHROPIC, {"a": "Cats are here."})],
}
CONVERSE = {"messages": [{"role": "user", "content": [{"text": "Hi."}]}], "inferenceConfig": {}}
BODIES = {
    ANTHROPIC: BODY,
    OPENAI: {"model": "gpt-5", "messages": [user("Hi."), calls(OPENAI, "a"), *results(OPENAI, {"a": "x"})]},
    RESPONSES: {"model": "gpt-5", "input": "Hi there, you."},
    GEMINI: {"contents": [{"role": "user", "parts": [{"text": "Hi there, you."}]}]},
    "bedrock_converse": CONVERSE,
}
ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "Here."}]}


def file_of(tmp_path: Path, *records: Any) -> Path:
    """A file of JSON Lines."""
    path = tmp_path / "file.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def counted(path: Path, **options: Any) -> CountReport:
    """What is counted of a file."""

    def runs(skipped: list[Skipped]) -> Iterable[Transcript]:
        return load(path, on_skip=skipped.append)

    return count_file(path.read_bytes(), path="file", runs=runs, **options)


@pytest.mark.parametrize("wire", BODIES)
def test_a_body_of_any_wire_is_counted_by_kind(wire: str) -> None:
    body = BODIES[wire]
    told, named = count(body), count(body, wire=wire)
    assert told == named
    assert told.low <= told.total <= told.high
    assert told.total == sum(told.by_kind.values()) > 0
    assert "user_text" in told.by_kind


def test_a_written_body_counts_as_the_body_itself() -> None:
    written = json.dumps(BODY)
    assert count(written) == count(written.encode()) == count(BODY)


def test_a_named_model_takes_the_place_of_the_bodys_and_leaves_the_body_alone() -> None:
    body = {"model": "claude-sonnet-5-5", "messages": [user("Hi.")]}
    assert count(body, model="gpt-4").model == "gpt-4"
    assert count(body).model == body["model"] == "claude-sonnet-5-5"


@pytest.mark.parametrize("text", ["Hello there, you.", "[1, 2, 3]", "17", '{"half": '])
def test_what_is_written_and_no_json_object_is_a_text(text: str) -> None:
    told = count(text, model="gpt-5")
    assert told == count(text.encode(), model="gpt-5") == count_text(text, model="gpt-5")
    assert told.by_kind == {"text": told.total}


def test_an_openai_models_text_is_counted_exactly() -> None:
    told = count("Hello there, you.", model="gpt-4o")
    assert (told.total, told.low, told.high, told.source) == (5, 5, 5, "exact")


def test_a_text_for_a_model_whose_tokenizer_is_unknown_has_a_band() -> None:
    told = count("Hello there, you. " * 50, model="nobody-knows-1")
    assert told.low < told.total < told.high
    assert told.source == "estimated"


def test_a_long_text_that_is_counted_by_samples_is_not_called_exact() -> None:
    pytest.importorskip("ctok")
    short, long = (
        count("Hello there. " * 100, model="claude-opus-4-5"),
        count("Hello there. " * 2_000, model="claude-opus-4-5"),
    )
    assert (short.source, long.source) == ("exact", "estimated")
    assert long.low < long.total < long.high


def test_any_bytes_are_a_text() -> None:
    assert count(b"\xff\xfe\x00").total > 0


def test_a_wire_that_does_not_exist_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(ConfigError, match="unknown wire 'soap'; known wires: anthropic_messages, ") as raised:
        count(BODY, wire="soap")
    assert raised.value.option == "wire"


def test_an_object_that_is_no_request_is_refused_with_the_way_out() -> None:
    with pytest.raises(BodyError, match="name its wire if it is one"):
        count({"name": "ctxkit"})
    with pytest.raises(BodyError, match="name its wire if it is one"):
        count('{"name": "ctxkit"}')


def test_a_malformed_body_is_refused_with_its_place() -> None:
    with pytest.raises(BodyError) as raised:
        count({"messages": [user("Hi."), {"role": "user", "content": 7}]})
    assert raised.value.where == ("messages", 1, "content")


def test_a_text_under_a_named_wire_is_refused() -> None:
    with pytest.raises(BodyError, match="leave the wire out to count a text"):
        count("Hello.", wire=OPENAI)


def test_a_file_with_a_body_is_one_request_with_all_its_keys(tmp_path: Path) -> None:
    body = {**BODY, "tool_choice": {"type": "any"}, "messages": [*BODY["messages"], ANSWER]}
    (request,) = counted(file_of(tmp_path, body)).requests
    assert request.count == count(body)
    assert request.prompt is not None
    assert request.prompt.body["tool_choice"] == {"type": "any"}


def test_a_body_over_many_lines_is_read(tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_text("\n" + json.dumps(BODY, indent=2))
    (request,) = counted(path).requests
    assert request.count == count(BODY)


def test_a_body_that_no_log_format_knows_is_still_one(tmp_path: Path) -> None:
    (request,) = counted(file_of(tmp_path, {"input": "Hi there."}), model="gpt-5").requests
    assert request.count == count({"input": "Hi there."}, model="gpt-5")


def test_a_list_of_messages_is_one_request(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([user("Hi."), ANSWER, user("Go on.")]))
    (request,) = counted(path).requests
    assert request.count.by_kind.keys() == {"user_text", "assistant_text"}


def test_each_line_of_bodies_is_a_request_with_its_line(tmp_path: Path) -> None:
    path = file_of(tmp_path, BODIES[OPENAI], BODY)
    report = counted(path)
    assert [request.line for request in report.requests] == [1, 2]
    assert [request.count for request in report.requests] == [count(BODIES[OPENAI]), count(BODY)]
    (second,) = counted(path, line=2).requests
    assert second.count == count(BODY)


def test_bodies_in_a_list_are_requests(tmp_path: Path) -> None:
    path = tmp_path / "bodies.json"
    path.write_text(json.dumps([BODIES[OPENAI], BODIES[RESPONSES]]))
    assert len(counted(path).requests) == 2


def test_a_recorded_pair_says_what_was_reported(tmp_path: Path) -> None:
    pair = {"api": "messages", "model": "claude-sonnet-5-5", "request": BODY, "usage": {"input_tokens": 77}}
    (request,) = counted(file_of(tmp_path, pair)).requests
    assert request.count == count(BODY)
    assert request.reported_tokens == 77


def test_every_request_of_a_recorded_run_is_counted(tmp_path: Path) -> None:
    known = {"id": "run", "family": "f", "format": "anthropic-messages", "model": "claude-sonnet-5-5"}
    meta = {"incomplete": "no system prompt"}
    run = {**known, "meta": meta, "messages": [user("Hi."), ANSWER, user("Go on."), ANSWER]}
    report = counted(file_of(tmp_path, run))
    assert [(request.line, request.request) for request in report.requests] == [(1, 1), (1, 2)]
    first, second = (request.count.total for request in report.requests)
    assert first < second
    assert report.largest.request == 2
    assert report.largest.incomplete == "no system prompt"


def test_what_the_provider_keeps_is_said_to_be_left_out(tmp_path: Path) -> None:
    goes_on = {"model": "gpt-5", "previous_response_id": "resp_1", "input": "Go on."}
    report = counted(file_of(tmp_path, goes_on, BODIES[RESPONSES], CONVERSE))
    assert [request.incomplete is None for request in report.requests] == [False, True, True]


def test_a_request_of_which_the_log_shows_no_message_is_left_out(tmp_path: Path) -> None:
    run = {"id": "run", "family": "f", "format": "anthropic-messages", "model": "m", "meta": {}}
    report = counted(file_of(tmp_path, {**run, "messages": [ANSWER, user("Go on."), ANSWER]}))
    assert [request.request for request in report.requests] == [2]


@pytest.mark.parametrize("content", [b"Hello there.", b"", b"[1, 2]\n", b"7\n8\n", b'"a"'])
def test_a_file_without_json_objects_is_a_text(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(content)
    (request,) = counted(path, model="gpt-5").requests
    assert request.count == count_text(content.decode(), model="gpt-5")
    assert request.blocks() == []


def test_what_of_a_file_is_no_request_is_told_with_its_line(tmp_path: Path) -> None:
    path = file_of(tmp_path, BODY, {"messages": [{"role": "user", "content": 7}]})
    path.write_text(path.read_text() + "{damaged\n")
    report = counted(path)
    assert len(report.requests) == 1
    assert sorted((part.path, part.line) for part in report.skipped) == [("file", 2), ("file", 3)]


def test_blocks_have_their_place_and_their_tokens(tmp_path: Path) -> None:
    (request,) = counted(file_of(tmp_path, BODY)).requests
    blocks = request.blocks()
    assert [(block.kind, block.tool, block.message) for block in blocks] == [
        ("tool_definition", "search", None),
        ("system", None, None),
        ("user_text", None, 0),
        ("tool_call", "search", 1),
        ("tool_result", "search", 2),
    ]
    assert blocks[3].where == ("messages", 1, "content", 0)
    assert all(block.tokens > 0 for block in blocks)


def test_the_input_is_priced_uncached_and_as_read_from_the_cache(tmp_path: Path) -> None:
    (request,) = counted(file_of(tmp_path, BODY)).requests
    known = rates("claude-sonnet-5-5")
    assert known is not None
    assert known.cache_read is not None
    tokens = request.count.total
    assert request.dollars() == (known.input * tokens / 1_000_000, known.cache_read * tokens / 1_000_000)


def test_a_model_without_a_rate_for_cached_input_has_no_price_for_it(tmp_path: Path) -> None:
    (request,) = counted(file_of(tmp_path, {**BODY, "model": "gpt-4"})).requests
    plain, read = request.dollars()
    assert plain is not None
    assert read is None


def test_an_unknown_model_has_no_price_and_neither_has_a_sum_with_it(tmp_path: Path) -> None:
    strange = {**BODY, "model": "nobody-knows-1"}
    report = counted(file_of(tmp_path, BODY, strange))
    assert report.requests[1].dollars() == (None, None)
    assert report.dollars() == (None, None)
    assert report.to_dict()["uncached_usd"] is None


def test_the_json_sums_up_requests_and_shows_the_largest(tmp_path: Path) -> None:
    report = counted(file_of(tmp_path, BODY, BODIES[OPENAI]))
    told = report.to_dict()
    totals = [request.count.total for request in report.requests]
    assert told["total_tokens"] == sum(totals) == sum(told["by_kind"].values())
    assert told["model"] is None
    assert [tool["name"] for tool in told["tools"]] == ["search"]
    assert len(told["blocks"]) == len(report.largest.blocks())
    assert [row["total_tokens"] for row in told["requests"]] == totals
    assert float(told["uncached_usd"]) == pytest.approx(
        sum(float(row["uncached_usd"]) for row in told["requests"])
    )


def test_a_long_recorded_run_is_counted_in_the_time_of_what_is_new(tmp_path: Path) -> None:
    turns = [message for number in range(200) for message in (user(f"Step {number}."), ANSWER)]
    run = {"id": "run", "family": "f", "format": "anthropic-messages", "model": "m", "meta": {}}
    report = counted(file_of(tmp_path, {**run, "messages": turns}))
    prompts = [request.prompt for request in report.requests]
    assert len(prompts) == 200
    assert prompts[0] is not None
    assert prompts[-1] is not None
    assert prompts[0].turns[0] is prompts[-1].turns[0]
