"""`clean` and `tidy`: what goes without loss."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from ctxkit.condense.clean import FOLDED_LINES, clean, tidy

FOLD = re.compile(rf"\[\.\.\. ([\d,]+) {FOLDED_LINES} \.\.\.\]")
LINES = st.lists(
    st.sampled_from(["", "a", "  indented", "the same long line", "INFO tick tick tick"]), max_size=60
)


def unfolded(text: str) -> str:
    """The lines that were folded, said as often as they came."""
    lines: list[str] = []
    for line in text.split("\n"):
        folded = FOLD.fullmatch(line)
        lines.extend([lines[-1]] * int(folded[1].replace(",", "")) if folded else [line])
    return "\n".join(lines)


def test_colours_links_titles_and_cursor_moves_go() -> None:
    text = "\x1b[1;31mred\x1b[0m \x1b]8;;http://a\x1b\\link\x1b]8;;\x07 \x1b[2K\x1b(Bend\x1b7"
    assert clean(text) == "red link end"


def test_what_only_looks_like_a_terminal_code_stays() -> None:
    assert clean("\x1b]never ended \x1b[12") == "\x1b]never ended \x1b[12"


def test_of_a_progress_bar_only_its_last_frame_stays() -> None:
    frames = "\r".join(f"Rebasing ({number}/1241)" for number in range(1, 400))
    assert clean(f"start\n{frames}\rAuto-merging a.go\nend") == (
        "start\nRebasing (399/1241)\nAuto-merging a.go\nend"
    )


def test_a_spinner_goes() -> None:
    assert clean("Building -\x08\\\x08|\x08done") == "Building done"
    assert clean("-\r\\\r|\r/\rdone\n") == "done\n"


def test_frames_that_are_not_alike_become_lines() -> None:
    assert clean("one line\rtwo lines\rthree lines") == "one line\ntwo lines\nthree lines"


def test_line_ends_of_windows_become_plain_ones() -> None:
    assert clean("a\r\nb\r\n") == "a\nb\n"


def test_repeated_lines_are_said_once_and_counted() -> None:
    assert tidy("start\n" + "still waiting for the pod  \n" * 1_200 + "end") == (
        "start\nstill waiting for the pod\n[... 1,199 more lines like the one above ...]\nend"
    )


def test_lines_are_not_folded_where_that_saves_nothing() -> None:
    assert tidy("}\n}\n\n\n\nx") == "}\n}\n\n\n\nx"


@given(LINES)
def test_folded_lines_can_be_unfolded(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert unfolded(tidy(text)) == text


@given(st.text(st.sampled_from("ab \t\r\n\x1b[];0m\x08-"), max_size=80))
def test_what_is_clean_and_tidy_stays_as_it_is(text: str) -> None:
    once = tidy(clean(text))
    assert tidy(once) == once
    assert len(once) <= len(text) + text.count("\r")
