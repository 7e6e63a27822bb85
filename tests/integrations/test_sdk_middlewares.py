"""Middlewares that answer, ask, replace and try again by themselves, seen through the real SDKs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

import ctxkit
from ctxkit.testing import Answer, ModelServer, failure, hang_up, raw, reply
from ctxkit.usage import Usage
from support.calling import HOWS, Sdk

Next = ctxkit.ModelNext
SAID = reply("A tabby.", tool_calls=[("search", {"query": "cats"})], usage=Usage(1_000, 50))


def anthropic_body(text: str) -> dict[str, Any]:
    return {
        "id": "msg_local",
        "type": "message",
        "role": "assistant",
        "model": "local",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "text", "text": text},
            {"type": "tool_use", "id": "t", "name": "search", "input": {"query": "🐈"}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 2},
    }


def openai_body(text: str) -> dict[str, Any]:
    function = {"name": "search", "arguments": '{"query": "🐈"}'}
    calls = [{"id": "t", "type": "function", "function": function}]
    message = {"role": "assistant", "content": text, "tool_calls": calls}
    return {
        "id": "chatcmpl-local",
        "object": "chat.completion",
        "created": 1,
        "model": "local",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
    }


class AnswerLocally(ctxkit.Middleware):
    def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: Next) -> Any:
        body = anthropic_body if request.wire.name == "anthropic_messages" else openai_body
        return ctxkit.done(ctxkit.ModelResponse(request.wire, body("Made here."), request, local=True))


@pytest.mark.parametrize("how", HOWS)
def test_an_answer_that_is_made_locally_is_accepted_and_costs_nothing(
    sdk: Sdk, how: str, task: ctxkit.Task
) -> None:
    stack = (ctxkit.TokenMeter(), ctxkit.LimitSpend(max_requests=1), AnswerLocally())
    with ModelServer([]) as server, sdk.wrapped(server, *stack) as client:
        assert sdk.ask(client, how) == "Made here."
        assert sdk.ask(client, how) == "Made here."
        assert not server.requests
    assert not task.attempts


def test_a_local_answer_is_whole_when_it_is_streamed(sdk: Sdk) -> None:
    with sdk.wrapped("http://127.0.0.1:1", AnswerLocally()) as client:
        whole = sdk.create(client)
        with sdk.helper(client) as stream:
            final = sdk.final(stream)
    if sdk.is_anthropic:
        assert [part.type for part in final.content] == ["thinking", "text", "tool_use"]
        assert final.content[2].input == whole.content[2].input == {"query": "🐈"}
        assert (final.stop_reason, final.usage.input_tokens) == ("tool_use", 5)
    else:
        (call,) = final.choices[0].message.tool_calls
        assert call.function.arguments == '{"query": "🐈"}'
        assert (final.choices[0].finish_reason, final.usage.total_tokens) == ("tool_calls", 7)


def test_a_local_answer_may_be_left_before_it_is_read(sdk: Sdk) -> None:
    with sdk.wrapped("http://127.0.0.1:1", AnswerLocally()) as client:
        sdk.wait(sdk.create(client, stream=True).close())
        stream = sdk.create(client, stream=True)
        assert len(sdk.wait.items(stream, 1)) == 1
        sdk.wait(stream.close())


class AskFirst(ctxkit.Middleware):
    """Asks the model something of its own before the caller's question, and once more behind it."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: Next) -> Any:
        question = [{"role": "user", "content": "Sum it up."}]
        first = yield from call_next(request.side_call("summary", messages=question))
        response = yield from call_next(request.edit(user="cats"))
        last = yield from call_next(request.side_call("check", messages=question))
        self.heard += [first.text, last.text]
        return response


@pytest.mark.parametrize("how", HOWS)
def test_side_calls_are_sent_whole_and_booked_under_their_purpose(
    sdk: Sdk, how: str, task: ctxkit.Task
) -> None:
    first = AskFirst()
    script = [reply("In short.", usage=Usage(10, 1)), SAID, reply("Fine.", usage=Usage(20, 2))]
    with ModelServer(script) as server, sdk.wrapped(server, first, ctxkit.TokenMeter()) as client:
        assert sdk.ask(client, how) == "A tabby."
        bodies = [request.json for request in server.requests]
    assert first.heard == ["In short.", "Fine."]
    assert [body.get("stream", False) for body in bodies] == [False, how != "whole", False]
    assert [body["messages"][0]["content"] for body in bodies] == ["Sum it up.", "Any cats?", "Sum it up."]
    assert [attempt.purpose for attempt in task.attempts] == ["summary", "main", "check"]
    assert task.totals.purposes == {"summary": 1, "main": 1, "check": 1}
    assert not task.faults


