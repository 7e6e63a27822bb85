"""How the old part of a history could be cut off now, and what that would cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice

from ctxkit.blocks import Block
from ctxkit.compaction.compaction import Compaction, compacted
from ctxkit.compaction.places import Places, is_models
from ctxkit.messages import ModelRequest
from ctxkit.money.break_even import Edit
from ctxkit.safety import broken_by_edit
from ctxkit.wire.last_request import last_request
from ctxkit.wire.thinking import begins_user_turn, binds_thinking, can_lose_thinking

# So many cuts are looked at: what makes one invalid most often makes those near it so, too.
TRIES = 8
PLACEHOLDER = "A summary."


@dataclass(frozen=True, slots=True)
class Proposal:
    """A cut that could be made now.

    Attributes:
        compaction: What it would be; its text is that of the one before it.
        edit: The history at that moment, in tokens.
    """

    compaction: Compaction
    edit: Edit


def size(places: Places, compaction: Compaction) -> int:
    """What a history has with what stands for its old part."""
    if not compaction.text:
        return places.last.tokens
    gone = places.up_to(compaction.cut).tokens - places.up_to(0).tokens
    return places.last.tokens - gone + sum(map(places.tokens, compaction.kept)) + compaction.text_tokens


def proposal(
    request: ModelRequest,
    places: Places,
    current: Compaction,
    *,
    keep_steps: int,
    pinned: Callable[[Block], bool] | None,
    text_tokens: int,
) -> Proposal | None:
    """The cut that makes most of a history go and leaves it valid; `None` where there is none.

    It is made where the model is to answer. Where that binds its thinking to the history, and has thought
    behind the cut, it is made where the user speaks again: that thinking is left out from then on.

    Args:
        request: As the caller made it.
        places: Its places.
        current: What stands for its old part now.
        keep_steps: How many of the last answers stay, with their results.
        pinned: Says of a block that its message stays.
        text_tokens: What the new text may have.
    """
    binds = binds_thinking(request.wire.name, request.model)
    last = places.turns[-1]
    opening = places.opening
    if opening is None or is_models(last):
        return None
    waits = binds and not begins_user_turn(last)
    for cut in islice(places.cuts(keep_steps), TRIES):
        if cut <= max(current.cut, opening) or (waits and places.thinking(range(cut, len(places.turns)))):
            return None
        kept = (*range(opening), *places.kept(opening, cut, pinned))
        made = _proposal(places, current, cut, kept, opening, text_tokens, binds=binds)
        if made.edit.removed_tokens <= made.edit.stub_tokens or (waits and made.compaction.lost_thinking):
            return None
        if _is_valid(request, places, made.compaction):
            return made if _lets_the_user_speak(request) else None
    return None


def _proposal(
    places: Places,
    current: Compaction,
    cut: int,
    kept: tuple[int, ...],
    opening: int,
    text_tokens: int,
    *,
    binds: bool,
) -> Proposal:
    front, before = places.up_to(opening).tokens, size(places, current)
    behind = places.last.tokens - places.up_to(cut).tokens
    suffix = behind + sum(map(places.tokens, kept[opening:]))
    edit = Edit(front, before - front - suffix, suffix, current.text_tokens + text_tokens)
    thinks = places.thinking((*kept, *range(cut, len(places.turns))))
    made = replace(
        current,
        cut=cut,
        kept=kept,
        lost_thinking=thinks if binds else (),
        trims=False,
        tokens=before,
        answers=places.last.answers,
    )
    return Proposal(made, edit)


def _is_valid(request: ModelRequest, places: Places, made: Compaction) -> bool:
    if not all(can_lose_thinking(places.turns[place]) for place in made.lost_thinking):
        return False
    return not broken_by_edit(compacted(request, replace(made, text=made.text or PLACEHOLDER)))


def _lets_the_user_speak(request: ModelRequest) -> bool:
    """Whether a side call is valid; not while a tool of the provider's own still runs."""
    return not broken_by_edit(last_request(request, PLACEHOLDER))
