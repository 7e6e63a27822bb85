"""The cache doctor: which requests missed the prompt cache, why, and what that cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from ctxkit.ledger import Attempt
from ctxkit.ledger.doctor import Miss, diagnose
from ctxkit.ledger.sent import Cause, Change, Placed, Sent
from ctxkit.reports import Report
from ctxkit.reports.doctor import Diagnosis, content_of
from ctxkit.usage import Usage
from support.booked import paid, row

RESULT = Placed("tool_result", "grep", "call_1", "ab", 900)
NOON = 1_796_000_000.0


def attempt(
    name: str,
    after: str | None,
    usage: Usage | None,
    *,
    change: Change | None = None,
    tokens: int = 10_000,
    **fields: Any,
) -> Attempt:
    """An attempt on Sonnet 5: $2.00 a million tokens, reads $0.20, writes $2.50 and $4.00."""
    sent = Sent(after, kept=1, kept_tokens=1, added=(), tokens=tokens, change=change)
    given: dict[str, Any] = {"model": "claude-sonnet-5", "wire": "anthropic_messages", **fields}
    return Attempt(
        task="fix", purpose="main", outcome="billed", usage=usage, id=name, turn=2, sent=sent, **given
    )


def written(tokens: int, **more: int) -> Usage:
    return Usage(tokens, 10, cache_write_tokens=tokens, **more)


def read(tokens: int, *, of: int) -> Usage:
    return Usage(of, 10, cache_read_tokens=tokens, cache_write_tokens=of - tokens)


FIRST = attempt("a", None, written(10_000), started=NOON)


def only(*attempts: Attempt) -> Miss:
    (miss,) = diagnose(attempts)
    return miss


def changed(by: Cause, middleware: str | None = None) -> Change:
    return Change(RESULT, by, middleware, "messages.2.content.0", "it says something else now")


def test_a_prefix_that_was_read_again_is_no_miss() -> None:
    assert diagnose([FIRST, attempt("b", "a", read(10_000, of=12_000))]) == []


def test_the_first_request_is_no_miss() -> None:
    assert diagnose([FIRST]) == []


@pytest.mark.parametrize("by", ["caller", "middleware", "tool_order", "result_order", "model"])
def test_what_changed_the_prefix_is_named_with_its_block(by: Cause) -> None:
    change = changed(by, "TrimHistory" if by == "middleware" else None)
    miss = only(FIRST, attempt("b", "a", read(2_000, of=9_000), change=change, tokens=9_000))
    assert (miss.cause, miss.middleware, miss.block) == (by, change.middleware, RESULT)
    assert (miss.where, miss.reason) == (change.where, change.reason)
    assert (miss.missed_tokens, miss.taken_off_tokens) == (7_000, 1_000)


def test_what_was_written_again_costs_the_write_less_the_read() -> None:
    miss = only(FIRST, attempt("b", "a", written(10_500), change=changed("caller")))
    assert miss.cost_usd == 10_000 * (Decimal("2.50") - Decimal("0.20")) / 1_000_000


def test_a_write_for_an_hour_costs_its_own_rate() -> None:
    usage = written(10_500, cache_write_1h_tokens=10_500)
    miss = only(FIRST, attempt("b", "a", usage, change=changed("caller")))
    assert miss.cost_usd == 10_000 * (Decimal("4.00") - Decimal("0.20")) / 1_000_000


def test_what_was_paid_in_full_costs_the_input_less_the_read() -> None:
    miss = only(FIRST, attempt("b", "a", Usage(10_500, 10), change=changed("caller")))
    assert miss.cost_usd == 10_000 * (Decimal("2.00") - Decimal("0.20")) / 1_000_000


def test_a_write_that_has_no_rate_costs_what_input_costs() -> None:
    first = attempt("a", None, Usage(10_000, 10), model="gpt-4.1", wire="openai_chat")
    missed = attempt("b", "a", written(10_500), model="gpt-4.1", wire="openai_chat")
    assert only(first, missed).cost_usd == 10_000 * (Decimal("2.00") - Decimal("0.50")) / 1_000_000


def test_the_cost_is_unknown_where_the_model_has_no_price() -> None:
    miss = only(FIRST, attempt("b", "a", written(10_500), model="nobody-1", change=changed("caller")))
    assert miss.cost_usd is None


@pytest.mark.parametrize(
    ("seconds", "usage", "cause"),
    [
        (299, written(10_000), "unknown"),
        (301, written(10_000), "expired"),
        (3_599, written(10_000, cache_write_1h_tokens=10_000), "unknown"),
        (3_601, written(10_000, cache_write_1h_tokens=10_000), "expired"),
    ],
)
def test_what_was_kept_for_less_than_the_pause_had_expired(seconds: int, usage: Usage, cause: str) -> None:
    """ "TTL 5m / 1h, refreshed free on read, measured from request start." """
    first = attempt("a", None, usage, started=NOON)
    miss = only(first, attempt("b", "a", written(10_500), started=NOON + seconds))
    assert (miss.cause, miss.block, miss.where) == (cause, None, "")


def test_a_pause_is_said_in_the_unit_that_fits() -> None:
    late = attempt("b", "a", written(10_500), started=NOON + 7_300)
    assert only(FIRST, late).reason == "2 h after the request before, which was kept for 5 min"
    day = attempt("a", None, Usage(10_000, 1), wire="openai_responses", model="gpt-4.1", started=NOON)
    later = attempt(
        "b", "a", Usage(10_000, 1), wire="openai_responses", model="gpt-4.1", started=NOON + 1_801
    )
    assert only(day, later).reason == "30 min after the request before, which was kept for 30 min"


def test_a_log_without_times_says_that_it_may_have_expired() -> None:
    miss = only(replace(FIRST, started=0.0), attempt("b", "a", written(10_500)))
    assert miss.cause == "unknown"
    assert "may have expired" in miss.reason


def test_a_provider_that_says_nothing_of_lifetimes_is_not_said_to_have_let_it_expire() -> None:
    first = attempt("a", None, Usage(10_000, 1), wire="gemini", model="gemini-2.5-pro", started=NOON)
    late = attempt("b", "a", Usage(10_000, 1), wire="gemini", model="gemini-2.5-pro", started=NOON + 99_999)
    assert only(first, late).cause == "unknown"


def test_without_a_cache_mark_nothing_is_kept() -> None:
    first = attempt("a", None, Usage(10_000, 10), started=NOON)
    assert only(first, attempt("b", "a", Usage(12_000, 10), started=NOON + 1)).cause == "no_breakpoint"


def test_what_is_too_small_to_be_cached_is_no_miss() -> None:
    first = attempt("a", None, Usage(1_000, 10))
    assert diagnose([first, attempt("b", "a", Usage(1_900, 10))]) == []


def test_what_was_taken_out_of_the_prompt_could_not_be_read() -> None:
    assert diagnose([FIRST, attempt("b", "a", read(4_900, of=5_000), change=changed("caller"))]) == []


@pytest.mark.parametrize(("seconds", "cause"), [(60, "caller"), (7_200, "expired")])
def test_a_change_at_the_end_is_not_to_blame_where_a_pause_was_too_long(seconds: int, cause: str) -> None:
    later = attempt("b", "a", written(10_500), change=changed("caller"), started=NOON + seconds)
    assert later.sent is not None
    later = replace(later, sent=replace(later.sent, kept=9, kept_tokens=9_900))
    assert only(FIRST, later).cause == cause


@pytest.mark.parametrize(
    ("told", "cause"),
    [
        ("tools_changed", "caller"),
        ("model_changed", "model"),
        ("context_compacted", "caller"),
        ("unavailable", "expired"),
    ],
)
def test_the_providers_own_word_wins_where_it_tells_of_a_change(told: str, cause: str) -> None:
    miss = only(FIRST, attempt("b", "a", written(10_500), started=NOON + 7_200, miss_reason=told))
    assert (miss.cause, miss.told) == (cause, told)


def test_a_request_that_held_nothing_is_no_prefix() -> None:
    empty = replace(FIRST, sent=replace(FIRST.sent, tokens=0)) if FIRST.sent else FIRST
    assert only(empty, attempt("b", "a", written(10_500), change=changed("caller"))).cause == "caller"


def test_a_change_that_nobody_can_name_is_judged_by_the_rest() -> None:
    miss = only(FIRST, attempt("b", "a", written(9_000), change=changed("unknown"), started=NOON + 400))
    assert (miss.cause, miss.block) == ("expired", None)


@pytest.mark.parametrize(
    "later",
    [
        attempt("b", "a", None),
        attempt("b", "a", Usage(None, 10)),
        attempt("b", "gone", written(10_500)),
        replace(attempt("b", "a", written(10_500)), sent=None),
    ],
)
def test_what_is_not_known_is_not_judged(later: Attempt) -> None:
    assert diagnose([FIRST, later]) == []


@pytest.mark.parametrize("first", [replace(FIRST, usage=None), replace(FIRST, sent=None)])
def test_nothing_is_judged_by_a_request_that_is_not_known(first: Attempt) -> None:
    assert diagnose([first, attempt("b", "a", written(10_500))]) == []


def test_the_order_of_attempts_does_not_matter_and_the_dearest_comes_first() -> None:
    run = [
        FIRST,
        attempt("b", "a", written(10_500), change=changed("caller")),
        attempt("c", "b", written(30_000), change=changed("middleware", "TrimHistory")),
        attempt("d", "c", written(31_000), change=changed("tool_order")),
    ]
    assert [miss.attempt for miss in diagnose(run)] == ["d", "c", "b"]
    assert diagnose(reversed(run)) == diagnose(run)


def diagnosed(*attempts: Attempt) -> Diagnosis:
    return Report([replace(row(paid("1")), attempts=attempts)]).doctor()


def misses() -> Sequence[Attempt]:
    return (
        FIRST,
        attempt(
            "b",
            "a",
            written(10_500),
            change=changed("middleware", "TrimHistory"),
            miss_reason="messages_changed",
        ),
        attempt("c", "b", written(11_000), change=changed("caller"), model="nobody-1", started=NOON),
        replace(attempt("d", "c", written(11_500), started=NOON + 900), turn=None),
        attempt("e", "d", None),
    )


def test_a_diagnosis_says_what_share_of_the_bill_was_missed_and_what_to_do() -> None:
    text = str(diagnosed(*misses()))
    assert text.startswith("3 requests paid again for what the prompt cache could have held: $0.04")
    assert "of the bill" in text
    assert "1 request can't be judged" in text
    assert "tool result of grep at messages.2.content.0 by TrimHistory" in " ".join(text.split())
    assert "(the provider says messages_changed)" in " ".join(text.split())
    assert "caller      keep what was sent as it was" in text


def test_only_so_many_misses_get_a_row() -> None:
    by_cause, dearest = content_of(diagnosed(*misses()), top=1).tables
    assert (len(by_cause.rows), len(dearest.rows)) == (3, 1)


def test_a_diagnosis_without_a_miss_says_so() -> None:
    assert str(diagnosed(FIRST)).strip() == "no prefix was paid for twice"


def test_a_diagnosis_as_json_says_all_of_a_miss() -> None:
    by_cause = {said["cause"]: said for said in diagnosed(*misses()).to_list()}
    assert set(by_cause) == {"middleware", "caller", "expired"}
    said = by_cause["caller"]
    assert (said["kind"], said["tool"], said["call_id"], said["cost_usd"]) == (
        "tool_result",
        "grep",
        "call_1",
        None,
    )
    assert by_cause["middleware"]["told"] == "messages_changed"
    assert Decimal(by_cause["expired"]["cost_usd"]) > 0
    assert by_cause["expired"]["kind"] is None
    assert all(said["hint"] for said in by_cause.values())
