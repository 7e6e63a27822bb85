"""Reading recorded runs for a command, while a bar on standard error shows how far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from ctxkit.cli.progress import progress_bar
from ctxkit.transcripts import Skipped, Transcript, expand, load


def read_runs(sources: Sequence[str | Path], skipped: list[Skipped]) -> Iterator[Transcript]:
    """The runs at these paths, one at a time.

    Args:
        sources: Files, folders or globs.
        skipped: Gets what could not be read.

    Raises:
        TranscriptError: There is nothing at one of the paths.
    """
    files = dict.fromkeys(file for source in sources for file in expand(source))
    sizes = [file.stat().st_size for file in files]
    before = dict(zip(map(str, files), accumulate(sizes, initial=0), strict=False))
    with progress_bar(total_bytes=sum(sizes)) as advance:
        for number, run in enumerate(load(*sources, on_skip=skipped.append), 1):
            advance(before[run.path], f"run {number:,}")
            yield run


def nothing_readable(sources: Sequence[str | Path], skipped: Sequence[Skipped]) -> str:
    """Why there is no result, on one line: the first file that could not be read, and how many more."""
    if not skipped:
        return f"{sources[0]}: no file in it"
    first = skipped[0]
    place = first.path if first.line is None else f"{first.path}:{first.line}"
    more = f" (and {len(skipped) - 1} more)" if len(skipped) > 1 else ""
    return f"{place}: {first.reason}{more}"
