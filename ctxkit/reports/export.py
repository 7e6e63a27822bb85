"""Attempts and their shares as tables in files: CSV and Parquet. What they add up to lives in `report`."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Context, Decimal
from pathlib import Path
from typing import Any, Literal

from ctxkit.errors import ConfigError
from ctxkit.ledger import Attempt, usd
from ctxkit.reports.report import Report

Kind = Literal["text", "integer", "real", "flag", "time", "usd"]
Cell = str | int | float | datetime | Decimal | None
Columns = Mapping[str, Kind]

OWN: Columns = {
    "id": "text",
    "task": "text",
    "turn": "integer",
    "purpose": "text",
    "model": "text",
    "provider": "text",
    "wire": "text",
    "outcome": "text",
    "status": "integer",
    "error": "text",
    "retry": "integer",
    "seconds": "real",
    "cut_tokens": "integer",
    "miss_reason": "text",
}
USAGE: Columns = {
    "input_tokens": "integer",
    "cache_read_tokens": "integer",
    "cache_write_tokens": "integer",
    "cache_write_1h_tokens": "integer",
    "cache_write_12h_tokens": "integer",
    "output_tokens": "integer",
    "reasoning_tokens": "integer",
    "web_search_requests": "integer",
    "image_tool_tokens": "integer",
    "service_tier": "text",
}
CHARGE: Columns = {
    "uncached_usd": "usd",
    "cache_read_usd": "usd",
    "cache_write_usd": "usd",
    "output_usd": "usd",
    "other_usd": "usd",
    "total_usd": "usd",
}
SHARE: Columns = {
    "kind": "text",
    "tool": "text",
    "carried": "flag",
    "input_tokens": "integer",
    "output_tokens": "integer",
    "cost_usd": "usd",
}
ATTEMPTS: Columns = {
    **OWN,
    "started": "time",
    **USAGE,
    **{"cost_usd" if name == "total_usd" else name: kind for name, kind in CHARGE.items()},
}
SHARES: Columns = {"attempt_id": "text", **SHARE}

# What a spreadsheet takes for the beginning of a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
# A Parquet decimal has 38 digits at most: 10 in front of the point, and all that a price has behind it.
DIGITS = 38
PLACES = 28


def write(report: Report, path: str | Path, *, rows: Literal["attempts", "shares"] = "attempts") -> None:
    """Write a row for each attempt of a report, or for each share of its attempts, as CSV or as Parquet.

    What is unknown is an empty cell, or null. Dollars are exact decimal numbers. In CSV a text that a
    spreadsheet would run as a formula gets an apostrophe in front. A lone surrogate becomes `?`.

    Args:
        report: Its rows must hold their attempts: `profile(..., keep_attempts=True)`, `task.report()`, or a
            ledger's by task, model or day with `keep_attempts=True`.
        path: Ends in `.csv` or `.parquet`. A file of that name is replaced.
        rows: What gets a row. A share has the id of its attempt.

    Raises:
        ConfigError: The path ends in something else, the report holds no attempts, or Parquet is asked for
            where pyarrow is not installed.
        OSError: The file can't be written.
    """
    path = Path(path)
    writer = {".csv": _write_csv, ".parquet": _write_parquet}.get(path.suffix.lower())
    if writer is None:
        raise ConfigError(f"{path} is neither .csv nor .parquet", option="path")
    attempts = _attempts(report)
    if rows == "attempts":
        writer(path, ATTEMPTS, map(_attempt_row, attempts))
    elif rows == "shares":
        writer(path, SHARES, _share_rows(attempts))
    else:
        raise ConfigError(f"rows is 'attempts' or 'shares', not {rows!r}", option="rows")


def _attempts(report: Report) -> Sequence[Attempt]:
    """Every attempt once, though it may stand in several rows."""
    attempts = {attempt.id: attempt for row in report.tasks for attempt in row.attempts}
    totals = report.totals
    if not attempts and (totals.requests or totals.attempts_not_billed):
        raise ConfigError(
            "the report holds no attempts: make it with keep_attempts=True, and not by tool", option="report"
        )
    return list(attempts.values())


def _attempt_row(attempt: Attempt) -> list[Cell]:
    started = datetime.fromtimestamp(attempt.started, UTC) if attempt.started else None
    return [
        *_fields(attempt, OWN),
        started,
        *_fields(attempt.usage, USAGE),
        *_fields(attempt.charge, CHARGE),
    ]


def _share_rows(attempts: Iterable[Attempt]) -> Iterator[list[Cell]]:
    for attempt in attempts:
        for share in attempt.shares:
            yield [attempt.id, *_fields(share, SHARE)]


def _fields(value: Any, columns: Columns) -> list[Cell]:
    """The fields of a value; none is known where it is `None`."""
    cells = [None if value is None else getattr(value, name) for name in columns]
    return [cell.encode(errors="replace").decode() if isinstance(cell, str) else cell for cell in cells]


def _write_csv(path: Path, columns: Columns, rows: Iterable[Sequence[Cell]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(map(_written, row) for row in rows)


def _written(cell: Cell) -> str | int | float | None:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, Decimal):
        return usd(cell)
    if isinstance(cell, datetime):
        return cell.isoformat()
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def _write_parquet(path: Path, columns: Columns, rows: Iterable[Sequence[Cell]]) -> None:
    try:
        import pyarrow  # type: ignore[import-untyped]
        from pyarrow import parquet
    except ImportError:
        raise ConfigError("Parquet needs pyarrow: pip install 'ctxkit[parquet]'", option="path") from None
    types: Mapping[Kind, Any] = {
        "text": pyarrow.string(),
        "integer": pyarrow.int64(),
        "real": pyarrow.float64(),
        "flag": pyarrow.bool_(),
        "time": pyarrow.timestamp("us", tz="UTC"),
        "usd": pyarrow.decimal128(DIGITS, PLACES),
    }
    schema = pyarrow.schema([(name, types[kind]) for name, kind in columns.items()])
    records = [dict(zip(columns, map(_scaled, row), strict=True)) for row in rows]
    parquet.write_table(pyarrow.Table.from_pylist(records, schema=schema), path)


def _scaled(cell: Cell) -> Cell:
    if not isinstance(cell, Decimal):
        return cell
    return cell.quantize(Decimal(1).scaleb(-PLACES), context=Context(prec=DIGITS))
