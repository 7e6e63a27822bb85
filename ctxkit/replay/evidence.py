"""Whether the model could still have known what it said: is it in the request, or behind a handle there?

Exact, and no model is asked. What a run took from tool results is told by `ctxkit.evidence`.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ctxkit.errors import BodyError
from ctxkit.evidence import WORD, Need, holds, needs
from ctxkit.flow import Middleware
from ctxkit.messages import ModelRequest, Turn
from ctxkit.originals import Originals
from ctxkit.replay.recorded import Exchange, RecordedRun
from ctxkit.stack import Stack

RESAMPLES = 1_000
SEED = 8
INTERVAL = 0.95
_WORDS = "replay.words"


@dataclass(frozen=True, slots=True)
class Dependency:
    """One string that the model took from a tool result, and whether it could have in the replay.

    Attributes:
        string: What it said.
        tool: The tool whose result held it first.
        call_id: The call that gave this result.
        request: The number of the request that was answered with it, from 1.
        visible: Whether it stands in that request as replayed.
        recoverable: Whether it does, or the model could have read it back through a handle that stands there.
    """

    string: str
    tool: str | None
    call_id: str | None
    request: int
    visible: bool
    recoverable: bool


class EvidenceCheck:
    """Looks at the requests of one run, one after the other.

    Args:
        run: The run.
        stack: What it is replayed with; its `Originals` tell which handle stands for which text.
    """

    def __init__(self, run: RecordedRun, stack: Stack) -> None:
        self._originals = originals_of(stack)
        self._turns: list[Sequence[Turn]] = []
        self._needs: dict[tuple[int, int], list[Need]] = defaultdict(list)
        for context, prompt in enumerate(run.contexts()):
            try:
                self._turns.append(prompt.turns)
            except BodyError:
                self._turns.append(())
                continue
            for need in needs(prompt.head, prompt.turns):
                self._needs[context, need.turn].append(need)

    def look(self, exchange: Exchange, number: int, sent: ModelRequest | None) -> list[Dependency]:
        """What the answer to a request depends on.

        Args:
            exchange: The request as recorded.
            number: Its number, from 1.
            sent: The request as replayed; `None` where it was not sent.
        """
        found = []
        for place in exchange.said:
            for need in self._needs.get((exchange.context, place), ()):
                visible = sent is not None and self._is_visible(need, exchange.context, sent)
                found.append(
                    Dependency(
                        string=need.string,
                        tool=need.source.tool,
                        call_id=need.source.call_id,
                        request=number,
                        visible=visible,
                        recoverable=visible or (sent is not None and self._can_be_read(need, sent)),
                    )
                )
        return found

    def _is_visible(self, need: Need, context: int, sent: ModelRequest) -> bool:
        place = int(need.source.where[1])
        turns, recorded = sent.turns, self._turns[context]
        if place < len(turns) and turns[place] is recorded[place]:
            return True
        word = WORD.findall(need.string)[0]
        chain = (sent.head, *turns)
        return any(_holds(turn, need.string) for turn in chain if word in _words(turn))

    def _can_be_read(self, need: Need, sent: ModelRequest) -> bool:
        handles = [
            originals.handle(need.source.text) for originals in self._originals if originals.readable_in(sent)
        ]
        return any(handle in result.text for handle in handles for result in sent.tool_results())


def _words(turn: Turn) -> frozenset[str]:
    words: frozenset[str] | None = turn.memo.get(_WORDS)
    if words is None:
        found = frozenset(word for block in turn.blocks for word in WORD.findall(block.text))
        words = turn.memo[_WORDS] = found
    return words


def _holds(turn: Turn, string: str) -> bool:
    return any(holds(block.text, string) for block in turn.blocks)


def originals_of(stack: Stack) -> list[Originals]:
    """Where the middlewares of a stack keep the texts that they cut."""
    return [found for one in stack.middlewares if (found := _originals(one)) is not None]


def _originals(middleware: Middleware) -> Originals | None:
    found = getattr(middleware, "originals", None)
    return found if isinstance(found, Originals) else None


def share(counts: Iterable[tuple[int, int]]) -> float | None:
    """The share of strings that were kept, over all runs; `None` where nothing was needed.

    Args:
        counts: Of each run, how many were kept and how many needed.
    """
    pairs = list(counts)
    needed = sum(needed for _, needed in pairs)
    return sum(kept for kept, _ in pairs) / needed if needed else None


def interval(counts: Iterable[tuple[int, int]]) -> tuple[float, float] | None:
    """The bootstrap interval of the share over runs, in which it lies 95 times of 100.

    Runs are drawn again with replacement, always in the same way. `None` where fewer than two runs needed
    anything: one run tells nothing of others.

    Args:
        counts: Of each run, how many were kept and how many needed.
    """
    pairs = [(kept, needed) for kept, needed in counts if needed]
    if len(pairs) < 2:
        return None
    drawn = random.Random(SEED)
    shares = sorted(
        sum(kept for kept, _ in sample) / sum(needed for _, needed in sample)
        for sample in (drawn.choices(pairs, k=len(pairs)) for _ in range(RESAMPLES))
    )
    tail = round((1 - INTERVAL) / 2 * RESAMPLES)
    return shares[tail], shares[-tail - 1]
