"""Loops whose requests are marked for the prompt cache, and what stands in them then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from ctxkit.flow import ask_model
from ctxkit.messages import Histories, ModelRequest, Where
from ctxkit.middleware.place_cache_breakpoints import PlaceCacheBreakpoints
from ctxkit.money.cache_rules import cache_rules
from ctxkit.money.prompt_cache import PromptCache
from ctxkit.tokens import block_counter_for, pieces
from ctxkit.validity.anthropic_cache import marks_of
from support.bodies import ANTHROPIC, answer_to, request_of
from support.caching import Clock
from support.flows import first_request

MODEL = "claude-sonnet-5"
MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in ("edit", "search")]
HEAD: dict[str, Any] = {"model": MODEL, "tools": TOOLS, "system": "You find foxes."}
SYSTEM = ("system", 0)
LAST_TOOL = ("tools", 1)


def place(**options: Any) -> PlaceCacheBreakpoints:
    """A middleware whose clock stands still, where not told otherwise."""
    return PlaceCacheBreakpoints(**{"clock": Clock(), **options})


def sent(request: ModelRequest, middleware: PlaceCacheBreakpoints | None = None) -> ModelRequest:
    """The request that goes further in; it is answered."""
    flow = (middleware or place()).wrap_model_call(request, ask_model)
    made = first_request(flow)
    with pytest.raises(StopIteration):
        flow.send(answer_to(made))
    return made


def places(request: ModelRequest) -> list[Where]:
    """What is marked, in the order in which it is read."""
    return [mark.where for mark in marks_of(request)]


def lifetimes(request: ModelRequest) -> set[str]:
    """How long what is marked is kept."""
    return {mark.ttl for mark in marks_of(request)}


def block(index: int, position: int = 0) -> Where:
    """The path to a block of a message."""
    return ("messages", index, "content", position)


def bare(value: Any) -> Any:
    """JSON without marks."""
    if isinstance(value, dict):
        return {key: bare(one) for key, one in value.items() if key != "cache_control"}
    return [bare(one) for one in value] if isinstance(value, list) else value


def simulator() -> PromptCache:
    """Anthropic's prompt cache, with no least size."""
    rules = cache_rules(MODEL)
    assert rules is not None
    counter = block_counter_for(MODEL, ANTHROPIC)
    return PromptCache(pieces=partial(pieces, counter=counter), rules=replace(rules, minimum_tokens=0))


class Loop:
    """Sends the beginnings of one history through one middleware, in one process.

    Attributes:
        middleware: The middleware.
        histories: What the process knows of earlier requests.
    """

    def __init__(self, middleware: PlaceCacheBreakpoints | None = None, **head: Any) -> None:
        self.middleware = middleware or place()
        self.histories = Histories()
        self._head = {**HEAD, **head}

    def request(self, messages: Sequence[Any]) -> ModelRequest:
        """The request that ends here."""
        return request_of(ANTHROPIC, messages, histories=self.histories, **self._head)

    def send(self, messages: Sequence[Any]) -> ModelRequest:
        """The same as it goes further in."""
        return sent(self.request(messages), self.middleware)
