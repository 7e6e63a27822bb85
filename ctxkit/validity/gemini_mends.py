"""How a request of the Gemini API is made valid, problem by problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from ctxkit.messages import Block, ModelRequest
from ctxkit.validity.editing import ADDED_STUB, Body, Mend, Mended, drop, stub
from ctxkit.validity.gemini import RULES, calls, is_models, responses
from ctxkit.validity.problems import Message, Problem
from ctxkit.wire.native import path


def answer_calls(request: ModelRequest, body: Body, problem: Problem) -> Mended:
    """Give every call of a turn one response: stubs for those without, and none too many."""
    index = int(problem.where[1])
    turns = request.turns
    answering = tuple(takewhile(lambda turn: not is_models(turn), turns[index + 1 :]))
    missing, surplus = _matched(list(calls(RULES.message(turns[index]))), list(responses(answering)))
    answers = list(_without(answering, surplus))
    if missing:
        stubs = [stub(request, call) for call in missing]
        if any(True for _ in responses(answering[:1])):
            answers[0] = {**answers[0], "parts": [*stubs, *answers[0]["parts"]]}
        else:
            answers.insert(0, {"role": "user", "parts": stubs})
    before, behind = body["contents"][: index + 1], body["contents"][index + 1 + len(answering) :]
    contents = [*before, *(answer for answer in answers if answer["parts"]), *behind]
    done = [f"left out {path(response.where)}" for response in surplus] + [ADDED_STUB] * bool(missing)
    return Mended({**body, "contents": contents}, ", ".join(done))


def _matched(called: Sequence[Block], answered: list[Block]) -> tuple[list[Block], list[Block]]:
    """The calls without a response and the responses without a call, told by id or else by name."""
    missing = []
    for call in called:
        own = next((response for response in answered if _answers(response, call)), None)
        if own is None:
            missing.append(call)
        else:
            answered.remove(own)
    return missing, answered


def _answers(response: Block, call: Block) -> bool:
    if response.call_id is not None and call.call_id is not None:
        return response.call_id == call.call_id
    return response.tool == call.tool


def _without(answering: Message, surplus: Sequence[Block]) -> Iterator[Any]:
    """The contents of the user's turn without some of their parts."""
    for turn in answering:
        kept = [block.native for block in turn.blocks if block not in surplus]
        yield {**turn.native, "parts": kept}


MENDS: Mapping[str, Mend] = {
    "content_is_not_empty": drop,
    "calls_and_responses_are_as_many": answer_calls,
    "response_follows_its_call": drop,
}
