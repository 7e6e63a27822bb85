"""A report as a page of its own: what it holds, and that names from runs can do nothing in it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

import ctxkit
from ctxkit.ledger import Attempt
from ctxkit.ledger.sent import Placed, Sent
from ctxkit.profile import profile
from ctxkit.reports import Report
from ctxkit.reports.timeline import timeline
from support.booked import billed, refused, row, share, unmeasured

HOSTILE = "</script><script>document.title='owned'</script>"


def data_of(html: str) -> dict[str, Any]:
    """The data that a page draws."""
    (found,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', html, re.DOTALL)
    data: dict[str, Any] = json.loads(found)
    return data


def report(*attempts: Attempt, id: str = "fix-bug") -> Report:
    booked = [replace(attempt, task=id, id=f"{number}") for number, attempt in enumerate(attempts)]
    return Report([replace(row(*booked, id=id), attempts=booked)])


def test_a_page_holds_the_whole_bill() -> None:
    made = report(billed(share("tool_result", "grep", 900, 10, "0.123456789012")))
    tree = data_of(made.to_html())["tree"]
    assert tree["usd"][0] == 123_456_789_012
    assert tree["total"] == "0.123456789012"
    assert tree["parent"] == sorted(tree["parent"])
    assert tree["names"][tree["name"][0]] == "everything"


def test_names_from_a_run_stay_text() -> None:
    html = report(
        billed(share("tool_result", HOSTILE, 900, 10, "0.1"), calls=[HOSTILE]), id=HOSTILE
    ).to_html()
    assert html.count("<script") == 2
    assert "owned'</script>" not in html
    assert HOSTILE in data_of(html)["tree"]["names"]


def test_a_page_loads_nothing() -> None:
    html = report(billed(share("system", None, 9, 1, "0.1"))).to_html()
    assert "default-src 'none'" in html
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", html)


def test_a_page_says_what_is_missing() -> None:
    html = report(billed(share("system", None, 9, 1, "0.1")), unmeasured()).to_html()
    assert "missing from these sums: 1 request without full usage" in html


def test_a_report_without_attempts_has_its_tables() -> None:
    html = Report([row(billed(share("tool_result", "grep", 900, 10, "0.1")))]).to_html()
    assert "<td>grep</td>" in html
    assert data_of(html)["timeline"]["read"] == []


def test_a_timeline_has_a_column_for_each_request_that_was_sent() -> None:
    whole = billed(share("user_text", None, 1_000, 20, "0.1"), cached=300)
    line = timeline(report(whole, refused(), unmeasured()))
    assert (line["read"], line["uncached"], line["output"]) == ([300, 0], [700, 0], [20, 0])
    assert (line["turn"], line["retry"], line["missed"]) == ([0, 0], [0, 0], [0, 0])
    assert [line["names"][name] for name in line["purpose"]] == ["main", "main"]


def test_a_timeline_marks_what_missed_the_cache() -> None:
    first = billed(share("system", None, 9_000, 1, "0.1"), cached=9_000)
    later = billed(share("system", None, 9_000, 1, "0.1"))
    block = Placed("system", None, None, "ab", 9_000)
    made = report(
        replace(first, sent=Sent(None, 0, 0, (block,), 9_000)),
        replace(later, sent=Sent("0", 1, 9_000, (), 9_000)),
    )
    assert timeline(made)["missed"] == [0, 9_000]


def test_a_live_task_makes_a_page(task: ctxkit.Task) -> None:
    task.book(replace(billed(share("tool_result", "grep", 900, 10, "0.1")), task="test"))
    assert data_of(task.report().to_html())["tree"]["total"] == "0.1"


def test_five_thousand_requests_make_a_page_below_three_megabytes() -> None:
    attempts = []
    for number in range(5_000):
        block = Placed("tool_result", f"tool {number % 40}", f"call_{number}", f"{number}", 200)
        part = share("tool_result", block.tool, 900 + number, 10, "0.01")
        attempt = billed(part)
        after = None if number == 0 else f"{number - 1}"
        sent = Sent(after, number, 200 * number, (block,), 200 * (number + 1))
        attempts.append(replace(attempt, sent=sent, turn=number + 1))
    made = report(*attempts)
    html = made.to_html()
    assert len(html) < 3_000_000
    assert Decimal(data_of(html)["tree"]["total"]) == made.totals.cost_usd


def test_a_profile_that_keeps_its_attempts_makes_a_page() -> None:
    made = profile(ctxkit.load("ctxkit/demo/data"), keep_attempts=True)
    assert data_of(made.to_html())["tree"]["total"] == str(made.totals.cost_usd.normalize())
