"""Small readers of what many logs hold: times, costs, answers. No format is known here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from ctxkit.transcripts.base import RecordedRequest
from ctxkit.usage import Usage
from ctxkit.wire.usage_fields import mapping

ASSISTANT_ROLES = ("assistant", "model")


def measured(usage: Usage | None) -> Usage | None:
    """The usage, or `None` where it says that nothing was sent: no request is empty, so that is unknown."""
    return usage if usage is not None and usage.input_tokens != 0 else None


def moment(value: Any) -> datetime | None:
    """A time written as ISO 8601 (in UTC unless it says otherwise) or as milliseconds since 1970.

    Returns:
        `None` where it is neither.
    """
    try:
        if isinstance(value, str):
            written = datetime.fromisoformat(value)
            return written if written.tzinfo else written.replace(tzinfo=UTC)
        return datetime.fromtimestamp(value / 1000, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def dollars(value: Any) -> Decimal | None:
    """An amount of money, `None` where something else stands there."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    amount = Decimal(str(value))
    return amount if amount.is_finite() and amount >= 0 else None


def objects(value: Any) -> list[Mapping[str, Any]]:
    """The JSON objects of a list, none where it is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def unmeasured_requests(messages: Sequence[Any], wire: str) -> tuple[RecordedRequest, ...]:
    """One request for each answer that the model gave, for a log that says nothing about them."""
    return tuple(RecordedRequest(input_messages=index) for index in _answers(messages, wire))


def is_generated(message: Any) -> bool:
    """Whether a message, or an item of OpenAI's Responses API, was written by the model in this run."""
    native = mapping(message)
    if native.get("is_demo") is True or native.get("source") == "input":
        return False
    kind = native.get("type")
    return native.get("role") in ASSISTANT_ROLES or (
        isinstance(kind, str) and (kind == "reasoning" or kind.endswith("_call"))
    )


def _answers(messages: Sequence[Any], wire: str) -> Iterator[int]:
    one_answer_is_many_items = wire == "openai_responses"
    inside = False
    for index, message in enumerate(messages):
        generated = is_generated(message)
        if generated and not (inside and one_answer_is_many_items):
            yield index
        inside = generated
