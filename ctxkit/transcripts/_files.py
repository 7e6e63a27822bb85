"""Finding files and reading them as records, one JSON object at a time. No format is known here."""

from __future__ import annotations

import glob
import gzip
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit.errors import BodyError, TranscriptError
from ctxkit.transcripts.base import Skipped
from ctxkit.wire.native import loads

GZIP_MAGIC = b"\x1f\x8b"
READ_ERRORS = (OSError, EOFError, zlib.error)


class Record(NamedTuple):
    """One JSON object of a file.

    Attributes:
        line: The line it starts at, from 1.
        value: The object.
    """

    line: int
    value: dict[str, Any]


class Line(NamedTuple):
    """One line of a file that is not blank.

    Attributes:
        number: Which one, from 1.
        raw: Its bytes.
    """

    number: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class Source:
    """One file, as a reader is given it.

    Attributes:
        path: The file.
        outcomes: What stands in it: records, and what could not be read.
        on_skip: Told of whatever could not be read.
        counted: The answers that this `load` has counted already, so that none counts twice.
    """

    path: str
    outcomes: Iterable[Record | Skipped]
    on_skip: Callable[[Skipped], None]
    counted: set[Hashable]

    @property
    def name(self) -> str:
        """What a run is called that has no name in its log."""
        return Path(self.path).name

    def records(self) -> Iterator[Record]:
        """The records, in order; what can't be read is reported and left out."""
        for outcome in self.outcomes:
            if isinstance(outcome, Skipped):
                self.on_skip(outcome)
            else:
                yield outcome

    def skip(self, line: int | None, reason: str) -> None:
        """Report something that can't be read."""
        self.on_skip(Skipped(self.path, line, reason))


def expand(path: str | Path) -> list[Path]:
    """The files behind a path: a file, everything in a folder but hidden files, or what a glob matches.

    Raises:
        TranscriptError: There is nothing at the path.
    """
    root = Path(path)
    if root.is_dir():
        return sorted(file for file in root.rglob("*") if file.is_file() and not _is_hidden(file, root))
    if root.exists():
        return [root]
    matches = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207
    if not matches:
        raise TranscriptError(path=str(path), line=None, reason="no such file or folder, and no match")
    return list(dict.fromkeys(file for match in matches for file in expand(match)))


def _is_hidden(file: Path, root: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(root).parts)


def read_records(path: Path) -> Iterator[Record | Skipped]:
    """Every JSON object of a file, or why it can't be read, in order.

    The file holds JSON Lines, or one JSON document over several lines; either may be compressed with gzip.
    A list stands for its items, and a list of messages for one conversation.
    """
    lines = _read_lines(path)
    first = next(lines, Skipped(str(path), None, "the file is empty"))
    rest: Iterable[Line | Skipped] = lines
    if isinstance(first, Line) and not _is_json(first.raw):
        first, rest = _document(first, list(lines))
    for line in chain([first], rest):
        if isinstance(line, Skipped):
            yield line
        else:
            yield from _parse(str(path), line)


def _read_lines(path: Path) -> Iterator[Line | Skipped]:
    number = 0
    try:
        with path.open("rb") as raw:
            compressed = raw.peek(2)[:2] == GZIP_MAGIC
            for number, line in enumerate(gzip.GzipFile(fileobj=raw) if compressed else raw, 1):
                if line.strip():
                    yield Line(number, line)
    except READ_ERRORS as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        where, what = (number + 1, "can't be read any further") if number else (None, "can't be read")
        yield Skipped(str(path), where, f"{what}: {reason}")


def _is_json(raw: bytes) -> bool:
    try:
        loads(raw)
    except BodyError:
        return False
    return True


def _document(first: Line, rest: list[Line | Skipped]) -> tuple[Line, list[Line | Skipped]]:
    """The lines as one JSON document, where they are one; as they came otherwise."""
    whole = first.raw + b"".join(line.raw for line in rest if isinstance(line, Line))
    if not _is_json(whole):
        return first, rest
    return Line(first.number, whole), [line for line in rest if isinstance(line, Skipped)]


def _parse(path: str, line: Line) -> Iterator[Record | Skipped]:
    try:
        value = loads(line.raw)
    except BodyError as error:
        yield Skipped(path, line.number, str(error))
        return
    for item in _items(value):
        if isinstance(item, dict):
            yield Record(line.number, item)
        else:
            yield Skipped(path, line.number, f"not a JSON object, but {_kind(item)}")


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        return [value]
    if isinstance(value[0], dict) and "role" in value[0]:
        return [{"messages": value}]
    return value


def _kind(value: Any) -> str:
    kinds = {"str": "a string", "list": "a list", "bool": "true or false", "NoneType": "null"}
    return kinds.get(type(value).__name__, "a number")
