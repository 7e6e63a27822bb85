"""What the simulated prompt cache reads of each recorded request beside what the provider says it read.

Sizes are taken from the log itself, so that what is scored is the cache's rules and not the counting: the
prompt of each request is as large as its usage says, and what is new in it is spread over its new blocks as
counted here. What a log leaves out, such as the system prompt, is one block in front, as large as the first
request shows, with a mark where that request's read ended. So the first request of a session is not scored,
nor is one that can't be what the log shows: there a session begins anew. Where a log shows no marks, its
client is taken to mark the end of every prompt and of what stands in front, for an hour where the usage shows
such writes.

    python benchmarks/prompt_cache_truth.py [PATH ...] [--json] [--sessions]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from tables import show

import ctxkit
from ctxkit.messages import Block, Histories, Prompt, Turn
from ctxkit.money import price
from ctxkit.money.cache_rules import cache_rules
from ctxkit.money.prompt_cache import Prefix, PromptCache, extend, simulate
from ctxkit.tokens import block_counter_for, pieces, shape_of
from ctxkit.transcripts import RecordedRequest, Transcript
from ctxkit.transcripts.requests import request_body
from ctxkit.usage import Usage
from ctxkit.wire import READERS

DATA = Path(__file__).parents[1].parent / "shared" / "data"
# A Claude model's own tokens for one of o200k_base, as far as a log leaves something out.
CLAUDE_RATIO = 1.2
# Requests without a time are priced as of this one, so that the table is the same at any hour.
AS_OF = datetime(2026, 11, 30, 12, tzinfo=UTC)
# A request misses where it is off by more than this share of its prompt, and by more than so many tokens.
TOLERANCE, TOLERATED_TOKENS = 0.02, 512
TURNS = 1_000

NOT_SHOWN = "not shown"
CLASSES = {
    NOT_SHOWN: "not scored: a prompt smaller than the log shows, or grown without a message, is another one",
    "longer": "read after a longer pause than the provider promises to keep it",
    "elsewhere": "more was read than this session wrote: another one wrote the same",
    "head, no times": "no more than what stands in front was read; the log has no times: maybe a pause",
    "head, in time": "the same within the lifetime: an unseen change, or the provider forgot",
    "earlier": "read up to the end of an earlier request than the last: sent side by side, or not kept",
    "between": "read up to a place inside of what was sent before: an unseen change or mark",
}


@dataclass(frozen=True)
class Scored:
    """One request, simulated and real.

    Attributes:
        simulated: The input side of its usage here.
        real: Its usage as recorded.
        miss: The class of the difference, empty where there is none that counts.
        simulated_usd: What its input costs by the simulated usage; `None` where that is unknown.
        real_usd: What it costs by the recorded one.
    """

    simulated: Usage
    real: Usage
    miss: str
    simulated_usd: float | None
    real_usd: float | None

    @property
    def error(self) -> float:
        """The difference of what was read, as a share of the prompt."""
        difference = abs(self.simulated.cache_read_tokens - self.real.cache_read_tokens)
        return difference / max(1, self.real.input_tokens or 0)


class Session:
    """One recorded run on its way through the simulated cache.

    Args:
        transcript: The run.
    """

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self._histories = Histories()
        self._counter = block_counter_for(transcript.model, transcript.wire)
        self._stretch = 0
        self._last: datetime | None = None

    def scored(self) -> Iterator[Scored]:
        """Every request whose usage and rules are known, the first aside."""
        for recorded in self.transcript.requests:
            if recorded.usage is None or not recorded.usage.input_tokens:
                continue
            body = request_body(self.transcript, recorded)
            prompt = Prompt(READERS[self.transcript.wire], body, self._histories)
            first = not self._stretch
            shown = not first and self._measure(prompt, recorded.usage.input_tokens)
            if not shown:
                self._begin(prompt, recorded.usage)
            usage = self._send(prompt, recorded, recorded.usage)
            if usage is None:
                return
            if not first:
                miss = self._miss(recorded, usage.cache_read_tokens, recorded.usage) if shown else NOT_SHOWN
                yield self._score(recorded, usage, recorded.usage, miss)
            self._ends.append(recorded.usage.input_tokens)
            self._last = recorded.timestamp

    def _begin(self, prompt: Prompt, real: Usage) -> None:
        """Begin a stretch with its first request, which tells how large what stands in front is."""
        self._stretch += 1
        self._cache = PromptCache(pieces=self._sized)
        self._ends: list[int] = []
        total = real.input_tokens or 0
        messages = sum(tokens for turn in prompt.turns for _, _, tokens in pieces(turn, self._counter))
        ratio = total / max(1, shape_of(prompt, self._counter).total)
        if self.transcript.incomplete:
            ratio = CLAUDE_RATIO if "claude" in (self.transcript.model or "") else 1.0
        front = max(0, round(total - ratio * messages))
        blocks = sum(tokens for _, _, tokens in pieces(prompt.head, self._counter))
        self._factors = {prompt.head: front / max(1, blocks)}
        self._head = Prefix()
        if self.transcript.incomplete:
            read = min(real.cache_read_tokens, front)
            for name, tokens in ((b"read", read), (b"rest", front - read)):
                self._head = self._head.then(name, tokens, kind="frame", mark="")
        else:
            self._head = extend(self._head, prompt.head, self._sized)
        self._known = {prompt.head: front}
        self._measure(prompt, total)

    def _send(self, prompt: Prompt, recorded: RecordedRequest, real: Usage) -> Usage | None:
        whole = self._whole(prompt)
        marked = next(whole.marks(), None)
        shows_marks = marked is not None and (marked.level > 0 or not self.transcript.incomplete)
        settings = prompt.body if shows_marks else {**prompt.body, **_marking(real)}
        model = recorded.model or self.transcript.model
        return self._cache.send(whole, model=model, settings=settings, at=recorded.timestamp)

    def _whole(self, prompt: Prompt) -> Prefix:
        step = partial(extend, pieces=self._sized)
        return prompt.fold(("cache truth", self._stretch), lambda _: self._head, step)

    def _measure(self, prompt: Prompt, total: int) -> bool:
        """Size the new turns of a request by its usage; `False` where the log is not what was sent."""
        chain = (prompt.head, *prompt.turns)
        place = max((at for at, turn in enumerate(chain) if turn in self._known), default=-1)
        size = self._known[chain[place]] if place >= 0 else total + 1
        new = chain[place + 1 :]
        if size > total or not new:
            return size == total
        local = [sum(tokens for _, _, tokens in pieces(turn, self._counter)) for turn in new]
        for turn, tokens in zip(new, local, strict=True):
            self._factors[turn] = (total - self._known[chain[place]]) / max(1, sum(local))
            size += round(tokens * self._factors[turn])
            self._known[turn] = size
        self._known[chain[-1]] = total
        return True

    def _sized(self, turn: Turn) -> Iterator[tuple[Block | None, Any, int]]:
        for block, key, tokens in pieces(turn, self._counter):
            yield block, key, round(tokens * self._factors[turn])

    def _score(self, recorded: RecordedRequest, simulated: Usage, real: Usage, miss: str) -> Scored:
        cost = partial(
            price,
            model=recorded.model or self.transcript.model,
            provider=self.transcript.provider,
            at=recorded.timestamp or AS_OF,
        )
        charges = [cost(replace(usage, output_tokens=0, native={})) for usage in (simulated, real)]
        dollars = [None if charge is None else float(charge.total_usd) for charge in charges]
        return Scored(simulated, real, miss, dollars[0], dollars[1])

    def _miss(self, recorded: RecordedRequest, read: int, real: Usage) -> str:
        """The class of a request that is read otherwise than simulated."""
        slack = slack_of(real)
        if abs(read - real.cache_read_tokens) <= slack:
            return ""
        if read < real.cache_read_tokens:
            return "longer" if self._lapsed(recorded) else "elsewhere"
        if real.cache_read_tokens <= self._head.tokens + slack:
            return "head, no times" if self._pause(recorded) is None else "head, in time"
        near = (abs(end - real.cache_read_tokens) <= slack for end in self._ends[:-1])
        return "earlier" if any(near) else "between"

    def _pause(self, recorded: RecordedRequest) -> timedelta | None:
        if recorded.timestamp is None or self._last is None:
            return None
        return recorded.timestamp - self._last

    def _lapsed(self, recorded: RecordedRequest) -> bool:
        pause = self._pause(recorded)
        rules = cache_rules(recorded.model or self.transcript.model)
        lifetime = rules.lifetimes.get(rules.usual_lifetime) if rules else None
        return pause is not None and lifetime is not None and pause.total_seconds() > lifetime


def slack_of(real: Usage) -> float:
    """By how many tokens a simulated read may be off."""
    return max(TOLERATED_TOKENS, TOLERANCE * (real.input_tokens or 0))


def _marking(real: Usage) -> dict[str, Any]:
    """The setting with which a client marks the end of every prompt."""
    lifetime = {"ttl": "1h"} if real.cache_write_1h_tokens else {}
    return {"cache_control": {"type": "ephemeral", **lifetime}}


def family_of(transcript: Transcript) -> str:
    """What a run is listed under: the file of the corpus, or the folder of logs, and its wire."""
    path = Path(transcript.path)
    folder = path.name.split(".")[0] if path.parent.name == "transcripts" else f"raw {path.parent.name}"
    return f"{folder} {transcript.wire}"


def is_measured(transcript: Transcript) -> bool:
    """Whether a run says anything of the cache."""
    used = [recorded.usage for recorded in transcript.requests if recorded.usage is not None]
    return any(usage.cache_read_tokens or usage.cache_write_tokens for usage in used)


def compare(transcripts: Iterable[Transcript]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A row for each family, and one for each session that is not explained."""
    families: dict[str, list[Scored]] = defaultdict(list)
    sessions: Counter[str] = Counter()
    unexplained: list[dict[str, Any]] = []
    for transcript in filter(is_measured, transcripts):
        family = family_of(transcript)
        sessions[family] += 1
        about = {"family": family, "session": transcript.id, "model": transcript.model or ""}
        scored = list(Session(transcript).scored())
        families[family].extend(scored)
        misses = Counter(one.miss for one in scored if one.miss)
        if cache_rules(transcript.model) is None:
            unexplained.append({**about, "requests": len(transcript.requests), "why": "no rules known"})
        elif misses:
            why = ", ".join(f"{name} {number}" for name, number in misses.most_common())
            unexplained.append({**about, "requests": len(scored), "why": why})
    return [row(name, sessions[name], families[name]) for name in sorted(sessions)], unexplained


