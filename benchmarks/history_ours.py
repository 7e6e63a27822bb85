"""Our own policies for histories, and doing nothing, in the books of `history_books`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextvars import Context
from dataclasses import dataclass
from time import process_time
from typing import Any

from history_books import Course, Sent, Simulator

import ctxkit
from ctxkit.drive import run
from ctxkit.flow import ask_model
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.originals import Originals
from ctxkit.stack import Stack

OURS: Mapping[str, Callable[[Originals], Stack]] = {
    "TrimHistory()": lambda originals: Stack(ctxkit.TrimHistory()),
    "TrimHistory(target_tokens=40_000)": lambda originals: Stack(ctxkit.TrimHistory(target_tokens=40_000)),
    "cut, TrimHistory(), dedupe": lambda originals: Stack(
        ctxkit.TruncateToolResults(max_tokens=4_000), ctxkit.TrimHistory(), ctxkit.DedupeToolResults()
    ),
    "... with RecallToolResults": lambda originals: Stack(
        ctxkit.RecallToolResults(originals),
        ctxkit.TruncateToolResults(max_tokens=4_000, originals=originals),
        ctxkit.TrimHistory(originals=originals),
        ctxkit.DedupeToolResults(),
    ),
}


@dataclass
class Answering:
    """Stands for the model behind a stack: it answers as recorded.

    Attributes:
        answer: The body of its answer.
        sent: What it was asked.
    """

    answer: Mapping[str, Any]
    sent: ModelRequest | None = None

    def model(self, request: ModelRequest) -> ModelResponse:
        """The recorded answer."""
        self.sent = request
        return ModelResponse(request.wire, self.answer, request)


# The sizes to clear from that a search with hindsight tries, as multiples of the size to clear down to.
STARTS = (1.15, 1.4, 1.7, 2.0, 2.5, 3.5)
RECENT_TOKENS = 20_000


def untouched(course: Course) -> Iterator[Sent]:
    """Every request as the caller made it."""
    return (Sent(exchange.request) for exchange in course.exchanges)


def best_in_hindsight(course: Course) -> Iterator[Sent]:
    """What the cheapest schedule sends that clears from one size, down to where `TrimHistory` does by itself.

    It is found by trying them all on the whole run, doing nothing among them.
    """
    first, _ = Simulator(course.market).send(course.exchanges[0].request)
    target = (first.input_tokens or 0) + RECENT_TOKENS
    tried = [list(untouched(course))]
    for multiple in STARTS:
        trimming = ctxkit.TrimHistory(start_tokens=round(multiple * target), target_tokens=target)
        tried.append(list(sent_through(Stack(trimming), course)))
    return iter(min(tried, key=lambda sent: course.take(sent, evidence=False).cost))


def sent_through(stack: Stack, course: Course) -> Iterator[Sent]:
    """Every request as a stack sends it, all in one task."""
    return iter(Context().run(_all_sent, stack, course))


def _all_sent(stack: Stack, course: Course) -> list[Sent]:
    sent = []
    with ctxkit.task(course.run.id) as booked:
        for exchange in course.exchanges:
            edge = Answering(exchange.answer)
            started = process_time()
            run(stack.wrap_model_call(exchange.request, ask_model), edge)
            seconds = process_time() - started
            if booked.faults or edge.sent is None:
                sys.exit(f"a middleware failed: {dict(booked.faults)}")
            sent.append(Sent(edge.sent, seconds=seconds))
    return sent
