"""How a request of the Gemini API is made valid, problem by problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from ctxkit.messages import Block, ModelRequest
from ctxkit.validity.editing import ADDED_STUB, Body, Mend, Mended, drop, stub, without
from ctxkit.validity.gemini import RULES, calls, is_models, responses
from ctxkit.validity.problems import Problem
from ctxkit.wire.native import path

RESPONSE_KEYS = frozenset({"functionResponse", "function_response"})


def answer_calls(request: ModelRequest, body: Body, problem: Problem) -> Mended | None:
    """Give every call of a turn one response: stubs for those without, and none too many."""
    index = int(problem.where[1])
    turns = request.turns
    answering = tuple(takewhile(lambda turn: not is_models(turn), turns[index + 1 :]))
    missing, surplus = _matched(list(calls(RULES.message(turns[index]))), list(responses(answering)))
    done: list[str] = []
    for response in reversed(surplus):
        shorter = without(body, response.where, messages_key="contents")
        if shorter is None:
            return None
        body = shorter
        done.append(f"left out {path(response.where)}")
    if missing:
        body = {
            **body,
            "contents": _answered(body["contents"], index, [stub(request, call) for call in missing]),
        }
        done.append(ADDED_STUB)
    return Mended(body, ", ".join(done))


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


def _answered(contents: Sequence[Any], index: int, stubs: list[Any]) -> list[Any]:
    """The contents with stubs beside the responses behind a turn of calls, or in a content of their own."""
    before, behind = contents[: index + 1], contents[index + 1 :]
    parts = behind[0].get("parts") or [] if behind else []
    if any(not RESPONSE_KEYS.isdisjoint(part) for part in parts):
        return [*before, {**behind[0], "parts": [*stubs, *parts]}, *behind[1:]]
    return [*before, {"role": "user", "parts": stubs}, *behind]


MENDS: Mapping[str, Mend] = {
    "content_is_not_empty": drop,
    "calls_and_responses_are_as_many": answer_calls,
    "response_follows_its_call": drop,
}