def row(family: str, sessions: int, scored: Sequence[Scored]) -> dict[str, Any]:
    """How far the simulation of one family is from what was recorded."""
    not_shown = sum(one.miss == NOT_SHOWN for one in scored)
    scored = [one for one in scored if one.miss != NOT_SHOWN]
    errors = [one.error for one in scored]
    total = sum(one.real.input_tokens or 0 for one in scored) or 1
    return {
        "family": family,
        "sessions": sessions,
        "not_shown": not_shown,
        "scored": len(scored),
        "median": median(errors) if errors else None,
        "p90": quantiles(errors, n=10)[-1] if len(errors) > 1 else None,
        "explained": sum(not one.miss for one in scored) / len(scored) if scored else None,
        "read": sum(one.real.cache_read_tokens for one in scored) / total,
        "simulated_read": sum(one.simulated.cache_read_tokens for one in scored) / total,
        "input_usd": sum(one.real_usd or 0 for one in scored),
        "usd_error": usd_error(scored),
        "usd_error_explained": usd_error([one for one in scored if not one.miss]),
    }


def usd_error(scored: Iterable[Scored]) -> float | None:
    """By what share requests cost more here than by their recorded usage."""
    priced = [one for one in scored if one.simulated_usd is not None and one.real_usd is not None]
    real = sum(one.real_usd or 0 for one in priced)
    return sum(one.simulated_usd or 0 for one in priced) / real - 1 if real else None


