"""What a tool result is the answer to, told from what was said before it and so the same in every request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ctxkit.messages import Block, Turn

SAID_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Asked:
    """The last words of the user and of the model."""

    user: str = ""
    model: Turn | None = None

    def after(self, turn: Turn) -> Asked:
        """The same once a turn was said."""
        if turn.role == "assistant":
            return replace(self, model=turn)
        said = [block.text[:SAID_CHARS] for block in turn.blocks if block.kind == "user_text"]
        return replace(self, user="\n".join(said)) if said else self

    def query(self, call_id: str | None) -> str:
        """What a result was called for: the model's words with the call, its arguments, the user's words."""
        blocks = self.model.blocks if self.model else ()
        said = [
            block.text[:SAID_CHARS]
            for block in blocks
            if block.kind == "assistant_text" or (block.kind == "tool_call" and block.call_id == call_id)
        ]
        return "\n".join([*said, self.user])


def asked_before(turns: Iterable[Turn]) -> Iterator[tuple[Block, str]]:
    """The client's tool results in a history, each with what it was called for, as `condense` takes it."""
    asked = Asked()
    for turn in turns:
        for block in turn.blocks:
            if block.kind == "tool_result" and block.client:
                yield block, asked.query(block.call_id)
        asked = asked.after(turn)
