"""Edits of a body that leave the caller's as it is: only the containers around an edit are copied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ctxkit.messages import Block, ModelRequest, ToolCall, Where
from ctxkit.validity.problems import Problem

Body = Mapping[str, Any]

# What stands for a result that is nowhere to be found. It says no more than that, as nobody knows why.
NO_RESULT = "No result is available for this call."
ADDED_STUB = "added a result that says that none is available"
MODEL_ROLES = ("assistant", "model")


class Mended(NamedTuple):
    """A body after an edit.

    Attributes:
        body: The new body.
        what: What was done, in words.
    """

    body: Body
    what: str


# Takes the request in which the problem was found and the body, in which what stands behind the problem may
# have been mended already. Gives nothing where it is better not to touch it.
Mend = Callable[[ModelRequest, Body, Problem], Mended | None]


def drop(request: ModelRequest, body: Body, problem: Problem) -> Mended | None:
    """Leave out what the problem is about."""
    shorter = without(body, problem.where, messages_key=request.wire.messages_key)
    return None if shorter is None else Mended(shorter, "left it out")


def without(body: Body, where: Where, *, messages_key: str) -> Body | None:
    """The body without what stands at a path, and without the message that would be left empty.

    Returns:
        The body; `None` where it would have no message any more, or end with one of the model's own: then
        the model would go on writing it instead of answering.
    """
    owner, name = where[:-1], where[-1]
    if where == (messages_key,):
        return None
    holder = at(body, owner)
    if owner and not (isinstance(holder, list) and len(holder) > 1):
        return without(body, owner, messages_key=messages_key)
    shorter: Body = removed(body, where)
    was_last = owner == (messages_key,) and name == len(holder) - 1
    return None if was_last and _is_models(shorter[messages_key][-1]) else shorter


def stub(request: ModelRequest, call: Block) -> Any:
    """What answers a call of which no result is known, as the wire's own."""
    made = ToolCall(call.tool or "", {}, call.call_id, native=call.native)
    return request.wire.result(made, NO_RESULT, is_error=False)


def block_at(request: ModelRequest, where: Where) -> Block:
    """The block at a path."""
    return next(block for block in request.turns[int(where[1])].blocks if block.where == where)


def at(value: Any, where: Where) -> Any:
    """What stands at a path."""
    for name in where:
        value = value[name]
    return value


def removed(value: Any, where: Where) -> Any:
    """A copy without what stands at a path."""
    copy: Any = list(value) if isinstance(value, list) else dict(value)
    if len(where) > 1:
        copy[where[0]] = removed(value[where[0]], where[1:])
    else:
        del copy[where[0]]
    return copy


def _is_models(message: Mapping[str, Any]) -> bool:
    """Whether the model wrote a message, or an item of the Responses API."""
    kind = str(message.get("type"))
    return message.get("role") in MODEL_ROLES or kind == "reasoning" or kind.endswith("_call")
