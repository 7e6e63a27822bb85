"""Whether an attempt that ended in an error was billed: yes, no, or nobody can tell."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import httpx
import httpx2
import pytest

from ctxkit.errors import AttachError, BodyError, FlowError, ModelCallFailed, SpendLimitReached, StreamError
from ctxkit.ledger import miss_reason_of, outcome_of


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 429, 500, 502, 503, 529])
def test_an_error_status_is_not_billed(status: int) -> None:
    assert outcome_of(ModelCallFailed(status, None)) == "not_billed"


@pytest.mark.parametrize("status", [408, 504, 524])
def test_a_gateway_that_gave_up_waiting_may_leave_a_bill(status: int) -> None:
    assert outcome_of(ModelCallFailed(status, None)) == "unknown"


@pytest.mark.parametrize("library", [httpx, httpx2])
@pytest.mark.parametrize(
    "name", ["ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", "UnsupportedProtocol"]
)
def test_a_request_that_never_left_is_not_billed(library: object, name: str) -> None:
    assert outcome_of(getattr(library, name)("no way")) == "not_billed"


@pytest.mark.parametrize("library", [httpx, httpx2])
@pytest.mark.parametrize("name", ["ReadTimeout", "WriteTimeout", "ReadError", "RemoteProtocolError"])
def test_a_request_that_may_have_arrived_may_leave_a_bill(library: object, name: str) -> None:
    """The SDKs send no idempotency key: what timed out may have been answered, and is asked again."""
    assert outcome_of(getattr(library, name)("gone")) == "unknown"


def test_a_refused_connection_is_not_billed_whoever_reports_it() -> None:
    assert outcome_of(ConnectionRefusedError()) == "not_billed"
    assert outcome_of(ConnectionResetError()) == "unknown"


@pytest.mark.parametrize("signal", [KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()])
def test_what_was_cancelled_may_leave_a_bill(signal: BaseException) -> None:
    assert outcome_of(signal) == "unknown"


@pytest.mark.parametrize(
    "error",
    [
        SpendLimitReached(spent=1, limit=1, unit="requests", task="t"),
        SpendLimitReached(spent=Decimal(1), limit=Decimal(1), unit="usd", task="t"),
        StreamError("replaced"),
        AttachError("signed"),
        BodyError("no JSON"),
    ],
)
def test_what_ctxkit_refused_to_send_is_not_billed(error: Exception) -> None:
    assert outcome_of(error) == "not_billed"


def test_a_hook_that_is_written_wrongly_may_have_sent_its_request_before() -> None:
    assert outcome_of(FlowError("no answer")) == "unknown"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"diagnostics": {"cache_miss_reason": {"type": "tools_changed"}}}, "tools_changed"),
        ({"diagnostics": {"cache_miss_reason": {"type": "messages_changed"}}}, "messages_changed"),
        ({"diagnostics": {"cache_miss_reason": {"type": "unavailable"}}}, None),
        ({"diagnostics": {"cache_miss_reason": {"type": "previous_message_not_found"}}}, None),
        ({"diagnostics": {"cache_miss_reason": None}}, None),
        ({"diagnostics": None}, None),
        ({"prompt_cache_diagnostics": {"type": "cache_miss", "reason": "input_changed"}}, "input_changed"),
        ({"prompt_cache_diagnostics": {"type": "cache_hit"}}, None),
        ({"prompt_cache_diagnostics": "hit"}, None),
        ({}, None),
    ],
)
def test_why_the_cache_was_missed_is_told_in_the_providers_word(
    body: dict[str, Any], reason: str | None
) -> None:
    """A comparison that was not made is no reason."""
    assert miss_reason_of(body) == reason
