"""`load`: any path, any known format, told by what stands in the files and never by their names."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ctxkit.transcripts._files import Record, Source, expand, read_records
from ctxkit.transcripts.base import Skipped, Transcript

logger = logging.getLogger("ctxkit.transcripts")
SYSTEM_IN_MESSAGES = "openai_chat"  # whose logs hold it, where there is one
HEAD = 100  # so many lines may pass before one tells the format


def load(
    *paths: str | Path,
    on_skip: Callable[[Skipped], None] | None = None,
    tools: Sequence[Any] | None = None,
    system: Any = None,
) -> Iterator[Transcript]:
    """Read recorded runs, whatever wrote them, one at a time.

    Args:
        paths: Files, folders (read with everything below them, but hidden files), or globs. Files may be
            compressed with gzip.
        on_skip: Called with each file or part of one that can't be read, while the rest is; left out, they
            are logged as warnings.
        tools: The tool definitions, in the wire's own shape, of runs that have none in their log.
        system: The system prompt, in the wire's own shape, of runs that have none in their log.

    Returns:
        The transcripts. An answer that stands in several of the files, as after a resumed session, is
        counted in the first of them alone. What was supplied to one is named in `meta["supplied"]`.

    Raises:
        TranscriptError: There is nothing at one of the paths.
    """
    files = dict.fromkeys(file for path in paths for file in expand(path))
    read = _read(list(files), on_skip or _warn)
    return (_supplied(transcript, tools, system) for transcript in read)


def _supplied(transcript: Transcript, tools: Sequence[Any] | None, system: Any) -> Transcript:
    """The transcript with what its log does not hold and the user does."""
    missing: dict[str, Any] = {}
    if tools and not transcript.tools:
        missing["tools"] = tools
    if system is not None and transcript.system is None and transcript.wire != SYSTEM_IN_MESSAGES:
        missing["system"] = system
    if not missing:
        return transcript
    return replace(transcript, **missing, meta={**transcript.meta, "supplied": tuple(missing)})


def _warn(skipped: Skipped) -> None:
    place = skipped.path if skipped.line is None else f"{skipped.path}:{skipped.line}"
    logger.warning("%s: %s", place, skipped.reason)


def _read(files: list[Path], on_skip: Callable[[Skipped], None]) -> Iterator[Transcript]:
    from ctxkit.transcripts import cassettes
    from ctxkit.transcripts._readers import reader_of

    counted: set[Hashable] = set()
    for file in files:
        outcomes = iter(cassettes.yaml_outcomes(file) if cassettes.is_yaml(file) else read_records(file))
        head: list[Record | Skipped] = []
        for outcome in islice(outcomes, HEAD):
            head.append(outcome)
            reader = reader_of(outcome.value) if isinstance(outcome, Record) else None
            if reader is not None:
                yield from reader.read(Source(str(file), chain(head, outcomes), on_skip, counted))
                break
        else:
            on_skip(_unknown(str(file), head))


def _unknown(path: str, head: list[Record | Skipped]) -> Skipped:
    """Why nothing of a file was read, in one sentence for all of it."""
    if len(head) == 1 and isinstance(head[0], Skipped):
        return head[0]
    if any(isinstance(outcome, Record) for outcome in head):
        return Skipped(path, None, "no transcript format that is known here")
    return Skipped(path, None, "not JSON, nor lines of JSON")
