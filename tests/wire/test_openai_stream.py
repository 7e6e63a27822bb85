"""OpenAI's chunks build the answer they stream, also where they break off or make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.errors import BodyError
from ctxkit.messages import Accumulator
from ctxkit.wire import wire_named
from support.bodies import OPENAI

USAGE = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}


def chunk(delta: Any = None, *, finish_reason: str | None = None, **choice: Any) -> dict[str, Any]:
    part = {"index": 0, "delta": delta or {}, "finish_reason": finish_reason, **choice}
    return {"id": "c", "object": "chat.completion.chunk", "model": "gpt-4o", "choices": [part]}


def fed(*events: Any) -> Accumulator:
    accumulator = wire_named(OPENAI).accumulator()
    for event in events:
        accumulator.feed(event)
    return accumulator


def built(*events: Any) -> dict[str, Any]:
    body = fed(*events).finish()
    assert body is not None
    return body


def said(*deltas: Any) -> dict[str, Any]:
    """The message that these deltas make."""
    message: dict[str, Any] = built(*(chunk(delta) for delta in deltas))["choices"][0]["message"]
    return message


def call_delta(
    index: int | None, *, call_id: str | None = None, name: str | None = None, piece: str = ""
) -> Any:
    function = {"arguments": piece} if name is None else {"name": name, "arguments": piece}
    return {"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]}


def called(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize("key", ["content", "refusal", "reasoning_content", "reasoning"])
def test_texts_grow_by_their_deltas(key: str) -> None:
    message = said(
        {"role": "assistant", key: ""}, {key: "Hel"}, {"role": "assistant", key: "lo"}, {key: None}
    )
    assert message == {"role": "assistant", "content": None, key: "Hello"}


def test_the_arguments_of_parallel_calls_grow_although_their_pieces_are_mixed() -> None:
    message = said(
        call_delta(0, call_id="a", name="ls"),
        call_delta(1, call_id="b", name="grep"),
        call_delta(1, piece='{"n"'),
        call_delta(0, piece='{"n": 1}'),
        call_delta(1, piece=": 2}"),
    )
    assert message["tool_calls"] == [called("a", "ls", '{"n": 1}'), called("b", "grep", '{"n": 2}')]


def test_two_pieces_of_one_call_may_come_in_one_chunk() -> None:
    pieces = [
        call_delta(0, call_id="a", name="ls", piece="{")["tool_calls"][0],
        call_delta(0, piece="}")["tool_calls"][0],
    ]
    assert said({"tool_calls": pieces})["tool_calls"] == [called("a", "ls", "{}")]


def test_calls_without_an_index_are_calls_of_their_own() -> None:
    """Gemini's endpoint for OpenAI's clients sends whole calls and no index."""
    message = said(
        call_delta(None, call_id="a", name="ls", piece="{}"),
        call_delta(None, call_id="b", name="ls", piece="{}"),
    )
    assert message["tool_calls"] == [called("a", "ls", "{}"), called("b", "ls", "{}")]


def test_a_custom_tool_gets_its_text_piece_by_piece() -> None:
    first = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
    message = said({"tool_calls": [first]}, {"tool_calls": [{"index": 0, "custom": {"input": " -l"}}]})
    assert message["tool_calls"] == [
        {"id": "a", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}
    ]


def test_a_function_call_of_the_first_generation_grows() -> None:
    message = said({"function_call": {"name": "ls", "arguments": ""}}, {"function_call": {"arguments": "{}"}})
    assert message["function_call"] == {"name": "ls", "arguments": "{}"}


def test_details_of_reasoning_grow_by_their_index_and_type() -> None:
    """OpenRouter wants `reasoning_details` sent back as they were, signature and all."""
    detail = {"type": "reasoning.text", "index": 0}
    message = said(
        {"reasoning_details": [{**detail, "text": "15 * "}]},
        {"reasoning_details": [{**detail, "text": "27", "signature": None}]},
        {"reasoning_details": [{**detail, "signature": "sig"}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 0}, "odd"]},
    )
    assert message["reasoning_details"] == [
        {**detail, "text": "15 * 27", "signature": "sig"},
        {"type": "reasoning.encrypted", "data": "x", "index": 0},
        "odd",
    ]


def test_content_may_be_parts_and_then_text() -> None:
    """Mistral streams its thinking as parts, and the answer behind it as text."""
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    assert said({"content": ""}, {"content": [thought]}, {"content": ""}, {"content": "144"})["content"] == [
        thought,
        {"type": "text", "text": "144"},
    ]


def test_log_probabilities_are_collected() -> None:
    logprobs = [{"content": [{"token": token}], "refusal": None} for token in "ab"]
    (choice,) = built(*(chunk({"content": "x"}, logprobs=one) for one in logprobs))["choices"]
    assert choice["logprobs"]["content"] == [{"token": "a"}, {"token": "b"}]


def test_usage_comes_in_a_chunk_without_choices() -> None:
    body = built(
        chunk({"content": "x"}, finish_reason="stop"), {**chunk(), "choices": [], "usage": USAGE}, "[DONE]"
    )
    assert body["usage"] == USAGE
    assert body["choices"] == [
        {"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}
    ]


def test_what_belongs_to_the_stream_alone_is_left_out() -> None:
    body = built({**chunk({"content": "x"}), "obfuscation": "aB3", "system_fingerprint": None})
    assert body["object"] == "chat.completion"
    assert not {"obfuscation", "system_fingerprint", "usage"} & body.keys()


def test_every_choice_is_an_answer_of_its_own() -> None:
    events = [chunk({"content": "b"}, index=1), chunk({"content": "a"}), chunk(finish_reason="stop")]
    assert [choice["message"]["content"] for choice in built(*events)["choices"]] == ["a", "b"]
    assert not fed(*events).complete
    assert fed(*events, chunk(index=1, finish_reason="length")).complete


def test_an_answer_is_complete_with_its_finish_reason_or_done() -> None:
    assert not fed(chunk({"content": "x"})).complete
    assert fed(chunk({"content": "x"}), chunk(finish_reason="stop")).complete
    assert fed(chunk({"content": "x"}), "[DONE]").complete
    assert not fed("[DONE]").complete


def test_nothing_that_arrived_is_no_answer() -> None:
    assert fed().finish() is None
    assert (
        fed("[DONE]", None, {"error": {"message": "overloaded"}, "choices": [{"index": 0}]}).finish() is None
    )


def test_an_error_within_a_stream_still_reports_usage() -> None:
    """OpenRouter bills what it sent before its error, and says how much in the same chunk."""
    failed = {**chunk({"content": "?"}), "error": {"code": 400}, "usage": USAGE}
    body = built(chunk({"content": "x"}), failed)
    assert body["usage"] == USAGE
    assert body["choices"][0]["message"]["content"] == "x"
    assert "error" not in body


@pytest.mark.parametrize(
    "event",
    [
        {"choices": ["a"]},
        {"choices": None},
        {"choices": [{"delta": None}]},
        {"choices": [{"index": "one", "delta": {"tool_calls": None}}]},
    ],
)
def test_what_makes_no_sense_changes_nothing(event: Any) -> None:
    assert built(chunk({"content": "x"}), event) == built(chunk({"content": "x"}))


@pytest.mark.parametrize("before", [None, 7, "text", [], {}])
@pytest.mark.parametrize("more", [7, "text", [7], {"text": "x"}])
@pytest.mark.parametrize("key", ["content", "tool_calls", "function_call", "anything"])
def test_values_of_any_two_types_can_follow_each_other(key: str, before: Any, more: Any) -> None:
    assert "role" in said({key: before}, {key: more})


def test_choices_that_are_no_list_are_refused_and_the_rest_is_kept() -> None:
    accumulator = fed(chunk({"content": "x"}))
    with pytest.raises(BodyError, match="choices must be a list"):
        accumulator.feed({"choices": {}})
    assert accumulator.finish() == built(chunk({"content": "x"}))
