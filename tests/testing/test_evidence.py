"""Answers that are given only while the model could still know what they say."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.drive import run
from ctxkit.flow import ask_model
from ctxkit.testing import ScriptedModel, from_transcript, needs_evidence
from support.bodies import ANTHROPIC, OPENAI, WIRES, calls, request_of, user
from support.runs import run as recorded

FOUND = "BX-1042 and HAT172 cost 105 (Rossi, 14:00:00)"


def result(wire: str, text: str) -> dict[str, Any]:
    if wire == OPENAI:
        return {"role": "tool", "tool_call_id": "c1", "content": text}
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": text}]}


def said_after(
    wire: str, sent: str, *, found: str = FOUND, asked: str = "Which one?", answer: str = "HAT172 costs 105."
) -> str:
    """What the model says when the run found one text, and the request shows another in its place."""
    call = calls(wire, "c1", tool="search", inputs={"query": "flights"})
    answered = {"role": "assistant", "content": answer}
    transcript = recorded(messages=[user(asked), call, result(wire, found), answered], wire=wire)
    edge = ScriptedModel(needs_evidence(from_transcript(transcript), transcript))
    before = run(ask_model(request_of(wire, [user(asked)])), edge)
    assert [one.name for one in before.tool_calls] == ["search"]
    return run(ask_model(request_of(wire, [user(asked), call, result(wire, sent)])), edge).text


@pytest.mark.parametrize("wire", WIRES)
def test_the_recorded_answer_is_given_while_its_evidence_is_there(wire: str) -> None:
    assert said_after(wire, "HAT172 ... 105") == "HAT172 costs 105."


@pytest.mark.parametrize("wire", WIRES)
def test_missing_evidence_is_named_instead_of_the_answer(wire: str) -> None:
    assert said_after(wire, "[cut]") == "I can't see 105, HAT172 any more."


@pytest.mark.parametrize(
    ("answer", "needed"),
    [
        ("Ask Rossi.", "Rossi"),
        ("It is at 14:00.", "14:00"),
        ("Take BX-1042.", "1042, BX-1042"),
        ("It is 105 or so.", "105"),
    ],
)
def test_names_numbers_and_what_is_tied_together_by_signs_are_evidence(answer: str, needed: str) -> None:
    assert said_after(ANTHROPIC, "[cut]", answer=answer) == f"I can't see {needed} any more."


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        ("HAT172 and 17", "17 it is"),
        ("the end", "the end"),
        ("HAT172", "It is 172."),
        ("HAT172", "Nothing for you, sorry."),
    ],
    ids=["two digits", "three letters", "a part of a longer word", "what no tool said"],
)
def test_what_could_be_there_by_chance_is_no_evidence(found: str, answer: str) -> None:
    assert said_after(ANTHROPIC, "[cut]", found=found, answer=answer) == answer


def test_a_part_of_a_longer_word_does_not_stand_for_the_word() -> None:
    assert said_after(ANTHROPIC, "HAT1720 and 1050") == "I can't see 105, HAT172 any more."


def test_what_the_user_said_needs_no_tool_result() -> None:
    assert said_after(ANTHROPIC, "[cut]", asked="Does HAT172 cost 105?") == "HAT172 costs 105."


@pytest.mark.parametrize(
    "head",
    [{"system": "HAT172 costs 105."}, {"tools": [{"name": "search", "description": "HAT172, 105"}]}],
    ids=["system", "tools"],
)
def test_what_stands_in_front_of_the_messages_needs_no_tool_result(head: dict[str, Any]) -> None:
    call = calls(ANTHROPIC, "c1")
    answered = {"role": "assistant", "content": "HAT172 costs 105."}
    transcript = recorded(messages=[user("?"), call, result(ANTHROPIC, FOUND), answered], **head)
    edge = ScriptedModel(needs_evidence(from_transcript(transcript), transcript))
    run(ask_model(request_of(ANTHROPIC, [user("?")])), edge)
    cut = request_of(ANTHROPIC, [user("?"), call, result(ANTHROPIC, "[cut]")])
    assert run(ask_model(cut), edge).text == "HAT172 costs 105."


def test_evidence_may_stand_anywhere_in_the_request() -> None:
    again = calls(ANTHROPIC, "c2", inputs={"flight": "HAT172"})
    messages = [
        user("?"),
        calls(ANTHROPIC, "c1"),
        result(ANTHROPIC, "HAT172"),
        again,
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c2", "content": "yes"}]},
        {"role": "assistant", "content": "HAT172."},
    ]
    transcript = recorded(messages=messages)
    edge = ScriptedModel(needs_evidence(from_transcript(transcript), transcript))
    cut = [user("?"), calls(ANTHROPIC, "c1"), result(ANTHROPIC, "[cut]")]
    run(ask_model(request_of(ANTHROPIC, messages[:1])), edge)
    assert run(ask_model(request_of(ANTHROPIC, cut)), edge).text == "I can't see HAT172 any more."
    assert run(ask_model(request_of(ANTHROPIC, [*cut, *messages[3:5]])), edge).text == "HAT172."


def test_a_call_after_the_last_answer_is_refused() -> None:
    transcript = recorded(messages=[user("hi"), {"role": "assistant", "content": "Hello."}])
    edge = ScriptedModel(needs_evidence(from_transcript(transcript), transcript))
    request = request_of(ANTHROPIC, [user("hi")])
    assert run(ask_model(request), edge).text == "Hello."
    with pytest.raises(AssertionError, match="the recorded run has 1 answers, and this is call 2"):
        run(ask_model(request), edge)
