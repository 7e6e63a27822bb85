"""The one way in which middlewares edit a history, so that every edit is safe and is noted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ctxkit.ledger import Decision
from ctxkit.ledger.decisions import Action
from ctxkit.messages import Block, ModelRequest
from ctxkit.tasks import current_task
from ctxkit.wire.thinking import without_thinking

_WITHOUT = "edits.without_thinking"


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


def cleared(
    request: ModelRequest,
    natives: Mapping[Block, Any],
    *,
    by: str,
    reasons: Mapping[Block, str],
    lost_thinking: Collection[int] = (),
) -> ModelRequest:
    """A request in which other native parts stand for results and calls; what is decided is noted once.

    Args:
        request: As the middleware got it.
        natives: The blocks and what stands for them.
        by: The middleware, for the decision log.
        reasons: Why for each, in one sentence.
        lost_thinking: The places of messages that lose their thinking, as the edit would make it invalid.
    """
    if not request.editable:
        return request
    for block in natives:
        _note(request, block, by, "replaced", reasons[block])
    made = request.with_natives(natives)
    if not lost_thinking:
        return made
    messages: list[Any] = list(made.wire.messages(made.body))
    for index in lost_thinking:
        turn = made.turns[index]
        for block in turn.blocks:
            if block.kind == "thinking":
                _note(request, block, by, "dropped", "it is bound to a history that was edited")
        if _WITHOUT not in turn.memo:
            turn.memo[_WITHOUT] = without_thinking(messages[index])
        messages[index] = turn.memo[_WITHOUT]
    return made.with_messages(messages)


def left(request: ModelRequest, block: Block, *, by: str, reason: str) -> None:
    """Note that a middleware left a block as it is, and why."""
    _note(request, block, by, "left", reason)


def _note(request: ModelRequest, block: Block, by: str, action: Action, reason: str) -> None:
    memo, key = request.turns[int(block.where[1])].memo, ("edits", by, action, block.where)
    task = current_task()
    if memo.get(key) is not task:
        memo[key] = task
        task.decide(Decision(by, action, block.kind, block.where, block.tool, block.call_id, reason))
