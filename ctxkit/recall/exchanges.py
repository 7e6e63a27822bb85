"""What the caller never saw of a loop, and where in the caller's history it belongs.

Where a model reads hidden text before it answers, its calls and their results stand between the caller's
request and that answer. An answer is found again by the caller's history up to it and by how it begins;
thinking and system prompts are left out, as callers may drop or change them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from ctxkit.messages import Block, ModelRequest, ModelResponse, Turn
from ctxkit.wire.usage_fields import mapping

_PLACES = "recall.places"
_LEFT_OUT = frozenset({"thinking", "system"})
_SAID = frozenset({"assistant_text", "tool_call"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a turn stands in a history.

    Attributes:
        digest: Stands for the history up to and with the turn.
        count: How many turns that is.
        open: How many of them stand before the thinking that the history ends with, if it does.
        begins: How many turns stand before the answer that the turn is, or that it goes on with.
        key: Names the answer that begins with the turn; `None` where none does.
    """

    digest: bytes = b""
    count: int = 0
    open: int = 0
    begins: int = 0
    key: str | None = None


def places_of(request: ModelRequest) -> list[Place]:
    """The place of every turn, in order, behind that of the head."""
    request.fold(_PLACES, lambda head: Place(), _next)
    return [turn.memo[_PLACES] for turn in (request.head, *request.turns)]


def answer_key(before: Place, blocks: Sequence[Block]) -> str | None:
    """The name of an answer that follows a place; `None` where it says nothing."""
    said = next((block for block in blocks if block.kind not in _LEFT_OUT), None)
    if said is None or said.kind not in _SAID:
        return None
    return _digest(before.digest, (said,)).hex()


def inserted(request: ModelRequest, hidden: Mapping[int, Sequence[Any]]) -> ModelRequest:
    """A request with hidden messages in it.

    Args:
        request: The request as the caller made it.
        hidden: The native messages to put in, by how many of the caller's messages stand before them.
    """
    if not any(hidden.values()):
        return request
    messages: list[Any] = []
    for index, message in enumerate(request.wire.messages(request.body)):
        messages.extend(hidden.get(index, ()))
        messages.append(message)
    return request.with_messages(messages)


def continued(request: ModelRequest, response: ModelResponse, results: Sequence[Any]) -> ModelRequest:
    """The request that goes on after an answer: with the answer, and the results of all its calls.

    Args:
        request: What was asked.
        response: What was answered.
        results: The results as the wire's own, in the order of the calls.
    """
    wire, body = request.wire.name, response.body
    if wire == "anthropic_messages":
        more = [
            {"role": "assistant", "content": body["content"]},
            {"role": "user", "content": list(results)},
        ]
    elif wire == "openai_chat":
        more = [body["choices"][0]["message"], *results]
    elif wire == "openai_responses":
        kept = request.body.get("store") is not False
        more = [*(item for item in body["output"] if kept or not _is_lost(item)), *results]
    else:
        more = [body["candidates"][0]["content"], {"role": "user", "parts": list(results)}]
    return request.with_messages([*request.wire.messages(request.body), *more])


def _is_lost(item: Any) -> bool:
    """Whether an item is reasoning that only a provider that stores answers can find again."""
    return mapping(item).get("type") == "reasoning" and not mapping(item).get("encrypted_content")


def _next(before: Place, turn: Turn) -> Place:
    count = before.count + 1
    if all(block.kind == "thinking" for block in turn.blocks):
        return Place(before.digest, count, before.open, before.open)
    said = [block for block in turn.blocks if block.kind not in _LEFT_OUT]
    return Place(
        digest=_digest(before.digest, said),
        count=count,
        open=count,
        begins=before.open,
        key=answer_key(before, turn.blocks),
    )


def _digest(before: bytes, blocks: Sequence[Block]) -> bytes:
    made = blake2b(before, digest_size=16)
    for block in blocks:
        spelled = block.call_id if block.kind == "tool_call" and block.call_id else block.text
        encoded = spelled.encode("utf-8", "surrogatepass")
        made.update(f"{block.kind} {len(encoded)} ".encode() + encoded)
    return made.digest()
