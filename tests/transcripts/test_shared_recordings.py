"""Every shared recording is read whole: counts and sums against figures worked out here from the raw JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxkit.transcripts import RecordedRequest, Skipped, Transcript, load

Lines = Callable[[Path], Iterator[Any]]
FAMILIES = [
    "cassette_loops",
    "claude_code_entire-01",
    "claude_code_entire-02",
    "claude_code_misc",
    "codex",
    "copilot_chat",
    "copilot_sdk_snapshots",
    "inspect_logs",
    "moatless",
    "openhands",
    "pi_coding_agent",
    "swe_agent_repo",
    "swe_agent_text",
    "tau2_gpt41",
    "tau_airline_gpt4o",
]
UNKNOWN_FORMATS = ["copilot_cli", "gemini_cli_responses", "kimi"]


def read(path: Path) -> tuple[list[Transcript], list[Skipped]]:
    skipped: list[Skipped] = []
    return list(load(path, on_skip=skipped.append)), skipped


def requests_of(transcripts: list[Transcript]) -> list[RecordedRequest]:
    return [request for transcript in transcripts for request in transcript.requests]


def sums(transcripts: list[Transcript]) -> tuple[int, int]:
    used = [request.usage for request in requests_of(transcripts) if request.usage is not None]
    return sum(usage.input_tokens or 0 for usage in used), sum(usage.output_tokens or 0 for usage in used)


def number(native: dict[str, Any], *names: str) -> int:
    return sum(native.get(name) or 0 for name in names)


def native_sums(native: Any) -> tuple[int, int]:
    """Input and output of one native usage, by the providers' own documentation."""
    native = native or {}
    native = native.get("last_token_usage", native)
    if "prompt_tokens" in native:
        reasoning = (native.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
        left_out = (
            native.get("total_tokens") == number(native, "prompt_tokens", "completion_tokens") + reasoning
        )
        left_out = left_out or reasoning > native["completion_tokens"]
        return native["prompt_tokens"], native["completion_tokens"] + (reasoning if left_out else 0)
    if "promptTokenCount" in native:
        sent = number(native, "promptTokenCount", "toolUsePromptTokenCount")
        return sent, native["totalTokenCount"] - sent
    if "inputTokens" in native:
        return native["totalTokens"] - native["outputTokens"], native["outputTokens"]
    if "cacheRead" in native:
        return number(native, "input", "cacheRead", "cacheWrite"), native["output"]
    sent = number(native, "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sent, number(native, "output_tokens") if sent else 0


def generated(message: dict[str, Any]) -> bool:
    return message["role"] == "assistant" and not message.get("is_demo")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_line_of_the_corpus_is_a_transcript_with_its_requests(
    shared_data: Path, raw_lines: Lines, family: str
) -> None:
    path = shared_data / "transcripts" / f"{family}.jsonl.gz"
    lines = list(raw_lines(path))
    transcripts, skipped = read(path)
    assert skipped == []
    assert [transcript.id for transcript in transcripts] == [line["id"] for line in lines]
    assert [len(transcript.messages) for transcript in transcripts] == [
        len(line["messages"]) for line in lines
    ]
    assert [len(transcript.requests) for transcript in transcripts] == [
        sum(map(generated, line["messages"])) if line["usage"] is None else len(line["usage"])
        for line in lines
    ]
    natives = [native_sums(entry["usage"]) for line in lines for entry in line["usage"] or []]
    assert sums(transcripts) == (sum(sent for sent, _ in natives), sum(back for _, back in natives))


def test_every_family_of_the_corpus_is_tested(shared_data: Path) -> None:
    assert sorted(path.name for path in (shared_data / "transcripts").glob("*.gz")) == [
        f"{family}.jsonl.gz" for family in FAMILIES
    ]


def test_recorded_costs_are_kept(shared_data: Path, raw_lines: Lines) -> None:
    path = shared_data / "transcripts" / "tau2_gpt41.jsonl.gz"
    costs = [entry["cost"] for line in raw_lines(path) for entry in line["usage"]]
    kept = [request.recorded_cost_usd for request in requests_of(read(path)[0])]
    assert [float(cost) for cost in kept if cost is not None] == costs


def test_session_files_of_claude_code_count_each_answer_once(shared_data: Path, raw_lines: Lines) -> None:
    folder = shared_data / "raw" / "claude_code"
    answers: dict[Any, Any] = {}
    for path in sorted(folder.glob("*.gz")):
        in_file: dict[str, Any] = {}
        for line in raw_lines(path):
            if isinstance(line, dict) and line.get("type") == "assistant":
                message = line["message"]
                request_id, _ = in_file.get(message["id"], (None, None))
                in_file[message["id"]] = (line.get("requestId") or request_id, message["usage"])
                if message["model"] == "<synthetic>":
                    del in_file[message["id"]]
        for message_id, (request_id, usage) in in_file.items():
            answers.setdefault((message_id, request_id), usage)
    transcripts, skipped = read(folder)
    natives = [native_sums(usage) for usage in answers.values()]
    assert len(requests_of(transcripts)) == len(answers) == 177
    assert sums(transcripts) == (sum(sent for sent, _ in natives), sum(back for _, back in natives))
    assert Counter(Path(skip.path).name for skip in skipped) == {
        "cclog-edge_cases.jsonl.gz": 7,
        "happy-completed.jsonl.gz": 1,
        "happy-duplicate-assistant-response-2.jsonl.gz": 1,
        "vscode-c8bcb3a7-8728-4d76-9aae-1cbaf2350114.jsonl.gz": 1,
    }


def test_a_session_file_agrees_with_its_line_in_the_corpus(shared_data: Path) -> None:
    (session,), _ = read(shared_data / "raw" / "claude_code" / "entire-06863448ed.jsonl.gz")
    (line,) = [
        transcript
        for transcript in load(shared_data / "transcripts" / "claude_code_entire-01.jsonl.gz")
        if transcript.id == "entire-06863448ed"
    ]
    assert session.messages == line.messages
    assert [(r.input_messages, r.usage) for r in session.requests] == [
        (r.input_messages, r.usage) for r in line.requests
    ]
    assert [mark["at"] for mark in session.meta["marks"]] == [line.meta["marks"][0]["at"]]


def test_every_tool_result_of_a_session_file_follows_its_call(shared_data: Path) -> None:
    for transcript in read(shared_data / "raw" / "claude_code")[0]:
        called: set[str] = set()
        for message in transcript.messages:
            parts = message["content"] if isinstance(message["content"], list) else []
            results = {part["tool_use_id"] for part in parts if part["type"] == "tool_result"}
            assert results <= called, (transcript.path, results - called)
            called |= {part["id"] for part in parts if part["type"] == "tool_use"}


def test_stream_json_agrees_with_the_totals_that_it_prints(shared_data: Path, raw_lines: Lines) -> None:
    folder = shared_data / "raw" / "claude_code_stream_json"
    for path in sorted(folder.glob("*.gz")):
        (result,) = [line for line in raw_lines(path) if line["type"] == "result"]
        (transcript,), skipped = read(path)
        assert skipped == []
        sent, back = sums([transcript])
        assert sent == native_sums(result["usage"])[0]
        if all(request.output_known for request in transcript.requests):
            assert back == result["usage"]["output_tokens"]
    assert len(requests_of(read(folder)[0])) == 11


def test_recordings_of_the_sdk_hold_the_prompt(shared_data: Path) -> None:
    basic, with_tools = read(shared_data / "raw" / "claude_agent_sdk")[0]
    assert basic.messages[0] == {"role": "user", "content": "What is 2+2?"}
    assert (len(basic.requests), len(with_tools.requests)) == (1, 2)


def test_rollouts_of_codex_count_each_total_once(shared_data: Path) -> None:
    large, small = read(shared_data / "raw" / "codex")[0]
    assert (large.model, large.provider, small.provider) == ("gpt-5.2", "openai", "openai")
    assert [len(transcript.requests) for transcript in (large, small)] == [1, 2]
    assert sums([large, small]) == (12091 + 16341, 182 + 81)


def test_the_session_of_pi_agrees_with_its_own_totals(shared_data: Path, raw_lines: Lines) -> None:
    path = shared_data / "raw" / "pi" / "compact.jsonl.gz"
    answers = [line["message"] for line in raw_lines(path) if line["type"] == "message"]
    usages = [answer["usage"] for answer in answers if answer["role"] == "assistant"]
    (session,), skipped = read(path)
    assert skipped == []
    assert len(session.requests) == len(usages)
    assert sum(sums([session])) == sum(usage["totalTokens"] for usage in usages)
    costs = [request.recorded_cost_usd for request in session.requests]
    assert float(sum(cost for cost in costs if cost)) == pytest.approx(
        sum(usage["cost"]["total"] for usage in usages)
    )


@pytest.mark.parametrize("folder", UNKNOWN_FORMATS)
def test_formats_that_are_not_read_are_skipped_with_a_reason(shared_data: Path, folder: str) -> None:
    transcripts, skipped = read(shared_data / "raw" / folder)
    assert transcripts == []
    assert {skip.reason for skip in skipped} == {"no transcript format that is known here"}
    assert len(skipped) == len(list((shared_data / "raw" / folder).glob("*.gz")))


def test_every_pair_has_the_input_that_was_billed(shared_data: Path, raw_lines: Lines) -> None:
    for path in sorted((shared_data / "usage_truth").glob("*.gz")):
        pairs = [
            pair for pair in raw_lines(path) if not pair["api"].lower().replace("_", "").endswith("tokens")
        ]
        transcripts, _ = read(path)
        assert [transcript.id for transcript in transcripts] == [pair["id"] for pair in pairs]
        for transcript, pair in zip(transcripts, pairs, strict=True):
            (request,) = transcript.requests
            assert request.usage is not None
            assert (request.usage.input_tokens, request.usage.output_tokens) == native_sums(pair["usage"])
            assert request.input_messages <= len(transcript.messages)


def test_everything_that_is_read_can_be_written_as_json(shared_data: Path) -> None:
    for transcript in load(shared_data / "raw", on_skip=lambda skipped: None):
        json.dumps([transcript.messages, transcript.tools, transcript.system, dict(transcript.meta)])
