"""`condense_listing`: directories and their files, as find, ls, tree and globs list them."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from ctxkit.condense.base import Budget, Condensed
from ctxkit.condense.lines import Lines, Tier, View, from_both_ends, spread
from ctxkit.condense.room import fits

PATH = re.compile(r"([^\s:]*)/[^\s:/]+")
# Type and permissions, links, owner, group, size, date, name.
LONG = re.compile(
    r"([-a-z][-rwxsStT]{9}[@+.]?)\s+(\d+)\s+(\S+)\s+(\S+)\s+(\d+(?:,\s*\d+)?)\s+(\S+\s+\S+\s+\S+)\s(.*)"
)
COLUMNS = ("permissions", "links", "owner", "group")
SIZE, NAME = 4, 6
SHORTEST_ROOT = 5
SIZED = re.compile(r"\d{1,18} ")
BRANCH = re.compile(r"[\s│|`├└─+\\-]*+")
# Files of others, which are seldom what is looked for.
FOREIGN = re.compile(
    r"(?:^|[/\s])(?:node_modules|site-packages|\.git|\.venv|venv|vendor|dist|build|target|__pycache__|\.cache)/"
)


def condense_listing(text: str, budget: Budget) -> Condensed:
    """Shorten a listing: what is the same in all lines once, then fewer columns, then fewer files.

    A directory that is common to paths is said once, and so are columns of `ls -l` that never change; both
    lose nothing. Where that is not enough, owners, permissions and dates go, and then files: directories,
    what the question asks about and each kind of file stay, files that were generated or installed go first.

    Args:
        text: A path, a file or a branch of a tree in each line.
        budget: How much may be shown.
    """
    if fits(text, budget):
        return Condensed(text, "listing")
    original = text.split("\n")
    rows = [LONG.fullmatch(line) for line in original]
    if sum(row is not None for row in rows) > len(rows) // 2:
        shared, short = _without_shared_columns(original, rows), _sizes_and_names(original, rows)
        besides = "owners, permissions and dates"
    else:
        shared = _below_root(original)
        short = _by_directory(shared)
        besides = ""
    if fits("\n".join(shared), budget):
        return Condensed("\n".join(shared), "listing")
    lines = Lines("\n".join(short))
    if not besides and fits(lines.text, budget):
        return Condensed(lines.text, "listing")
    return View(lines, _tiers(lines, budget), "listing", besides=besides).fitted(text, budget)


def _without_shared_columns(original: Sequence[str], rows: Sequence[re.Match[str] | None]) -> list[str]:
    """The lines of `ls -l` without the columns that are the same everywhere, which are said in front."""
    found = [row for row in rows if row]
    shared = [index for index in range(len(COLUMNS)) if len({row[index + 1] for row in found}) == 1]
    if not shared:
        return list(original)
    said = ", ".join(f"{COLUMNS[index]} {found[0][index + 1]}" for index in shared)
    other = [index + 1 for index in range(NAME + 1) if index not in shared]
    return [
        f"All with {said}:",
        *(" ".join(row.group(*other)) if row else line for row, line in zip(rows, original, strict=True)),
    ]


def _sizes_and_names(original: Sequence[str], rows: Sequence[re.Match[str] | None]) -> list[str]:
    """The lines of `ls -l` with a file's size and name alone; a directory's name ends with a slash."""
    return [_size_and_name(row) if row else line for row, line in zip(rows, original, strict=True)]


def _size_and_name(row: re.Match[str]) -> str:
    name = row[NAME + 1]
    return f"{name}/" if row[1].startswith("d") else f"{row[SIZE + 1]} {name}"


def _below_root(original: Sequence[str]) -> list[str]:
    """The paths without the directory that is common to all, which is said in front."""
    directories = [f"{path[1]}/" for line in original if (path := PATH.fullmatch(line))]
    shared = posixpath.commonprefix(directories)
    root = shared[: shared.rfind("/") + 1]
    if len(directories) < 2 or len(root) < SHORTEST_ROOT or not root.startswith("/"):
        return list(original)
    return [f"All under {root}:", *(line.removeprefix(root) for line in original)]


def _by_directory(lines: Sequence[str]) -> list[str]:
    """The paths with the directory of several in a row said once, above them."""
    made: list[str] = []
    for directory, group in groupby(lines, key=_directory):
        together = list(group)
        if directory and len(together) > 1:
            made.append(f"{directory}/")
            together = [f"  {line[len(directory) + 1 :]}" for line in together]
        made.extend(together)
    return made


def _directory(line: str) -> str:
    """The directory of a line that is a path; empty where it is none."""
    path = PATH.fullmatch(line)
    return path[1] if path else ""


def _tiers(lines: Lines, budget: Budget) -> list[Tier]:
    most = budget.max_tokens
    count = len(lines.lines)
    headings = [number for number, line in enumerate(lines.lines) if line.endswith(("/", ":"))]
    own = _own(lines.lines)
    return [
        Tier(from_both_ends(count, 3)),
        Tier(lines.about(budget.terms)[:most], share=0.3),
        Tier(spread(headings, most), share=0.5),
        Tier(_first_of_each_suffix(lines.lines)[:most], share=0.1),
        Tier(_largest(lines.lines)[:most], share=0.1),
        Tier(spread(own, most), share=0.1),
        Tier(_nearest(lines.lines, own)[:most]),
        Tier(from_both_ends(count, most)),
    ]


def _first_of_each_suffix(lines: Sequence[str]) -> list[int]:
    """The first file of each suffix, the rarest suffixes first."""
    suffixes = [_suffix(line) for line in lines]
    frequency = Counter(suffixes)
    first: dict[str, int] = {}
    for number, suffix in enumerate(suffixes):
        first.setdefault(suffix, number)
    return sorted(first.values(), key=lambda number: frequency[suffixes[number]])


def _suffix(line: str) -> str:
    _, dot, suffix = line.rpartition(".")
    return suffix if dot and "/" not in suffix else ""


def _own(lines: Sequence[str]) -> list[int]:
    """The lines that are not of a foreign directory; those that are indented are of the last one above."""
    own: list[int] = []
    foreign = False
    for number, line in enumerate(lines):
        if not line.startswith(" "):
            foreign = "/" in line and FOREIGN.search(line) is not None
        if not foreign:
            own.append(number)
    return own


def _largest(lines: Sequence[str]) -> list[int]:
    """The files whose size is said, the largest first."""
    sizes = {number: int(found[0]) for number, line in enumerate(lines) if (found := SIZED.match(line))}
    return sorted(sizes, key=lambda number: -sizes[number])


def _nearest(lines: Sequence[str], numbers: Sequence[int]) -> list[int]:
    """The lines by the depth of what they name, those near the root first."""

    def depth(number: int) -> int:
        branch = BRANCH.match(lines[number])
        return lines[number].count("/") + (branch.end() if branch else 0)

    return sorted(numbers, key=depth)