@pytest.mark.parametrize("how", HOWS)
def test_a_side_call_that_fails_leaves_the_call_alone(sdk: Sdk, how: str, task: ctxkit.Task) -> None:
    script = [failure(529), SAID]
    with ModelServer(script) as server, sdk.wrapped(server, AskFirst(), ctxkit.TokenMeter()) as client:
        assert sdk.ask(client, how) == "A tabby."
    assert [(attempt.purpose, attempt.outcome) for attempt in task.attempts] == [
        ("summary", "not_billed"),
        ("main", "billed"),
    ]
    assert task.faults == {"AskFirst: ModelCallFailed": 1}


class KeepNotes(ctxkit.Middleware):
    """Writes something down before and after the call; the second time it can't."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def write(self, note: str) -> None:
        self.notes.append(note)
        if len(self.notes) > 3:
            raise OSError("the disk is full")

    async def write_async(self, note: str) -> None:
        await asyncio.sleep(0)
        self.write(f"{note}, awaited")

    def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: Next) -> Any:
        yield from ctxkit.perform(lambda: self.write("before"), lambda: self.write_async("before"))
        response = yield from call_next(request)
        yield from ctxkit.perform(lambda: self.write("after"), lambda: self.write_async("after"))
        return response


@pytest.mark.parametrize("how", HOWS)
def test_a_middleware_may_do_other_io_in_either_colour(sdk: Sdk, how: str, task: ctxkit.Task) -> None:
    notes = KeepNotes()
    with ModelServer([SAID] * 2) as server, sdk.wrapped(server, notes, ctxkit.TokenMeter()) as client:
        assert sdk.ask(client, how) == "A tabby."
        assert sdk.ask(client, how) == "A tabby."
    colour = ", awaited" if sdk.awaits else ""
    assert notes.notes == [f"before{colour}", f"after{colour}"] * 2
    assert task.faults == {"KeepNotes: OSError": 1}
    assert len(task.attempts) == 2


class Replace(ctxkit.Middleware):
    """Replaces the answer's text."""

    def __init__(self, *, buffers_stream: bool) -> None:
        self.buffers_stream = buffers_stream

    def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: Next) -> Any:
        response = yield from call_next(request)
        return replace(response, body=replaced(response.body))


def replaced(body: Mapping[str, Any]) -> dict[str, Any]:
    if "choices" in body:
        (choice,) = body["choices"]
        message = {**choice["message"], "content": "Replaced."}
        return {**body, "choices": [{**choice, "message": message}]}
    content = [{**part, "text": "Replaced."} if part["type"] == "text" else part for part in body["content"]]
    return {**body, "content": content}


@pytest.mark.parametrize("how", HOWS)
def test_an_answer_that_is_held_back_can_be_replaced(sdk: Sdk, how: str, task: ctxkit.Task) -> None:
    stack = (Replace(buffers_stream=True), ctxkit.TokenMeter())
    with ModelServer([SAID], gzip=True) as server, sdk.wrapped(server, *stack) as client:
        assert sdk.ask(client, how) == "Replaced."
    assert [attempt.outcome for attempt in task.attempts] == ["billed"]
    assert not task.faults


@pytest.mark.parametrize("buffers", [False, True], ids=["passing", "held back"])
def test_the_upstreams_headers_pass_however_a_stream_is_given(sdk: Sdk, buffers: bool) -> None:
    class Watch(ctxkit.Middleware):
        buffers_stream = buffers

        def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: Next) -> Any:
            return (yield from call_next(request))

    with ModelServer([SAID]) as server, sdk.wrapped(server, Watch()) as client:
        stream = sdk.create(client, stream=True)
        header = "request-id" if sdk.is_anthropic else "x-request-id"
        assert stream.response.headers[header] == "req_1"
        assert stream.response.headers["content-type"].startswith("text/event-stream")
        sdk.wait(stream.close())


