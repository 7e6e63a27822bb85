"""A report as HTML: it says what the text says, in any notebook, whatever the names hold."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from ctxkit.reports import Report
from support.booked import billed, paid, row, searched, share, unpriced

EVIL = "<script>alert('x')</script> & \"quoted\""


class Reader(HTMLParser):
    """Collects tags and texts, and holds that every tag is closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(report: Report) -> Reader:
    """The report as a notebook would read it."""
    reader = Reader()
    reader.feed(report._repr_html_())
    reader.close()
    assert reader.open == []
    return reader


def test_a_notebook_says_what_the_text_says() -> None:
    report = Report([*searched().tasks, row(paid("2"), id="other")])
    text = str(report)
    words = [word for cell in read(report).texts for word in cell.split()]
    assert words
    assert sorted(words) == sorted(word for word in text.split() if set(word) != {"-"})


def test_what_is_missing_from_the_sums_is_said() -> None:
    assert "missing from these sums: 1 request without a price" in read(Report([row(unpriced())])).texts


def test_names_are_escaped() -> None:
    attempt = billed(share("tool_call", EVIL, 0, 5, "1"), calls=[EVIL])
    report = Report([row(attempt, id=EVIL, notes=[EVIL]), row()], [{"path": EVIL, "line": 1, "reason": EVIL}])
    reader = read(report)
    assert "script" not in reader.tags
    assert reader.texts.count(EVIL) == 2


def test_it_stands_alone_and_sets_no_colours() -> None:
    html = searched()._repr_html_()
    assert not re.search(r"color|background|#[0-9a-f]{3}|src=|href=|<style|<script|class=", html)


def test_numbers_are_right_aligned_and_names_are_not() -> None:
    html = searched()._repr_html_()
    assert re.search(r'<td style="text-align: left[^"]*">tool result</td>', html)
    assert re.search(r'<td style="text-align: right[^"]*">12,345</td>', html)
