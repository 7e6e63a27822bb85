"""Spans of OpenTelemetry, in whatever shape they were exported. No attribute is known here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ctxkit.errors import BodyError
from ctxkit.transcripts._fields import moment, objects
from ctxkit.wire.native import loads, string
from ctxkit.wire.usage_fields import mapping

NANOSECONDS_IN_MILLISECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Span:
    """One span.

    Attributes:
        line: Where it stands in its file.
        trace: The id of its trace.
        attributes: Its attributes, JSON texts still unread.
        started: When it began, where it says so.
        ended: When it ended, where it says so.
    """

    line: int
    trace: str
    attributes: Mapping[str, Any]
    started: datetime | None
    ended: datetime | None


def spans_of(line: int, record: Mapping[str, Any]) -> Iterator[Span]:
    """The spans of a record: an OTLP export, a list of spans, or a single one as the SDK prints it."""
    for native in _natives(record):
        context = mapping(native.get("context"))
        yield Span(
            line=line,
            trace=_id(native.get("traceId", context.get("trace_id"))),
            attributes=_attributes(native.get("attributes")),
            started=_time(native.get("startTimeUnixNano", native.get("start_time"))),
            ended=_time(native.get("endTimeUnixNano", native.get("end_time"))),
        )


def is_export(record: Mapping[str, Any]) -> bool:
    """Whether a record holds spans."""
    return any(
        "attributes" in native and ("context" in native or "traceId" in native) for native in _natives(record)
    )


def _natives(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for resource in objects(record.get("resourceSpans")):
        for scope in objects(resource.get("scopeSpans")):
            yield from objects(scope.get("spans"))
    yield from objects(record.get("spans"))
    if "attributes" in record:
        yield record


def _id(native: Any) -> str:
    """An id as a text; some exporters write it as a number."""
    return f"{int(native):x}" if isinstance(native, (int, float)) else string(native) or ""


def _attributes(native: Any) -> Mapping[str, Any]:
    if isinstance(native, list):
        return {str(one.get("key")): _value(mapping(one.get("value"))) for one in objects(native)}
    return mapping(native)


def _value(native: Mapping[str, Any]) -> Any:
    """A value of OTLP's JSON, which names its type; an integer is written as a string."""
    if "arrayValue" in native:
        return [_value(one) for one in objects(mapping(native["arrayValue"]).get("values"))]
    if "kvlistValue" in native:
        return _attributes(mapping(native["kvlistValue"]).get("values"))
    if "intValue" in native:
        return _integer(native["intValue"])
    return next(iter(native.values()), None)


def _integer(written: Any) -> int | None:
    try:
        return int(written)
    except (TypeError, ValueError):
        return None


def _time(written: Any) -> datetime | None:
    """A time in nanoseconds, as a number or its digits, or as ISO 8601."""
    nanoseconds = _integer(written)
    return moment(written if nanoseconds is None else nanoseconds / NANOSECONDS_IN_MILLISECOND)


def parsed(value: Any) -> Any:
    """An attribute that may be JSON text."""
    if string(value) is None:
        return value
    try:
        return loads(value)
    except BodyError:
        return value
