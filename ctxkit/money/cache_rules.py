"""The rules of each provider's prompt cache, as dated data: what is kept, from what size on, how long, and
what makes it useless.

Prices are not here, they come from the price list. How the rules play out over a run is worked out in
`prompt_cache`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

Keeping = Literal["marks", "end", "everywhere"]

ANTHROPIC = "Anthropic's prompt caching guide, second hand; types of the `anthropic` SDK 2.14.0"
OPENAI = "OpenAI's prompt caching guide, second hand; types of the `openai` SDK 3.57.0"
GEMINI = "Google's context caching guide of 2026-10-13, second hand"

ANTHROPIC_LIFETIMES = MappingProxyType({"5m": 300, "1h": 3_600})
OPENAI_LIFETIMES = MappingProxyType({"30m": 1_800, "12h": 43_200})
# What is known to spoil OpenAI's cache: the reasons that its cache diagnostics can give.
OPENAI_SETTINGS = (
    "reasoning",
    "reasoning_effort",
    "text",
    "response_format",
    "verbosity",
    "prompt_cache_key",
    "service_tier",
)


@dataclass(frozen=True, slots=True)
class CacheRules:
    """How the prompt cache of some models works.

    Attributes:
        models: Matches their names, wherever a router or a cloud puts it.
        keeps: Which beginnings of a prompt are kept: those up to a mark; that of the whole prompt as well,
            unasked; or every one, unasked.
        minimum_tokens: A shorter beginning is neither kept nor read.
        step_tokens: Where every beginning is kept, how much is read is a multiple of this.
        look_back: How many places before a mark are searched for what is kept, the mark's own included; a run
            of calls, or of results, is one place. `None` is no limit.
        most_marks: So many marks count, the last ones, one that is set unasked among them.
        lifetimes: For how many seconds after its last use a beginning is kept, by the provider's name for it,
            the usual one first; empty where the provider does not say.
        reports_writes: Whether the usage tells what was written; otherwise it is plain input.
        all_settings: Keys of a request's body that spoil everything when they change, besides the model.
        system_settings: Keys that spoil the system prompt and the messages.
        message_settings: Keys that spoil the messages.
        images_spoil_messages: Whether messages are spoilt when the first image comes or the last one goes.
        source: Where it was read.
        read_on: The day.
    """

    models: re.Pattern[str]
    keeps: Keeping
    minimum_tokens: int
    source: str
    step_tokens: int = 1
    look_back: int | None = None
    most_marks: int = 4
    lifetimes: Mapping[str, int] = field(default_factory=dict, hash=False)
    reports_writes: bool = True
    all_settings: tuple[str, ...] = ()
    system_settings: tuple[str, ...] = ()
    message_settings: tuple[str, ...] = ()
    images_spoil_messages: bool = False
    read_on: str = "2026-11-30"

    @property
    def usual_lifetime(self) -> str:
        """The name of the lifetime of what does not ask for one; empty where the provider names none."""
        return next(iter(self.lifetimes), "")


def _claude(models: str, minimum_tokens: int) -> CacheRules:
    return CacheRules(
        models=re.compile(models),
        keeps="marks",
        minimum_tokens=minimum_tokens,
        source=ANTHROPIC,
        look_back=20,
        lifetimes=ANTHROPIC_LIFETIMES,
        system_settings=("speed",),
        message_settings=("tool_choice", "thinking", "output_config"),
        images_spoil_messages=True,
    )


def _gpt(models: str, *, step_tokens: int) -> CacheRules:
    return CacheRules(
        models=re.compile(models),
        keeps="everywhere",
        minimum_tokens=1_024,
        source=OPENAI,
        step_tokens=step_tokens,
        lifetimes=OPENAI_LIFETIMES,
        reports_writes=False,
        all_settings=OPENAI_SETTINGS,
    )


def _gemini(models: str, minimum_tokens: int) -> CacheRules:
    return CacheRules(
        models=re.compile(models),
        keeps="everywhere",
        minimum_tokens=minimum_tokens,
        source=GEMINI,
        reports_writes=False,
    )


# The first row that matches counts. Haiku 5.5 and Fable 5.2 have no published minimum: like all Claude models
# that are not named, they are taken to have the one that most have.
RULES = (
    _claude(r"claude-(opus|sonnet)-5-5|claude-opus-5(?!-\d\b)|claude-(fable|mythos)-5(-1)?(?!-\d\b)", 512),
    _claude(r"claude-opus-4-7|claude-mythos-preview|claude-(3-5-haiku|3-haiku|haiku-3)", 2_048),
    _claude(r"claude-opus-4[-.][56]|claude-haiku-4[-.]5", 4_096),
    _claude(r"claude", 1_024),
    CacheRules(
        models=re.compile(r"gpt-(5\.[6-9]|[6-9])"),
        keeps="end",
        minimum_tokens=1_024,
        source=OPENAI,
        lifetimes=OPENAI_LIFETIMES,
        all_settings=OPENAI_SETTINGS,
    ),
    _gpt(r"gpt-5\.5", step_tokens=2_048),
    _gpt(r"gpt-(4o|4\.1|4\.5|5)|(^|/)o[134](-|$)|codex", step_tokens=128),
    _gemini(r"gemini-2\.5", 2_048),
    _gemini(r"gemini-[3-9]", 4_096),
)


@lru_cache(maxsize=256)
def cache_rules(model: str | None) -> CacheRules | None:
    """The rules of a model's prompt cache; `None` where they are not known.

    Args:
        model: Its name, with or without the prefix of a router or a cloud.
    """
    return next((rules for rules in RULES if rules.models.search(model or "")), None)