def speed() -> dict[str, Any]:
    """What simulating a loop costs, counting and prices included and left out."""
    wire, model = READERS["anthropic_messages"], "claude-sonnet-5"
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Fix the failing test."}]
    for turn in range(TURNS):
        call = {"type": "tool_use", "id": f"call_{turn}", "name": "read", "input": {"line": turn}}
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": f"{turn} " * 300}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    histories, counter = Histories(), block_counter_for(model, wire.name)
    body = {"model": model, "cache_control": {"type": "ephemeral"}}
    prompts = [
        Prompt(wire, {**body, "messages": messages[: 2 * turn + 1]}, histories) for turn in range(TURNS)
    ]
    for prompt in prompts:
        shape_of(prompt, counter)
    sent = [(prompt, AS_OF + timedelta(minutes=turn)) for turn, prompt in enumerate(prompts)]
    cache = PromptCache(pieces=partial(pieces, counter=counter))
    started = time.process_time()
    for prompt, at in sent:
        cache.take(prompt, at=at)
    simulated = time.process_time() - started
    started = time.process_time()
    list(simulate(PromptCache(pieces=partial(pieces, counter=counter)), sent))
    return {"turns": TURNS, "simulated_s": simulated, "with_prices_s": time.process_time() - started}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", metavar="PATH", default=[DATA / "transcripts", DATA / "raw"])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--sessions", action="store_true", help="list the sessions that are not explained")
    options = parser.parse_args(arguments)
    families, unexplained = compare(ctxkit.load(*options.paths, on_skip=lambda _: None))
    if options.json:
        print(json.dumps({"families": families, "unexplained": unexplained, "speed": speed()}))
        return 0
    show(families)
    if unexplained and options.sessions:
        show(unexplained)
    show([speed()])
    print()
    for name, meaning in CLASSES.items():
        print(f"{name}: {meaning}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
