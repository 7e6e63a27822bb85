"""Exports: a row for each attempt or share, exact, and safe to open."""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ctxkit.errors import ConfigError
from ctxkit.ledger import Attempt
from ctxkit.reports import Report, export
from ctxkit.usage import Charge, Usage
from support.booked import billed, refused, row, share, unmeasured, unpriced

parquet = pytest.importorskip("pyarrow.parquet")
TINY = "0.0000001234567890123456789"
BOOKED = replace(
    billed(
        share("tool_definition", "grep", 60, 0, "0.5", carried=True),
        share("assistant_text", None, 0, 40, TINY),
    ),
    id="a1",
    task="fix-bug",
    started=1_764_500_000.5,
    seconds=2.5,
    turn=3,
    charge=Charge(cache_read_usd=Decimal("0.5"), output_usd=Decimal(TINY)),
)
KINDS = ["csv", "parquet"]


def report_of(*attempts: Attempt) -> Report:
    return Report([row(*attempts, attempts=attempts)])


def rows_of(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return list(parquet.read_table(path).to_pylist())
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def exported(tmp_path: Path, kind: str, *attempts: Attempt, **options: Any) -> list[dict[str, Any]]:
    path = tmp_path / f"costs.{kind}"
    export.write(report_of(*attempts), path, **options)
    return rows_of(path)


def test_a_parquet_row_holds_an_attempt_with_its_dollars_as_exact_decimals(tmp_path: Path) -> None:
    (written,) = exported(tmp_path, "parquet", BOOKED)
    assert (written["id"], written["task"], written["turn"], written["seconds"]) == ("a1", "fix-bug", 3, 2.5)
    assert written["started"] == datetime.fromtimestamp(1_764_500_000.5, UTC)
    assert (written["input_tokens"], written["output_tokens"]) == (60, 40)
    assert (written["cache_read_usd"], written["output_usd"]) == (Decimal("0.5"), Decimal(TINY))
    assert written["cost_usd"] == Decimal("0.5") + Decimal(TINY)
    assert str(parquet.read_schema(tmp_path / "costs.parquet").field("cost_usd").type) == "decimal128(38, 28)"


def test_a_csv_row_holds_an_attempt_with_its_dollars_in_plain_digits(tmp_path: Path) -> None:
    (written,) = exported(tmp_path, "csv", BOOKED)
    assert (written["id"], written["outcome"], written["turn"]) == ("a1", "billed", "3")
    assert written["started"] == "2025-11-30T10:53:20.500000+00:00"
    assert written["output_usd"] == TINY
    assert written["cost_usd"] == "0.5000001234567890123456789"
    assert written["other_usd"] == "0"


@pytest.mark.parametrize("kind", KINDS)
def test_shares_have_a_row_each_and_add_up_to_their_attempt(kind: str, tmp_path: Path) -> None:
    shares = exported(tmp_path, kind, BOOKED, rows="shares")
    assert [(part["attempt_id"], part["kind"], part["tool"] or None) for part in shares] == [
        ("a1", "tool_definition", "grep"),
        ("a1", "assistant_text", None),
    ]
    assert [str(part["carried"]).lower() for part in shares] == ["true", "false"]
    assert sum(Decimal(part["cost_usd"]) for part in shares) == Decimal("0.5") + Decimal(TINY)
    assert [int(part["input_tokens"]) + int(part["output_tokens"]) for part in shares] == [60, 40]


@pytest.mark.parametrize(("kind", "unknown"), [("csv", ""), ("parquet", None)])
def test_what_is_unknown_is_no_zero(kind: str, unknown: object, tmp_path: Path) -> None:
    broken_off = replace(unmeasured(), usage=Usage(100, None))
    nothing, input_only, priceless = exported(tmp_path, kind, unmeasured(), broken_off, unpriced())
    for name in (
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cost_usd",
        "started",
        "turn",
        "model",
    ):
        assert nothing[name] == unknown
    assert (int(input_only["input_tokens"]), input_only["output_tokens"]) == (100, unknown)
    assert (int(priceless["output_tokens"]), priceless["cost_usd"]) == (100, unknown)


def test_an_attempt_that_was_not_billed_has_its_row(tmp_path: Path) -> None:
    (written,) = exported(tmp_path, "csv", refused())
    assert (written["outcome"], written["status"], written["cost_usd"]) == ("not_billed", "429", "")


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_csv_cell_is_never_a_formula(start: str, tmp_path: Path) -> None:
    evil = f"{start}cmd|' /C calc'!A0"
    attempt = replace(billed(share("tool_call", evil, 1, 1, "-0.1")), task=evil)
    (written,) = exported(tmp_path, "csv", attempt)
    (part,) = exported(tmp_path, "csv", attempt, rows="shares")
    assert (written["task"], part["tool"]) == (f"'{evil}", f"'{evil}")
    assert part["cost_usd"] == "-0.1"
    assert exported(tmp_path, "parquet", attempt)[0]["task"] == evil


@pytest.mark.parametrize("kind", KINDS)
def test_commas_quotes_and_line_ends_come_back_and_a_lone_surrogate_does_no_harm(
    kind: str, tmp_path: Path
) -> None:
    (written,) = exported(tmp_path, kind, replace(BOOKED, task='a,"b"\nä\ud800'))
    assert written["task"] == 'a,"b"\nä?'


@pytest.mark.parametrize("kind", KINDS)
def test_an_attempt_in_several_rows_of_a_report_is_written_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"costs.{kind}"
    one = row(BOOKED, attempts=[BOOKED])
    export.write(Report([one, one]), str(path))
    assert [written["id"] for written in rows_of(path)] == ["a1"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_report_gives_the_columns_alone(kind: str, tmp_path: Path) -> None:
    assert exported(tmp_path, kind) == []
    assert (tmp_path / f"costs.{kind}").stat().st_size > 0


def test_a_report_without_its_attempts_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    for attempt in (BOOKED, refused()):
        with pytest.raises(ConfigError, match="keep_attempts=True"):
            export.write(Report([row(attempt)]), tmp_path / "costs.csv")
    assert list(tmp_path.iterdir()) == []


def test_another_ending_and_other_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"neither \.csv nor \.parquet"):
        export.write(report_of(BOOKED), tmp_path / "costs.xlsx")
    rows: Any = "turns"
    with pytest.raises(ConfigError, match="'attempts' or 'shares'"):
        export.write(report_of(BOOKED), tmp_path / "costs.csv", rows=rows)


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"ctxkit\[parquet\]"):
        export.write(report_of(BOOKED), tmp_path / "costs.parquet")
