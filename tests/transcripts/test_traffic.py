"""Recorded HTTP traffic, in HAR files and cassettes: its model calls become runs, and nothing else does."""

from __future__ import annotations

import base64
import gzip
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ctxkit.transcripts import Skipped, Transcript, load
from ctxkit.wire import wire_named
from support.bodies import ANTHROPIC, GEMINI, OPENAI, RESPONSES, WIRES, answer_body, calls, results, user

URLS = {
    ANTHROPIC: "https://api.anthropic.com/v1/messages?key=s3cret",
    OPENAI: "https://me:s3cret@api.openai.com/v1/chat/completions",
    RESPONSES: "https://mine.openai.azure.com/openai/v1/responses",
    GEMINI: "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
}
HEADERS = {"authorization": "Bearer s3cret", "x-api-key": "s3cret"}
HISTORY = [user("Hi."), calls(ANTHROPIC, "a"), *results(ANTHROPIC, {"a": "Found."})]


def entry(url: str, request: Any, answer: Any, **more: Any) -> dict[str, Any]:
    """One request with its answer, in no file's shape."""
    given = {"method": "POST", "status": 200, "type": "application/json", "when": "2026-11-30T12:00:00Z"}
    return {**given, "url": url, "request": request, "answer": answer, **more}


def packed(content: Any) -> bytes:
    return content if isinstance(content, bytes) else json.dumps(content).encode()


def har(*entries: Mapping[str, Any]) -> bytes:
    def written(one: Mapping[str, Any]) -> dict[str, Any]:
        answer = base64.b64encode(packed(one["answer"])).decode()
        return {
            "startedDateTime": one["when"],
            "request": {
                "method": one["method"],
                "url": one["url"],
                "headers": [{"name": name, "value": value} for name, value in HEADERS.items()],
                "postData": {"mimeType": "application/json", "text": packed(one["request"]).decode()},
            },
            "response": {
                "status": one["status"],
                "content": {"mimeType": one["type"], "text": answer, "encoding": "base64"},
            },
        }

    log = {"version": "1.2", "creator": {"name": "me"}, "entries": list(map(written, entries))}
    return json.dumps({"log": log}, indent=1).encode()


def cassette(*entries: Mapping[str, Any]) -> bytes:
    def written(one: Mapping[str, Any]) -> dict[str, Any]:
        answer = base64.b64encode(packed(one["answer"])).decode()
        return {
            "request": {
                "method": one["method"],
                "uri": one["url"],
                "body": packed(one["request"]).decode(),
                "headers": {name: [value] for name, value in HEADERS.items()},
            },
            "response": {
                "status": {"code": one["status"], "message": "OK"},
                "headers": {"Content-Type": [one["type"]]},
                "body": {"base64_string": answer},
            },
            "recorded_at": one["when"],
        }

    return json.dumps({"version": 1, "interactions": list(map(written, entries))}).encode()


def yaml_cassette(*entries: Mapping[str, Any]) -> bytes:
    yaml = pytest.importorskip("yaml")
    dumped: str = yaml.safe_dump(json.loads(cassette(*entries)), sort_keys=False)
    return dumped.encode()


FORMATS = [har, cassette, yaml_cassette]
Write = Callable[..., bytes]


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., tuple[list[Transcript], list[Skipped]]]:
    def write_and_read(content: bytes, name: str = "log.txt") -> tuple[list[Transcript], list[Skipped]]:
        (tmp_path / name).write_bytes(content)
        skipped: list[Skipped] = []
        return list(load(tmp_path / name, on_skip=skipped.append)), skipped

    return write_and_read


@pytest.mark.parametrize("write", FORMATS)
def test_the_calls_of_a_loop_are_one_run(read: Any, write: Write) -> None:
    request = {"model": "claude-sonnet-5", "system": "Be brief.", "messages": HISTORY[:1]}
    grown = {**request, "messages": HISTORY}
    answer = answer_body(ANTHROPIC)
    content = write(entry(URLS[ANTHROPIC], request, answer), entry(URLS[ANTHROPIC], grown, answer))
    (transcript,), skipped = read(content)
    assert skipped == []
    assert [one.input_messages for one in transcript.requests] == [1, 3]
    assert [one.usage.input_tokens for one in transcript.requests] == [100, 100]
    assert transcript.messages == [*HISTORY, {"role": "assistant", "content": answer["content"]}]
    assert (transcript.id, transcript.system, transcript.provider) == ("log.txt", "Be brief.", "anthropic")
    assert transcript.format == ("har" if write is har else "cassette")
    assert transcript.requests[0].timestamp is not None


@pytest.mark.parametrize("write", FORMATS)
@pytest.mark.parametrize("wire", [*WIRES, RESPONSES, GEMINI])
def test_no_header_key_or_address_leaves_the_reader(read: Any, write: Write, wire: str) -> None:
    key = wire_named(wire).messages_key
    content = {"role": "user", "parts": [{"text": "Hi."}]} if wire == GEMINI else user("Hi.")
    request = {"model": "m", key: [content]}
    (transcript,), skipped = read(write(entry(URLS[wire], request, answer_body(wire))))
    assert (transcript.wire, skipped) == (wire, [])
    assert "s3cret" not in repr(transcript)
    assert "http" not in repr(transcript)


@pytest.mark.parametrize("write", FORMATS)
@pytest.mark.parametrize("wire", [*WIRES, RESPONSES])
def test_a_streamed_answer_is_put_together(read: Any, write: Write, wire: str) -> None:
    named = wire_named(wire)
    request = {"model": "m", "stream": True, named.messages_key: [user("Hi.")]}
    request |= {"stream_options": {"include_usage": True}} if wire == OPENAI else {}
    stream = b"".join(named.events(answer_body(wire, "Streamed."), request))
    (transcript,), _ = read(write(entry(URLS[wire], request, stream, type="text/event-stream")))
    assert "Streamed." in json.dumps(transcript.messages[1])
    assert transcript.requests[0].usage.output_tokens == 10


