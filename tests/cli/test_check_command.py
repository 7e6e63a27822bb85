"""`ctxkit check`: what it reads, what it finds, and how it exits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.bodies import ANTHROPIC, OPENAI, calls, results, user

GOOD = [user("Hi."), calls(OPENAI, "a"), *results(OPENAI, {"a": "Found."})]
HALF = [user("Hi."), calls(OPENAI, "a", "b"), *results(OPENAI, {"b": "Found."})]
ORPHAN = [user("Hi."), {"role": "assistant", "content": "Hm."}, *results(OPENAI, {"c": "Found."})]


def pair(name: str, messages: list[Any], **more: Any) -> str:
    """A line with a request and its answer."""
    answer = {"choices": [{"message": {"role": "assistant", "content": "Here."}}]}
    request = {"model": "gpt-4.1", "messages": messages, **more}
    return json.dumps({"id": name, "api": "chat", "request": request, "response": answer}) + "\n"


def run_of(*messages: Any) -> str:
    """A line of the shared corpus' shape: a whole run, with a request for every answer."""
    known = {"id": "run", "family": "f", "format": "anthropic-messages", "model": "m", "meta": {}}
    return json.dumps({**known, "messages": list(messages)}) + "\n"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with a valid file and one with two broken requests and a damaged line."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "good.jsonl").write_text(pair("one", GOOD))
    (folder / "poor.jsonl").write_text(pair("two", HALF) + "{damaged\n" + pair("three", [*HALF, *ORPHAN]))
    return folder


def test_valid_requests_are_a_good_outcome(ctxkit, logs: Path) -> None:
    code, out, err = ctxkit("check", logs / "good.jsonl")
    assert (code, err) == (0, "")
    assert out == "1 request looked at: nothing that a provider is known to refuse.\n"


def test_problems_are_told_with_their_place_and_the_providers_words(ctxkit, logs: Path) -> None:
    code, out, err = ctxkit("check", logs)
    assert (code, err) == (1, "")
    assert out.startswith("3 requests looked at: 3 problems in 2 runs.\n")
    # A long folder is broken over two lines.
    assert "poor.jsonl:3" in out.replace("\n", "")
    assert "tool_call_has_its_message at messages.1.tool_calls.0" in out
    assert "did not have response messages: a" in " ".join(out.split())
    assert "Not looked at: " in out


def test_json_is_one_object_of_the_documented_shape(ctxkit, logs: Path) -> None:
    code, out, err = ctxkit("check", logs, "--json")
    report = json.loads(out)
    assert (code, err, out.count("\n")) == (1, "", 1)
    assert (report["valid"], report["requests"]) == (False, 3)
    assert [(part["path"], part["line"]) for part in report["skipped"]] == [(str(logs / "poor.jsonl"), 2)]
    assert report["problems"][0] == {
        "path": str(logs / "poor.jsonl"),
        "line": 1,
        "request": 1,
        "rule": "tool_call_has_its_message",
        "where": ["messages", 1, "tool_calls", 0],
        "message": (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. The following tool_call_ids did not have response messages: a"
        ),
    }
    assert [problem["line"] for problem in report["problems"]] == [1, 3, 3]


def test_json_of_valid_requests_says_so(ctxkit, logs: Path) -> None:
    code, out, _ = ctxkit("check", logs / "good.jsonl", "--json")
    assert (code, json.loads(out)) == (0, {"valid": True, "requests": 1, "problems": [], "skipped": []})


def test_a_problem_is_told_once_for_a_run_with_the_first_request_that_has_it(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    answer = {"role": "assistant", "content": [{"type": "text", "text": "Hm."}]}
    go_on = user("Go on.")
    path.write_text(run_of(user("Hi."), answer, go_on, calls(ANTHROPIC, "a"), go_on, answer, go_on, answer))
    _, out, _ = ctxkit("check", path, "--json")
    report = json.loads(out)
    assert report["requests"] == 4
    assert [(problem["request"], problem["where"]) for problem in report["problems"]] == [
        (3, ["messages", 3, "content", 0])
    ]


def test_a_request_of_which_the_log_shows_no_message_is_left_out(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    answer = {"role": "assistant", "content": [{"type": "text", "text": "Hm."}]}
    path.write_text(run_of(answer, user("Go on."), answer))
    code, out, _ = ctxkit("check", path, "--json")
    assert (code, json.loads(out)["requests"]) == (0, 1)


def test_a_plain_request_body_is_a_request(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"model": "gpt-4.1", "messages": HALF}, indent=2))
    code, out, _ = ctxkit("check", path, "--json")
    assert (code, json.loads(out)["requests"]) == (1, 1)


def test_a_malformed_body_is_a_problem_of_its_own(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(pair("one", [{"role": "user", "content": 7}]) + pair("two", GOOD, tools=7))
    code, out, _ = ctxkit("check", path, "--json")
    (problem,) = json.loads(out)["problems"]
    assert (code, problem["rule"], problem["where"]) == (
        1,
        "body_is_well_formed",
        ["messages", 0, "content"],
    )


def test_a_wire_that_nothing_is_known_of_is_skipped(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    converse = {"messages": [{"role": "user", "content": [{"text": "Hi."}]}], "inferenceConfig": {}}
    path.write_text(json.dumps({"api": "converse", "request": converse, "response": {}}) + "\n")
    code, out, err = ctxkit("check", path)
    assert (code, out) == (2, "")
    assert err == f"ctxkit: {path}:1: it is not known here what is refused of the wire bedrock_converse\n"


def test_many_problems_are_cut_and_counted(ctxkit, tmp_path: Path) -> None:
    path, text = tmp_path / "run.jsonl", tmp_path / "problems.txt"
    path.write_text("".join(pair(str(number), HALF) for number in range(60)))
    assert ctxkit("check", path, "-o", text).code == 1
    assert "(10 more problems; --json has them all)" in text.read_text()
    assert text.read_text().count("tool_call_has_its_message at") == 50


def test_a_file_gets_json_by_its_name(ctxkit, logs: Path, tmp_path: Path) -> None:
    data = tmp_path / "problems.json"
    assert ctxkit("check", logs, "-o", data) == (1, "", "")
    assert json.loads(data.read_text())["requests"] == 3


def test_a_path_that_does_not_exist_is_refused(ctxkit, tmp_path: Path) -> None:
    code, out, err = ctxkit("check", tmp_path / "nothing")
    assert (code, out) == (2, "")
    assert err == f"ctxkit: {tmp_path}/nothing: no such file or folder, and no match\n"


def test_input_without_any_request_is_refused_with_file_line_and_reason(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"type": "user", "uuid": "u", "sessionId": "s", "message": {}}\n')
    code, out, err = ctxkit("check", path, "--json")
    assert (code, out) == (2, "")
    assert err == f"ctxkit: {path}:1: a message without content (and 1 more)\n"


def test_an_empty_folder_is_refused(ctxkit, tmp_path: Path) -> None:
    assert ctxkit("check", tmp_path) == (2, "", f"ctxkit: {tmp_path}: no file in it\n")


def test_a_path_is_needed(ctxkit) -> None:
    assert ctxkit("check").code == 2


def test_the_help_has_an_example_and_names_every_key_of_the_json(ctxkit) -> None:
    _, out, _ = ctxkit("check", "--help")
    assert "ctxkit check session.jsonl" in out[out.index("Examples:") :]
    keys = ["valid", "requests", "problems", "skipped", "path", "line", "request", "rule", "where", "message"]
    assert all(key in out for key in keys)
