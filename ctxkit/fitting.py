"""How a history is brought under a model's window: what a provider says of it, and what is cleared then.

What may be cleared, and which thinking goes with it, is the fold of `trimming`. Here it starts where a
request would not fit, and an edit need not pay. No request is sent here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ctxkit.errors import ModelCallFailed
from ctxkit.money.break_even import Edit, Weighed
from ctxkit.trimming import Candidate, Fold, Schedule, State
from ctxkit.trimming.schedule import Sizes
from ctxkit.wire.native import text

# Below the size that fits, so much of it is left free, so that the next turns fit without another batch.
FREE_PART = 4
# What the tokens of the next requests may have beyond those that a refusal told of.
LEARNED_SHARE = 0.95
# Where a refusal gives no numbers, so much of what was sent is taken to fit.
UNKNOWN_SHARE = 0.5
# The upper edge of a count as a multiple of the count, rounded up to such a part: what is learned of counts
# from turn to turn does not change what is cleared.
RATIO_PARTS = 16
TOO_LARGE_STATUSES = frozenset({400, 413})
# Gemini's and Anthropic's numbers come with the request's own first, OpenAI's with the model's first.
_TOO_LONG = (
    re.compile(r"prompt is too long(?:: (?P<sent>\d+) tokens > (?P<most>\d+) maximum)?", re.IGNORECASE),
    re.compile(
        r"input token count(?: \((?P<sent>\d+)\))? exceeds the maximum number of tokens"
        r"(?: allowed)?(?: \((?P<most>\d+)\))?"
    ),
    re.compile(r"exceed context limit:\s+(?P<sent>\d+) \+\s+\d+ > (?P<most>\d+)"),
    re.compile(r"maximum context length is (?P<most>\d+) tokens\D+(?P<sent>\d+) tokens"),
    re.compile(r"(?P<sent>)(?P<most>)context_length_exceeded"),
)


@dataclass(frozen=True, slots=True)
class TooLong:
    """What a provider says of a request that its model can't take.

    Attributes:
        sent_tokens: What the request had; `None` where it does not say.
        most_tokens: What the model takes; `None` where it does not say.
    """

    sent_tokens: int | None = None
    most_tokens: int | None = None

    def fitting_tokens(self, local_tokens: int, *, answer_tokens: int | None) -> int:
        """How many tokens of the local count the next request may have.

        Args:
            local_tokens: The local count of the request that was refused.
            answer_tokens: What the answer may have; `None` where that is unknown.
        """
        if not self.sent_tokens or not self.most_tokens:
            return int(local_tokens * UNKNOWN_SHARE)
        room = self.most_tokens - reserved(answer_tokens, window_tokens=self.most_tokens)
        return int(local_tokens * min(1.0, room / self.sent_tokens) * LEARNED_SHARE)


def too_long(error: ModelCallFailed) -> TooLong | None:
    """What an error says of a request that its model can't take; `None` where it says something else.

    Source: errors of the three providers as users quote them in public issues, such as
    boldsoftware/exe.dev#62, docker/docker-agent#569 and google-gemini/gemini-cli#6678, read on 2026-11-30.
    """
    said = text(error.body) if error.status in TOO_LARGE_STATUSES else ""
    found = next(filter(None, (pattern.search(said) for pattern in _TOO_LONG)), None)
    if found is None:
        return None
    sent, most = (int(found[name]) if found[name] else None for name in ("sent", "most"))
    return TooLong(sent, most)


def reserved(answer_tokens: int | None, *, window_tokens: int) -> int:
    """What of a window is kept free for the answer: nothing where no prompt at all would fit beside it."""
    return answer_tokens if answer_tokens is not None and answer_tokens < window_tokens else 0


@dataclass(frozen=True, slots=True)
class Room:
    """What a model takes.

    Attributes:
        window_tokens: Prompt and answer together; `None` where that is unknown.
        answer_tokens: What of it the answer may have.
        learned_tokens: What a prompt may have by the local count, as a refusal told; `None` where there was
            none.
    """

    window_tokens: int | None
    answer_tokens: int
    learned_tokens: int | None

    @property
    def is_unknown(self) -> bool:
        """Whether nothing is known of what the model takes."""
        return self.window_tokens is None and self.learned_tokens is None

    def excess(self, local_tokens: int, high_tokens: int) -> int:
        """How much of a prompt does not fit, by the local count; not above 0 where it fits.

        Args:
            local_tokens: What it has by the local count.
            high_tokens: The upper edge of its count.
        """
        over = [] if self.learned_tokens is None else [local_tokens - self.learned_tokens]
        if self.window_tokens is not None:
            beyond = high_tokens + self.answer_tokens - self.window_tokens
            over.append(-(-beyond * local_tokens // max(1, high_tokens)))
        return max(over, default=0)

    def most_tokens(self, local_tokens: int, high_tokens: int) -> int:
        """What a prompt like this one may have by the local count, with a margin."""
        most = [] if self.learned_tokens is None else [self.learned_tokens]
        if self.window_tokens is not None:
            ratio = -(-high_tokens * RATIO_PARTS // max(1, local_tokens))
            most.append((self.window_tokens - self.answer_tokens) * RATIO_PARTS // max(1, ratio))
        return min(most)

    @property
    def why(self) -> str:
        """Why no more fits, in one sentence."""
        if self.learned_tokens is not None:
            return "the provider refused the prompt as too long"
        return f"prompt and answer may have more than the {self.window_tokens:,} tokens that the model takes"


@dataclass(frozen=True)
class WindowSchedule(Schedule):
    """Clears only what does not fit.

    Attributes:
        most_tokens: What fits, by the local count.
        why: Why no more does, in one sentence.
    """

    most_tokens: int
    why: str

    def target(self, sizes: Sizes) -> int:
        """A part of what fits, so that what is cleared stays the same for some turns."""
        return self.most_tokens - self.most_tokens // FREE_PART

    def start(self, sizes: Sizes, clearable: int) -> int:
        """What fits."""
        return self.most_tokens

    def least_batch(self, sizes: Sizes) -> int:
        """Nothing is too little where the request would be refused."""
        return 0

    def weighed(self, sizes: Sizes, edit: Edit) -> Weighed:
        """The numbers of a batch, which is made whatever they are."""
        return replace(super().weighed(sizes, edit), taken=True, reason=f"it was forced: {self.why}")


class WindowFold(Fold):
    """Clears results before the arguments of calls."""

    def _enough(self, state: State, waiting: Iterable[Candidate]) -> tuple[Candidate, ...]:
        """Those that bring the request down to the target, in their old order."""
        waiting = list(waiting)
        results = super()._enough(state, [one for one in waiting if one.block.kind == "tool_result"])
        rest = replace(state, tokens=state.tokens - sum(one.saves for one in results))
        calls = super()._enough(rest, [one for one in waiting if one.block.kind == "tool_call"])
        return tuple(sorted((*results, *calls), key=lambda one: one.place))
