"""`truncate`: never over the limit, the same every time, and what matters stays."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.condense import CALL_AGAIN, MIN_TOKENS, truncate
from ctxkit.errors import ConfigError
from ctxkit.tokens import TiktokenCounter, counter_for

OUTPUTS = Path(__file__).parents[3] / "shared" / "data" / "tool_outputs"
COUNTER = counter_for(None)
MARKER = re.compile(r"\[\.\.\. .*left out here to save space.* \.\.\.\]")
CLOSING = "[... end of those lines ...]"
ODD = [
    "<|endoftext|>",
    "\ud83d",
    "🙂",
    "\r\n",
    "\n",
    " ",
    "error: ",
    "a" * 50,
    "你好",
    "0123456789abcdef",
    "\x00",
]
TEXTS = st.lists(st.sampled_from(ODD) | st.text(st.characters(), max_size=20), max_size=20).map("".join)


def log(lines: int, **special: str) -> str:
    """A log with a line of its own at some places: `line_7="..."`."""
    made = [f"2026-11-30 12:00:{number % 60:02} INFO step {number} done" for number in range(lines)]
    for place, text in special.items():
        made[int(place.removeprefix("line_"))] = text
    return "\n".join(made)


@given(TEXTS, st.integers(1, 60), st.integers(MIN_TOKENS, 400))
def test_a_result_is_never_over_the_limit_and_cutting_it_again_changes_nothing(
    text: str, times: int, limit: int
) -> None:
    long = text * times
    cut = truncate(long, max_tokens=limit)
    assert COUNTER.count(cut) <= limit
    assert truncate(cut, max_tokens=limit) == cut
    assert truncate(long, max_tokens=limit) == cut
    assert (cut == long) == (COUNTER.count(long) <= limit)


def test_a_text_that_is_short_enough_is_itself() -> None:
    text = log(50)
    assert truncate(text, max_tokens=COUNTER.count(text)) is text
    assert truncate(text, max_tokens=COUNTER.count(text) - 1) != text
    assert truncate("", max_tokens=MIN_TOKENS) == ""


def test_the_start_and_the_end_stay_and_the_marker_stands_where_text_is_missing() -> None:
    text = log(2_000)
    cut = truncate(text, max_tokens=500)
    start, marker, end = (part.strip("\n") for part in re.split(rf"({MARKER.pattern})", cut))
    assert text.startswith(start)
    assert text.endswith(end)
    assert COUNTER.count(start) > 150 and COUNTER.count(end) > 80
    assert CALL_AGAIN in marker


def test_whole_lines_stay_whole() -> None:
    text = log(2_000)
    kept = MARKER.sub("", truncate(text, max_tokens=500)).split("\n")
    assert set(filter(None, kept)) <= set(text.split("\n"))


def test_the_marker_says_how_much_is_hidden() -> None:
    text = log(2_000)
    cut = truncate(text, max_tokens=500)
    found = re.search(r"\[\.\.\. ([\d,]+) lines \(about ([\d,]+) tokens\)", cut)
    assert found is not None
    hidden_lines, hidden_tokens = (int(number.replace(",", "")) for number in found.groups())
    kept_lines = len([line for line in cut.split("\n") if "INFO" in line])
    assert hidden_lines == 2_000 - kept_lines
    assert (
        abs(hidden_tokens - (COUNTER.count(text) - COUNTER.count(MARKER.sub("", cut)))) < 0.05 * hidden_tokens
    )


def test_the_marker_of_one_long_line_speaks_of_tokens_alone() -> None:
    assert re.search(
        r"\[\.\.\. about [\d,]+ tokens of this result left out", truncate("word " * 5_000, max_tokens=200)
    )


ERRORS = [
    "ERROR: disk full",
    "Traceback (most recent call last):",
    "java.lang.NullPointerException: oops",
    "  ValueError: not a number",
    "panic: runtime error",
    "FAILED tests/test_a.py::test_b",
    "2 failed, 300 passed",
    "npm ERR! connection timed out",
    "bash: foo: No such file or directory",
    "warning: unused variable",
    "Permission denied (publickey)",
    "pod api-7d9 OOMKilled",
]


@pytest.mark.parametrize("line", ERRORS)
def test_a_line_that_looks_like_an_error_stays(line: str) -> None:
    cut = truncate(log(4_000, line_2000=line), max_tokens=500)
    assert line in cut.split("\n")
    assert "lines of it that look like errors follow" in cut


def test_error_lines_keep_their_order_and_each_is_said_once() -> None:
    text = log(
        6_000,
        line_1000="ERROR: first",
        line_2000="ERROR: second",
        line_3000="ERROR: first",
        line_4000="ERROR: third",
    )
    kept = [line for line in truncate(text, max_tokens=500).split("\n") if line.startswith("ERROR")]
    assert kept == ["ERROR: first", "ERROR: second", "ERROR: third"]


def test_an_error_line_that_stands_in_the_start_or_the_end_is_not_said_again() -> None:
    for number in (*range(20, 50), *range(-30, 0)):
        cut = truncate(log(2_000, **{f"line_{number}": "ERROR: disk full"}), max_tokens=1_000)
        assert cut.count("ERROR: disk full") == 1


def test_where_not_all_errors_fit_the_first_and_the_last_stay() -> None:
    text = "\n".join(f"ERROR number {number} of many" for number in range(5_000))
    kept = [int(number) for number in re.findall(r"ERROR number (\d+)", truncate(text, max_tokens=500))]
    assert kept == sorted(kept)
    assert kept[0] == 0 and kept[-1] == 4_999
    middle = [number for number in kept if 20 < number < 4_980]
    assert middle == [] or (min(middle) < 200 and max(middle) > 4_800)


def test_of_a_long_line_what_stands_around_the_error_stays() -> None:
    line = f"{'a b ' * 5_000}ERROR: disk full{' c d' * 5_000}"
    cut = truncate(log(2_000, line_1000=line), max_tokens=600)
    assert "ERROR: disk full" in cut
    assert max(map(len, cut.split("\n"))) < 1_000


@pytest.mark.parametrize("limit", [200, 300, 400, 1_000])
def test_a_long_error_line_stays_in_part_also_under_a_small_limit(limit: int) -> None:
    line = f"{'a b ' * 500}ERROR: disk full{' c d' * 500}"
    cut = truncate(log(2_000, line_1000=line), max_tokens=limit)
    assert "ERROR: disk full" in cut


def test_an_error_line_that_does_not_fit_makes_way_for_one_that_does() -> None:
    text = log(4_000, line_1000=f"error {'错误' * 300}", line_2000="ERROR: disk full", line_3000="Fatal: bye")
    cut = truncate(text, max_tokens=250)
    assert "ERROR: disk full" in cut
    assert "Fatal: bye" in cut


def test_lines_of_which_a_part_is_shown_count_as_hidden() -> None:
    text = log(2_000, **{f"line_{1_000 + number}": f"ERROR {'a b ' * 500}" for number in range(20)})
    cut = truncate(text, max_tokens=2_000)
    (hidden,) = re.findall(r"\[\.\.\. ([\d,]+) lines", cut)
    assert "ERROR" in cut
    assert int(hidden.replace(",", "")) == 2_000 - cut.count("INFO")


@pytest.mark.parametrize("line", ["ERROR: Disk FULL", "Error: İstanbul", "İ" * 50 + " error: disk full"])
def test_an_error_is_found_in_any_case_and_beside_any_letter(line: str) -> None:
    """The capital letter İ is two characters in lower case."""
    assert line in truncate(log(4_000, line_300="İ" * 300, line_2000=line), max_tokens=600).split("\n")


@pytest.mark.parametrize(
    "line", ["terrorist", "warner", "unfailing", "nonfatal", "timeouts_ms", "INFO panicky"]
)
def test_a_word_that_only_holds_the_letters_of_an_error_is_none(line: str) -> None:
    assert line not in truncate(log(4_000, line_2000=line), max_tokens=500)


def test_windows_line_ends_are_no_part_of_an_error_line() -> None:
    text = log(4_000, line_2000="ERROR: disk full").replace("\n", "\r\n")
    cut = truncate(text, max_tokens=500)
    assert "ERROR: disk full\n" in cut
    assert set(MARKER.sub("", cut).replace("\r", "").split("\n")) - {"", CLOSING} <= set(text.split("\r\n"))


BAIT = {
    "control": "<|endoftext|>" * 2_000,
    "surrogates": "\ud83d" * 5_000,
    "one letter": "a" * 1_000_000,
    "spaces": " " * 1_000_000,
    "digits": "7" * 1_000_000,
    "newlines": "\n" * 1_000_000,
    "carriage returns": "a line\r" * 50_000,
    "errors": "error " * 170_000,
    "lines of errors": "error\n" * 170_000,
    "almost errors": "erro exceptio tracebac timed no " * 30_000,
    "emoji": "🙂" * 5_000,
    "base64": base64.b64encode(Random(1).randbytes(100_000)).decode(),
    "a word": "x" * 100_000 + "Error",
}


@pytest.mark.parametrize("text", BAIT.values(), ids=BAIT)
def test_any_text_is_cut_to_the_limit(text: str) -> None:
    cut = truncate(text, max_tokens=300)
    assert COUNTER.count(cut) <= 300
    assert MARKER.search(cut)
    assert cut.startswith(text[:20])
    assert truncate(cut, max_tokens=300) == cut


def test_under_the_smallest_limit_both_ends_and_the_marker_stay() -> None:
    text = log(2_000)
    cut = truncate(text, max_tokens=MIN_TOKENS)
    assert cut[:20] == text[:20]
    assert cut[-20:] == text[-20:]
    assert MARKER.search(cut)


def test_fifty_megabytes_are_no_trouble() -> None:
    line = "2026-11-30 INFO all is well, step done\n"
    text = line * (50_000_000 // len(line))
    cut = truncate(text, max_tokens=1_000)
    assert COUNTER.count(cut) <= 1_000
    assert text.startswith(cut[:200])


def outputs() -> Iterator[tuple[str, str]]:
    if not OUTPUTS.is_dir():
        pytest.skip("the shared tool outputs are not here")
    for path in sorted(OUTPUTS.glob("*.gz")):
        yield path.name, gzip.decompress(path.read_bytes()).decode(errors="replace")


def test_recorded_results_are_cut_to_the_limit_and_keep_both_ends() -> None:
    for name, text in outputs():
        cut = truncate(text, max_tokens=1_000)
        assert COUNTER.count(cut) <= 1_000, name
        assert cut[:100] == text[:100], name
        assert cut[-100:] == text[-100:], name


def test_another_encoding_may_count() -> None:
    counter = TiktokenCounter("cl100k_base")
    cut = truncate("你好，世界。" * 2_000, max_tokens=200, counter=counter)
    assert counter.count(cut) <= 200


class Letters:
    """Counts a token a letter: a marker alone is over a small limit."""

    name = "letters"

    def count(self, text: str) -> int:
        return len(text)

    def tokens(self, text: str) -> list[bytes]:
        return [letter.encode() for letter in text]


def test_where_not_even_a_marker_fits_the_start_is_all_there_is() -> None:
    text = log(100)
    assert truncate(text, max_tokens=MIN_TOKENS, counter=Letters()) == text[:MIN_TOKENS]


def test_a_marker_that_takes_more_room_than_was_thought_takes_it_from_the_rest() -> None:
    cut = truncate(log(100), max_tokens=400, counter=Letters())
    assert len(cut) <= 400
    assert MARKER.search(cut)


@pytest.mark.parametrize("limit", [0, -1, MIN_TOKENS - 1])
def test_a_limit_too_small_to_say_what_is_missing_is_refused(limit: int) -> None:
    with pytest.raises(ConfigError, match="at least 100") as raised:
        truncate("text", max_tokens=limit)
    assert raised.value.option == "max_tokens"
