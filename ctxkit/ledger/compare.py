"""A prompt compared with the one before it: what is new, what changed, and who changed it.

Pure. What two prompts have in common is found by the identity of their turns, so that what is new costs, and
only around the first change block by block. Nothing here knows what the cache did.
"""

from __future__ import annotations

import sys
import weakref
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any

from ctxkit.ledger.decisions import Decision
from ctxkit.ledger.sent import Cause, Change, Placed, Sent
from ctxkit.messages import Block, ModelRequest, Prompt, Turn
from ctxkit.tokens import BlockCounter, pieces, shape_of
from ctxkit.wire.native import dumps, path

ANSWER_ROLES = frozenset({"assistant", "model"})
ANSWER_KINDS = frozenset({"assistant_text", "thinking", "tool_call"})
# In this wire's history one answer is several items, each a turn of its own.
WIRE_OF_ITEMS = "openai_responses"
# What marks a place for the prompt cache and is no part of the prompt.
# Source: types of the `anthropic` SDK 2.14.0 and the `openai` SDK 3.57.0, read on 2026-11-30.
CACHE_MARKS = frozenset({"cache_control", "prompt_cache_breakpoint"})
NOWHERE = (sys.maxsize, 0)


@dataclass(frozen=True, slots=True)
class Standing:
    """What of a prompt stands up to the end of one of its turns.

    Attributes:
        blocks: How many blocks.
        tokens: Their size.
        answers: How many answers of the model.
        new_tokens: The size of what follows the last answer; all of it where there is none.
        generated: Whether the turn is an answer, or a part of one.
        sizes: Those of the turn's own blocks, with what its message costs besides them.
    """

    blocks: int = 0
    tokens: int = 0
    answers: int = 0
    new_tokens: int = 0
    generated: bool = False
    sizes: tuple[int, ...] = ()

    def carried_tokens(self, size: int) -> int:
        """How many tokens of a prompt of this size stood there before the model last answered.

        They are the first of it, the answer one of them; without any answer there are none.
        """
        return size - self.new_tokens if self.answers else 0


def standing_of(prompt: Prompt, counter: BlockCounter) -> Standing:
    """What stands in a whole prompt; only turns that no earlier prompt had cost anything.

    Raises:
        BodyError: The body is malformed.
    """
    of_items = prompt.wire.name == WIRE_OF_ITEMS

    def step(before: Standing, turn: Turn) -> Standing:
        sizes = _sizes(turn, counter)
        tokens = sum(sizes)
        generated = is_generated(turn)
        begins = generated and not (of_items and before.generated)
        return Standing(
            blocks=before.blocks + len(turn.blocks),
            tokens=before.tokens + tokens,
            answers=before.answers + begins,
            new_tokens=0 if generated else before.new_tokens + tokens,
            generated=generated,
            sizes=sizes,
        )

    return prompt.fold(_memo_key(counter), lambda head: step(Standing(), head), step)


def is_generated(turn: Turn) -> bool:
    """Whether the model wrote a turn."""
    return turn.role in ANSWER_ROLES or any(block.kind in ANSWER_KINDS for block in turn.blocks)


@dataclass(frozen=True, slots=True)
class Before:
    """An attempt that a later one is compared with. It keeps no prompt in memory.

    Attributes:
        attempt: Its id.
        model: The model asked.
        sent: The last turn of what it sent.
        asked: The last turn of what the caller asked for; the same where nothing was edited.
    """

    attempt: str
    model: str | None
    sent: weakref.ref[Turn]
    asked: weakref.ref[Turn]

    @classmethod
    def of(cls, attempt: str, prompt: Prompt) -> Before:
        """What is to be remembered of an attempt."""
        return cls(attempt, prompt.model, weakref.ref(_last(prompt)), weakref.ref(_last(_asked(prompt))))


def closest(known: Sequence[Before], prompt: Prompt) -> Before | None:
    """The one whose prompt has most turns in common with this one, and of those the last.

    Loops that run side by side in one task are told apart so.
    """
    if len(known) < 2:
        return known[0] if known else None
    chain = _chain(prompt)
    return max(reversed(known), key=lambda before: _shared(before.sent(), chain)[0])


def compare(
    before: Before | None,
    prompt: Prompt,
    counter: BlockCounter,
    *,
    decisions: Callable[[], Iterable[Decision]] = tuple,
) -> Sent:
    """What a prompt sends, told by what it has in common with an earlier one.

    Args:
        before: The earlier one. Where its turns are no longer in memory, there is nothing to compare with.
        prompt: As it was sent.
        counter: Counts its blocks.
        decisions: Gives what middlewares decided, oldest first; asked only where one changed something.

    Raises:
        BodyError: The body is malformed.
    """
    chain = _chain(prompt)
    size = shape_of(prompt, counter).total
    standing = standing_of(prompt, counter)
    last = None if before is None else before.sent()
    found = _difference(last, chain)
    key = _memo_key(counter)
    kept: Standing = chain[found.turns - 1].memo[key] if found.turns else Standing()
    sizes = [tokens for turn in chain[found.turns :] for tokens in turn.memo[key].sizes]
    known = before if last is not None else None
    return Sent(
        after=None if known is None else known.attempt,
        kept=kept.blocks + found.blocks,
        kept_tokens=kept.tokens + sum(sizes[: found.blocks]),
        added=tuple(map(placed, found.new, sizes[found.blocks :])),
        tokens=size,
        carried_tokens=standing.carried_tokens(size),
        change=None if known is None else _change(known, prompt, found, counter, decisions),
    )


def placed(block: Block, tokens: int) -> Placed:
    """A block without its text."""
    return Placed(block.kind, block.tool, block.call_id, block.digest.hex(), tokens)


