"""`PlaceCacheBreakpoints`: a loop reads what it wrote, for as long as that pays."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import anthropic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ctxkit
from ctxkit.errors import ConfigError
from ctxkit.messages import Histories, ModelRequest
from ctxkit.money.prompt_cache import simulate
from ctxkit.testing import ModelServer, reply
from ctxkit.transcripts.requests import request_body
from ctxkit.wire.anthropic_messages import ANTHROPIC_MESSAGES
from support.bodies import ANTHROPIC, request_of, results, rounds, user
from support.caching import Clock
from support.marks import HEAD, HOUR, MARK, MODEL, Loop, lifetimes, place, sent, simulator
from support.recorded import DATA

AT = datetime(2026, 11, 30, tzinfo=UTC)


def test_the_second_gap_of_more_than_five_minutes_leads_to_an_hour() -> None:
    clock = Clock()
    loop, history = Loop(place(clock=clock)), [user("fox " * 999), *rounds(ANTHROPIC, ["Found."] * 4)[1:]]
    seen = []
    for end in range(1, 10, 2):
        seen.append(lifetimes(loop.send(history[:end])))
        clock.now += 600
    assert seen == [{"5m"}, {"5m"}, {"1h"}, {"1h"}, {"1h"}]


def test_a_run_with_long_gaps_costs_less_than_half_of_what_five_minutes_would() -> None:
    """Of 32 requests, the first 20 come at once and the others 10 minutes apart; simulated."""
    history = [user("fox " * 9_999), *rounds(ANTHROPIC, ["Found. " * 99] * 32)[1:]]
    spent = {}
    for ttl in ("auto", "5m"):
        clock, made = Clock(), []
        loop = Loop(place(ttl=ttl, clock=clock))
        for end in range(1, 65, 2):
            made.append((loop.send(history[:end]), datetime.fromtimestamp(clock.now, UTC)))
            clock.now += 10 if end < 40 else 600
        charges = [one.charge for one in simulate(simulator(), made, prices_at=AT)]
        spent[ttl] = sum((charge.total_usd for charge in charges if charge), Decimal(0))
    assert spent["auto"] < spent["5m"] / 2


@pytest.mark.parametrize(("seconds", "provider"), [(299, "anthropic"), (3_601, "anthropic"), (600, "aws")])
def test_five_minutes_stay_where_an_hour_saves_nothing_or_may_be_refused(seconds: int, provider: str) -> None:
    clock = Clock()
    middleware, histories = place(clock=clock), Histories()
    history = rounds(ANTHROPIC, ["Found. " * 50] * 12)
    for end in range(1, 14, 2):
        request = request_of(ANTHROPIC, history[:end], histories=histories, **HEAD)
        asked = ModelRequest(request.wire, request.body, histories=histories, provider=provider)
        assert lifetimes(sent(asked, middleware)) == {"5m"}
        clock.now += seconds


def test_an_hour_stands_in_front_of_five_minutes_whatever_was_asked_for() -> None:
    history = rounds(ANTHROPIC, ["Found."] * 2)
    hourly = {**HEAD, "system": [{"type": "text", "text": "You find foxes.", **HOUR}]}
    shortly = {**HEAD, "system": [{"type": "text", "text": "You find foxes.", **MARK}]}
    hour, short = place(ttl="1h"), place(ttl="5m")
    assert lifetimes(sent(request_of(ANTHROPIC, history, **HEAD), hour)) == {"1h"}
    assert lifetimes(sent(request_of(ANTHROPIC, history, **hourly), short)) == {"1h", "5m"}
    assert lifetimes(sent(request_of(ANTHROPIC, history, **shortly), hour)) == {"5m"}
    assert lifetimes(sent(request_of(ANTHROPIC, history, **HEAD, **HOUR), short)) == {"1h"}
    history[-1] = {"role": "user", "content": [{**history[-1]["content"][0], **HOUR}]}
    assert lifetimes(sent(request_of(ANTHROPIC, history, **HEAD), short)) == {"1h"}


def test_an_unknown_lifetime_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        place(ttl="2h")
    assert caught.value.option == "ttl"


@given(st.lists(st.integers(1, 60), min_size=2, max_size=5))
def test_however_wide_its_turns_are_a_loop_reads_all_that_it_wrote(widths: list[int]) -> None:
    """The provider looks back over 20 places in front of a mark only: guide to prompt caching."""
    loop, cache, written = Loop(), simulator(), 0
    history: list[Any] = [user("Find the bug.")]
    for width in widths:
        usage = cache.take(loop.send(history))
        assert usage is not None
        assert usage.cache_read_tokens == written
        written += usage.cache_write_tokens
        looks = [{"type": "text", "text": f"Look {look}."} for look in range(width)]
        history += [{"role": "assistant", "content": "Hm."}, {"role": "user", "content": looks}]


def test_a_mark_at_the_end_alone_does_not_reach_over_a_wide_turn() -> None:
    cache, read = simulator(), []
    looks = [{"type": "text", "text": f"Look {look}."} for look in range(25)]
    history = [user("Find."), {"role": "assistant", "content": "Hm."}, {"role": "user", "content": looks}]
    for end in (1, 3):
        usage = cache.take(request_of(ANTHROPIC, history[:end], **HEAD, **MARK))
        assert usage is not None
        read.append(usage.cache_read_tokens)
    assert read == [0, 0]


def test_a_loop_on_the_sdk_reads_all_that_it_sent_before() -> None:
    script = [reply(tool_calls=[("search", {})])] * 3 + [reply("Done.")]
    messages: list[Any] = [user("Find the bug.")]
    written = 0
    with ModelServer(script) as server:
        native = anthropic.Anthropic(base_url=server.url, api_key="none")
        client = ctxkit.wrap(native, ctxkit.Stack(place(), ctxkit.TokenMeter()))
        for _ in script:
            answer = client.messages.create(max_tokens=64, messages=messages, **HEAD)
            assert answer.usage.cache_read_input_tokens == written
            written += answer.usage.cache_creation_input_tokens or 0
            found = {block.id: "Found." for block in answer.content if block.type == "tool_use"}
            messages += [{"role": "assistant", "content": answer.content}, *results(ANTHROPIC, found)]
    assert written > 0


def test_recorded_runs_cost_a_fifth_of_what_they_cost_without_marks() -> None:
    path = DATA / "transcripts" / "claude_code_misc.jsonl.gz"
    if not path.is_file():
        pytest.skip("the recorded runs of the shared data are not here")
    spent = [Decimal(0), Decimal(0)]
    for transcript in ctxkit.load(path):
        loop, clock = Loop(), Clock()
        plain: list[tuple[ModelRequest, datetime]] = []
        for recorded in transcript.requests:
            body = {**request_body(transcript, recorded), "model": MODEL}
            at = recorded.timestamp or AT
            plain.append((ModelRequest(ANTHROPIC_MESSAGES, body, histories=loop.histories), at))
        middleware = place(clock=clock)
        made = []
        for request, at in plain:
            clock.now = at.timestamp()
            made.append((sent(request, middleware), at))
        for way, requests in enumerate((plain, made)):
            charges = [one.charge for one in simulate(simulator(), requests, prices_at=AT)]
            spent[way] += sum((charge.total_usd for charge in charges if charge), Decimal(0))
    assert spent[1] < spent[0] / 5
