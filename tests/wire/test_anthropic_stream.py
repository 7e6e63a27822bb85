"""Anthropic's events build the answer they stream, also where they break off or make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.errors import BodyError
from ctxkit.messages import Accumulator
from ctxkit.wire import wire_named
from support.bodies import ANTHROPIC

START = {
    "type": "message_start",
    "message": {
        "id": "m",
        "content": [],
        "usage": {"input_tokens": 9, "cache_read_input_tokens": 3, "output_tokens": 1},
    },
}
END = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 40}}
STOP = {"type": "message_stop"}


def fed(*events: Any) -> Accumulator:
    accumulator = wire_named(ANTHROPIC).accumulator()
    for event in events:
        accumulator.feed(event)
    return accumulator


def built(*events: Any) -> dict[str, Any]:
    body = fed(START, *events).finish()
    assert body is not None
    return body


def opened(block: dict[str, Any], *deltas: dict[str, Any], index: int = 0) -> list[dict[str, Any]]:
    """A block that starts, and the deltas that follow."""
    start = {"type": "content_block_start", "index": index, "content_block": block}
    return [start, *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)]


def test_texts_grow_by_their_deltas() -> None:
    deltas = [{"type": "text_delta", "text": "Hel"}, {"type": "text_delta", "text": "lo"}]
    assert built(*opened({"type": "text", "text": ""}, *deltas))["content"] == [
        {"type": "text", "text": "Hello"}
    ]


def test_thinking_is_signed() -> None:
    deltas = [
        {"type": "thinking_delta", "thinking": "Hm"},
        {"type": "thinking_delta", "thinking": "."},
        {"type": "signature_delta", "signature": "sig"},
    ]
    block = {"type": "thinking", "thinking": "", "signature": ""}
    assert built(*opened(block, *deltas))["content"] == [{**block, "thinking": "Hm.", "signature": "sig"}]


@pytest.mark.parametrize(
    ("pieces", "read"),
    [(['{"path"', ': "a"}'], {"path": "a"}), ([""], {}), (['{"path": "a'], {}), ([], {"from": "the start"})],
)
def test_the_input_of_a_tool_is_read_from_its_pieces(pieces: list[str], read: dict[str, Any]) -> None:
    block = {"type": "tool_use", "id": "a", "name": "ls", "input": {} if pieces else read}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    assert built(*opened(block, *deltas))["content"] == [{**block, "input": read}]


def test_parallel_calls_keep_apart_although_their_pieces_are_mixed() -> None:
    one, other = ({"type": "tool_use", "id": name, "name": name, "input": {}} for name in "ab")
    first = opened(one, {"type": "input_json_delta", "partial_json": '{"n": 1}'}, index=0)
    second = opened(other, {"type": "input_json_delta", "partial_json": '{"n": 2}'}, index=1)
    content = built(second[0], first[0], first[1], second[1])["content"]
    assert [block["input"] for block in content] == [{"n": 1}, {"n": 2}]


def test_citations_are_collected() -> None:
    deltas = [{"type": "citations_delta", "citation": {"cited_text": text}} for text in "ab"]
    block = {"type": "text", "text": "x", "citations": None}
    (text,) = built(*opened(block, *deltas))["content"]
    assert text["citations"] == [{"cited_text": "a"}, {"cited_text": "b"}]


def test_a_compaction_keeps_what_must_be_sent_back_verbatim() -> None:
    delta = {"type": "compaction_delta", "content": None, "encrypted_content": "opaque"}
    (block,) = built(*opened({"type": "compaction", "content": None}, delta))["content"]
    assert block == {"type": "compaction", "content": None, "encrypted_content": "opaque"}


def test_usage_is_cumulative_and_overwrites() -> None:
    """Anthropic's docs: "The token counts shown in the `usage` field of the `message_delta` event are
    *cumulative*."
    """
    again = {**END, "usage": {"output_tokens": 50, "input_tokens": None}}
    usage = built(END, again)["usage"]
    assert usage == {"input_tokens": 9, "cache_read_input_tokens": 3, "output_tokens": 50}


def test_what_a_message_delta_adds_at_the_top_is_kept() -> None:
    body = built({**END, "context_management": {"applied_edits": []}})
    assert body["context_management"] == {"applied_edits": []}
    assert body["stop_reason"] == "end_turn"


def test_only_message_stop_ends_an_answer() -> None:
    assert not fed(START, *opened({"type": "text", "text": "x"}), END).complete
    assert fed(START, *opened({"type": "text", "text": "x"}), END, STOP).complete


def test_an_answer_that_broke_off_is_what_arrived() -> None:
    text, call = {"type": "text", "text": "Let"}, {"type": "tool_use", "id": "a", "name": "ls", "input": {}}
    piece = {"type": "input_json_delta", "partial_json": '{"pa'}
    assert built(*opened(text), *opened(call, piece, index=1))["content"] == [text, call]


def test_nothing_that_arrived_is_no_answer() -> None:
    assert fed().finish() is None
    assert fed({"type": "ping"}, {"type": "error", "error": {"type": "overloaded_error"}}).finish() is None


def test_an_answer_without_its_start_is_built_all_the_same() -> None:
    assert fed(*opened({"type": "text", "text": "x"})).finish() == {
        "content": [{"type": "text", "text": "x"}]
    }
    assert fed(END).finish() == {"stop_reason": "end_turn", "usage": {"output_tokens": 40}, "content": []}


def test_a_second_start_begins_the_answer_anew() -> None:
    """Seen in recorded streams: a gateway retries upstream and starts over within one stream."""
    call = {"type": "tool_use", "id": "a", "name": "ls", "input": {}}
    broken = {"type": "input_json_delta", "partial_json": '{"path": "a'}
    whole = {"type": "input_json_delta", "partial_json": '{"path": "a"}'}
    body = built(
        *opened({"type": "text", "text": "x"}), *opened(call, broken, index=1), START, *opened(call, whole)
    )
    assert body["content"] == [{**call, "input": {"path": "a"}}]


@pytest.mark.parametrize(
    "event",
    [
        None,
        "[DONE]",
        {},
        {"type": "hologram"},
        {"type": "message_start", "message": None},
        {"type": "content_block_start", "index": 0, "content_block": None},
        {"type": "content_block_delta", "index": 0, "delta": None},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "hologram_delta"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": ["text_delta"]}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": None, "usage": None},
    ],
)
def test_events_that_are_not_known_change_nothing(event: Any) -> None:
    text = opened({"type": "text", "text": "x"})
    assert built(*text, event) == built(*text)


def test_an_event_without_a_place_is_refused_and_the_rest_is_kept() -> None:
    accumulator = fed(START, *opened({"type": "text", "text": "x"}))
    with pytest.raises(BodyError, match="index must be a number"):
        accumulator.feed({"type": "content_block_start", "content_block": {"type": "text"}})
    body = accumulator.finish()
    assert body is not None
    assert body["content"] == [{"type": "text", "text": "x"}]
