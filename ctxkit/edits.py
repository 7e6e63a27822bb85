"""The one way in which middlewares edit a history, so that every edit is safe and is noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxkit.ledger import Decision
from ctxkit.ledger.decisions import Action
from ctxkit.messages import Block, ModelRequest
from ctxkit.tasks import current_task
from ctxkit.wire.thinking import without_thinking

_WITHOUT = "edits.without_thinking"
_CLEARED = "edits.cleared"


def edited(request: ModelRequest, texts: Mapping[Block, str], *, by: str, reason: str) -> ModelRequest:
    """A request in which tool results say something else; what is decided is noted once.

    The same edits of the same history give the same bytes.

    Args:
        request: As the middleware got it.
        texts: The results and what stands for them.
        by: The middleware, for the decision log.
        reason: Why, in one sentence.
    """
    if not request.editable:
        return request
    for block in texts:
        _note(request, block, by, "replaced", reason)
    return request.with_result_texts(texts)


@dataclass(frozen=True, slots=True)
class Clearing:
    """What is cleared together.

    Attributes:
        natives: The blocks, and the native parts that stand for them.
        lost_thinking: The places of messages that lose their thinking, as the edit would make it invalid.
        reason: Why, in one sentence.
    """

    natives: Mapping[Block, Any]
    lost_thinking: tuple[int, ...]
    reason: str


def cleared(request: ModelRequest, clearings: Sequence[Clearing], *, by: str) -> ModelRequest:
    """A request in which other native parts stand for results and calls; what is decided is noted once.

    Args:
        request: As the middleware got it.
        clearings: All that is cleared of its history. While this is the same object, the work of the request
            before is taken again.
        by: The middleware, for the decision log.
    """
    if not request.editable or not clearings:
        return request
    first = next(iter(clearings[-1].natives))
    memo, key, task = request.turns[int(first.where[1])].memo, (_CLEARED, by), current_task()
    known = memo.get(key)
    if known is None or known[0] is not clearings or known[1] is not task:
        known = memo[key] = clearings, task, _changed(request, clearings, by)
    messages = list(request.wire.messages(request.body))
    for index, message in known[2].items():
        messages[index] = message
    return request.with_messages(messages)


def _changed(request: ModelRequest, clearings: Sequence[Clearing], by: str) -> dict[int, Any]:
    """The messages that are changed, by their places."""
    natives: dict[Block, Any] = {}
    for clearing in clearings:
        natives.update(clearing.natives)
        for block in clearing.natives:
            _note(request, block, by, "replaced", clearing.reason)
    made = request.with_natives(natives)
    messages = made.wire.messages(made.body)
    changed = {index: messages[index] for index in {int(block.where[1]) for block in natives}}
    for index in dict.fromkeys(one for clearing in clearings for one in clearing.lost_thinking):
        turn = made.turns[index]
        for block in turn.blocks:
            if block.kind == "thinking":
                _note(request, block, by, "dropped", "it is bound to a history that was edited")
        if _WITHOUT not in turn.memo:
            turn.memo[_WITHOUT] = without_thinking(messages[index])
        changed[index] = turn.memo[_WITHOUT]
    return changed


def left(request: ModelRequest, block: Block, *, by: str, reason: str) -> None:
    """Note that a middleware left a block as it is, and why."""
    _note(request, block, by, "left", reason)


def _note(request: ModelRequest, block: Block, by: str, action: Action, reason: str) -> None:
    memo, key = request.turns[int(block.where[1])].memo, ("edits", by, action, block.where)
    task = current_task()
    if memo.get(key) is not task:
        memo[key] = task
        task.decide(Decision(by, action, block.kind, block.where, block.tool, block.call_id, reason))