@pytest.mark.parametrize("write", FORMATS)
def test_what_is_no_model_call_or_failed_is_passed_over(read: Any, write: Write) -> None:
    request, answer = {"model": "m", "messages": HISTORY}, answer_body(ANTHROPIC)
    content = write(
        entry("https://example.com/login", {"password": "s3cret"}, {}),
        entry(URLS[ANTHROPIC].replace("messages", "messages/count_tokens"), request, {"input_tokens": 5}),
        entry("https://chat.example.com/api/messages", {"to": "you"}, {}),
        entry(URLS[ANTHROPIC], request, answer, method="GET"),
        entry(URLS[ANTHROPIC], request, {"error": {}}, status=529),
        entry(URLS[ANTHROPIC], request, {}, status=None),
        entry("https://[", request, answer),
    )
    assert read(content) == ([], [])


@pytest.mark.parametrize("write", FORMATS)
def test_an_answer_that_is_packed_is_unpacked_and_one_that_is_broken_is_reported(
    read: Any, write: Write
) -> None:
    request, answer = {"model": "m", "messages": HISTORY}, gzip.compress(packed(answer_body(ANTHROPIC)))
    (whole,), skipped = read(write(entry(URLS[ANTHROPIC], request, answer)))
    assert (len(whole.messages), skipped) == (4, [])
    for broken in (answer[:-20], b"<html>", b"[]"):
        (partial,), (skip,) = read(write(entry(URLS[ANTHROPIC], request, broken)))
        assert (partial.messages, partial.requests[0].usage) == (HISTORY, None)
        assert skip.reason == "the answer of a model call can't be read"


def test_the_address_may_name_the_model_and_the_provider(read: Any) -> None:
    request = {"messages": HISTORY, "anthropic_version": "bedrock-2023-05-31"}
    model = "us.anthropic.claude-sonnet-4-6"
    url = f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{model}/invoke"
    (bedrock,), _ = read(har(entry(url, request, answer_body(ANTHROPIC))))
    assert (bedrock.model, bedrock.provider) == (model, "aws")
    (azure,), _ = read(
        har(entry(URLS[RESPONSES], {"model": "gpt-5", "input": "Hi."}, answer_body(RESPONSES)))
    )
    assert azure.provider == "azure"


def test_a_body_may_be_written_in_many_ways(read: Any) -> None:
    request, answer = {"model": "m", "messages": HISTORY}, answer_body(ANTHROPIC)
    plain = json.loads(cassette(entry(URLS[ANTHROPIC], request, answer)))
    (one,) = plain["interactions"]
    for body in (
        {"body": {"string": json.dumps(answer)}},
        {"parsed_body": answer},
        {"content": json.dumps(answer)},
        {"body": json.dumps(answer), "status": 200, "headers": {"content-type": "application/json"}},
    ):
        response = {"status": one["response"]["status"], "headers": {}, **body}
        written = {"http_interactions": [{**one, "response": response}]}
        (transcript,), skipped = read(json.dumps(written).encode())
        assert (len(transcript.messages), skipped) == (4, [])


@pytest.mark.parametrize("body", [{"base64_string": "a"}, {"base64_string": "é"}, 7, None, {}])
def test_a_body_that_can_not_be_read_is_reported(read: Any, body: Any) -> None:
    plain = json.loads(cassette(entry(URLS[ANTHROPIC], {"model": "m", "messages": HISTORY}, {})))
    plain["interactions"][0]["response"]["body"] = body
    (transcript,), (skip,) = read(json.dumps(plain).encode())
    assert (transcript.messages, skip.reason) == (HISTORY, "the answer of a model call can't be read")


def test_a_har_without_encoding_and_with_a_broken_one_is_read(read: Any) -> None:
    answer = answer_body(ANTHROPIC)
    log = json.loads(har(entry(URLS[ANTHROPIC], {"model": "m", "messages": HISTORY}, answer)))
    content = log["log"]["entries"][0]["response"]["content"]
    content |= {"text": json.dumps(answer), "encoding": None}
    assert read(json.dumps(log).encode())[1] == []
    content |= {"text": "a", "encoding": "base64"}
    assert len(read(json.dumps(log).encode())[1]) == 1


def test_binary_yaml_is_read(read: Any) -> None:
    yaml = pytest.importorskip("yaml")
    document = json.loads(cassette(entry(URLS[ANTHROPIC], {"model": "m", "messages": HISTORY}, {})))
    document["interactions"][0]["response"]["body"] = {"string": packed(answer_body(ANTHROPIC))}
    (transcript,), skipped = read(yaml.safe_dump(document).encode())
    assert (len(transcript.messages), skipped) == (4, [])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"interactions:\n- [", "not YAML: while parsing"),
        (b"interactions:\n  - request: 1\n", "no transcript format that is known here"),
        (b"- 1\ninteractions: 2", "not YAML"),
        (b"\ninteractions:\n---\n", "not YAML"),
    ],
)
def test_yaml_that_is_no_cassette_is_reported(read: Any, content: bytes, reason: str) -> None:
    pytest.importorskip("yaml")
    transcripts, (skip,) = read(content)
    assert transcripts == []
    assert skip.reason.startswith(reason)


def test_without_yaml_its_cassettes_are_reported_with_what_to_install(
    read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = yaml_cassette(entry(URLS[ANTHROPIC], {"model": "m", "messages": HISTORY}, {}))
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert [skip.reason for skip in read(content)[1]] == ["a YAML cassette needs PyYAML: install ctxkit[vcr]"]
