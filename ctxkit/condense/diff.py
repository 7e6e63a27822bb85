"""`condense_diff`: unified diffs and logs with patches: what changed where, before what stands around it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest

from ctxkit.condense.base import Budget, Condensed
from ctxkit.condense.code import DEFINITION
from ctxkit.condense.lines import Lines, Tier, View, around, from_both_ends, spread
from ctxkit.condense.room import fits

FILE = re.compile(r"diff --git |diff --(?:cc|combined) |Index: |Only in ")
NAMED = re.compile(rf"{FILE.pattern}|\+\+\+ ")
NAMES = re.compile(r'diff --git "?a/(.+?)"? "?b/(.+?)"?')
COMMIT = re.compile(r"commit [0-9a-f]{7,64}\b")
HUNK = "@@"
BLOBS = re.compile(r"index [0-9a-f]{4,64}\.\.[0-9a-f]{4,64}(?: \d+)?")
BINARY = "GIT binary patch"
# Files that tools write, whose changes say little.
GENERATED = re.compile(
    r"(?:^|[/\s])(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|[\w.-]+\.lock)$"
    r"|\.min\.(?:js|css)$|\.(?:map|snap|svg)$|_pb2\.pyi?$|\.pb\.go$|(?:^|/)(?:node_modules|vendor|dist)/"
)


class _Diff:
    """The lines of a diff by what they are, each as its number.

    Attributes:
        numbers: The lines of each kind: `commit` (ids, authors, messages), `file` (what names it, and says
            whether it is new, renamed or binary), `hunk` (headers), `change`, `context`, and `generated` for
            all that is in files which tools write.
        changes: The lines that were added or removed, one list for each hunk.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self.numbers: dict[str, list[int]] = defaultdict(list)
        self.changes: list[list[int]] = []
        kind, is_generated = "commit", False
        for number, line in enumerate(lines):
            if COMMIT.match(line):
                kind = "commit"
            elif FILE.match(line) or (kind != "file" and _names_files(lines, number)):
                kind, is_generated = "file", GENERATED.search(line.partition("\t")[0]) is not None
            elif (is_generated and line.startswith(HUNK)) or line == BINARY:
                kind = "generated"
            elif line.startswith(HUNK):
                kind = "hunk"
                self.changes.append([])
            elif kind in ("hunk", "change", "context"):
                kind = "change" if line.startswith(("+", "-")) else "context"
            self.numbers[kind].append(number)
            if kind == "change":
                self.changes[-1].append(number)


def condense_diff(text: str, budget: Budget) -> Condensed:
    """Shorten a diff: names said twice and ids of blobs first, then what stands around changes.

    Each file and each hunk stays named as long as there is room, and so do commits with their messages. The
    changes of all hunks are shown evenly, the first ones of each before the next; what changed in lock files
    and other files that tools write is the first to go.

    Args:
        text: Unified diffs, as diff and git write them, with commits in front of them or not.
        budget: How much may be shown.
    """
    if fits(text, budget):
        return Condensed(text, "diff")
    once = list(_names_once(text.split("\n")))
    if fits("\n".join(once), budget):
        return Condensed("\n".join(once), "diff")
    short = [line for line in once if not BLOBS.fullmatch(line)]
    besides = "ids of blobs" if len(short) < len(once) else ""
    lines = Lines("\n".join(short))
    return View(lines, _tiers(lines, budget), "diff", besides=besides).fitted(text, budget)


def _names_files(lines: Sequence[str], number: int) -> bool:
    """Whether a line and the next one are the names of the file before and after."""
    following = lines[number + 1 : number + 3]
    return (
        lines[number].startswith("--- ")
        and len(following) == 2
        and following[0].startswith("+++ ")
        and following[1].startswith(HUNK)
    )


def _names_once(lines: Sequence[str]) -> Iterator[str]:
    """The lines without the names of a file's two sides where the line in front of them says the same."""
    said: set[str] = set()
    skipped = -1
    for number, line in enumerate(lines):
        if names := NAMES.fullmatch(line):
            said = {f"--- a/{names[1]}", "--- /dev/null", f"+++ b/{names[2]}", "+++ /dev/null"}
        if _names_files(lines, number) and {line, lines[number + 1]} <= said:
            skipped = number + 1
        elif number != skipped:
            yield line


def _tiers(lines: Lines, budget: Budget) -> list[Tier]:
    most = budget.max_tokens
    count = len(lines.lines)
    diff = _Diff(lines.lines)
    files = [number for number in diff.numbers["file"] if NAMED.match(lines.lines[number])]
    about = lines.about(budget.terms)[:most]
    turns = (
        number for turn in zip_longest(*filter(None, diff.changes)) for number in turn if number is not None
    )
    changes = list(islice(turns, most))
    defined = [
        number for number in diff.numbers["change"] if DEFINITION.match(lines.lines[number][1:].strip())
    ]
    return [
        Tier(from_both_ends(count, 2)),
        Tier(spread(files, most), share=0.4),
        Tier(spread(diff.numbers["commit"], most), share=0.3),
        Tier(about, share=0.2),
        Tier(spread(diff.numbers["file"], most), share=0.2),
        Tier(spread(diff.numbers["hunk"], most), share=0.5),
        Tier(around(about, count, before=2, after=4), share=0.15),
        Tier(spread(defined, most), share=0.2),
        Tier(changes, share=0.8),
        Tier(around(changes, count, before=1, after=1)),
        Tier(diff.numbers["context"][:most]),
        Tier(from_both_ends(count, most)),
    ]
