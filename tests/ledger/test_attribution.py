"""A bill is split over what was sent and what came back, and the shares add up to it exactly."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ctxkit.ledger import UNRECORDED, attribute
from ctxkit.messages import ModelRequest
from ctxkit.money import Share
from ctxkit.tokens import BlockCounter
from ctxkit.usage import Charge, Usage
from support.bodies import ANTHROPIC, WIRES, answer_to, request_of, rounds


class Letters:
    """Counts a token a letter."""

    name = "letters"

    def count(self, text: str) -> int:
        return len(text)


COUNTER = BlockCounter(Letters())
TOKENS = st.integers(0, 5_000)
DOLLARS = st.decimals(0, 1, places=8)


def split(
    request: ModelRequest, usage: Usage, charge: Charge | None = None, **more: Any
) -> tuple[Share, ...]:
    answer = answer_to(request, "Done.")
    return attribute(request, answer.blocks, usage, charge, counter=COUNTER, **more)


def tokens(shares: tuple[Share, ...]) -> dict[Any, int]:
    return {(share.kind, share.tool): share.input_tokens for share in shares if share.input_tokens}


@given(
    st.sampled_from(WIRES),
    st.lists(st.text(max_size=40), max_size=4),
    st.builds(
        lambda read, written, rest, said: Usage(
            read + written + rest, said, cache_read_tokens=read, cache_write_tokens=written
        ),
        *[TOKENS] * 4,
    ),
    st.builds(Charge, *[DOLLARS] * 5),
    st.integers(0, 500),
)
def test_shares_add_up_to_the_bill_exactly(
    wire: str, texts: list[str], usage: Usage, charge: Charge, unrecorded: int
) -> None:
    shares = split(request_of(wire, rounds(wire, texts)), usage, charge, unrecorded_tokens=unrecorded)
    assert sum(share.input_tokens for share in shares) == usage.input_tokens
    assert sum(share.output_tokens for share in shares) == usage.output_tokens
    assert sum((share.cost_usd or Decimal(0) for share in shares), Decimal(0)) == charge.total_usd


def test_each_part_gets_what_it_takes_of_the_prompt() -> None:
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, ["x" * 400]), system="s" * 100)
    made = tokens(split(request, Usage(1_000, 10)))
    assert made["tool_result", "search"] > 600
    assert made["tool_result", "search"] > made["system", None] > made["user_text", None]


def test_what_was_read_from_the_cache_is_the_beginning() -> None:
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, ["x" * 400]), system="s" * 400)
    charge = Charge(cache_read_usd=Decimal("0.1"), uncached_usd=Decimal("10"))
    shares = split(request, Usage(1_000, 0, cache_read_tokens=500), charge)
    cost = {(share.kind, share.tool): share.cost_usd for share in shares}
    assert (cost["system", None] or 0) < 1 < 8 < (cost["tool_result", "search"] or 0)


def test_what_stood_there_before_the_last_answer_is_carried_and_what_follows_it_is_new() -> None:
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, ["x" * 400, "y" * 100]), system="s" * 100)
    shares = split(request, Usage(1_000, 10))
    parts = {(share.kind, share.carried): share.input_tokens for share in shares if share.input_tokens}
    assert {kind for kind, carried in parts if carried} == {"system", "user_text", "tool_call", "tool_result"}
    assert {kind for kind, carried in parts if not carried} == {"tool_result"}
    assert parts["tool_result", True] > 3 * parts["tool_result", False]


def test_without_an_answer_in_the_history_all_of_it_is_new() -> None:
    shares = split(request_of(ANTHROPIC, rounds(ANTHROPIC, []), system="s"), Usage(100, 10))
    assert not any(share.carried for share in shares)
    assert not any(
        share.carried
        for share in split(request_of(ANTHROPIC, rounds(ANTHROPIC, [])), Usage(9, 1), unrecorded_tokens=50)
    )


def test_what_a_log_leaves_out_is_carried_once_there_is_an_answer() -> None:
    shares = split(request_of(ANTHROPIC, rounds(ANTHROPIC, ["x"])), Usage(1_000, 0), unrecorded_tokens=500)
    assert [share.carried for share in shares if share.kind == "unrecorded"] == [True]


def test_without_a_price_the_shares_have_tokens_and_no_cost() -> None:
    shares = split(request_of(ANTHROPIC, rounds(ANTHROPIC, ["x"])), Usage(100, 10))
    assert sum(share.input_tokens for share in shares) == 100
    assert all(share.cost_usd is None for share in shares)


def test_what_a_log_leaves_out_stands_in_front_of_all_that_it_shows() -> None:
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, ["x" * 200]))
    shares = split(request, Usage(1_000, 0, cache_read_tokens=300), unrecorded_tokens=2_000)
    made = tokens(shares)
    assert made[UNRECORDED] > 800
    assert sum(made.values()) == 1_000


def test_results_of_the_providers_own_tools_are_no_output() -> None:
    request = request_of(ANTHROPIC, [])
    content = [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"text": "x" * 500}]},
        {"type": "text", "text": "Done."},
    ]
    answer = answer_to(request, content=content)
    shares = attribute(request, answer.blocks, Usage(0, 100), None, counter=COUNTER)
    assert {(share.kind, share.tool) for share in shares if share.output_tokens} == {
        ("tool_call", "web_search"),
        ("assistant_text", None),
    }