def test_an_answer_that_went_out_cant_be_replaced(sdk: Sdk, task: ctxkit.Task) -> None:
    stack = (Replace(buffers_stream=False), ctxkit.TokenMeter())
    with ModelServer([SAID] * 2) as server, sdk.wrapped(server, *stack) as client:
        assert sdk.ask(client, "whole") == "Replaced."
        with pytest.raises(ctxkit.StreamError, match="buffers_stream = True"):
            sdk.ask(client, "streamed")
    assert [attempt.outcome for attempt in task.attempts] == ["billed", "billed"]


class HoldBack(ctxkit.Middleware):
    buffers_stream = True


UNUSUAL: dict[str, Answer] = {
    "unknown events": raw(
        b': hello\n\nevent: hologram\ndata: {"type":"hologram"}\n\n', content_type="text/event-stream"
    ),
    "no events": raw(b"<h1>Hello</h1>", content_type="text/html"),
    "an error event": raw(
        b'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"Overloaded"}}\n\n',
        content_type="text/event-stream",
    ),
    "an answer": SAID,
}


@pytest.mark.parametrize("answer", UNUSUAL.values(), ids=UNUSUAL)
def test_a_stream_that_is_held_back_and_not_replaced_comes_as_it_came(sdk: Sdk, answer: Answer) -> None:
    seen: list[Any] = []
    for wraps in (False, True):
        with ModelServer([answer]) as server, sdk.plain(server) as plain:
            client = ctxkit.wrap(plain, ctxkit.Stack(HoldBack(), ctxkit.TokenMeter())) if wraps else plain
            try:
                seen.append(sdk.wait.items(sdk.create(client, stream=True)))
            except Exception as error:
                seen.append((type(error), str(error)))
    assert seen[0] == seen[1]


class AskForOnePiece(ctxkit.Middleware):
    """Asks for the whole answer at once, however the caller wants it."""

    def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: Next) -> Any:
        return call_next(request.edit(remove=("stream", "stream_options")))


@pytest.mark.parametrize("how", HOWS)
def test_an_answer_in_one_piece_is_streamed_to_a_caller_who_wants_a_stream(
    sdk: Sdk, how: str, task: ctxkit.Task
) -> None:
    with ModelServer([SAID]) as server, sdk.wrapped(server, AskForOnePiece(), ctxkit.TokenMeter()) as client:
        assert sdk.ask(client, how) == "A tabby."
        assert "stream" not in server.requests[0].json
    assert [(one.outcome, one.usage.input_tokens) for one in task.attempts] == [("billed", 1_000)]


class TryAgain(ctxkit.Middleware):
    """Tries a call again that failed, however it failed."""

    def wrap_model_call(self, request: ctxkit.ModelRequest, call_next: Next) -> Any:
        try:
            return (yield from call_next(request))
        except (ctxkit.ModelCallFailed, OSError, Exception):
            return (yield from call_next(request))


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("first", [failure(529), hang_up(SAID)], ids=["529", "hang-up"])
def test_a_middleware_may_try_again(sdk: Sdk, how: str, first: Answer, task: ctxkit.Task) -> None:
    with ModelServer([first, SAID]) as server:
        with sdk.wrapped(server, TryAgain(), ctxkit.TokenMeter(), max_retries=0) as client:
            assert sdk.ask(client, how) == "A tabby."
        assert server.requests[0].body == server.requests[1].body
    assert [attempt.outcome for attempt in task.attempts][1] == "billed"


def test_a_stream_that_is_held_back_can_be_tried_again_in_the_middle(sdk: Sdk, task: ctxkit.Task) -> None:
    stack = (TryAgain(), HoldBack(), ctxkit.TokenMeter())
    script = [hang_up(SAID, after_bytes=300), SAID]
    with ModelServer(script) as server, sdk.wrapped(server, *stack, max_retries=0) as client:
        assert sdk.ask(client, "streamed") == "A tabby."
    assert [attempt.outcome for attempt in task.attempts] == ["unknown", "billed"]
