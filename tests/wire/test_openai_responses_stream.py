"""OpenAI's events build the response they stream, also where they break off or make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.errors import BodyError
from ctxkit.messages import Accumulator
from ctxkit.wire import wire_named
from support.bodies import RESPONSES

OPENED = {"id": "resp_1", "object": "response", "status": "in_progress", "model": "gpt-5", "output": []}
CREATED = {"type": "response.created", "response": OPENED}
MESSAGE = {"id": "m", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
CALL = {"id": "fc", "type": "function_call", "call_id": "a", "name": "ls", "arguments": ""}


def fed(*events: Any) -> Accumulator:
    accumulator = wire_named(RESPONSES).accumulator()
    for event in events:
        accumulator.feed(event)
    return accumulator


def output(*events: Any) -> list[Any]:
    """The items that these events make, after the first one of a stream."""
    body = fed(CREATED, *events).finish()
    assert body is not None
    items: list[Any] = body["output"]
    return items


def event(kind: str, index: int = 0, **more: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "output_index": index, **more}


def added(item: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return event("output_item.added", index, item=item)


def ended(kind: str, **response: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "response": {**OPENED, "status": kind, **response}}


@pytest.mark.parametrize("kind", ["completed", "incomplete", "failed"])
def test_the_event_that_ends_an_answer_holds_the_whole_of_it(kind: str) -> None:
    accumulator = fed(CREATED, added(MESSAGE), ended(kind, output=[CALL], usage={"input_tokens": 9}))
    assert accumulator.complete
    assert accumulator.finish() == {**OPENED, "status": kind, "output": [CALL], "usage": {"input_tokens": 9}}


@pytest.mark.parametrize("nothing", [[], None])
def test_items_that_the_last_event_leaves_out_are_those_that_were_finished(nothing: Any) -> None:
    """What isn't stored at the provider may be missing at the end."""
    done = {**CALL, "arguments": "{}"}
    events = (added(CALL), event("output_item.done", item=done), ended("completed", output=nothing))
    assert output(*events) == [done]


def test_what_is_encrypted_is_taken_from_the_finished_item() -> None:
    opened = {"id": "rs", "type": "reasoning", "summary": [], "encrypted_content": "half"}
    whole = {**opened, "encrypted_content": "the whole"}
    assert output(added(opened), event("output_item.done", item=whole)) == [whole]


@pytest.mark.parametrize(
    ("stem", "index", "key", "part_type", "field"),
    [
        ("output_text", "content_index", "content", "output_text", "text"),
        ("refusal", "content_index", "content", "refusal", "refusal"),
        ("reasoning_text", "content_index", "content", "reasoning_text", "text"),
        ("reasoning_summary_text", "summary_index", "summary", "summary_text", "text"),
    ],
)
def test_texts_grow_by_their_deltas(stem: str, index: str, key: str, part_type: str, field: str) -> None:
    deltas = [event(f"{stem}.delta", **{index: 0}, delta=piece) for piece in ("Hel", "lo")]
    whole = event(f"{stem}.done", **{index: 0}, **{field: "Hello!"})
    part = {"type": part_type, field: "Hello"}
    assert output(added(MESSAGE), *deltas) == [{**MESSAGE, key: [part]}]
    assert output(added(MESSAGE), *deltas, whole) == [{**MESSAGE, key: [{**part, field: "Hello!"}]}]


@pytest.mark.parametrize(
    ("stem", "item_type", "field"),
    [
        ("function_call_arguments", "function_call", "arguments"),
        ("mcp_call_arguments", "mcp_call", "arguments"),
        ("custom_tool_call_input", "custom_tool_call", "input"),
        ("code_interpreter_call_code", "code_interpreter_call", "code"),
    ],
)
def test_what_a_tool_is_called_with_grows_by_its_deltas(stem: str, item_type: str, field: str) -> None:
    opened = {"type": item_type, "id": "i"}
    deltas = [event(f"{stem}.delta", delta=piece) for piece in ('{"n"', ": 1}")]
    assert output(added(opened), *deltas) == [{**opened, field: '{"n": 1}'}]
    assert output(*deltas) == [{"type": item_type, field: '{"n": 1}'}]
    assert output(event(f"{stem}.done", **{field: "{}"})) == [{"type": item_type, field: "{}"}]


