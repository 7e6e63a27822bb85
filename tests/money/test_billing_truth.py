"""Our books beside recorded costs: a difference is explained by a check on its numbers, never by hand."""

from __future__ import annotations

import importlib.util
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ctxkit.transcripts import RecordedRequest
from ctxkit.usage import Usage

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "billing_truth.py"
TRANSCRIPTS = ROOT.parent / "shared" / "data" / "transcripts"

if not SCRIPT.exists():
    pytest.skip("the benchmarks are not here", allow_module_level=True)


def load_benchmark() -> Any:
    spec = importlib.util.spec_from_file_location("billing_truth", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


billing_truth = load_benchmark()


def billed(usage: Usage | None, cost: str, *, model: str = "gpt-4.1", ours: str | None = None) -> Any:
    request = RecordedRequest(1, usage=usage, timestamp=billing_truth.AS_OF, recorded_cost_usd=Decimal(cost))
    return billing_truth.Billed("family", model, "openai", request, None if ours is None else Decimal(ours))


def classes(*requests: Any) -> list[str]:
    return [name for (_, name), members in billing_truth.classify(requests).items() for _ in members]


@pytest.mark.parametrize(
    ("usage", "theirs", "ours", "name"),
    [
        (Usage(10_000, 0), "0.02", "0.02", "equal"),
        (Usage(10_000, 0), "0.0200000001", "0.02", "equal"),
        (Usage(10_000, 0), "0.021", "0.02", "unexplained"),
        (None, "0", None, "usage missing, booked as 0"),
        (None, "0.01", None, "unexplained"),
        (Usage(10_000, 0), "0.02", None, "model not in the price list"),
        (Usage(10_000, 0), "0.005024", "0.02", "usage leaves out cache reads"),
        (Usage(10_000, 0), "0.005025", "0.02", "unexplained"),
        (Usage(10_000, 0), "0.019808", "0.02", "unexplained"),
        (Usage(10_000, 0, cache_read_tokens=1), "0.005024", "0.02", "unexplained"),
        (Usage(0, 100, reasoning_tokens=60), "0.00128", "0.0008", "recorder adds reasoning twice"),
        (Usage(0, 100, reasoning_tokens=60), "0.00129", "0.0008", "unexplained"),
    ],
)
def test_a_difference_is_explained_by_its_numbers_alone(
    usage: Usage | None, theirs: str, ours: str | None, name: str
) -> None:
    assert classes(billed(usage, theirs, ours=ours)) == [name]


@pytest.mark.parametrize(
    ("native", "name"),
    [
        (
            {"is_byok": True, "cost_details": {"upstream_inference_cost": 0.02}},
            "billed to the user's own key",
        ),
        ({"is_byok": True, "cost_details": {"upstream_inference_cost": 0.03}}, "unexplained"),
        ({"is_byok": False, "cost_details": {"upstream_inference_cost": 0.02}}, "unexplained"),
    ],
)
def test_a_users_own_key_needs_an_upstream_cost_that_is_ours(native: dict[str, Any], name: str) -> None:
    assert classes(billed(Usage(10, 0, native=native), "0", ours="0.02")) == [name]


def test_other_rates_explain_costs_only_where_there_are_more_requests_than_rates() -> None:
    def priced(prompt: int, read: int, output: int) -> Any:
        cost = (Decimal("0.45") * (prompt - read) + Decimal("0.2") * read + 3 * output) / 1_000_000
        return billed(Usage(prompt, output, cache_read_tokens=read), str(cost), ours="1")

    few = [priced(100, 10, 5), priced(200, 30, 50), priced(300, 0, 7)]
    more = [*few, priced(400, 90, 11)]
    assert classes(*few) == ["unexplained"] * 3
    assert classes(*few, few[0]) == ["unexplained"] * 4
    assert classes(*more) == ["recorder used other rates"] * 4
    assert billing_truth.other_rates(more) == [Decimal("0.45"), Decimal("0.2"), Decimal(3)]
    assert classes(*more, billed(Usage(100, 10), "0.9", ours="1")) == ["unexplained"] * 5
    same_mix = [priced(size, 0, size) for size in (100, 200, 300)]
    assert classes(*same_mix) == ["unexplained"] * 3


def test_recorded_costs_are_ours_or_explained_and_a_profile_says_the_same() -> None:
    if not TRANSCRIPTS.exists():
        pytest.skip("the shared transcripts are not here")
    paths = [TRANSCRIPTS / f"{name}.jsonl.gz" for name in ("cassette_loops", "openhands", "tau2_gpt41")]
    rows = list(billing_truth.summary(*billing_truth.read(paths)))
    unexplained = [row for row in rows if row["class"] == "unexplained"]
    assert [(row["requests"], row["models"]) for row in unexplained] == [(2, ["gpt-4.1-mini"])]
    totals = [row for row in rows if row["class"] == "all"]
    assert len(totals) == len(paths)
    for row in totals:
        parts = [part for part in rows if part["family"] == row["family"] and part["class"] != "all"]
        assert sum(part["requests"] for part in parts) == row["requests"]
        assert Decimal(row["ours_usd"]) == Decimal(row["profile_usd"])
