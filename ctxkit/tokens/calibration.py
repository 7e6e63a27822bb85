"""Counting that learns from the usage that answers report, and says how sure it is.

For each wire, model and counter, a Bayesian linear regression learns what reported counts have beyond local
ones. Nothing here knows a file: `calibration_file` keeps what was learned.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, date, datetime
from math import ceil, floor, sqrt
from typing import Any, NamedTuple, Protocol

from ctxkit.messages import Prompt, Turn
from ctxkit.tokens.blocks import COUNTED_CHARS, BlockCounter, block_counter_for
from ctxkit.tokens.ctok_counter import EXACT_CHARS
from ctxkit.tokens.estimate import (
    FAMILY_MARK,
    FEATURES,
    OWN,
    Evidence,
    Posterior,
    Sample,
    Source,
    TokenCount,
    base_model,
    family_of,
    observed,
    split_by_kind,
    trust_of,
)
from ctxkit.tokens.shape import Shape, shape_of
from ctxkit.usage import Usage
from ctxkit.wire.native import digest

INTERCEPT = Sample((1.0,) + (0.0,) * (FEATURES - 1), 0, 0)

# Of what an observation says, so much is left after the next one: the last 200 decide.
MEMORY = 0.995
# Two observations in a row beyond so many standard deviations show that the provider has changed something:
# what was seen before is forgotten, and the constants are open. A single one is an outlier.
OUTLIER_SDS = 6.0
REOPENED_CONSTANT_SD = 400.0

# No tokenizer makes so much less of a text than the local one, whatever a few odd answers taught.
LEAST_SHARE = 0.5

# How wide a band is, in standard deviations, and how wide while few observations stand behind it.
BAND_SDS = 2.0
EARLY_BAND_SDS = 3.0
EARLY_WEIGHT = 7.8
# So many observations of its family count for a model.
FAMILY_WEIGHT = 3.0

# What of a body changes the tokens of a prompt, besides its head and its messages.
SETTINGS = (
    "context_management",
    "generationConfig",
    "output_config",
    "output_format",
    "reasoning",
    "reasoning_effort",
    "response_format",
    "text",
    "thinking",
    "toolConfig",
    "tool_choice",
)


class Key(NamedTuple):
    """What is learned about apart from everything else."""

    wire: str
    model: str
    counter: str


class CalibrationRow(NamedTuple):
    """What is known of one model.

    Attributes:
        model: Its name; of a fine-tuned one that of the model it was made from.
        wire: The wire of its requests.
        counter: The name of the tokenizer whose counts are corrected.
        observations: How many reported counts were learned from.
        last_seen: The day of the last one.
        intercept: The tokens that every request has beyond its local count.
        typical_error: How many tokens the count of a short request is off, as a standard deviation.
    """

    model: str
    wire: str
    counter: str
    observations: int
    last_seen: date | None
    intercept: float
    typical_error: float


class Change(NamedTuple):
    """What became of the evidence under a key: a share of the old is remembered, and some was added."""

    kept: float = 1.0
    added: Evidence = Evidence()


UNCHANGED = Change()


class _Learned:
    """What is known under one key, and what of it is new since the last exchange."""

    def __init__(self, change: Change = UNCHANGED) -> None:
        self.total = Evidence()
        self.change = change
        self.suspect: tuple[Sample, float] | None = None

    def remember(self, evidence: Evidence, *, kept: float) -> None:
        """Add evidence to a share of what was known."""
        self.total = self.total.followed_by(evidence, kept=kept)
        added = self.change.added.followed_by(evidence, kept=kept)
        self.change = Change(kept * self.change.kept, added)


class Keeper(Protocol):
    """What keeps a calibration beyond the life of its process."""

    def observed(self) -> None:
        """Something was learned."""
        ...

    def close(self) -> None:
        """Keep the calibration for the last time."""
        ...


class _Anchor(NamedTuple):
    """What was reported for a prompt that ended with a turn."""

    reported: int
    shape: Shape


class _View(NamedTuple):
    """A prompt as a calibration sees it, and what was reported for a beginning of it."""

    key: Key
    memo_key: Hashable
    last: Turn
    shape: Shape
    whole: Sample
    anchor: _Anchor | None

    @property
    def sampled(self) -> bool:
        """Whether a text is so long that its tokenizer saw only parts of it."""
        limit = EXACT_CHARS if self.key.counter.startswith("ctok") else COUNTED_CHARS
        turns = (self.last, *self.last.ancestors())
        return any(len(block.text) > limit for turn in turns for block in turn.blocks)

    @property
    def is_reported(self) -> bool:
        """Whether it is the very prompt that something was reported for."""
        return self.memo_key in self.last.memo

    @property
    def new(self) -> tuple[Sample, int]:
        """What comes after the part that something was reported for, and how much that was."""
        if self.anchor is None:
            return self.whole, 0
        return self.whole.since(Sample.of(self.anchor.shape)), self.anchor.reported


class _Belief:
    """What is expected of a model, from its own evidence and that of its family."""

    def __init__(self, key: Key, own: Evidence, family: Evidence) -> None:
        self.trust = trust_of(key.model, key.counter)
        sds, evidence = self.trust.sds, own
        if own.reopened:
            sds = (REOPENED_CONSTANT_SD, REOPENED_CONSTANT_SD, *sds[2:])
        elif family.weight:
            evidence = family.followed_by(own, kept=min(1.0, FAMILY_WEIGHT / family.weight))
        self._posterior = Posterior(sds, evidence.sums)
        self._scale = evidence.scale

    def predict(self, sample: Sample) -> tuple[float, float]:
        """The mean and the standard deviation of what will be reported beyond the local count."""
        mean, variance = self._posterior.predict(sample.features)
        return mean, self._scale * sqrt(variance + self.trust.noise(sample))

    def miss(self, sample: Sample, beyond: float) -> float:
        """How far off the mean is, in standard deviations as they were before they were scaled."""
        mean, sd = self.predict(sample)
        return self._scale * abs(beyond - mean) / sd

    def is_outlier(self, sample: Sample, beyond: float) -> bool:
        """Whether what was reported is too far off to be learned from."""
        return self.miss(sample, beyond) > OUTLIER_SDS * self._scale


def _counter_of(prompt: Prompt) -> BlockCounter:
    return block_counter_for(prompt.model, prompt.wire.name)


def _today() -> date:
    return datetime.now(UTC).date()


class Calibration:
    """Learns how many tokens are reported for prompts, and counts prompts by it. Safe for many threads.

    Args:
        counter_of: Gives the counter that a prompt is counted with locally.
        today: Gives the date that observations are kept with.

    Attributes:
        keeper: What is told of each observation, outside of every lock.
    """

    def __init__(
        self,
        *,
        counter_of: Callable[[Prompt], BlockCounter] = _counter_of,
        today: Callable[[], date] = _today,
    ) -> None:
        self.keeper: Keeper | None = None
        self._counter_of = counter_of
        self._today = today
        self._lock = threading.Lock()
        self._learned: dict[Key, _Learned] = {}

    def count(self, prompt: Prompt) -> TokenCount:
        """The tokens that a provider is expected to report for a prompt, with their band.

        What a provider keeps of a prompt, so that the body only names it, is not in the count.
        """
        view = self._view(prompt)
        new, before = view.new
        with self._lock:
            evidence, belief = self._evidence(view.key), self._belief(view.key)
        mean, sd = belief.predict(new)
        sds = BAND_SDS if evidence.weight >= EARLY_WEIGHT else EARLY_BAND_SDS
        width = 0.0 if view.is_reported else sds * sd
        learned = before + new.tokens + mean
        total = max(0, round(learned), round(before + LEAST_SHARE * new.tokens))
        return TokenCount(
            total=total,
            low=max(0, floor(min(total, learned) - width)),
            high=ceil(total + width),
            by_kind=split_by_kind(total, view.shape),
            source=_source(view, evidence),
            counter=view.key.counter,
            model=prompt.model,
        )

    def observe(self, prompt: Prompt, usage: Usage | None) -> None:
        """Learn from what an answer reported for its prompt.

        Args:
            prompt: As it was sent, after every edit.
            usage: What the answer reported. Nothing is learned where it does not say how many input tokens
                there were, nor where the provider keeps a part of the prompt.
        """
        if usage is None or usage.input_tokens is None or _has_server_state(prompt):
            return
        view = self._view(prompt)
        anchor = _Anchor(usage.input_tokens, view.shape)
        if view.anchor != anchor:
            with self._lock:
                self._learn(view, usage.input_tokens)
            view.last.memo[view.memo_key] = anchor
        if self.keeper:
            self.keeper.observed()

    def show(self) -> list[CalibrationRow]:
        """What is known of each model, by wire and name."""
        with self._lock:
            return [
                CalibrationRow(
                    key.model,
                    key.wire,
                    key.counter,
                    learned.total.observations,
                    learned.total.seen,
                    *self._belief(key).predict(INTERCEPT),
                )
                for key, learned in sorted(self._learned.items())
                if learned.total.observations and not key.model.endswith(FAMILY_MARK)
            ]

    def reset(self, model: str | None = None) -> None:
        """Forget what was learned of all models, or of one and its family."""
        name = base_model(model)
        with self._lock:
            for key in self._learned:
                if model is None or key.model in (name, family_of(name)):
                    self._learned[key] = _Learned(Change(kept=0.0))

    def exchange(self, merge: Callable[[Mapping[Key, Change]], Mapping[Key, Evidence]]) -> None:
        """Give away what is new since the last exchange, and take what others know.

        Args:
            merge: Gets the changes, and gives all that is known with them. Where it raises, nothing has
                happened, and the changes are given away the next time.
        """
        with self._lock:
            known = merge({key: learned.change for key, learned in self._learned.items()})
            for key in {**self._learned, **known}:
                learned = self._learned.setdefault(key, _Learned())
                learned.total, learned.change = known.get(key, Evidence()), UNCHANGED

    def _view(self, prompt: Prompt) -> _View:
        counter = self._counter_of(prompt)
        shape = shape_of(prompt, counter)
        settings = {name: prompt.body[name] for name in SETTINGS if name in prompt.body}
        memo_key = ("reported", counter.name, prompt.model, _has_server_state(prompt), digest(settings))
        chain = (prompt.head, *prompt.turns)
        anchors = (turn.memo[memo_key] for turn in reversed(chain) if memo_key in turn.memo)
        tokenizer = counter.name.removesuffix(f" {counter.structure.name}")
        key = Key(prompt.wire.name, base_model(prompt.model), tokenizer)
        return _View(key, memo_key, chain[-1], shape, Sample.of(shape), next(anchors, None))

    def _evidence(self, key: Key) -> Evidence:
        learned = self._learned.get(key)
        return learned.total if learned else Evidence()

    def _belief(self, key: Key) -> _Belief:
        family = key._replace(model=family_of(key.model))
        return _Belief(key, self._evidence(key), self._evidence(family))

    def _learn(self, view: _View, reported: int) -> None:
        learned, belief = self._learned.setdefault(view.key, _Learned()), self._belief(view.key)
        beyond = reported - view.whole.tokens
        new, before = (view.whole, 0) if view.is_reported else view.new
        new_beyond = reported - before - new.tokens
        suspect, learned.suspect = learned.suspect, None
        if belief.is_outlier(view.whole, beyond):
            if suspect is not None:
                learned.remember(Evidence(reopened=True), kept=0.0)
                for sample, surplus in (suspect, (view.whole, beyond)):
                    self._add(view.key, self._belief(view.key), sample, surplus)
                return
            learned.suspect = (view.whole, beyond)
        elif not belief.is_outlier(new, new_beyond):
            self._add(view.key, belief, new, new_beyond)
            return
        outlier = Evidence(weight=1.0, squares=OUTLIER_SDS**2, seen=self._today())
        learned.remember(outlier, kept=MEMORY)

    def _add(self, key: Key, belief: _Belief, sample: Sample, beyond: float) -> None:
        """Add one observation to the evidence of a model and to that of its family."""
        noise, spread = belief.trust.noise(sample), belief.trust.spread(sample)
        family, square = key._replace(model=family_of(key.model)), belief.miss(sample, beyond) ** 2
        for name, variance in ((key, noise), (family, noise + spread)):
            sums = observed(sample.features, beyond, variance)
            evidence = Evidence(sums, weight=1.0, squares=square, observations=1, seen=self._today())
            self._learned.setdefault(name, _Learned()).remember(evidence, kept=MEMORY)


def _source(view: _View, evidence: Evidence) -> Source:
    if view.is_reported:
        return "reported"
    if evidence.observations:
        return "calibrated"
    simple = not view.whole.unsure and "tool_definition" not in view.shape.numbers and not view.sampled
    return "exact" if simple and trust_of(view.key.model, view.key.counter) is OWN else "estimated"


def _has_server_state(prompt: Prompt) -> bool:
    """Whether the provider keeps a part of a prompt; a wire that only reads bodies knows of none."""
    known: Callable[[Mapping[str, Any]], bool] = getattr(prompt.wire, "has_server_state", lambda body: False)
    return known(prompt.body)


CALIBRATION = Calibration()
"""What this process has learned."""
