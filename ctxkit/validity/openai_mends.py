"""How requests of OpenAI's two APIs are made valid, problem by problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from ctxkit.messages import ModelRequest
from ctxkit.validity.editing import ADDED_STUB, Body, Mend, Mended, block_at, drop, stub, without
from ctxkit.validity.openai_responses import PROMPTING_ROLES
from ctxkit.validity.problems import Problem

Message = Mapping[str, Any]


def answer_tool_call(request: ModelRequest, body: Body, problem: Problem) -> Mended | None:
    """Give a call its message: the real one where it stands too far behind, and else a stub."""
    call = block_at(request, problem.where)
    if call.call_id is None:
        return None
    index, position = int(call.where[1]), int(call.where[3])
    earlier = [one.get("id") for one in body["messages"][index]["tool_calls"][:position]]
    late = _late_message(body["messages"], index, call.call_id)
    shorter = None if late is None else without(body, ("messages", late), messages_key="messages")
    if late is not None and shorter is not None:
        messages = _answered(shorter["messages"], index, body["messages"][late], earlier)
        return Mended({**body, "messages": messages}, f"moved its message from messages.{late}")
    messages = _answered(body["messages"], index, stub(request, call), earlier)
    return Mended({**body, "messages": messages}, ADDED_STUB)


def _answered(messages: Sequence[Message], index: int, answer: Message, earlier: Sequence[Any]) -> list[Any]:
    """The messages with an answer behind a batch, in the order of the calls."""
    answers = takewhile(_is_answer, messages[index + 1 :])
    place = index + 1 + sum(one.get("tool_call_id") in earlier for one in answers)
    return [*messages[:place], answer, *messages[place:]]


def _late_message(messages: Sequence[Message], index: int, call_id: str) -> int | None:
    """Where the answer to a call stands behind the batch that should hold it.

    It is looked for up to the next call of that id, which may be the one that it answers.
    """
    for later in range(index + 1, len(messages)):
        if _is_answer(messages[later]) and messages[later].get("tool_call_id") == call_id:
            return later
        if any(call.get("id") == call_id for call in messages[later].get("tool_calls") or ()):
            return None
    return None


def _is_answer(message: Message) -> bool:
    return message.get("role") == "tool"


def drop_second_answer(request: ModelRequest, body: Body, problem: Problem) -> Mended | None:
    """Leave out what answers a call again, unless the model made two calls of one id."""
    answer = block_at(request, problem.where)
    batch = next(turn for turn in request.turns[int(answer.where[1])].ancestors() if turn.role != "tool")
    made = sum(block.call_id == answer.call_id for block in batch.blocks)
    return None if made > 1 else drop(request, body, problem)


def answer_item(request: ModelRequest, body: Body, problem: Problem) -> Mended | None:
    """Give a call a stub behind the calls beside it; a screenshot can't be made up."""
    call = block_at(request, problem.where)
    if call.native["type"] == "computer_call":
        return None
    items = list(body["input"])
    beside = takewhile(_is_of_a_batch, items[int(call.where[1]) :])
    items.insert(int(call.where[1]) + sum(1 for _ in beside), stub(request, call))
    return Mended({**body, "input": items}, ADDED_STUB)


def _is_of_a_batch(item: Mapping[str, Any]) -> bool:
    return str(item.get("type")).endswith(("_call", "_call_output"))


def drop_reasoning(request: ModelRequest, body: Body, problem: Problem) -> Mended | None:
    """Leave out reasoning whose item is gone, but not that of the running tool loop."""
    behind = request.turns[int(problem.where[1]) + 1 :]
    over = any(turn.role in PROMPTING_ROLES for turn in behind)
    return drop(request, body, problem) if over else None


def drop_repeated_item(request: ModelRequest, body: Body, problem: Problem) -> Mended | None:
    """Leave out an item that stands in the input already, where both are the same."""
    item = body["input"][int(problem.where[1])]
    first = next(one for one in body["input"] if one.get("id") == item["id"])
    return drop(request, body, problem) if first == item else None


CHAT_MENDS: Mapping[str, Mend] = {
    "tool_call_has_its_message": answer_tool_call,
    "tool_message_has_its_call": drop,
    "tool_call_has_one_message": drop_second_answer,
}
RESPONSES_MENDS: Mapping[str, Mend] = {
    "item_ids_are_unique": drop_repeated_item,
    "call_has_its_output": answer_item,
    "output_has_its_call": drop,
    "reasoning_has_its_item": drop_reasoning,
}
