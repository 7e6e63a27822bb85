"""Shares add up to the bill exactly, and follow what stood where in the prompt cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from ctxkit.money import Share, price, split
from ctxkit.usage import Charge, Usage

Key = tuple[str, str | None]
Blocks = Sequence[tuple[Key, float]]

AT = datetime(2026, 11, 30, tzinfo=UTC)

SYSTEM: Key = ("system", None)
USER: Key = ("user_text", None)
READ_FILE: Key = ("tool_result", "read_file")
GREP: Key = ("tool_result", "grep")
TEXT: Key = ("assistant_text", None)
THINKING: Key = ("thinking", None)
CALL: Key = ("tool_call", "grep")

ZONES = 3

keys = st.sampled_from([SYSTEM, USER, READ_FILE, GREP, TEXT, THINKING, CALL])
blocks = st.lists(st.tuples(keys, st.integers(0, 5_000)), max_size=12)
tokens = st.integers(0, 200_000)
dollars = st.decimals(min_value=0, max_value=1_000, places=15)
usages = st.builds(
    Usage,
    input_tokens=st.none() | tokens,
    output_tokens=st.none() | tokens,
    cache_read_tokens=tokens,
    cache_write_tokens=tokens,
    reasoning_tokens=tokens,
)
charges = st.builds(
    Charge,
    uncached_usd=dollars,
    cache_read_usd=dollars,
    cache_write_usd=dollars,
    output_usd=dollars,
    other_usd=dollars,
)


def rows_of(
    request: Blocks,
    usage: Usage,
    charge: Charge | None,
    *,
    output: Mapping[Key, float] | None = None,
    carried: float = 0,
) -> tuple[Share, ...]:
    """The shares of a request whose first local tokens are carried; each row stands there once."""

    def prefix(count: float) -> dict[Key, float]:
        taken: dict[Key, float] = {}
        for key, size in request:
            piece = min(size, count)
            taken[key] = taken.get(key, 0) + piece
            count -= piece
        return taken

    total = sum(size for _, size in request)
    return split(usage=usage, charge=charge, total=total, prefix=prefix, output=output or {}, carried=carried)


def shares_of(
    request: Blocks, usage: Usage, charge: Charge | None, *, output: Mapping[Key, float] | None = None
) -> dict[Key, Share]:
    """The shares by kind and tool, where nothing is carried and no kind is both sent and answered."""
    shares = rows_of(request, usage, charge, output=output)
    by_key = {(share.kind, share.tool): share for share in shares}
    assert len(by_key) == len(shares)
    return by_key


@given(request=blocks, answer=blocks, usage=usages, charge=charges, carried=st.integers(0, 30_000))
def test_tokens_and_dollars_add_up_exactly_whatever_was_sent(
    request: Blocks, answer: Blocks, usage: Usage, charge: Charge, carried: int
) -> None:
    shares = rows_of(request, usage, charge, output=dict(answer), carried=carried)
    assert sum(share.input_tokens for share in shares) == (usage.input_tokens or 0)
    assert sum(share.output_tokens for share in shares) == (usage.output_tokens or 0)
    assert sum((share.cost_usd or Decimal(0) for share in shares), Decimal(0)) == charge.total_usd


@given(request=blocks, answer=blocks, usage=usages, charge=charges, carried=st.integers(0, 30_000))
def test_no_share_is_negative_and_none_is_of_the_prompt_and_of_the_answer(
    request: Blocks, answer: Blocks, usage: Usage, charge: Charge, carried: int
) -> None:
    for share in rows_of(request, usage, charge, output=dict(answer), carried=carried):
        assert not (share.input_tokens and share.output_tokens)
        assert not (share.carried and share.output_tokens)
        assert share.input_tokens >= 0
        assert share.output_tokens >= 0
        assert share.cost_usd is not None
        assert share.cost_usd >= 0


@given(request=blocks, answer=blocks, usage=usages)
def test_an_unknown_charge_leaves_every_cost_unknown_and_every_token_split(
    request: Blocks, answer: Blocks, usage: Usage
) -> None:
    shares = rows_of(request, usage, None, output=dict(answer))
    assert {share.cost_usd for share in shares} <= {None}
    assert sum(share.input_tokens for share in shares) == (usage.input_tokens or 0)
    assert sum(share.output_tokens for share in shares) == (usage.output_tokens or 0)


@given(read=st.integers(1, 100_000), written=st.integers(1, 100_000), uncached=st.integers(1, 100_000))
def test_a_token_that_was_read_costs_less_than_one_sent_and_that_less_than_one_written(
    read: int, written: int, uncached: int
) -> None:
    request = [(SYSTEM, read), (READ_FILE, written), (USER, uncached)]
    usage = Usage(read + written + uncached, 0, cache_read_tokens=read, cache_write_tokens=written)
    shares = shares_of(request, usage, price(usage, model="claude-opus-5-5", at=AT))
    per_token = [(share.cost_usd or Decimal(0)) / share.input_tokens for share in shares.values()]
    assert list(shares) == [SYSTEM, READ_FILE, USER]
    assert per_token == [Decimal("0.0000002"), Decimal("0.000005"), Decimal("0.000004")]


@given(request=blocks, usage=usages, charge=charges, factor=st.integers(2, 9), carried=st.integers(0, 9_000))
def test_how_a_counter_scales_makes_no_difference(
    request: Blocks, usage: Usage, charge: Charge, factor: int, carried: int
) -> None:
    def by_row(size: int) -> dict[tuple[str, str | None, bool], Share]:
        scaled = [(key, tokens * size) for key, tokens in request]
        shares = rows_of(scaled, usage, charge, carried=carried * size)
        return {(share.kind, share.tool, share.carried): share for share in shares if not share.output_tokens}

    before, after = by_row(1), by_row(factor)
    assert before.keys() == after.keys()
    for row, share in before.items():
        assert abs(share.input_tokens - after[row].input_tokens) <= ZONES


def test_what_stood_there_before_the_last_answer_is_carried_in_every_zone() -> None:
    request = [(SYSTEM, 100), (READ_FILE, 100), (CALL, 50), (READ_FILE, 150)]
    usage = Usage(800, 0, cache_read_tokens=300, cache_write_tokens=400)
    charge = Charge(cache_read_usd=Decimal("0.3"), cache_write_usd=Decimal("4"), uncached_usd=Decimal("1"))
    assert rows_of(request, usage, charge, carried=250) == (
        Share(*SYSTEM, 200, 0, Decimal("0.2"), carried=True),
        Share(*READ_FILE, 100 + 100, 0, Decimal("0.1") + Decimal("1"), carried=True),
        Share(*CALL, 100, 0, Decimal("1"), carried=True),
        Share(*READ_FILE, 200 + 100, 0, Decimal("2") + Decimal("1")),
    )


def test_what_the_model_writes_is_never_carried_and_stands_apart_from_what_was_sent() -> None:
    shares = rows_of([(TEXT, 10)], Usage(10, 5), None, output={TEXT: 1}, carried=10)
    assert shares == (Share(*TEXT, 10, 0, None, carried=True), Share(*TEXT, 0, 5, None))


def test_each_zone_is_split_in_proportion_to_what_stands_in_it() -> None:
    request = [(SYSTEM, 100), (READ_FILE, 200), (GREP, 100), (READ_FILE, 100), (USER, 100)]
    usage = Usage(1_200, 0, cache_read_tokens=600, cache_write_tokens=400)
    charge = Charge(cache_read_usd=Decimal("0.6"), cache_write_usd=Decimal("4"), uncached_usd=Decimal("1"))
    assert shares_of(request, usage, charge) == {
        SYSTEM: Share(*SYSTEM, 200, 0, Decimal("0.2")),
        READ_FILE: Share(*READ_FILE, 400 + 200, 0, Decimal("0.4") + Decimal("2")),
        GREP: Share(*GREP, 200, 0, Decimal("2")),
        USER: Share(*USER, 200, 0, Decimal("1")),
    }


def test_a_block_on_the_border_of_two_zones_pays_in_both() -> None:
    usage = Usage(1_000, 0, cache_read_tokens=400)
    charge = Charge(cache_read_usd=Decimal("0.4"), uncached_usd=Decimal("6"))
    shares = shares_of([(SYSTEM, 10), (READ_FILE, 90)], usage, charge)
    assert shares[SYSTEM].cost_usd == Decimal("0.1")
    assert shares[READ_FILE].cost_usd == Decimal("0.3") + Decimal("6")


def test_a_prefix_that_wavers_takes_nothing_back_from_a_share() -> None:
    def prefix(count: float) -> dict[Key, float]:
        return {SYSTEM: 50.0} if count == 50 else {SYSTEM: 40.0, USER: 60.0}

    usage = Usage(100, 0, cache_read_tokens=50)
    shares = split(usage=usage, charge=None, total=100.0, prefix=prefix, output={})
    assert [(share.kind, share.input_tokens) for share in shares] == [("system", 50), ("user_text", 50)]


def test_leftover_tokens_go_to_the_largest_remainders() -> None:
    usage = Usage(11, 0)
    shares = shares_of([(SYSTEM, 10), (GREP, 19), (USER, 1)], usage, None)
    assert [share.input_tokens for share in shares.values()] == [4, 7, 0]


def test_what_is_smaller_than_a_unit_is_a_row_of_its_own() -> None:
    charge = Charge(uncached_usd=Decimal("0.000000000003") + Decimal("4e-15"))
    shares = shares_of([(SYSTEM, 1), (GREP, 2)], Usage(3, 0), charge)
    assert shares[SYSTEM].cost_usd == Decimal("0.000000000001")
    assert shares[GREP].cost_usd == Decimal("0.000000000002")
    assert shares["rounding", None] == Share("rounding", None, 0, 0, Decimal("4e-15"))


@given(reasoning=st.integers(0, 1_000), output=st.integers(0, 1_000))
def test_real_prices_leave_no_rounding(reasoning: int, output: int) -> None:
    usage = Usage(1_000, output, cache_read_tokens=333, reasoning_tokens=reasoning)
    shares = rows_of([(USER, 7)], usage, price(usage, model="claude-opus-5-5", at=AT), output={TEXT: 3})
    assert "rounding" not in {share.kind for share in shares}


def test_the_input_of_an_empty_request_goes_to_other() -> None:
    usage = Usage(30, 0, cache_read_tokens=10, cache_write_tokens=10)
    charge = Charge(uncached_usd=Decimal(1), cache_read_usd=Decimal(2), cache_write_usd=Decimal(3))
    assert shares_of([], usage, charge) == {("other", None): Share("other", None, 30, 0, Decimal(6))}


def test_reported_reasoning_goes_to_thinking_and_the_rest_over_the_other_parts() -> None:
    usage = Usage(0, 100, reasoning_tokens=60)
    charge = Charge(output_usd=Decimal(1))
    shares = shares_of([], usage, charge, output={THINKING: 5, TEXT: 1, CALL: 3})
    assert shares == {
        THINKING: Share(*THINKING, 0, 60, Decimal("0.6")),
        TEXT: Share(*TEXT, 0, 10, Decimal("0.1")),
        CALL: Share(*CALL, 0, 30, Decimal("0.3")),
    }


def test_thinking_that_nobody_reported_is_split_by_its_local_count() -> None:
    shares = shares_of([], Usage(0, 100), None, output={THINKING: 3, TEXT: 1})
    assert shares[THINKING].output_tokens == 75
    assert shares[TEXT].output_tokens == 25


def test_an_answer_of_which_nothing_is_known_is_text() -> None:
    shares = shares_of([], Usage(0, 100), Charge(output_usd=Decimal(1)))
    assert shares == {TEXT: Share(*TEXT, 0, 100, Decimal(1))}


def test_what_is_billed_by_the_piece_is_the_web_search() -> None:
    shares = shares_of([(USER, 1)], Usage(1, 0), Charge(other_usd=Decimal("0.02")))
    assert shares["server_tool", "web_search"] == Share("server_tool", "web_search", 0, 0, Decimal("0.02"))


def test_tokens_that_cost_nothing_cost_zero_and_not_none() -> None:
    assert shares_of([(USER, 1)], Usage(106, 1), Charge())[USER].cost_usd == 0


def test_a_response_without_tokens_or_dollars_has_no_shares() -> None:
    assert shares_of([(USER, 1)], Usage(0, 0), Charge()) == {}
