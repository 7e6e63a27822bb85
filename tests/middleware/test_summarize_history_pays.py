"""`SummarizeHistory` by what it costs and saves: each summary that is considered is weighed, and noted."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import anthropic
import pytest

import ctxkit
from ctxkit.ledger import EditDecision
from ctxkit.messages import Histories
from ctxkit.middleware.summarize_history import SummarizeHistory
from ctxkit.money.break_even import RemainingTurns
from ctxkit.testing import ModelServer, reply
from ctxkit.testing.answers import Answer
from support.bodies import ANTHROPIC
from support.calling import CERTIFICATES
from support.compacting import TOOLS, WORDS, grown, loop, sent, step
from support.summaries import Edge

SONNET = "claude-sonnet-5"
SETTINGS: dict[str, Any] = {"keep_steps": 2, "max_tokens": 300}


def decisions(steps: int, *, model: str = SONNET, **settings: Any) -> tuple[tuple[EditDecision, ...], Edge]:
    """What was weighed in a loop of so many steps, and what arrived."""
    edge = Edge()
    with ctxkit.task("test") as task:
        grown(SummarizeHistory(**{**SETTINGS, **settings}), edge, steps, model=model)
    assert task.faults == {}
    assert all(made.by == "SummarizeHistory" for made in task.edit_decisions)
    return task.edit_decisions, edge


def test_a_summary_is_made_where_it_pays_within_the_turns_to_come() -> None:
    weighed, edge = decisions(12, remaining=60)
    taken = [made for made in weighed if made.taken]
    assert len(edge.side) == len(taken) > 0
    for made in weighed:
        assert made.taken == (made.break_even_turns is not None and made.break_even_turns <= 60)
        assert made.taken == (made.net_saving_usd >= 0)
    assert "with its call it pays for itself after" in taken[0].reason
    assert "would pay for itself after" in weighed[0].reason
    assert not weighed[0].taken


@pytest.mark.parametrize(
    "settings", [{"remaining": 0}, {"remaining": RemainingTurns(fixed=1)}, {"min_net_saving_usd": 5}, {}]
)
def test_where_too_few_turns_are_to_come_nothing_is_sent_but_what_the_caller_sends(
    settings: dict[str, Any],
) -> None:
    weighed, edge = decisions(8, **settings)
    assert weighed
    assert not any(made.taken for made in weighed)
    assert not edge.side


def test_what_did_not_pay_is_weighed_again_only_when_the_history_has_grown() -> None:
    edge, middleware, histories = Edge(), SummarizeHistory(remaining=0, **SETTINGS), Histories()
    short = [
        *loop(ANTHROPIC, 12),
        *(one for number in range(9) for one in step(ANTHROPIC, f"s{number}", ".")),
    ]
    with ctxkit.task("test") as task:
        for length in range(len(loop(ANTHROPIC, 12)), len(short) + 1, 2):
            sent(middleware, edge, short[:length], model=SONNET, histories=histories)
    assert len(edge.main) == 10
    assert 1 < len(task.edit_decisions) <= 5


def test_a_named_size_alone_decides_unless_a_saving_is_asked_for_too() -> None:
    (made, *_), edge = decisions(6, start_tokens=1_000, remaining=0)
    assert made.taken
    assert made.reason == "the history passed 1,000 tokens"
    assert edge.side
    weighed, edge = decisions(6, start_tokens=1_000, remaining=0, min_net_saving_usd=Decimal(0))
    assert weighed
    assert not edge.side


def test_a_history_that_does_not_fit_the_models_window_is_summarised_at_any_cost() -> None:
    weighed, edge = decisions(60, model="gpt-4", remaining=0, every_requests=1)
    taken = [made for made in weighed if made.taken]
    assert taken
    assert "and the model takes" in taken[0].reason
    assert len(edge.side) == len(taken)


def test_an_unknown_model_is_weighed_by_what_most_models_cost() -> None:
    weighed, _ = decisions(12, model="house", remaining=60)
    assert weighed[-1].write == Decimal("1.25")
    assert any(made.taken for made in weighed)


def script(body: Mapping[str, Any], call: int) -> Answer:
    return reply("A summary of ten words, more or less, as it is.")


def test_in_the_books_of_the_scripted_server_a_long_run_costs_less_than_without_summaries() -> None:
    """It bills reads, writes and answers as the provider would, the side calls included."""
    raw = [*loop(ANTHROPIC, 0), *(one for n in range(40) for one in step(ANTHROPIC, f"step_{n}", WORDS * 4))]
    costs, asked = [], []
    for middlewares in ([], [SummarizeHistory(keep_steps=2, max_tokens=600)]):
        with ModelServer(script) as server, ctxkit.task("run") as task:
            http = anthropic.DefaultHttpxClient(verify=CERTIFICATES)
            client = anthropic.Anthropic(base_url=server.url, api_key="none", http_client=http)
            with ctxkit.wrap(client, ctxkit.Stack(*middlewares, ctxkit.TokenMeter())) as wrapped:
                for length in range(1, len(raw) + 1, 2):
                    wrapped.messages.create(
                        model=SONNET,
                        max_tokens=1_000,
                        messages=raw[:length],
                        tools=TOOLS[ANTHROPIC],
                        cache_control={"type": "ephemeral"},
                    )
            assert server.errors == []
        costs.append(sum(attempt.charge.total_usd for attempt in task.attempts if attempt.charge))
        asked.append(sum(attempt.purpose == "summary" for attempt in task.attempts))
    assert asked[0] == 0 < asked[1]
    assert costs[1] < costs[0]