@dataclass(frozen=True, slots=True)
class _Difference:
    """Where two prompts part.

    Attributes:
        turns: How many whole turns they share.
        blocks: How many blocks after those are the same.
        old: The blocks of the earlier one from there on; none where it begins the later one.
        new: The blocks of the later one from there on.
        place: Where in the earlier one, by turn and block; `NOWHERE` where it begins the later one.
    """

    turns: int
    blocks: int
    old: Sequence[Block]
    new: Sequence[Block]
    place: tuple[int, int]


def _difference(last: Turn | None, chain: Sequence[Turn]) -> _Difference:
    turns, left = _shared(last, chain)
    old = [block for turn in left for block in turn.blocks]
    new = [block for turn in chain[turns:] for block in turn.blocks]
    same = sum(1 for _ in takewhile(lambda pair: _is_same(*pair), zip(old, new, strict=False)))
    places = ((turns + at, nth) for at, turn in enumerate(left) for nth in range(len(turn.blocks)))
    return _Difference(turns, same, old[same:], new[same:], next(islice(places, same, None), NOWHERE))


def _shared(last: Turn | None, chain: Sequence[Turn]) -> tuple[int, Sequence[Turn]]:
    """How many turns a chain shares with the one that ends with `last`, and what follows them in that."""
    if last is None:
        return 0, ()
    for place in range(len(chain), 0, -1):
        if chain[place - 1] is last:
            return place, ()
    earlier = (*reversed(tuple(last.ancestors())), last)
    shortest = range(min(len(earlier), len(chain)))
    turns = bisect_left(shortest, True, key=lambda place: earlier[place] is not chain[place])
    return turns, earlier[turns:]


def _change(
    before: Before,
    prompt: Prompt,
    found: _Difference,
    counter: BlockCounter,
    decisions: Callable[[], Iterable[Decision]],
) -> Change | None:
    if before.model != prompt.model:
        reason = f"the model was {before.model or 'unknown'} and is {prompt.model or 'unknown'}"
        return Change(None, "model", None, "model", reason)
    if not found.old:
        return None
    block = found.old[0]
    by, middleware, reason = _cause(before, prompt, found, decisions)
    place = found.new[0] if found.new else block
    return Change(placed(block, counter.count(block)), by, middleware, path(place.where), reason)


def _cause(
    before: Before, prompt: Prompt, found: _Difference, decisions: Callable[[], Iterable[Decision]]
) -> tuple[Cause, str | None, str]:
    """Who changed a prompt, which middleware it was, and why."""
    if _is_edited(before, prompt, found):
        decided = _decision(found, decisions())
        if decided is not None:
            return "middleware", decided.by, decided.reason
        return "middleware", None, "a middleware edits it in another way than before"
    if _is_reordered(found, "tool_definition"):
        return "tool_order", None, "the same tools stand in another order"
    if _is_reordered(found, "tool_result"):
        return "result_order", None, "the same results of parallel calls stand in another order"
    if not found.new:
        return "caller", None, "the caller left out what stood here"
    return "caller", None, f"the caller sent another {found.new[0].kind.replace('_', ' ')} here"


def _is_edited(before: Before, prompt: Prompt, found: _Difference) -> bool:
    """Whether what the caller asked for agrees with what it asked before where the sent prompts part."""
    asked, last = _asked(prompt), before.asked()
    if last is None or (asked is prompt and last is before.sent()):
        return False
    return _difference(last, _chain(asked)).place > found.place


def _decision(found: _Difference, decisions: Iterable[Decision]) -> Decision | None:
    """The last decision to change what stands, or stood, at a difference."""
    matching = None
    for decided in (one for one in decisions if one.action != "left"):
        for block in (*found.old[:1], *found.new[:1]):
            called = decided.call_id is not None and decided.call_id == block.call_id
            if called or block.where[: len(decided.where)] == decided.where:
                matching = decided
    return matching


def _is_reordered(found: _Difference, kind: str) -> bool:
    old, new = (
        sorted(dumps(_plain(block.native)) for block in takewhile(lambda block: block.kind == kind, blocks))
        for blocks in (found.old, found.new)
    )
    return bool(old) and old == new


def _is_same(old: Block, new: Block) -> bool:
    """Whether two blocks are the same for the model and its cache."""
    if old.kind != new.kind:
        return False
    return old.digest == new.digest or _plain(old.native) == _plain(new.native)


def _plain(native: Any) -> Any:
    """The native JSON without marks for the cache, a bare text as the block that it stands for."""
    return {"type": "text", "text": native} if isinstance(native, str) else _unmarked(native)


def _unmarked(native: Any) -> Any:
    if isinstance(native, Mapping):
        return {key: _unmarked(value) for key, value in native.items() if key not in CACHE_MARKS}
    return list(map(_unmarked, native)) if isinstance(native, list) else native


def _sizes(turn: Turn, counter: BlockCounter) -> tuple[int, ...]:
    sizes = dict.fromkeys(turn.blocks, 0)
    for block, _, tokens in pieces(turn, counter):
        if block is not None:
            sizes[block] += tokens
    return tuple(sizes.values())


def _asked(prompt: Prompt) -> Prompt:
    """What the caller asked for."""
    return (prompt.origin or prompt) if isinstance(prompt, ModelRequest) else prompt


def _last(prompt: Prompt) -> Turn:
    return (prompt.turns or (prompt.head,))[-1]


def _chain(prompt: Prompt) -> tuple[Turn, ...]:
    return prompt.head, *prompt.turns


def _memo_key(counter: BlockCounter) -> Hashable:
    return "standing", counter.name
