"""`PlaceCacheBreakpoints`: marks what of a request the provider should keep in its prompt cache."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ctxkit.errors import ConfigError
from ctxkit.flow import Flow, Middleware, ModelNext
from ctxkit.messages import ModelRequest, ModelResponse, Turn, Where
from ctxkit.money.cache_lifetime import SHORT_SECONDS, Gaps, pays_for_an_hour
from ctxkit.money.cache_rules import cache_rules
from ctxkit.money.prices import rates
from ctxkit.wire.anthropic_form import formed_message, formed_text, formed_tools
from ctxkit.wire.anthropic_marks import last_markable, last_markable_tool, marked
from ctxkit.wire.usage_fields import mapping

Ttl = Literal["auto", "5m", "1h"]

WIRE = "anthropic_messages"
# Whose endpoints are known to take an hour: Anthropic's own, and those that nobody names.
KEEPS_AN_HOUR = ("anthropic", None)
HEAD = ("tools", "system")
_NAME = "place_cache_breakpoints"


class PlaceCacheBreakpoints(Middleware):
    """Places `cache_control` where the caller placed none, so that a loop reads what it sent before.

    It is for Claude on Anthropic's wire; every other request passes as it is, as those models cache by
    themselves. Up to four places are marked, the caller's own included: the tools, the system prompt, the
    last place where an earlier request of this history ended, and the end. The third is looked up, as the
    provider looks back over 20 places only, fewer than a wide turn may have; where an edit further out
    changed the history, it is the last such place in front of the edit.

    What the caller marked stays where it is. Where the tools or the system prompt have marks, no others are
    placed there, and so with the messages. A `cache_control` at the top level of the body marks the end.

    A mark that is never read costs a quarter more than none. So the end is marked only where the request
    looks like one of a loop: the model has answered before, or may choose to call tools. Without that, tools
    and system prompt are marked once they come again within five minutes. A side call of another middleware
    reads what this history wrote, and its own end is not marked.

    From the first request on, a user's text and a system prompt are sent as blocks, which alone can be
    marked, and tools and parallel results in one order. So later requests send the same bytes apart from the
    marks, and marks are no part of what is cached.

    Put it behind what edits histories; only what measures may stand further in.

    Source: Anthropic's guide to prompt caching, second hand, read on 2026-11-30.

    Args:
        ttl: How long the provider keeps what is marked. `auto` begins with five minutes and takes an hour
            once the gaps between the requests of a run show that it pays.
        reorder: Whether tools are sent in the order of their names, and the results of parallel calls in the
            order of their calls, whatever order they came in.
        clock: Gives the time in seconds.

    Raises:
        ConfigError: There is no such `ttl`.
    """

    def __init__(
        self, *, ttl: Ttl = "auto", reorder: bool = True, clock: Callable[[], float] = time.time
    ) -> None:
        if ttl not in get_args(Ttl):
            raise ConfigError(f"ttl must be one of {get_args(Ttl)}, it is {ttl!r}", option="ttl")
        self.ttl = ttl
        self.reorder = reorder
        self._clock = clock

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Mark the request."""
        rules = cache_rules(request.model)
        cached = request.wire.name == WIRE and rules is not None and rules.keeps == "marks"
        if not cached or not request.turns:
            return call_next(request)
        return self._send(request, call_next)

    def _send(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        history = _History.of(request, now=self._clock())
        response = yield from call_next(self._marked(request, history))
        history.note()
        return response

    def _marked(self, request: ModelRequest, history: _History) -> ModelRequest:
        from ctxkit.validity.anthropic_cache import MOST_MARKS, marks_by_itself, marks_of

        callers = marks_of(request)
        room = MOST_MARKS - len(callers) - marks_by_itself(request, callers)
        formed: Mapping[str, Any] = _formed(request, reorder=self.reorder)
        places = _places(history, formed, taken={str(mark.where[0]) for mark in callers})
        lifetime = self._lifetime(history, callers)
        body = formed
        for where in list(dict.fromkeys(places))[: max(0, room)]:
            body = marked(body, where, lifetime)
        changes = {key: value for key, value in body.items() if value != request.body[key]}
        return request.edit(**changes) if changes else request

    def _lifetime(self, history: _History, callers: Collection[tuple[Where, str]]) -> str:
        """How long marks last: what is kept for an hour must stand in front of what is kept for less."""
        request = history.request
        head = {ttl for where, ttl in callers if where[0] in HEAD}
        behind = {ttl for where, ttl in callers if where[0] not in HEAD}
        behind.add(str(mapping(request.body.get("cache_control")).get("ttl")))
        if "5m" in head:
            return "5m"
        if "1h" in behind:
            return "1h"
        if self.ttl != "auto":
            return self.ttl
        if not history.gaps.lapsed or request.provider not in KEEPS_AN_HOUR:
            return "5m"
        listed = rates(request.model, provider=request.provider)
        return "1h" if pays_for_an_hour(history.gaps, history.size, listed) else "5m"


@dataclass(frozen=True, slots=True)
class _History:
    """What is known of a request's history from the requests before it.

    Sizes are in characters. What is known is kept with the turns: with the last one of each request how large
    it was, with the first one the gaps of the run, with the head when it was sent.

    Attributes:
        request: The one that is about to be sent.
        now: When, in seconds.
        size: How large it is.
        sent: The place of the last turn at which an earlier request ended; `None` where there is none.
        gaps: Those of the run, this request included.
        head_comes_again: Whether its tools and system prompt were sent within the last five minutes.
    """

    request: ModelRequest
    now: float
    size: int
    sent: int | None
    gaps: Gaps
    head_comes_again: bool

    @classmethod
    def of(cls, request: ModelRequest, *, now: float) -> _History:
        """Look it up."""
        turns, key = request.turns, _key(request, "size")
        size = request.fold((_NAME, "characters"), _characters, lambda size, turn: size + _characters(turn))
        sent = next((place for place in reversed(range(len(turns))) if key in turns[place].memo), None)
        kept = 0 if sent is None else turns[sent].memo[key]
        before: Gaps = turns[0].memo.get(_key(request, "gaps"), Gaps())
        head_sent: float | None = request.head.memo.get(_key(request, "head"))
        return cls(
            request,
            now,
            size,
            sent,
            before.then(at=now, size=size, kept=kept),
            head_sent is not None and now - head_sent <= SHORT_SECONDS,
        )

    def note(self) -> None:
        """Keep what the next request has to know, the request being sent."""
        request = self.request
        request.head.memo[_key(request, "head")] = self.now
        if request.purpose == "main":
            request.turns[0].memo[_key(request, "gaps")] = self.gaps
            request.turns[-1].memo[_key(request, "size")] = self.size

    def goes_on(self) -> bool:
        """Whether the request looks like one of a loop, or asks about one that was sent."""
        if self.request.purpose != "main":
            return self.sent is not None
        if any(turn.role == "assistant" for turn in self.request.turns):
            return True
        choice = mapping(self.request.body.get("tool_choice")).get("type")
        return bool(self.request.body.get("tools")) and choice not in ("tool", "none")


def _key(request: ModelRequest, about: str) -> Hashable:
    return _NAME, about, request.model


def _characters(turn: Turn) -> int:
    return sum(len(block.text) for block in turn.blocks)


def _ended_before(turns: tuple[Turn, ...]) -> int | None:
    """Where the request before this one ended, where another process sent it: before the last answer."""
    answers = [place for place, turn in enumerate(turns) if turn.role == "assistant"]
    return answers[-1] - 1 if answers and answers[-1] else None


def _formed(request: ModelRequest, *, reorder: bool) -> dict[str, Any]:
    """The tools, the system prompt and the messages in their one form."""
    body, key = request.body, (_NAME, "formed", reorder)
    request.fold(key, lambda head: None, lambda before, turn: formed_message(turn, reorder=reorder))
    formed: dict[str, Any] = {"messages": [turn.memo[key] for turn in request.turns]}
    if body.get("tools"):
        formed["tools"] = formed_tools(request.tools) if reorder else body["tools"]
    if body.get("system"):
        formed["system"] = formed_text(body["system"])
    return formed


def _places(history: _History, formed: Mapping[str, Any], *, taken: Collection[str]) -> Iterator[Where]:
    """What should be marked, the most useful first.

    Args:
        history: Says where an earlier request ended.
        formed: What is to be marked, in its one form.
        taken: The parts in which the caller placed marks.
    """
    request, messages = history.request, formed["messages"]
    goes_on = history.goes_on()
    if goes_on and "messages" not in taken:
        if request.purpose == "main" and not request.body.get("cache_control"):
            yield from _end_of(messages, len(messages) - 1)
        earlier = _ended_before(request.turns) if history.sent is None else history.sent
        if earlier is not None:
            yield from _end_of(messages, earlier)
    if (goes_on or history.head_comes_again) and not any(part in taken for part in HEAD):
        head = {
            "system": last_markable(formed.get("system")),
            "tools": last_markable_tool(formed.get("tools", ())),
        }
        yield from ((part, place) for part, place in head.items() if place is not None)


def _end_of(messages: list[Any], last: int) -> Iterator[Where]:
    """The last place that can be marked up to a message."""
    for index in range(last, -1, -1):
        place = last_markable(messages[index].get("content"))
        if place is not None:
            yield ("messages", index, "content", place)
            return
