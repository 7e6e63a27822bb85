"""Gemini's chunks build the answer they stream, also where they break off or make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.errors import BodyError
from ctxkit.messages import Accumulator
from ctxkit.wire import wire_named
from support.bodies import GEMINI

USAGE = {"promptTokenCount": 9, "candidatesTokenCount": 4, "totalTokenCount": 13}


def chunk(*parts: Any, **candidate: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "index": 0, **candidate}], "modelVersion": "gemini-3"}


def fed(*events: Any) -> Accumulator:
    accumulator = wire_named(GEMINI).accumulator()
    for event in events:
        accumulator.feed(event)
    return accumulator


def built(*events: Any) -> dict[str, Any]:
    body = fed(*events).finish()
    assert body is not None
    return body


def parts_of(*events: Any) -> list[Any]:
    parts: list[Any] = built(*events)["candidates"][0]["content"]["parts"]
    return parts


def call(**fields: Any) -> dict[str, Any]:
    return {"functionCall": fields}


def piece(path: str, **value: Any) -> dict[str, Any]:
    return call(partialArgs=[{"jsonPath": path, **value}], willContinue=True)


def test_a_text_that_comes_in_pieces_is_one_part() -> None:
    assert parts_of(chunk({"text": "Hel"}), chunk({"text": "lo"}, {"text": "!"})) == [{"text": "Hello!"}]


def test_thoughts_and_texts_keep_apart() -> None:
    thoughts = [{"text": "Hm", "thought": True}, {"text": ".", "thought": True}]
    assert parts_of(chunk(thoughts[0]), chunk(thoughts[1], {"text": "Yes."})) == [
        {"text": "Hm.", "thought": True},
        {"text": "Yes."},
    ]


def test_a_signed_part_stays_as_it_came() -> None:
    signed = {"text": "b", "thoughtSignature": "c2ln"}
    assert parts_of(chunk({"text": "a"}), chunk(signed), chunk({"text": "c"})) == [
        {"text": "a"},
        signed,
        {"text": "c"},
    ]


def test_calls_are_parts_of_their_own() -> None:
    both = [call(name=name, args={}) for name in ("ls", "grep")]
    assert parts_of(chunk(both[0]), chunk(both[1])) == both


def test_arguments_may_come_piece_by_piece() -> None:
    opened = {**call(name="ls", willContinue=True), "thoughtSignature": "c2ln"}
    events = [
        opened,
        piece("$.path", stringValue="/h", willContinue=True),
        piece("$.path", stringValue="ome"),
        piece("$.depth", numberValue=2),
        piece("$['all files']", boolValue=True),
        piece("$.skip[0].name", stringValue="a"),
        piece("$.skip[1].name", stringValue="b"),
        piece("$.skip[0].kind", nullValue="NULL_VALUE"),
        call(),
        call(name="grep", args={"x": 1}),
    ]
    args = {
        "path": "/home",
        "depth": 2,
        "all files": True,
        "skip": [{"name": "a", "kind": None}, {"name": "b"}],
    }
    assert parts_of(*map(chunk, events)) == [
        {"functionCall": {"name": "ls", "args": args}, "thoughtSignature": "c2ln"},
        call(name="grep", args={"x": 1}),
    ]


def test_a_call_that_broke_off_has_the_arguments_that_came() -> None:
    assert parts_of(chunk(call(name="ls", willContinue=True)), chunk(piece("$.a", stringValue="x"))) == [
        call(name="ls", args={"a": "x"}, willContinue=True)
    ]


def test_a_piece_that_leads_nowhere_is_refused_and_the_rest_is_kept() -> None:
    accumulator = fed(chunk(call(name="ls", willContinue=True)))
    with pytest.raises(BodyError, match="has the index 7, and 0 came before it"):
        accumulator.feed(chunk(piece("$.a[7]", stringValue="x")))
    assert accumulator.finish() == built(chunk(call(name="ls", willContinue=True)))


def test_usage_counts_all_that_came_so_far_and_the_last_one_holds() -> None:
    first = {**chunk({"text": "x"}), "usageMetadata": {"trafficType": "ON_DEMAND", "promptTokenCount": 9}}
    last = {**chunk({"text": "y"}, finishReason="STOP"), "usageMetadata": USAGE}
    body = built(first, last)
    assert body["usageMetadata"] == {"trafficType": "ON_DEMAND", **USAGE}
    assert (body["modelVersion"], body["candidates"][0]["finishReason"]) == ("gemini-3", "STOP")


def test_an_answer_is_complete_when_every_candidate_has_its_finish_reason() -> None:
    assert not fed(chunk({"text": "x"})).complete
    assert fed(chunk({"text": "x"}), chunk(finishReason="STOP")).complete
    both = [chunk({"text": "a"}, finishReason="STOP"), chunk({"text": "b"}, index=1)]
    assert not fed(*both).complete
    assert fed(*both, chunk(index=1, finishReason="MAX_TOKENS")).complete
    assert [one["content"]["parts"] for one in built(*both)["candidates"]] == [
        [{"text": "a"}],
        [{"text": "b"}],
    ]


def test_a_blocked_prompt_is_a_complete_answer() -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": USAGE}
    assert fed(blocked).complete
    assert built(blocked) == blocked


def test_nothing_that_arrived_is_no_answer() -> None:
    assert fed().finish() is None
    assert fed("[DONE]", None, {"error": {"code": 503}, "candidates": [{}]}).finish() is None


@pytest.mark.parametrize(
    "junk",
    [{"candidates": None}, {"candidates": ["a"]}, {"candidates": [{}]}, {"candidates": [{"index": "a"}]}],
)
def test_what_makes_no_sense_leaves_the_parts(junk: Any) -> None:
    assert parts_of(chunk({"text": "x"}), junk) == [{"text": "x"}]


@pytest.mark.parametrize(
    "malformed",
    [{"candidates": {}}, chunk({"text": "y"}, content={"parts": "y"}), chunk(call(partialArgs=7))],
)
def test_what_is_no_list_is_refused_and_the_rest_is_kept(malformed: Any) -> None:
    accumulator = fed(chunk({"text": "x"}))
    with pytest.raises(BodyError, match="must be a list"):
        accumulator.feed(malformed)
    assert accumulator.finish() == built(chunk({"text": "x"}))


def test_a_candidate_without_content_is_kept() -> None:
    refused = {"candidates": [{"finishReason": "SAFETY", "index": 0}]}
    assert built(refused) == refused
