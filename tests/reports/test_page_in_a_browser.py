"""The page of a report, looked at in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from PIL import Image

import ctxkit
from ctxkit.ledger.sent import Placed, Sent
from ctxkit.profile import profile
from ctxkit.reports import Report
from support.booked import billed, row, share

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
READ, WRITTEN, UNCACHED, MISSED = (156, 203, 232), (31, 119, 180), (224, 130, 20), (200, 16, 46)
HOSTILE = "<img src=x onerror=\"document.title='owned'\"></script><script>document.title='owned'</script>"


@pytest.fixture(scope="session")
def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("there is no Chromium on this machine")
    return found


def opened(browser: str, page: Path, *options: str, part: int = 0) -> subprocess.CompletedProcess[str]:
    """What the browser says when it opens a page."""
    profile_folder = page.with_suffix(".profile")
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--enable-logging=stderr",
        f"--user-data-dir={profile_folder}",
        *options,
        f"{page.as_uri()}{f'#part={part}' if part else ''}",
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def dom(browser: str, page: Path, *, part: int = 0) -> str:
    """The document once its script has run; no error may have occurred in it."""
    done = opened(browser, page, "--dump-dom", part=part)
    assert "Uncaught" not in done.stderr
    assert 'data-ready="yes"' in done.stdout
    return done.stdout


def parts_of(document: str) -> list[str]:
    """The parts that the chart of costs shows, from the top."""
    return [unescape(label) for label in re.findall(r'role="treeitem" aria-label="([^"]*)"', document)]


def colours(picture: Path) -> set[tuple[int, int, int]]:
    with Image.open(picture) as image:
        found = image.convert("RGB").getcolors(maxcolors=10_000_000)
    return {colour for _, colour in found or ()}  # type: ignore[misc]


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A run in which the cache was read, then missed, with a name that would like to be a script."""
    system, result = (
        Placed("system", None, None, "a", 5_000),
        Placed("tool_result", "grep", "call_1", "b", 4_000),
    )
    first = billed(share("system", None, 5_000, 100, "0.02"), cached=3_000)
    second = billed(share("tool_result", "grep", 9_000, 90, "0.05", carried=True), cached=5_000)
    third = billed(share("tool_result", "grep", 9_000, 90, "0.09", carried=True))
    assert first.usage is not None
    attempts = [
        replace(
            first,
            usage=replace(first.usage, cache_write_tokens=2_000),
            sent=Sent(None, 0, 0, (system,), 5_000),
        ),
        replace(second, sent=Sent("0", 1, 5_000, (result,), 9_000)),
        replace(third, sent=Sent("1", 2, 9_000, (), 9_000)),
    ]
    booked = [
        replace(attempt, task=HOSTILE, id=f"{number}", turn=number + 1)
        for number, attempt in enumerate(attempts)
    ]
    path = tmp_path / "page.html"
    path.write_text(Report([replace(row(*booked, id=HOSTILE), attempts=booked)]).to_html())
    return path


@pytest.mark.parametrize("width", [390, 1_400])
def test_the_charts_are_painted(browser: str, page: Path, tmp_path: Path, width: int) -> None:
    """In a frame, as the browser's own window does not get as narrow as a phone."""
    frame, picture = tmp_path / "frame.html", tmp_path / "page.png"
    frame.write_text(f'<iframe src="page.html" width="{width}" height="1600" style="border: 0"></iframe>')
    opened(browser, frame, f"--screenshot={picture}", "--window-size=1500,1700")
    assert colours(picture) >= {READ, WRITTEN, UNCACHED, MISSED}


def test_a_name_from_a_run_does_nothing(browser: str, page: Path) -> None:
    document = dom(browser, page)
    assert "<title>ctxkit report</title>" in document
    assert any(HOSTILE in part for part in parts_of(document))


def test_a_part_can_be_looked_into(browser: str, page: Path) -> None:
    whole = parts_of(dom(browser, page))
    assert whole[0].startswith("everything: $0.16")
    into = parts_of(dom(browser, page, part=1))
    assert into[0] == whole[1]
    assert len(into) < len(whole)


def test_a_part_that_is_not_there_shows_everything(browser: str, page: Path) -> None:
    assert parts_of(dom(browser, page, part=999))[0].startswith("everything")


def test_a_recorded_run_shows_its_tools(browser: str, tmp_path: Path) -> None:
    path = tmp_path / "demo.html"
    path.write_text(profile(ctxkit.load("ctxkit/demo/data"), keep_attempts=True).to_html())
    document = dom(browser, path)
    assert any("search_direct_flight" in part for part in parts_of(document))
    assert "<td>search_direct_flight</td>" in document
