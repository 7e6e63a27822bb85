"""What a count says about itself: how many tokens, how sure, and how it was made; and the maths of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from itertools import accumulate, pairwise
from math import sqrt
from operator import mul, sub
from typing import Literal

from ctxkit.tokens.encodings import Tokenization, tokenization_of
from ctxkit.tokens.shape import Shape

Source = Literal["reported", "exact", "calibrated", "estimated"]
Vector = tuple[float, ...]

FEATURES = 8
NO_SUMS: Vector = (0.0,) * (FEATURES * (FEATURES + 1) // 2 + FEATURES)

# So many observations weigh as much as the noise that is assumed at first.
NOISE_WEIGHT = 4.0

# The kinds whose size depends on what a provider makes of them, and how far off their count may be.
UNSURE_KINDS = frozenset({"image", "document", "thinking", "other"})
UNSURE_SHARE = 0.5

UNKNOWN_MODEL = "unknown"
# Ends the name of a family, as it can end no model's.
FAMILY_MARK = "*"
_FINE_TUNED = re.compile(r"(^|/)ft:([^:]*).*")
_FAMILY = re.compile(r"(?:[a-z-]+\.)*([a-z]+(?:-?\d+)?)")


@dataclass(frozen=True, slots=True)
class TokenCount:
    """The input tokens of a request, as its provider is expected to bill them.

    Attributes:
        total: The best guess.
        low: The lower edge of the band in which at least 95 of 100 true counts lie.
        high: The upper edge; triggers and budgets go by it.
        by_kind: `total` split by kind of block, adding up to it.
        source: `reported` by the provider for this very prompt; `exact` by a tokenizer that is the model's
            own; `calibrated` by what answers of this model reported; else `estimated`.
        counter: The name of the tokenizer that counted the text.
        model: The model that it was counted for.
    """

    total: int
    low: int
    high: int
    by_kind: Mapping[str, int]
    source: Source
    counter: str
    model: str | None


@dataclass(frozen=True, slots=True)
class Sample:
    """What of a prompt, or of the part of one that is new, tells how far off its local count may be.

    Attributes:
        features: A constant, whether there are tools, the tokens of their definitions, their number, the
            tokens of text, those of tool calls and results, the number of messages, that of tool calls.
        tokens: The local count.
        unsure: The part of it whose size depends on what a provider makes of it.
    """

    features: Vector
    tokens: int
    unsure: int

    @classmethod
    def of(cls, shape: Shape) -> Sample:
        """The sample of a whole prompt."""
        definitions = exchanged = text = unsure = 0
        for (kind, _), tokens in shape.by_key.items():
            if kind == "tool_definition":
                definitions += tokens
            elif kind in ("tool_call", "tool_result"):
                exchanged += tokens
            elif kind in UNSURE_KINDS:
                unsure += tokens
            else:
                text += tokens
        tools, turns, calls = (
            shape.numbers.get(name, 0) for name in ("tool_definition", "turn", "tool_call")
        )
        features = (1, int(tools > 0), definitions, tools, text, exchanged, turns, calls)
        return cls(features, shape.total, unsure)

    def since(self, before: Sample) -> Sample:
        """What is new after a beginning of the same prompt."""
        features = tuple(map(sub, self.features, before.features))
        return Sample(features, self.tokens - before.tokens, self.unsure - before.unsure)


@dataclass(frozen=True, slots=True)
class Trust:
    """How far local counts are trusted before a provider reported any.

    Attributes:
        sds: For each feature of a `Sample`, the standard deviation of what a unit of it adds to the count,
            in every request of a model alike: this is learned.
        noise_sds: The same for what differs from request to request, and is never known.
    """

    sds: Vector
    noise_sds: Vector

    def noise(self, sample: Sample) -> float:
        """The variance of what is never known."""
        return _variance(self.noise_sds, sample.features) + (UNSURE_SHARE * sample.unsure) ** 2

    def spread(self, sample: Sample) -> float:
        """The variance between models of one family: half of the standard deviations."""
        return _variance(self.sds, sample.features) / 4


def _variance(sds: Vector, features: Vector) -> float:
    return sum((sd * value) ** 2 for sd, value in zip(sds, features, strict=True))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was observed, as sums: those of several processes add up.

    Attributes:
        sums: The lower triangle of the sum of x·xᵀ/σ², row by row, then the sum of x·y/σ², where x are the
            features, y is what was reported beyond the local count, and σ² the variance of the noise.
        weight: How many observations are remembered.
        squares: The sum of the squared misses, each in predicted standard deviations.
        observations: How many there were.
        reopened: Whether the provider was seen to have changed something.
        seen: The day of the last one.
    """

    sums: Vector = NO_SUMS
    weight: float = 0.0
    squares: float = 0.0
    observations: int = 0
    reopened: bool = False
    seen: date | None = None

    def followed_by(self, other: Evidence, *, kept: float) -> Evidence:
        """What is known after more was observed, where a share of the old is remembered; all of it at 1."""
        if not kept:
            return other
        return Evidence(
            sums=tuple([kept * old + new for old, new in zip(self.sums, other.sums, strict=True)]),
            weight=kept * self.weight + other.weight,
            squares=kept * self.squares + other.squares,
            observations=self.observations + other.observations,
            reopened=self.reopened or other.reopened,
            seen=max(filter(None, (self.seen, other.seen)), default=None),
        )

    @property
    def scale(self) -> float:
        """How many times larger than predicted the misses were; 1 where they were not."""
        return max(1.0, sqrt((NOISE_WEIGHT + self.squares) / (NOISE_WEIGHT + self.weight)))


