"""What may be cleared of one turn, and what stands for it then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ctxkit.blocks import Block, Turn
from ctxkit.condense.base import NOTE
from ctxkit.messages import Wire
from ctxkit.tokens import BlockCounter, Counter
from ctxkit.trimming.settings import Settings

Stub = Callable[[Block, int], str]
"""What is said in the place of a result, of so many tokens."""
# An argument is large, and may be cleared, from so many characters on.
LARGE_ARGUMENT_CHARS = 200
DEEPEST = 6


@dataclass(frozen=True, slots=True)
class Candidate:
    """A result, or a call with large arguments, that may be cleared.

    Attributes:
        block: It.
        native: What stands for it then.
        tokens: How many it has.
        saves: How many fewer it has then.
        step: The round of tool calls that it belongs to, from 1.
    """

    block: Block
    native: Any
    tokens: int
    saves: int
    step: int

    @property
    def place(self) -> int:
        """The index of its message."""
        return int(self.block.where[1])

    def worth(self, step: int) -> int:
        """How much it has cost to carry, and so what comes first: what is large and old."""
        return self.saves * (step - self.step + 1)


def stub(block: Block, tokens: int) -> str:
    """What is said in the place of a result."""
    what = "failed result" if block.is_error else "result"
    return f"{NOTE}{what} of {tokens:,} tokens cleared; call {block.tool or 'the tool'} again]"


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds the candidates of a turn.

    Attributes:
        settings: What the user allows.
        wire: How blocks are rebuilt.
        blocks: Counts blocks.
        texts: Counts texts.
        stub: What is said in the place of a result.
    """

    settings: Settings
    wire: Wire
    blocks: BlockCounter
    texts: Counter
    stub: Stub

    def of(self, turn: Turn, step: int) -> list[Candidate]:
        """The candidates of a turn in a round of tool calls, in their order.

        A call stays where thinking stands behind it in its message, or right in front of its item: what a
        provider signed may not fit any more.
        """
        found: list[Candidate] = []
        thought = turn.parent is not None and _thinks(turn.parent)
        for block in reversed(turn.blocks):
            thought = thought or block.kind == "thinking"
            one = self._candidate(block, step, thought=thought)
            if one is not None:
                found.append(one)
        return found[::-1]

    def _candidate(self, block: Block, step: int, *, thought: bool) -> Candidate | None:
        if not block.client or not self.settings.may_clear(block):
            return None
        if block.kind == "tool_result":
            return self._result(block, step)
        if block.kind == "tool_call" and self.settings.clear_arguments and not thought:
            return self._call(block, step)
        return None

    def _result(self, block: Block, step: int) -> Candidate | None:
        tokens = self.blocks.count(block)
        said = self.stub(block, tokens)
        left = self.texts.count(said)
        # What is hardly longer than its stub stays; so a stub is never cleared itself.
        if tokens < 2 * left:
            return None
        native = self.wire.cleared_result(block.native, said)
        return None if native is None else Candidate(block, native, tokens, tokens - left, step)

    def _call(self, block: Block, step: int) -> Candidate | None:
        if len(block.text) < LARGE_ARGUMENT_CHARS:
            return None
        given = self.wire.call_input(block.native)
        short, saves = self._shortened(given, DEEPEST)
        native = self.wire.with_call_input(block.native, short) if saves else None
        return None if native is None else Candidate(block, native, self.blocks.count(block), saves, step)

    def _shortened(self, value: Any, deep: int) -> tuple[Any, int]:
        """Arguments without their long texts, and how many tokens that saves."""
        if isinstance(value, str) and len(value) >= LARGE_ARGUMENT_CHARS:
            tokens = self.texts.count(value)
            said = f"{NOTE}{tokens:,} tokens cleared]"
            return said, max(0, tokens - self.texts.count(said))
        if not deep or not isinstance(value, (Mapping, list)):
            return value, 0
        keys = list(value) if isinstance(value, Mapping) else range(len(value))
        parts = [self._shortened(value[key], deep - 1) for key in keys]
        made = [part for part, _ in parts]
        saves = sum(saved for _, saved in parts)
        return (dict(zip(keys, made, strict=True)) if isinstance(value, Mapping) else made), saves


def _thinks(turn: Turn) -> bool:
    return any(block.kind == "thinking" for block in turn.blocks)
