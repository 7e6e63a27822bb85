"""A finished answer is replayed as the events that would have streamed it: nothing lost, nothing added."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.errors import BodyError
from ctxkit.wire import wire_named
from ctxkit.wire.native import loads
from ctxkit.wire.sse import EventReader
from support.bodies import ALL_WIRES, ANTHROPIC, GEMINI, OPENAI, RESPONSES, answer_body, calls
from support.recorded import answers, events_of, without_nulls
from support.sdks import of_anthropic, of_gemini, of_openai, of_responses

WITH_USAGE = {"stream_options": {"include_usage": True}}

TEXT = st.text(max_size=8)
INPUT = st.dictionaries(TEXT, TEXT | st.integers(-9, 9) | st.lists(st.booleans(), max_size=2), max_size=3)
IDS = st.uuids().map(str)


def typed(kind: str, **fields: Any) -> Any:
    return st.fixed_dictionaries({"type": st.just(kind), **fields})


BLOCKS = st.one_of(
    typed("text", text=TEXT),
    typed("text", text=TEXT, citations=st.lists(typed("char_location", cited_text=TEXT), max_size=2)),
    typed("thinking", thinking=TEXT, signature=TEXT),
    typed("redacted_thinking", data=TEXT),
    typed("tool_use", id=IDS, name=TEXT, input=INPUT),
    typed("server_tool_use", id=IDS, name=TEXT, input=INPUT),
    typed("web_search_tool_result", tool_use_id=IDS, content=st.lists(INPUT, max_size=2)),
    typed("compaction", content=TEXT | st.none(), encrypted_content=TEXT),
)
CALLS = st.one_of(
    typed("function", id=IDS, function=st.fixed_dictionaries({"name": TEXT, "arguments": TEXT})),
    typed("custom", id=IDS, custom=st.fixed_dictionaries({"name": TEXT, "input": TEXT})),
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": TEXT | st.none()},
    optional={
        "refusal": TEXT,
        "reasoning_content": TEXT,
        "tool_calls": st.lists(CALLS, max_size=3),
        "annotations": st.lists(INPUT, max_size=2),
        "audio": INPUT,
    },
)
TEXTS = typed("output_text", text=TEXT, annotations=st.lists(INPUT, max_size=2))
PARTS = TEXTS | typed("refusal", refusal=TEXT) | typed("hologram", beam=INPUT)
ITEMS = st.one_of(
    typed(
        "message",
        id=IDS,
        role=st.just("assistant"),
        status=st.just("completed"),
        content=st.lists(PARTS, max_size=3),
    ),
    typed("reasoning", id=IDS, summary=st.lists(typed("summary_text", text=TEXT), max_size=2)),
    typed("reasoning", id=IDS, summary=st.just([]), content=st.lists(typed("reasoning_text", text=TEXT))),
    typed("function_call", id=IDS, call_id=IDS, name=TEXT, arguments=TEXT),
    typed("custom_tool_call", id=IDS, call_id=IDS, name=TEXT, input=TEXT),
    typed("mcp_call", id=IDS, name=TEXT, arguments=TEXT, output=TEXT | st.none()),
    typed("code_interpreter_call", id=IDS, code=TEXT | st.none(), outputs=st.none()),
    typed("web_search_call", id=IDS, action=INPUT),
)
ENDS = st.sampled_from(["completed", "incomplete", "failed", "cancelled"])
GEMINI_PARTS = st.one_of(
    st.fixed_dictionaries({"text": TEXT}, optional={"thought": st.booleans(), "thoughtSignature": TEXT}),
    st.fixed_dictionaries({"functionCall": st.fixed_dictionaries({"name": TEXT, "args": INPUT})}),
    st.fixed_dictionaries({"inlineData": INPUT}),
)


def replayed(wire: str, body: dict[str, Any], *, request: dict[str, Any] | None = None) -> bytes:
    return b"".join(wire_named(wire).events(body, WITH_USAGE if request is None else request))


def round_trip(wire: str, body: dict[str, Any]) -> dict[str, Any]:
    return put_together(wire, events_of(replayed(wire, body)), complete=True)


def put_together(wire: str, events: list[Any], *, complete: bool = False) -> dict[str, Any]:
    accumulator = wire_named(wire).accumulator()
    for event in events:
        accumulator.feed(event)
    assert accumulator.complete == complete
    again = accumulator.finish()
    assert again is not None
    return again


def chat(*messages: Any, **body: Any) -> dict[str, Any]:
    choices = [
        {
            "index": index,
            "message": message,
            "finish_reason": "stop",
            "logprobs": {"content": [{"token": "a"}]},
        }
        for index, message in enumerate(messages)
    ]
    return answer_body(OPENAI, choices=choices, **body)


@given(st.lists(BLOCKS, max_size=5), st.sampled_from(["end_turn", "tool_use", "refusal", "bored"]))
def test_an_anthropic_answer_comes_back_as_it_was(content: list[Any], stop_reason: str) -> None:
    more = {
        "stop_details": {"category": "x"},
        "container": {"id": "c"},
        "context_management": {"applied_edits": []},
    }
    body = answer_body(ANTHROPIC, content=content, stop_reason=stop_reason, **more)
    assert round_trip(ANTHROPIC, body) == body


@given(st.lists(MESSAGES, min_size=1, max_size=2))
def test_an_openai_answer_comes_back_as_it_was(messages: list[Any]) -> None:
    body = chat(*messages, system_fingerprint="fp", service_tier="flex")
    assert round_trip(OPENAI, body) == body


@given(st.lists(ITEMS, max_size=4), ENDS)
def test_a_response_comes_back_as_it_was(output: list[Any], status: str) -> None:
    body = answer_body(RESPONSES, output=output, status=status, incomplete_details={"reason": "x"})
    assert round_trip(RESPONSES, body) == body


@given(st.lists(ITEMS, max_size=4))
def test_the_events_of_a_response_say_all_that_its_last_one_says(output: list[Any]) -> None:
    events = events_of(replayed(RESPONSES, answer_body(RESPONSES, output=output)))
    assert put_together(RESPONSES, events[:-1])["output"] == output
    deltas = [event for event in events[:-1] if event["type"] != "response.output_item.done"]
    for item, whole in zip(put_together(RESPONSES, deltas)["output"], output, strict=True):
        assert {**item, "status": None} == {**whole, "status": None}


def test_the_events_of_a_response_are_numbered() -> None:
    events = events_of(replayed(RESPONSES, answer_body(RESPONSES)))
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"] for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]


@pytest.mark.parametrize("status", ["completed", "incomplete", "failed"])
def test_the_last_event_of_a_response_says_how_it_ended(status: str) -> None:
    events = events_of(replayed(RESPONSES, answer_body(RESPONSES, status=status)))
    assert events[-1]["type"] == f"response.{status}"
    assert events[0]["response"]["usage"] is None
    assert events[0]["response"]["status"] == "in_progress"


@given(st.lists(GEMINI_PARTS, max_size=4), st.sampled_from(["STOP", "MAX_TOKENS"]))
def test_a_gemini_answer_comes_back_as_it_was(parts: list[Any], reason: str) -> None:
    """But for texts that follow each other, which no answer has: they are one part then."""
    content = {"role": "model", "parts": parts}
    candidates = [{"content": content, "finishReason": reason, "index": 0}]
    again = round_trip(GEMINI, answer_body(GEMINI, candidates=candidates))
    (candidate,) = again["candidates"]
    made = candidate["content"]["parts"]
    assert {**again, "candidates": []} == answer_body(GEMINI, candidates=[])
    assert "".join(part.get("text", "") for part in made) == "".join(part.get("text", "") for part in parts)
    kept = [part for part in parts if part.keys() - {"text", "thought"}]
    assert [part for part in made if part.keys() - {"text", "thought"}] == kept


def is_in_pieces(body: dict[str, Any]) -> bool:
    """Whether a text was recorded in the pieces that it was streamed in."""
    parts = body["candidates"][0]["content"]["parts"]
    return any(one.keys() == other.keys() == {"text"} for one, other in pairwise(parts))


def test_recorded_answers_come_back_as_they_were() -> None:
    seen = 0
    for wire, body in answers():
        if wire == GEMINI and is_in_pieces(body):
            continue
        for choice in body.get("choices", ()):
            for call in choice["message"].get("tool_calls") or ():
                # Mistral numbers its calls, as only chunks do elsewhere.
                call.pop("index", None)
        again = round_trip(wire, body)
        assert without_nulls(again) == without_nulls(body)
        seen += 1
    assert seen > 2_500


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_a_stream_may_be_split_at_any_byte(wire: str) -> None:
    body = answer_body(wire, "Grüße, 猫!")
    stream = replayed(wire, body)
    for place in range(len(stream)):
        reader = EventReader()
        pieces = (stream[:place], stream[place:])
        events = [event.data for piece in pieces for event in reader.feed(piece)]
        read = [data if data == "[DONE]" else loads(data) for data in events]
        assert without_nulls(put_together(wire, read, complete=True)) == without_nulls(body)


def test_the_last_chunk_carries_usage_only_where_it_was_asked_for() -> None:
    body = answer_body(OPENAI)
    asked, unasked = (events_of(replayed(OPENAI, body, request=request)) for request in (WITH_USAGE, {}))
    assert [event["usage"] for event in asked[:-1]] == [None] * (len(asked) - 2) + [body["usage"]]
    assert asked[-2]["choices"] == []
    assert not any("usage" in event for event in unasked[:-1])
    assert asked[-1] == unasked[-1] == "[DONE]"


CITED = {"type": "text", "text": "Cats.", "citations": [{"type": "char_location", "cited_text": "cat"}]}
SEARCHED = [
    {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "cats"}},
    {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
]
CALLED = [{"type": "tool_use", "id": one, "name": "ls", "input": {"path": one}} for one in "ab"]
ANTHROPIC_ANSWERS = {
    "text": answer_body(ANTHROPIC),
    "nothing": answer_body(ANTHROPIC, content=[]),
    "thinking": answer_body(
        ANTHROPIC, content=[{"type": "thinking", "thinking": "Hm.", "signature": "sig"}, *CALLED[:1]]
    ),
    "redacted thinking": answer_body(ANTHROPIC, content=[{"type": "redacted_thinking", "data": "Eqk="}]),
    "parallel calls": answer_body(ANTHROPIC, content=CALLED, stop_reason="tool_use"),
    "citations": answer_body(ANTHROPIC, content=[CITED]),
    "server tools": answer_body(ANTHROPIC, content=[*SEARCHED, CITED]),
    "refusal": answer_body(
        ANTHROPIC, content=[], stop_reason="refusal", stop_details={"type": "refusal", "category": "cyber"}
    ),
}
CHATS = {
    "text": answer_body(OPENAI),
    "nothing": chat({"role": "assistant", "content": ""}),
    "parallel calls": chat(calls(OPENAI, "a", "b", inputs={"path": "."})),
    "refusal": chat({"role": "assistant", "content": None, "refusal": "No."}),
}


@pytest.mark.parametrize("body", ANTHROPIC_ANSWERS.values(), ids=ANTHROPIC_ANSWERS)
def test_anthropics_sdk_makes_the_same_of_the_events(body: dict[str, Any]) -> None:
    assert without_nulls(of_anthropic(replayed(ANTHROPIC, body))) == without_nulls(body)


@pytest.mark.parametrize("body", CHATS.values(), ids=CHATS)
def test_openais_sdk_makes_the_same_of_the_chunks(body: dict[str, Any]) -> None:
    theirs = of_openai(replayed(OPENAI, body))
    (choice,), (their_choice,) = body["choices"], theirs["choices"]
    for call in their_choice["message"].get("tool_calls") or []:
        call.pop("index", None)
        call["function"].pop("parsed_arguments", None)
    assert without_nulls(their_choice["message"]) == without_nulls(choice["message"])
    assert their_choice["finish_reason"] == choice["finish_reason"]
    assert without_nulls(theirs["usage"]) == body["usage"]


REASONED = {
    "id": "rs",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "Hm."}, {"type": "summary_text", "text": "So."}],
    "encrypted_content": "x",
}
CITED_PART = {
    "type": "output_text",
    "text": "Cats.",
    "annotations": [{"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 4}],
}
SPEAKS = {"id": "m", "type": "message", "role": "assistant", "status": "completed"}
ITEMS_OF = {
    "text": [{**SPEAKS, "content": [{"type": "output_text", "text": "Done.", "annotations": []}]}],
    "nothing": [],
    "refusal": [{**SPEAKS, "content": [{"type": "refusal", "refusal": "No."}]}],
    "reasoning and parallel calls": [
        REASONED,
        *(
            {
                "id": f"fc_{one}",
                "type": "function_call",
                "status": "completed",
                "call_id": one,
                "name": "ls",
                "arguments": '{"path": "."}',
            }
            for one in "ab"
        ),
    ],
    "a custom tool": [
        {
            "id": "ct",
            "type": "custom_tool_call",
            "status": "completed",
            "call_id": "a",
            "name": "sh",
            "input": "ls",
        }
    ],
    "built-in tools and citations": [
        {
            "id": "ws",
            "type": "web_search_call",
            "status": "completed",
            "action": {"type": "search", "query": "cats", "queries": ["cats"]},
        },
        {
            "id": "ci",
            "type": "code_interpreter_call",
            "status": "completed",
            "code": "1+1",
            "container_id": "c",
            "outputs": [{"type": "logs", "logs": "2"}],
        },
        {
            "id": "mc",
            "type": "mcp_call",
            "status": "completed",
            "server_label": "wiki",
            "name": "ask",
            "arguments": "{}",
            "output": "Cats.",
        },
        {**SPEAKS, "content": [CITED_PART]},
    ],
}


@pytest.mark.parametrize("output", ITEMS_OF.values(), ids=ITEMS_OF)
def test_openais_sdk_makes_the_same_of_the_events_of_a_response(output: list[Any]) -> None:
    body = answer_body(RESPONSES, output=output)
    theirs = of_responses(replayed(RESPONSES, body))
    for item in theirs["output"]:
        item.pop("parsed_arguments", None)
        for part in item.get("content") or ():
            part.pop("parsed", None)
    assert without_nulls(theirs) == without_nulls(body)


def test_googles_sdk_makes_the_same_of_the_chunks() -> None:
    parts = [
        {"text": "Hm.", "thought": True},
        {"text": "Let me look.", "thoughtSignature": "c2ln"},
        {"functionCall": {"id": "a", "name": "ls", "args": {"path": "."}}},
    ]
    candidates = [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}]
    body = answer_body(GEMINI, candidates=candidates)
    assert of_gemini(replayed(GEMINI, body)) == [body]


def test_an_answer_without_usage_is_accepted_by_anthropics_sdk() -> None:
    """A middleware's own answer may leave usage out; the SDK reads `usage.output_tokens` all the same."""
    body = {key: value for key, value in answer_body(ANTHROPIC).items() if key != "usage"}
    assert of_anthropic(replayed(ANTHROPIC, body))["content"] == body["content"]


def test_anthropics_output_tokens_are_a_placeholder_until_the_end() -> None:
    body = answer_body(ANTHROPIC)
    events = events_of(replayed(ANTHROPIC, body))
    assert events[0]["message"]["usage"] == {"input_tokens": 100, "output_tokens": 1}
    assert events[-2]["usage"] == {"input_tokens": 100, "output_tokens": 10}


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (ANTHROPIC, {"content": "text"}),
        (ANTHROPIC, {"content": ["text"]}),
        (ANTHROPIC, {"content": [{"type": "text", "citations": 7}]}),
        (OPENAI, {"choices": {}}),
        (OPENAI, {"choices": ["text"]}),
        (OPENAI, {"choices": [{"message": {"tool_calls": 7}}]}),
        (OPENAI, {"choices": [{"message": {"tool_calls": [7]}}]}),
        (RESPONSES, {"output": {}}),
        (RESPONSES, {"output": ["text"]}),
        (RESPONSES, {"output": [{"content": ["text"]}]}),
        (RESPONSES, {"output": [{"content": [{"annotations": 7}]}]}),
    ],
)
def test_a_malformed_answer_is_refused(wire: str, body: dict[str, Any]) -> None:
    with pytest.raises(BodyError):
        replayed(wire, body)
