"""`mentions`: where something is named for the first time."""

from __future__ import annotations

from ctxkit.condense.mentions import mentions


def test_lines_that_name_something_new_are_found_those_that_name_most_first() -> None:
    lines = [
        "plain Words only, 12 of them",
        "see src/main.py",
        "readFile, MAX_SIZE, os.path and 4711",
        "again: os.path, src/main.py.",
        "",
    ]
    assert mentions(lines) == [2, 1]
