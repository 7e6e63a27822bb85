"""`RecordTranscript`: what is written of each attempt, and that recording never breaks a call."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import logging
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anthropic
import pytest

import ctxkit
from ctxkit.drive import run, run_async
from ctxkit.errors import ConfigError, ModelCallFailed, StreamAborted
from ctxkit.flow import ask_model
from ctxkit.messages import ModelRequest, ModelResponse, ToolCall, ToolResult
from ctxkit.middleware.record_transcript import RecordTranscript
from ctxkit.testing import ModelServer, ScriptedModel, failure, reply
from ctxkit.transcripts import Skipped, Transcript, load
from ctxkit.wire.native import dumps
from support.bodies import ANTHROPIC, WIRES, answer_to, of_body, request_of, rounds, user
from support.caching import Clock


def attempts(path: Path) -> list[Any]:
    """Every attempt of a recording, and nothing may have been skipped."""
    return [attempt for transcript in read(path) for attempt in transcript.meta["attempts"]]


def read(path: Path) -> list[Transcript]:
    skipped: list[Skipped] = []
    transcripts = list(load(path, on_skip=skipped.append))
    assert skipped == []
    return transcripts


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def ask(
    stack: ctxkit.Middleware, request: ModelRequest, edge: ScriptedModel, runner: asyncio.Runner | None = None
) -> ModelResponse:
    flow = ctxkit.Stack(stack).model_flow(request)
    return run(flow, edge) if runner is None else runner.run(run_async(flow, edge.awaiting))


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_and_its_answer_are_read_back_byte_for_byte(
    path: Path, wire: str, task: ctxkit.Task, runner: asyncio.Runner | None
) -> None:
    request = request_of(wire, rounds(wire, ["Found."] * 3), max_tokens=5)
    response = ask(RecordTranscript(path), request, ScriptedModel([reply(text="Done.")]), runner)
    (transcript,) = read(path)
    (attempt,) = transcript.meta["attempts"]
    assert dumps(attempt.request) == dumps(request.body)
    assert dumps(attempt.answer) == dumps(response.body)
    assert attempt.sent is attempt.request
    assert (transcript.format, transcript.wire, transcript.incomplete) == ("ctxkit", wire, None)
    assert transcript.messages[: transcript.requests[0].input_messages] == request.body["messages"]
    assert transcript.requests == (attempt.recorded,)
    assert attempt.recorded.usage == response.usage


def test_the_request_is_recorded_as_it_was_sent_and_as_the_caller_made_it(path: Path) -> None:
    history = rounds(ANTHROPIC, ["x\n" * 5000, "short"])
    stack = ctxkit.Stack(ctxkit.TruncateToolResults(max_tokens=200), RecordTranscript(path))
    model = ScriptedModel([reply(text="Done.")])
    request = request_of(ANTHROPIC, history)
    ask(stack, request, model)
    (attempt,) = attempts(path)
    (sent,) = model.calls
    assert isinstance(sent, ModelRequest)
    assert attempt.request == request.body
    assert attempt.sent == sent.body != request.body


def test_each_attempt_says_where_it_belongs_how_it_ended_and_when(path: Path) -> None:
    clock = Clock()
    recorder = RecordTranscript(path, clock=clock)

    def script(body: Any, call: int) -> Any:
        clock.now += 2.5
        return failure(529) if call == 0 else reply(text="Done.")

    edge = ScriptedModel(script)
    request = request_of(ANTHROPIC, [user("Hi.")])
    with ctxkit.task("fix"), ctxkit.task("plan"):
        with pytest.raises(ModelCallFailed):
            ask(recorder, request, edge)
        ask(recorder, request, edge)
        ask(recorder, request.side_call("summarize"), edge)
    main, side = read(path)
    refused, answered = main.meta["attempts"]
    assert (refused.outcome, refused.fields["status"]) == ("not_billed", 529)
    assert (refused.answer, refused.fields["error"]) == (None, "ModelCallFailed")
    assert (answered.outcome, answered.fields["status"], answered.fields["error"]) == ("billed", 200, None)
    assert (answered.fields["started"], answered.fields["seconds"]) == (1_002.5, 2.5)
    assert (main.meta["task"], main.meta["purpose"], side.meta["purpose"]) == (
        "fix / plan",
        "main",
        "summarize",
    )
    assert main.requests == (answered.recorded,)
    assert answered.recorded.timestamp is not None
    assert answered.recorded.timestamp.timestamp() == 1_005


def test_an_answer_of_a_middlewares_own_is_no_attempt(path: Path) -> None:
    request = request_of(ANTHROPIC, [user("Hi.")])
    local = ModelResponse(request.wire, answer_to(request).body, request, local=True)
    recorder = RecordTranscript(path)
    flow = recorder.wrap_model_call(request, ask_model)
    next(flow)
    with pytest.raises(StopIteration):
        flow.send(local)
    assert not path.exists()


@pytest.mark.parametrize("partial", [True, False])
def test_a_stream_that_the_caller_leaves_is_recorded_as_far_as_it_came(path: Path, partial: bool) -> None:
    request = request_of(ANTHROPIC, [user("Hi.")])
    flow = RecordTranscript(path).wrap_model_call(request, ask_model)
    next(flow)
    came = ModelResponse(request.wire, answer_to(request, "Do").body, request, complete=False)
    with pytest.raises(StreamAborted):
        flow.throw(StreamAborted(came if partial else None))
    (attempt,) = attempts(path)
    assert attempt.outcome == "unknown"
    assert attempt.answer == (came.body if partial else None)
    assert attempt.recorded.output_known is False


def test_a_call_that_is_given_up_is_recorded(path: Path) -> None:
    flow = RecordTranscript(path).wrap_model_call(request_of(ANTHROPIC, [user("Hi.")]), ask_model)
    next(flow)
    with pytest.raises(KeyboardInterrupt):
        flow.throw(KeyboardInterrupt())
    (attempt,) = attempts(path)
    assert (attempt.outcome, attempt.fields["error"]) == ("unknown", "KeyboardInterrupt")


def test_tools_are_recorded_with_their_times_and_not_their_results(
    path: Path, runner: asyncio.Runner | None
) -> None:
    clock = Clock()

    def look(**given: Any) -> Any:
        clock.now += 3
        if given.get("fails"):
            raise OSError("not now")
        return ToolResult("secret", is_error=True)

    edge = ScriptedModel([reply(text="Done.")], tools={"look": look})
    recorder = ctxkit.Stack(RecordTranscript(path, clock=clock))

    def call(**given: Any) -> ToolResult:
        flow = recorder.tool_flow(ToolCall("look", given, "c1"))
        return run(flow, edge) if runner is None else runner.run(run_async(flow, edge.awaiting))

    assert call().content == "secret"
    with pytest.raises(OSError, match="not now"):
        call(fails=True)
    ask(recorder, request_of(ANTHROPIC, [user("Hi.")]), edge, runner)
    (transcript,) = read(path)
    given, failed = transcript.meta["tool_runs"]
    assert (given["tool"], given["call_id"], given["seconds"], given["is_error"]) == ("look", "c1", 3, True)
    assert (failed["is_error"], failed["error"], failed["started"]) == (True, "OSError", 1_003)
    assert b"secret" not in path.read_bytes()


def test_a_loop_grows_its_file_by_what_is_new(path: Path) -> None:
    recorder = RecordTranscript(path)
    edge = ScriptedModel(lambda body, call: reply(text="Done."))
    sizes = []
    for turns in range(1, 61):
        ask(recorder, request_of(ANTHROPIC, rounds(ANTHROPIC, ["word " * 200] * turns)), edge)
        sizes.append(path.stat().st_size)
    grown = [after - before for before, after in itertools.pairwise(sizes[10:])]
    assert max(grown) < min(grown) + 100
    assert len(attempts(path)) == 60


def test_without_content_nothing_that_was_said_is_written(path: Path) -> None:
    ask(
        RecordTranscript(path, content=False),
        request_of(ANTHROPIC, [user("a secret")], system="be secret"),
        ScriptedModel([reply(text="secretly")]),
    )
    assert b"secret" not in path.read_bytes()
    (transcript,) = read(path)
    assert transcript.incomplete == "what was sent and said is not in this log"
    assert transcript.messages == []
    assert transcript.requests[0].usage is not None
    assert transcript.requests[0].stop_reason == "end_turn"


def test_texts_are_redacted_and_the_protocol_is_not(path: Path) -> None:
    ask(
        RecordTranscript(path, redact=lambda text: "***"),
        request_of(ANTHROPIC, rounds(ANTHROPIC, ["found it"]), system="be brief"),
        ScriptedModel([reply(text="well", tool_calls=[("look", {"name": "Ada"})])]),
    )
    (attempt,) = attempts(path)
    content = path.read_text()
    for said in ("found it", "be brief", "well", "Ada", "Find the bug."):
        assert said not in content
    assert attempt.request["system"] == "***"
    assert attempt.request["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "call_0", "content": "***"}
    ]
    assert attempt.answer["content"][1]["input"] == {"name": "***"}


def test_settings_schemas_and_encoded_bytes_are_no_texts(path: Path) -> None:
    schema = {"type": "object", "properties": {"data": {"type": "string"}}, "required": ["data"]}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}
    body = {
        "tools": [{"name": "get", "input_schema": schema}],
        "tool_choice": "auto",
        "reasoning_effort": "high",
        "messages": [
            {"role": "user", "content": [image]},
            {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "iVBO"}}]},
        ],
    }
    recorder = RecordTranscript(path, redact=lambda text: "***")
    ask(recorder, of_body(ANTHROPIC, body), ScriptedModel([reply(text="Done.")]))
    (attempt,) = attempts(path)
    assert attempt.request == body


def test_a_document_that_is_plain_text_is_redacted(path: Path) -> None:
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "secret"}}
    request = request_of(ANTHROPIC, [{"role": "user", "content": [document]}])
    recorder = RecordTranscript(path, redact=lambda text: text.replace("secret", "***"))
    ask(recorder, request, ScriptedModel([reply(text="Done.")]))
    assert "secret" not in path.read_text()


def test_where_a_call_is_awaited_the_event_loop_writes_nothing(
    path: Path, runner: asyncio.Runner | None
) -> None:
    threads = set()

    def redact(text: str) -> str:
        threads.add(threading.get_ident())
        return text

    ask(
        RecordTranscript(path, redact=redact),
        request_of(ANTHROPIC, [user("Hi.")]),
        ScriptedModel([reply(text="Done.")]),
        runner,
    )
    assert (threading.get_ident() in threads) == (runner is None)


def test_credentials_and_the_queries_of_addresses_are_not_written(path: Path) -> None:
    servers = [
        {"type": "url", "url": "https://me:pw@mcp.example/sse?key=k3y#x", "authorization_token": "t0ken"},
        {"type": "url", "url": "https://[broken", "headers": {"x-key": "k3y"}},
    ]
    tool = {"name": "get", "input_schema": {"properties": {"headers": {"type": "object"}, "input": {}}}}
    called = {
        "type": "tool_use",
        "id": "a",
        "name": "get",
        "input": {"headers": "kept", "url": "http://a/?b"},
    }
    history = [user("https://docs.example/?q=kept"), {"role": "assistant", "content": [called]}]
    request = request_of(ANTHROPIC, history, mcp_servers=servers, tools=[tool])
    ask(RecordTranscript(path), request, ScriptedModel([reply(text="Done.")]))
    (attempt,) = attempts(path)
    assert not any(secret in path.read_text() for secret in ("k3y", "pw@", "t0ken"))
    assert attempt.request["mcp_servers"][0]["url"] == "https://mcp.example/sse"
    assert attempt.request["tools"] == [tool]
    assert attempt.request["messages"] == history


def test_the_real_client_is_recorded_without_its_key(path: Path, task: ctxkit.Task) -> None:
    with ModelServer([reply(text="One."), failure(529), reply(text="Two.")]) as server:
        inner = anthropic.Anthropic(base_url=server.url, api_key="sk-secret-key", max_retries=2)
        with ctxkit.wrap(inner, ctxkit.Stack(RecordTranscript(path))) as client:
            ask_for = {"model": "claude-sonnet-5", "max_tokens": 5, "messages": [user("Hi.")]}
            client.messages.create(**ask_for)
            with client.messages.stream(**ask_for) as stream:
                assert stream.get_final_message().content[0].text == "Two."
    first, refused, second = attempts(path)
    assert [one.fields["retry"] for one in (first, refused, second)] == [0, 0, 1]
    assert [one.fields["stream"] for one in (first, refused, second)] == [False, True, True]
    assert second.answer["content"][0]["text"] == "Two."
    assert "sk-secret" not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_fault_of_the_disk_never_breaks_a_call_and_later_lines_stand_by_themselves(
    path: Path, task: ctxkit.Task, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = RecordTranscript(path)
    edge = ScriptedModel(lambda body, call: reply(text="Done."))
    first = request_of(ANTHROPIC, [user("Hi.")])
    path.mkdir()
    with caplog.at_level(logging.WARNING, logger="ctxkit"):
        assert ask(recorder, first, edge).text == "Done."
        assert ask(recorder, first, edge).text == "Done."
    assert task.faults == {"RecordTranscript: IsADirectoryError": 2}
    assert len(caplog.messages) == 1
    path.rmdir()
    ask(recorder, first, edge)
    assert [one.request for one in attempts(path)] == [first.body]


def test_what_a_redact_hook_can_not_handle_is_not_written(path: Path, task: ctxkit.Task) -> None:
    def redact(text: str) -> str:
        raise ValueError(text)

    edge = ScriptedModel([reply(text="Done.")])
    assert (
        ask(RecordTranscript(path, redact=redact), request_of(ANTHROPIC, [user("Hi.")]), edge).text == "Done."
    )
    assert task.faults == {"RecordTranscript: ValueError": 1}
    assert not path.exists()


def test_a_disk_that_is_full_costs_the_line(path: Path, task: ctxkit.Task) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no device that is always full")
    path.symlink_to("/dev/full")
    edge = ScriptedModel([reply(text="Done.")])
    assert ask(RecordTranscript(path), request_of(ANTHROPIC, [user("Hi.")]), edge).text == "Done."
    assert task.faults == {"RecordTranscript: OSError": 1}


def test_a_disk_that_takes_a_part_of_a_line_costs_that_line(path: Path, task: ctxkit.Task) -> None:
    resource = pytest.importorskip("resource")
    edge = ScriptedModel(lambda body, call: reply(text="Done."))
    recorder, request = RecordTranscript(path), request_of(ANTHROPIC, [user("Hi.")])
    ask(recorder, request, edge)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 50, limits[1]))
    try:
        ask(recorder, request, edge)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    ask(recorder, request, edge)
    skipped: list[Skipped] = []
    (transcript,) = load(path, on_skip=skipped.append)
    assert task.faults == {"RecordTranscript: OSError": 1}
    assert (len(transcript.requests), [skip.line for skip in skipped]) == (2, [2])


@pytest.mark.parametrize("name", ["absent/run.jsonl", "run.jsonl.zst", "."])
def test_a_path_that_can_not_be_written_is_refused_at_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError) as raised:
        RecordTranscript(tmp_path / name)
    assert raised.value.option == "path"


def test_threads_may_share_a_recorder_and_a_file(path: Path) -> None:
    recorders = [RecordTranscript(path), RecordTranscript(path)]

    def loop(number: int) -> None:
        edge = ScriptedModel(lambda body, call: reply(text="Done."))
        with ctxkit.task(f"loop {number}"):
            for turns in range(1, 11):
                texts = [f"{number} {turn}" for turn in range(turns)]
                ask(recorders[number % 2], request_of(ANTHROPIC, rounds(ANTHROPIC, texts)), edge)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(loop, range(8)))
    transcripts = read(path)
    assert sorted(one.meta["task"] for one in transcripts) == [f"loop {number}" for number in range(8)]
    assert all(len(one.requests) == 10 for one in transcripts)
    assert transcripts[0].messages[2]["content"][0]["content"][0] == transcripts[0].meta["task"][-1]


PROCESS = textwrap.dedent(
    """
    import sys
    import ctxkit
    from ctxkit.drive import run
    from ctxkit.messages import ModelRequest
    from ctxkit.middleware.record_transcript import RecordTranscript
    from ctxkit.testing import ScriptedModel, reply
    from ctxkit.wire import wire_named

    path, name, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
    stack = ctxkit.Stack(RecordTranscript(path))
    edge = ScriptedModel(lambda body, call: reply(text="Done."))
    messages = []
    with ctxkit.task(name):
        for turn in range(turns):
            messages = [*messages, {"role": "user", "content": f"{name} {turn} " + "x" * 20_000}]
            body = {"model": "m", "messages": messages}
            run(stack.model_flow(ModelRequest(wire_named("anthropic_messages"), body)), edge)
            print(turn, flush=True)
    """
)


def start(path: Path, name: str, turns: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROCESS, str(path), name, str(turns)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_processes_may_share_a_file_and_one_may_be_killed(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    killed, others = start(path, "killed", 100_000), [start(path, f"other {one}", 15) for one in range(2)]
    assert killed.stdout is not None
    for _ in range(5):
        killed.stdout.readline()
    killed.send_signal(signal.SIGKILL)
    for process in (killed, *others):
        process.communicate()
    skipped: list[Skipped] = []
    transcripts = {one.meta["task"]: one for one in load(path, on_skip=skipped.append)}
    assert len(skipped) <= 1
    assert transcripts["killed"].requests[4].input_messages == 5
    assert [len(transcripts[f"other {one}"].requests) for one in range(2)] == [15, 15]
    assert all(attempt.request for one in transcripts.values() for attempt in one.meta["attempts"])


def test_a_torn_line_is_reported_and_what_is_written_after_it_is_read(path: Path) -> None:
    edge = ScriptedModel(lambda body, call: reply(text="Done."))
    recorder = RecordTranscript(path)
    ask(recorder, request_of(ANTHROPIC, [user("Hi.")]), edge)
    with path.open("ab") as file:
        file.write(b'{"ctxkit_transcript":1,"section":"a')
    ask(recorder, request_of(ANTHROPIC, [user("Hi."), user("Well?")]), edge)
    skipped: list[Skipped] = []
    (transcript,) = load(path, on_skip=skipped.append)
    assert [request.input_messages for request in transcript.requests] == [1, 2]
    assert [(skip.line, skip.reason.startswith("not JSON")) for skip in skipped] == [(2, True)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_numbers_its_parts_by_itself(path: Path) -> None:
    recorder = RecordTranscript(path)
    edge = ScriptedModel(lambda body, call: reply(text="Done."))
    ask(recorder, request_of(ANTHROPIC, [user("Hi.")]), edge)
    child = os.fork()
    if child == 0:
        ask(recorder, request_of(ANTHROPIC, [user("Hi."), user("child")]), edge)
        os._exit(0)
    os.waitpid(child, 0)
    ask(recorder, request_of(ANTHROPIC, [user("Hi."), user("parent")]), edge)
    assert len({line["section"] for line in lines(path)}) == 2
    assert [one.request["messages"][-1]["content"] for one in attempts(path)] == ["Hi.", "child", "parent"]


def test_a_compressed_file_is_read_like_any_other(tmp_path: Path) -> None:
    plain, packed = tmp_path / "run.jsonl", tmp_path / "run.jsonl.gz"
    stack = ctxkit.Stack(RecordTranscript(plain), RecordTranscript(packed))
    edge = ScriptedModel(lambda body, call: reply(text="Done."))
    for turns in range(1, 4):
        ask(stack, request_of(ANTHROPIC, rounds(ANTHROPIC, ["Found."] * turns)), edge)
    with gzip.open(packed) as file:
        assert len(file.readlines()) == 3
    assert [one.request for one in attempts(packed)] == [one.request for one in attempts(plain)]
