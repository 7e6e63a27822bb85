"""`condense_search_hits`: every file named once, and hits spread over the files."""

from __future__ import annotations

from ctxkit.condense.base import Budget, Condensed
from ctxkit.condense.search_hits import condense_search_hits
from ctxkit.tokens import counter_for

COUNTER = counter_for(None)
# As one tool says them: paths of hits relative, those of context in turn relative and absolute.
QUOTE = """\
cmd/entire/cli/strategy/clean_test.go:329:\t\tBaseCommit:      commitHash.String(),
cmd/entire/cli/strategy/clean_test.go-330-\t\tStartedAt:       time.Now(),
/Users/dev/cli/cmd/entire/cli/strategy/clean_test.go-331-\t}
cmd/entire/cli/strategy/clean_test.go-332-\tif err := SaveSessionState(state); err != nil {
--
cmd/entire/cli/session/state.go:27:\t// BaseCommit is the HEAD commit
cmd/entire/cli/session/state.go-28-\tBaseCommit string

... [355 lines truncated] ..."""


def condensed(text: str, max_tokens: int, *terms: str) -> Condensed:
    """The condensed hits, which keep the limit."""
    made = condense_search_hits(text, Budget(max_tokens, COUNTER, frozenset(terms)))
    assert COUNTER.count(made.text) <= max_tokens
    return made


def hits(files: int, each: int) -> str:
    """As many hits in each of as many files."""
    return "\n".join(
        f"src/package_{file}/module.py:{10 * hit + 1}:    result = compute(value_{file}_{hit})"
        for file in range(files)
        for hit in range(each)
    )


def test_each_path_becomes_a_heading_and_nothing_is_lost() -> None:
    made = condensed(QUOTE, COUNTER.count(QUOTE) - 1)
    assert made.lossless
    assert (
        made.text
        == """\
/Users/dev/cli/cmd/entire/cli/strategy/clean_test.go
329:\t\tBaseCommit:      commitHash.String(),
330-\t\tStartedAt:       time.Now(),
331-\t}
332-\tif err := SaveSessionState(state); err != nil {
cmd/entire/cli/session/state.go
27:\t// BaseCommit is the HEAD commit
28-\tBaseCommit string

... [355 lines truncated] ..."""
    )


def test_hits_without_numbers_and_paths_of_windows_are_grouped_too() -> None:
    text = "./a.md:├── x\n./a.md:├── y\n" + "C:\\src\\a b.py:12:import os\nC:\\src\\a b.py:14:import sys"
    assert condensed(text, COUNTER.count(text) - 1).text == (
        "./a.md\n├── x\n├── y\nC:\\src\\a b.py\n12:import os\n14:import sys"
    )


def test_every_file_is_named_while_there_is_room() -> None:
    made = condensed(hits(40, 30), 1_000)
    assert all(f"src/package_{file}/module.py" in made.text for file in range(40))


def test_each_file_shows_a_hit_before_one_shows_many() -> None:
    made = condensed(hits(20, 50), 1_000)
    assert all(f"value_{file}_0)" in made.text for file in range(20))


def test_one_gap_a_file_tells_how_many_of_its_lines_are_hidden() -> None:
    made = condensed(hits(10, 100), 500)
    blocks = made.text.split("src/package_")[1:]
    for block in blocks:
        shown = block.count("compute(")
        assert f"[... {100 - shown} lines ...]" in block


def test_definitions_come_before_other_hits() -> None:
    lines = hits(1, 900).split("\n")
    lines[611] = "src/package_0/module.py:6111:def compute(value: int) -> int:"
    assert "6111:def compute(value: int) -> int:" in condensed("\n".join(lines), 300).text


def test_context_goes_before_hits() -> None:
    text = "\n".join(
        line
        for hit in range(40)
        for line in (
            f"src/a.py:{hit}1:    found {hit}",
            *(f"src/a.py-{hit}{near}-    near {hit}" for near in range(2, 8)),
            "--",
        )
    )
    made = condensed(text, 500).text
    assert all(f"found {hit}\n" in made for hit in range(40))