def observed(features: Vector, beyond: float, variance: float) -> Vector:
    """The sums of one observation."""
    scaled = [value / variance for value in features]
    products = [value * other for row, value in enumerate(scaled) for other in features[: row + 1]]
    return (*products, *[value * beyond for value in scaled])


class Posterior:
    """What is believed of the features' weights, from their standard deviations and from sums.

    Raises:
        ValueError: The sums are no sums of observations.
    """

    def __init__(self, sds: Vector, sums: Vector) -> None:
        self._lower: list[list[float]] = []
        start = 0
        for row, sd in enumerate(sds):
            line: list[float] = []
            for value, above in zip(sums[start : start + row], self._lower, strict=True):
                line.append((value - sum(map(mul, line, above))) / above[-1])
            start += row + 1
            line.append(sqrt(1 / sd**2 + sums[start - 1] - sum(map(mul, line, line))))
            self._lower.append(line)
        self._vector = self._solve(sums[start:])

    def predict(self, features: Vector) -> tuple[float, float]:
        """The mean and the variance of what will be reported beyond the local count, noise aside."""
        solved = self._solve(features)
        return sum(map(mul, solved, self._vector)), sum(map(mul, solved, solved))

    def _solve(self, vector: Vector) -> list[float]:
        solved: list[float] = []
        for line, value in zip(self._lower, vector, strict=True):
            solved.append((value - sum(map(mul, line, solved))) / line[-1])
        return solved


OWN = Trust((4, 150, 0.1, 6, 0.005, 0.03, 1.5, 12), (1.5, 8, 0.04, 1.5, 0.003, 0.01, 0.3, 3))
RELATED = Trust((15, 150, 0.15, 6, 0.15, 0.15, 3, 15), (4, 8, 0.05, 2, 0.04, 0.04, 0.5, 4))
FOREIGN = Trust((150, 300, 0.3, 15, 0.3, 0.3, 6, 30), (4, 12, 0.05, 3, 0.05, 0.05, 0.5, 5))


def base_model(model: str | None) -> str:
    """The name that a model's numbers are kept under: that of its base for a fine-tuned one."""
    return _FINE_TUNED.sub(r"\1\2", model or UNKNOWN_MODEL)


def family_of(model: str) -> str:
    """The models that a new one is taken to be like, by names as they were on 2026-11-30.

    Claude's are told apart by their tokenizer; of others, one name and one major version make a family.
    """
    claude = tokenization_of(model).claude
    if claude is not None:
        return f"claude-{claude}{FAMILY_MARK}"
    name = model.lower().rpartition("/")[2]
    found = _FAMILY.match(name)
    return f"{found[1] if found else name}{FAMILY_MARK}"


def trust_of(model: str, counter: str) -> Trust:
    """How far a counter's counts are trusted for a model: most where it is the model's own tokenizer."""
    tokenization = tokenization_of(model)
    claude = tokenization.claude
    if tokenization.own and counter == (tokenization.encoding if claude is None else f"ctok-{claude}"):
        return OWN
    return FOREIGN if tokenization == Tokenization() else RELATED


def split_by_kind(total: int, shape: Shape) -> dict[str, int]:
    """A total split by kind of block, in proportion to the local counts and adding up exactly."""
    by_kind: dict[str, int] = {}
    for (kind, _), tokens in shape.by_key.items():
        by_kind[kind] = by_kind.get(kind, 0) + max(0, tokens)
    local = sum(by_kind.values())
    if not local:
        return {"other": total} if total else {}
    edges = (round(total * so_far / local) for so_far in accumulate(by_kind.values(), initial=0))
    return {kind: end - start for kind, (start, end) in zip(by_kind, pairwise(edges), strict=True)}
