"""`condense_listing`: directories and kinds of files before files like many others."""

from __future__ import annotations

from ctxkit.condense.base import Budget, Condensed
from ctxkit.condense.listing import condense_listing
from ctxkit.tokens import counter_for

COUNTER = counter_for(None)
ROOT = "/Users/dev/projects/handy-server"
GLOB = f"""\
{ROOT}/sources/app/api.ts
{ROOT}/sources/storage/db.ts
{ROOT}/sources/storage/types.ts
{ROOT}/sources/utils/log.ts
{ROOT}/main.ts
(Results are truncated. Consider using a more specific path or pattern.)"""


def condensed(text: str, max_tokens: int, *terms: str) -> Condensed:
    """The condensed listing, which keeps the limit."""
    made = condense_listing(text, Budget(max_tokens, COUNTER, frozenset(terms)))
    assert COUNTER.count(made.text) <= max_tokens
    return made


def files(count: int) -> list[str]:
    """So many lines of `ls -l`."""
    return [
        f"-rw-------@   1 dev  staff  {1_300 + number} Dec {10 + number % 20} 13:20 agent-a{number:05}.jsonl"
        for number in range(count)
    ]


def test_a_directory_that_is_common_to_all_is_said_once() -> None:
    made = condensed(GLOB, COUNTER.count(GLOB) - 1)
    assert made.lossless
    assert made.text == GLOB.replace(f"{ROOT}/", "").join([f"All under {ROOT}/:\n", ""])


def test_the_directory_of_several_files_in_a_row_is_said_once_where_that_is_needed() -> None:
    text = "\n".join(f"./source/of/package/{name}" for name in "abcdefgh")
    assert condensed(text, COUNTER.count(text) - 1).text == (
        "./source/of/package/\n  a\n  b\n  c\n  d\n  e\n  f\n  g\n  h"
    )


def test_columns_that_never_change_are_said_once() -> None:
    text = "\n".join(["total 60", *files(50)])
    made = condensed(text, int(0.7 * COUNTER.count(text)))
    assert made.lossless
    assert made.text.split("\n")[:3] == [
        "All with permissions -rw-------@, links 1, owner dev, group staff:",
        "total 60",
        "1300 Dec 10 13:20 agent-a00000.jsonl",
    ]


def test_columns_that_differ_stay_while_there_is_room() -> None:
    lines = ["drwx------ 3 ann x 64 Dec 10 13:20 sub", "-rw------- 1 bob y 12 Dec 10 13:21 a.txt"]
    text = "\n".join(lines)
    made = condensed(text, COUNTER.count(text) - 1)
    assert made.text == text[: len(made.text)]


def test_sizes_and_names_are_the_last_to_go() -> None:
    lines = ["drwx------@  3 dev  staff  64 Dec 10 13:20 sub", *files(300)]
    made = condensed("\n".join(lines), 500)
    assert made.text.startswith("sub/\n1300 agent-a00000.jsonl\n")
    assert "1599 agent-a00299.jsonl" in made.text
    assert "owners, permissions and dates" in made.hidden


def test_the_largest_file_and_a_file_of_another_kind_are_shown() -> None:
    lines = files(300)
    lines[123] = "-rw-------@   1 dev  staff  98765432 Dec 10 13:20 agent-big.jsonl"
    lines[234] = "-rw-------@   1 dev  staff  5 Dec 10 13:20 notes.md"
    made = condensed("\n".join(lines), 400).text
    assert "98765432 agent-big.jsonl" in made
    assert "5 notes.md" in made


def test_files_that_were_installed_go_before_others() -> None:
    installed = [f"/srv/app/node_modules/package-{number}/index.d.ts" for number in range(300)]
    own = [f"/srv/app/sources/part-{number}.ts" for number in range(20)]
    made = condensed("\n".join([*installed[:150], *own, *installed[150:]]), 500).text
    assert all(f"part-{number}.ts" in made for number in range(20))


def test_of_a_tree_what_is_near_the_root_is_shown() -> None:
    lines = ["."]
    for directory in range(20):
        lines.append(f"├── directory-{directory}")
        lines.extend(f"│   ├── file-{directory}-{number}.py" for number in range(50))
    made = condensed("\n".join(lines), 500).text
    assert all(f"├── directory-{directory}\n" in made for directory in range(20))


def test_every_directory_of_a_recursive_listing_is_named_while_there_is_room() -> None:
    lines = [
        line
        for directory in range(15)
        for line in (f"./part_{directory}:", *(f"file-{number}.txt" for number in range(80)), "")
    ]
    made = condensed("\n".join(lines), 500).text
    assert all(f"./part_{directory}:" in made for directory in range(15))
