"""What stands for the beginning of a history, and the request in which it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ctxkit.blocks import Block, Turn
from ctxkit.messages import ModelRequest
from ctxkit.wire.native import dumps, loads
from ctxkit.wire.thinking import without_thinking


@dataclass(frozen=True, slots=True)
class Compaction:
    """What was decided about a history when it was so long, and is so ever after.

    Attributes:
        text: What stands for its old part; empty where nothing does.
        text_tokens: How many tokens that has.
        cut: How many messages the old part has.
        kept: The places of the messages in it that stay.
        lost_thinking: The places of the messages that are sent without their thinking.
        trims: Whether old results are cleared, as no summary could be had.
        tokens: What the history had then; 0 where nothing was ever tried.
        answers: How often the model had answered then.
    """

    text: str = ""
    text_tokens: int = 0
    cut: int = 0
    kept: tuple[int, ...] = ()
    lost_thinking: tuple[int, ...] = ()
    trims: bool = False
    tokens: int = 0
    answers: int = 0

    @property
    def first_changed(self) -> int:
        """The place of the first message that is not as the caller sent it."""
        places = (
            place for place, kept in enumerate(self.kept) if place != kept or kept in self.lost_thinking
        )
        return next(places, len(self.kept))

    def gone(self, turns: Sequence[Turn], *, since: int = 0) -> list[Turn]:
        """The turns of a history that the text stands for, from a place on."""
        kept = frozenset(self.kept)
        return [turns[place] for place in range(since, self.cut) if place not in kept]

    def dumped(self) -> bytes:
        """As it is stored."""
        return dumps(asdict(self))

    @classmethod
    def loaded(cls, stored: bytes) -> Compaction:
        """From what is stored."""
        given = loads(stored)
        return cls(**{**given, "kept": tuple(given["kept"]), "lost_thinking": tuple(given["lost_thinking"])})


def compacted(request: ModelRequest, compaction: Compaction) -> ModelRequest:
    """A request in which a text stands for the old part of its history.

    The same compaction of the same history gives the same bytes.
    """
    messages = list(request.wire.messages(request.body))
    for place in compaction.lost_thinking:
        messages[place] = without_thinking(messages[place])
    return request.with_messages(
        [
            *(messages[place] for place in compaction.kept),
            _message(request.wire.name, compaction.text),
            *messages[compaction.cut :],
        ]
    )


def first_block(turns: Sequence[Turn]) -> Block:
    """The first block of some turns."""
    return next(block for turn in turns for block in turn.blocks)


def _message(wire: str, text: str) -> dict[str, Any]:
    if wire == "gemini":
        return {"role": "user", "parts": [{"text": text}]}
    return {"role": "user", "content": text}
