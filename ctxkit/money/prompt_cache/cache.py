"""The prompt cache of a provider, simulated: what of each request is read from it, written to it, or neither.

Pure, and without a clock: the moments of the requests are given. The rules come from `cache_rules`, the
sizes of blocks from whoever counts them, the dollars from `prices`. It is not modelled that an entry can be
read only after the first answer has begun, that a provider may forget sooner or later than it says, and that
some models leave out old thinking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, takewhile
from types import MappingProxyType
from typing import Any

from ctxkit.messages import ModelRequest, Prompt
from ctxkit.money.cache_rules import CacheRules, cache_rules
from ctxkit.money.prices import price
from ctxkit.money.prompt_cache.prefix import Pieces, Prefix, extend, lifetime_of
from ctxkit.usage import Charge, Usage
from ctxkit.wire.native import dumps
from ctxkit.wire.usage_fields import mapping

NO_SETTINGS: Mapping[str, Any] = MappingProxyType({})

_Key = tuple[bytes, bytes]
_End = tuple[Prefix, str]


@dataclass(frozen=True, slots=True)
class Simulated:
    """One request as the simulation has it.

    Attributes:
        usage: The input side, `output_tokens` being 0; `None` where the rules of the model are unknown.
        charge: What that costs; `None` where it can't be priced.
    """

    usage: Usage | None
    charge: Charge | None


def simulate(
    cache: PromptCache,
    requests: Iterable[tuple[Prompt, datetime | None]],
    *,
    provider: str | None = None,
    prices_at: datetime | None = None,
) -> Iterator[Simulated]:
    """Send requests through a cache, one after the other, and price each.

    Args:
        cache: Takes them.
        requests: Each with the moment it was sent, `None` where that is unknown, oldest first.
        provider: Who answers, as the price list calls them; left out, the request says it, or the model.
        prices_at: The day of the prices for requests whose moment is unknown; left out, these have no charge.

    Raises:
        BodyError: A body is malformed.
    """
    for prompt, at in requests:
        usage, day = cache.take(prompt, at=at), at or prices_at
        asked = provider or (prompt.provider if isinstance(prompt, ModelRequest) else None)
        charge: Charge | None = None
        if usage is not None and day is not None:
            charge = price(usage, model=prompt.model, provider=asked, at=day)
        yield Simulated(usage, charge)


class PromptCache:
    """What a provider keeps of the prompts it was sent, by the published rules of each model.

    ```python
    counter = block_counter_for(model, "anthropic_messages")
    cache = PromptCache(
        pieces=partial(pieces, counter=counter), size=lambda prompt: shape_of(prompt, counter).total
    )
    usage = cache.take(prompt, at=moment)
    ```

    A prompt is known again block by block, and what a request costs here follows what is new in it. Where a
    provider keeps every beginning, a block that differs counts as not read at all. A mark inside what was
    read keeps that place as well, at no cost.

    Args:
        pieces: Gives what a turn is made of, block by block with its tokens.
        size: Gives the tokens of a whole prompt, where it has more than its pieces: that stands in front.
        rules: Hold for every request; left out, each model's own.
    """

    def __init__(
        self,
        *,
        pieces: Pieces,
        size: Callable[[Prompt], int] | None = None,
        rules: CacheRules | None = None,
    ) -> None:
        self._pieces = pieces
        self._size = size
        self._rules = rules
        self._entries: dict[_Key, _Entry] = {}

    def prefix(self, prompt: Prompt) -> Prefix:
        """The whole of a prompt as a prefix; only turns that no earlier prompt had are read."""
        return prompt.fold(
            (PromptCache, self._pieces),
            lambda head: extend(Prefix(), head, self._pieces),
            lambda before, turn: extend(before, turn, self._pieces),
        )

    def take(self, prompt: Prompt, *, at: datetime | None = None) -> Usage | None:
        """Send a prompt: `send` with its own blocks, model and settings.

        Raises:
            BodyError: The body is malformed.
        """
        whole = self.prefix(prompt)
        front = 0 if self._size is None else self._size(prompt) - whole.tokens
        return self.send(whole, settings=prompt.body, model=prompt.model, at=at, front_tokens=front)

    def send(
        self,
        prompt: Prefix,
        *,
        model: str | None,
        settings: Mapping[str, Any] = NO_SETTINGS,
        at: datetime | None = None,
        front_tokens: int = 0,
    ) -> Usage | None:
        """Send a prompt that is given as a prefix.

        Args:
            prompt: All of it.
            model: The model asked.
            settings: The keys of the request's body that are no block, as far as rules name them.
            at: When the request was sent; left out, nothing expires.
            front_tokens: What stands in front of the first block.

        Returns:
            The input side of the usage, `output_tokens` being 0; `None` where the model's rules are unknown.
        """
        rules = self._rules or cache_rules(model)
        if rules is None:
            return None
        sending = _Sending(rules, prompt, _scopes(rules, settings, model, prompt), front_tokens, at)
        ends = list(sending.ends(settings))
        found = self._found(sending, ends)
        if rules.keeps == "everywhere":
            self._keep_everywhere(sending, found)
        else:
            self._keep(sending, ends, found)
        return sending.usage(ends, found)

    def _found(self, sending: _Sending, ends: Iterable[_End]) -> Prefix | None:
        """The longest prefix that can be read, which is thereby used."""
        look_back = sending.rules.look_back
        for end, _ in ends:
            for prefix in end.backwards():
                if look_back is not None and end.place - prefix.place >= look_back:
                    break
                entry = self._entries.get(sending.key(prefix))
                if entry is not None and entry.is_alive(sending.at):
                    entry.use(sending.at)
                    return prefix
        return None

    def _keep(self, sending: _Sending, ends: Iterable[_End], found: Prefix | None) -> None:
        places = [*ends, *([] if found is None else [(found, "")])]
        shorter: _Entry | None = None
        for prefix, lifetime in sorted(places, key=lambda end: end[0].tokens):
            key = sending.key(prefix)
            known = self._entries.get(key)
            if known is None or not known.is_alive(sending.at):
                self._entries[key] = known = sending.entry(lifetime, shorter)
            known.use(sending.at)
            shorter = known

    def _keep_everywhere(self, sending: _Sending, found: Prefix | None) -> None:
        shorter = None if found is None else self._entries[sending.key(found)]
        entry = sending.entry(sending.rules.usual_lifetime, shorter)
        for prefix in takewhile(lambda prefix: prefix is not found, sending.prompt.backwards()):
            self._entries[sending.key(prefix)] = entry


@dataclass(slots=True)
class _Entry:
    """What is kept of one or more prefixes of a request.

    Attributes:
        lifetime: How long after its last use it is kept, in seconds; `None` where that is not known.
        used: When it was last used, where the times are known.
        shorter: The entry that it goes on from.
    """

    lifetime: int | None
    used: datetime | None
    shorter: _Entry | None

    def is_alive(self, at: datetime | None) -> bool:
        """Whether it can still be read."""
        if self.lifetime is None or self.used is None or at is None:
            return True
        return (at - self.used).total_seconds() <= self.lifetime

    def use(self, at: datetime | None) -> None:
        """Read it, and with it all that it goes on from."""
        entry: _Entry | None = self
        while entry is not None and entry.used != at:
            entry.used = at
            entry = entry.shorter


@dataclass(frozen=True, slots=True)
class _Sending:
    """One request on its way.

    Attributes:
        rules: Those of its model.
        prompt: All that it sends.
        scopes: What of the settings a prefix depends on, by its level.
        front_tokens: What stands in front of the first block.
        at: When it is sent.
    """

    rules: CacheRules
    prompt: Prefix
    scopes: tuple[bytes, ...]
    front_tokens: int
    at: datetime | None

    def key(self, prefix: Prefix) -> _Key:
        """What a prefix is kept under."""
        return self.scopes[prefix.level], prefix.digest

    def entry(self, lifetime: str, shorter: _Entry | None) -> _Entry:
        """What is kept of a prefix from now on."""
        return _Entry(self.rules.lifetimes.get(lifetime), self.at, shorter)

    def tokens(self, prefix: Prefix) -> int:
        """The size of a prefix with what stands in front of it."""
        return max(0, prefix.tokens + self.front_tokens)

    def ends(self, settings: Mapping[str, Any]) -> Iterator[_End]:
        """The prefixes that are to be kept, with the names of their lifetimes, the longest first."""
        usual = _asked_lifetime(self.rules, settings)
        marks = islice(self.prompt.marks(), self.rules.most_marks)
        marked = [(prefix, prefix.mark or "") for prefix in marks]
        unasked = _unasked(self.rules, settings)
        if self.rules.keeps == "everywhere":
            marked = [(self.prompt, "")]
        elif unasked is not None and self.prompt.mark is None:
            marked.insert(0, (self.prompt, unasked))
        for prefix, lifetime in marked[: self.rules.most_marks]:
            if self.tokens(prefix) >= self.rules.minimum_tokens:
                yield prefix, lifetime if lifetime in self.rules.lifetimes else usual

    def usage(self, ends: Sequence[_End], found: Prefix | None) -> Usage:
        """What is read and written; a longer-lived write reaches up to the last of its marks."""
        read = 0 if found is None else self.tokens(found)
        read = read - read % self.rules.step_tokens if read >= self.rules.minimum_tokens else 0
        written = dict.fromkeys(("1h", "12h"), 0)
        whole = 0
        if self.rules.reports_writes:
            whole = max((self.tokens(end) - read for end, _ in ends), default=0)
            for end, lifetime in ends:
                written[lifetime] = max(written.get(lifetime, 0), self.tokens(end) - read)
        return Usage(
            input_tokens=self.tokens(self.prompt),
            output_tokens=0,
            cache_read_tokens=read,
            cache_write_tokens=whole,
            cache_write_1h_tokens=written["1h"],
            cache_write_12h_tokens=written["12h"],
        )


def _scopes(
    rules: CacheRules, settings: Mapping[str, Any], model: str | None, prompt: Prefix
) -> tuple[bytes, ...]:
    """What of a request's settings its prefixes depend on: for the tools, the system prompt, the messages."""
    everything = dumps([model, [settings.get(key) for key in rules.all_settings]])
    system = dumps([settings.get(key) for key in rules.system_settings])
    messages = dumps([settings.get(key) for key in rules.message_settings])
    images = b"images" if rules.images_spoil_messages and prompt.images else b""
    return everything, everything + system, everything + system + messages + images


def _asked_lifetime(rules: CacheRules, settings: Mapping[str, Any]) -> str:
    """The lifetime that a request asks for at its top level, or else the usual one."""
    asked = str(mapping(settings.get("prompt_cache_options")).get("ttl"))
    return asked if asked in rules.lifetimes else rules.usual_lifetime


def _unasked(rules: CacheRules, settings: Mapping[str, Any]) -> str | None:
    """The lifetime of a mark at the end of the prompt that no block carries; `None` where there is none."""
    if rules.keeps == "end":
        return None if mapping(settings.get("prompt_cache_options")).get("mode") == "explicit" else ""
    control = settings.get("cache_control")
    return lifetime_of(control) if isinstance(control, Mapping) else None
