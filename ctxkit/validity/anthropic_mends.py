"""How a request of Anthropic's Messages API is made valid, problem by problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from ctxkit.messages import ModelRequest, Where
from ctxkit.validity.anthropic_cache import MOST_MARKS, Mark, marks_by_itself, marks_of
from ctxkit.validity.anthropic_messages import RULES
from ctxkit.validity.editing import ADDED_STUB, Body, Mend, Mended, at, block_at, drop, removed, stub, without
from ctxkit.validity.problems import Problem
from ctxkit.wire.native import path

Message = Mapping[str, Any]


def answer_tool_use(request: ModelRequest, body: Body, problem: Problem) -> Mended | None:
    """Give a call its result: the real one where it stands too far behind, and else a stub."""
    call = block_at(request, problem.where)
    if call.call_id is None:
        return None
    index, position = int(call.where[1]), int(call.where[3])
    earlier = [part.get("id") for part in body["messages"][index]["content"][:position]]
    late = _late_result(body["messages"], index, call.call_id)
    shorter = without(body, late, messages_key="messages") if late else None
    if late and shorter is not None:
        messages = _answered(shorter["messages"], index, at(body, late), earlier)
        return Mended({**body, "messages": messages}, f"moved its result from {path(late)}")
    messages = _answered(body["messages"], index, stub(request, call), earlier)
    return Mended({**body, "messages": messages}, ADDED_STUB)


def _late_result(messages: Sequence[Message], index: int, call_id: str) -> Where | None:
    """Where the result of a call stands behind the message that should hold it.

    It is looked for up to the next call of that id, which may be the one that it answers.
    """
    for later in range(index + 1, len(messages)):
        for position, part in enumerate(parts(messages[later])):
            if part.get("id") == call_id:
                return None
            if _is_result(part) and part.get("tool_use_id") == call_id:
                return "messages", later, "content", position
    return None


def _answered(messages: Sequence[Message], index: int, result: Any, earlier: Sequence[Any]) -> list[Message]:
    """The messages with a result in the user's message behind a call, in the order of the calls."""
    following = index + 1
    while following < len(messages) and messages[following].get("role") == "assistant":
        following += 1
    if following == len(messages) or messages[following].get("role") != "user":
        return [*messages[:following], {"role": "user", "content": [result]}, *messages[following:]]
    content = parts(messages[following])
    leading = takewhile(_is_result, content)
    content.insert(sum(part.get("tool_use_id") in earlier for part in leading), result)
    return [*messages[:following], {**messages[following], "content": content}, *messages[following + 1 :]]


def move_results_first(request: ModelRequest, body: Body, problem: Problem) -> Mended:
    """Move the results of a message in front of everything else in it."""
    turns = request.turns
    last = int(problem.where[1])
    while last + 1 < len(turns) and RULES.continues(turns[last + 1]):
        last += 1
    first = last + 1 - len(RULES.message(turns[last]))
    messages = body["messages"]
    contents = [parts(message) for message in messages[first : last + 1]]
    place = next(
        (number, position)
        for number, content in enumerate(contents)
        for position, part in enumerate(content)
        if not _is_result(part)
    )
    behind = [
        (number, position)
        for number, content in enumerate(contents)
        for position, part in enumerate(content)
        if _is_result(part) and (number, position) > place
    ]
    kept = [
        [part for position, part in enumerate(content) if (number, position) not in behind]
        for number, content in enumerate(contents)
    ]
    moved = [contents[number][position] for number, position in behind]
    kept[place[0]][place[1] : place[1]] = moved
    changed = [
        {**message, "content": content}
        for message, content in zip(messages[first : last + 1], kept, strict=True)
        if content
    ]
    return Mended(
        {**body, "messages": [*messages[:first], *changed, *messages[last + 1 :]]},
        "moved the results to the front of their message",
    )


def unmark(request: ModelRequest, body: Body, problem: Problem) -> Mended:
    """Take the `cache_control` off all blocks but four.

    What is kept serves most: the last two in the messages, where the next request of the loop reads and this
    one writes; then those of system and tools, which every conversation shares, from the last to the first;
    then the others, the last first.
    """
    marks = marks_of(request)
    room = MOST_MARKS - marks_by_itself(request, marks)
    surplus = [mark for mark in marks if mark not in _most_useful(marks)[:room]]
    for mark in surplus:
        body = removed(body, (*mark.where, "cache_control"))
    places = ", ".join(path(mark.where) for mark in surplus)
    return Mended(body, f"took cache_control off {places}")


def _most_useful(marks: Sequence[Mark]) -> list[Mark]:
    head = [mark for mark in marks if mark.where[0] != "messages"]
    messages = [mark for mark in marks if mark.where[0] == "messages"]
    return [*reversed(messages[-2:]), *reversed(head), *reversed(messages[:-2])]


def parts(message: Message) -> list[Any]:
    """The content of a message as a list of blocks."""
    content = message.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _is_result(part: Message) -> bool:
    return part.get("type") == "tool_result"


MENDS: Mapping[str, Mend] = {
    "message_is_not_empty": drop,
    "text_is_not_empty": drop,
    "compaction_is_not_empty": drop,
    "tool_use_has_its_result": answer_tool_use,
    "tool_result_has_its_tool_use": drop,
    "tool_use_has_one_result": drop,
    "server_result_has_its_tool_use": drop,
    "server_tool_use_has_its_result": drop,
    "tool_results_come_first": move_results_first,
    "at_most_four_blocks_are_marked": unmark,
}