def test_parallel_calls_keep_apart_although_their_pieces_are_mixed() -> None:
    items = output(
        added({**CALL, "call_id": "b"}, 1),
        added(CALL),
        event("function_call_arguments.delta", 1, delta="2"),
        event("function_call_arguments.delta", 0, delta="1"),
    )
    assert [(item["call_id"], item["arguments"]) for item in items] == [("a", "1"), ("b", "2")]


def test_parts_keep_what_they_began_with() -> None:
    part = {"type": "output_text", "text": "", "annotations": []}
    items = output(
        added(MESSAGE),
        event("content_part.added", content_index=0, part=part),
        event("output_text.delta", content_index=0, delta="Cats."),
        event("content_part.added", content_index=1, part=part),
    )
    assert items[0]["content"] == [{**part, "text": "Cats."}, part]


@pytest.mark.parametrize("frame", ["content_part", "reasoning_part"])
def test_a_finished_part_is_what_it_says(frame: str) -> None:
    """Amazon frames the parts of reasoning by a name of its own."""
    part = {"type": "reasoning_text", "text": "Hm."}
    opened = event(f"{frame}.added", content_index=0, part={**part, "text": ""})
    done = event(f"{frame}.done", content_index=0, part=part)
    assert output(opened, done) == [{"content": [part]}]


def test_a_finished_item_replaces_what_its_deltas_made() -> None:
    delta = event("output_text.delta", content_index=0, delta="Ca")
    done = {**MESSAGE, "status": "completed", "content": [{"type": "output_text", "text": "Cats."}]}
    assert output(added(MESSAGE), delta, event("output_item.done", item=done)) == [done]


def test_an_answer_that_broke_off_is_what_arrived_and_its_usage_is_unknown() -> None:
    accumulator = fed(CREATED, added(MESSAGE), event("output_text.delta", content_index=0, delta="Let"))
    body = accumulator.finish()
    assert body is not None
    assert not accumulator.complete
    assert (body["id"], body["status"], wire_named(RESPONSES).usage(body)) == ("resp_1", "in_progress", None)
    assert [block.text for block in wire_named(RESPONSES).answer(body)] == ["Let"]


def test_an_error_ends_a_stream_and_completes_no_answer() -> None:
    accumulator = fed(CREATED, {"type": "error", "code": "server_error", "message": "?", "param": None})
    assert not accumulator.complete
    assert accumulator.finish() == OPENED


def test_nothing_that_arrived_is_no_answer() -> None:
    assert fed().finish() is None
    assert fed("[DONE]", None, {"type": "keepalive"}, {"error": {"message": "overloaded"}}).finish() is None


@pytest.mark.parametrize(
    "junk",
    [
        {"type": 7},
        {"type": "response.created"},
        event("output_item.added", item=None),
        event("content_part.added", content_index=0, part=None),
        event("web_search_call.searching", item_id="ws"),
        event("output_text.annotation.added", content_index=0, annotation={}),
        "[DONE]",
    ],
)
def test_what_says_nothing_of_the_answer_changes_nothing(junk: Any) -> None:
    assert output(added(MESSAGE), junk) == [MESSAGE]


def test_a_whole_that_is_no_text_leaves_what_its_deltas_made() -> None:
    delta = event("function_call_arguments.delta", delta="{}")
    assert output(added(CALL), delta, event("function_call_arguments.done", arguments=None)) == [
        {**CALL, "arguments": "{}"}
    ]


@pytest.mark.parametrize(
    ("malformed", "key"),
    [
        ({"type": "response.output_item.added", "item": CALL}, "output_index"),
        (event("output_text.delta", delta="x"), "content_index"),
        ({"type": "response.function_call_arguments.delta", "output_index": "one"}, "output_index"),
    ],
)
def test_an_event_without_its_place_is_refused_and_the_rest_is_kept(malformed: Any, key: str) -> None:
    accumulator = fed(CREATED, added(MESSAGE))
    with pytest.raises(BodyError, match=f"an event's {key} must be a number") as raised:
        accumulator.feed(malformed)
    assert raised.value.where == (key,)
    body = accumulator.finish()
    assert body is not None
    assert body["output"][0]["id"] == "m"
