"""Our own transcript format, written: a line of JSON for each attempt, and each message in it once.

`docs/transcript-format.md` describes the format, and `ctxkit_format` reads it.
"""

from __future__ import annotations

import gzip
import hashlib
import os
from collections import deque
from collections.abc import Mapping, Sequence
from io import FileIO
from itertools import takewhile
from operator import is_, itemgetter
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from uuid import uuid4

from ctxkit.errors import ConfigError
from ctxkit.transcripts._cleaning import Redact, cleaned
from ctxkit.wire.native import dumps

MARK = "ctxkit_transcript"
VERSION = 1
NOT_WRITTEN = (".zst", ".bz2", ".xz", ".zip")
# Then the parts are numbered anew, so that neither a writer nor a reader has to remember more.
SECTION_BYTES = 16_000_000
# How much larger a section is than the histories that have to be written again after it.
WORTH_A_SECTION = 4
# Loops that run side by side, each of which finds its own last history again.
RECENT_HISTORIES = 8


class Body(NamedTuple):
    """A native body, and where the history stands in it.

    Attributes:
        native: The provider's JSON.
        messages_key: The key of its messages.
    """

    native: Mapping[str, Any]
    messages_key: str


class Recording:
    """A file that gets a line at a time, from many threads and processes at once.

    Each line is appended by one write, so that a process that is killed tears its own last line at most; what
    others write after that begins on a line of its own. The file is made with the first line, and only its
    owner may read it.

    Args:
        path: The file; with the ending `.gz`, each line is compressed by itself.
        redact: Gives what is written instead of a text.
        section_bytes: After so many bytes the parts are numbered anew.

    Raises:
        ConfigError: The folder does not exist, or the ending asks for a compression that is not offered.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        redact: Redact | None = None,
        section_bytes: int = SECTION_BYTES,
    ) -> None:
        self.path = Path(path).absolute()
        self._redact = redact
        self._section_bytes = section_bytes
        self._compresses = self.path.suffix == ".gz"
        self._writers: dict[int, _Writer] = {}
        if self.path.suffix in NOT_WRITTEN:
            raise ConfigError(f"{self.path}: of compressed files only .gz can be written", option="path")
        if not self.path.parent.is_dir() or self.path.is_dir():
            raise ConfigError(f"{self.path} must be a file in a folder that exists", option="path")

    def add(
        self,
        fields: Mapping[str, Any],
        *,
        bodies: Mapping[str, Body] | None = None,
        answer: Mapping[str, Any] | None = None,
    ) -> None:
        """Append one line.

        Args:
            fields: What is written as it is.
            bodies: Request bodies, each under the name it gets in the line.
            answer: The body that came back.

        Raises:
            OSError: The file can't be written. Later lines stand by themselves all the same.
            BodyError: A body can't be written as JSON.
        """
        writer = self._writers.get(os.getpid()) or self._writers.setdefault(os.getpid(), _Writer())
        with writer.lock:
            section = writer.section
            try:
                line = section.line(fields, bodies or {}, answer, self._redact)
                self._append(line)
            except BaseException:
                # What the lost line would have explained is unknown to a reader.
                writer.section = _Section()
                raise
            section.size += len(line)
            if section.is_full(self._section_bytes):
                writer.section = _Section()

    def _append(self, line: bytes) -> None:
        with open(self.path, "ab+", buffering=0, opener=_owners_only) as file:
            if self._compresses:
                line = gzip.compress(line)
            elif _is_torn(file):
                line = b"\n" + line
            if file.write(line) != len(line):
                raise OSError(f"{self.path}: a line was written in part only")


def _owners_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _is_torn(file: FileIO) -> bool:
    """Whether the last line of a file has no end."""
    if file.seek(0, os.SEEK_END) == 0:
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


class _Writer:
    """What one process writes; a forked process gets one of its own, with a lock that nobody holds."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.section = _Section()


class _History(NamedTuple):
    """The messages of a body that was written, and the numbers of the parts that hold them."""

    number: int
    messages: Sequence[Any]
    parts: list[int]


class _Section:
    """Lines that share one numbering of parts and histories.

    Attributes:
        size: How many bytes its lines have.
    """

    def __init__(self) -> None:
        self.size = 0
        self._id = uuid4().hex[:16]
        self._numbers: dict[bytes, int] = {}
        self._sizes: list[int] = []
        self._new: dict[int, tuple[str, Any]] = {}
        self._histories = 0
        self._recent: deque[_History] = deque(maxlen=RECENT_HISTORIES)

    def is_full(self, most_bytes: int) -> bool:
        """Whether to begin a new one: it has so many bytes, and little of that would be written again."""
        if self.size < most_bytes:
            return False
        living = {part for known in self._recent for part in known.parts}
        return self.size >= WORTH_A_SECTION * sum(self._sizes[part] for part in living)

    def line(
        self,
        fields: Mapping[str, Any],
        bodies: Mapping[str, Body],
        answer: Mapping[str, Any] | None,
        redact: Redact | None,
    ) -> bytes:
        """One line, with every part that no line before it holds."""
        self._new = {}
        record = {MARK: VERSION, "section": self._id, **fields}
        record |= {name: self._body(body) for name, body in bodies.items()}
        if self._new:
            record["parts"] = {
                str(number): cleaned(part, redact, key=key) for number, (key, part) in self._new.items()
            }
        if answer is not None:
            record["answer"] = cleaned(answer, redact)
        return dumps(record) + b"\n"

    def _body(self, body: Body) -> dict[str, Any]:
        return {
            key: self._history(value, key)
            if key == body.messages_key and isinstance(value, list)
            else self._part(value, key)
            for key, value in body.native.items()
        }

    def _part(self, value: Any, key: str) -> int:
        raw = dumps([key, value])
        digest = hashlib.blake2b(raw, digest_size=16).digest()
        number = self._numbers.setdefault(digest, len(self._sizes))
        if number == len(self._sizes):
            self._sizes.append(len(raw))
            self._new[number] = (key, value)
        return number

    def _history(self, messages: Sequence[Any], key: str) -> dict[str, Any]:
        """A history by what it has in common with an earlier one, and the parts that follow."""
        same, parts = self._begun(messages)
        parts = parts[:same] + [self._part(message, key) for message in messages[same:]]
        base = max(self._recent, key=lambda known: common(known.parts, parts), default=None)
        kept = 0 if base is None else common(base.parts, parts)
        self._histories += 1
        self._recent.append(_History(self._histories, messages, parts))
        entry: dict[str, Any] = {"history": self._histories, "add": parts[kept:]}
        return {**entry, "base": base.number, "keep": kept} if base is not None and kept else entry

    def _begun(self, messages: Sequence[Any]) -> tuple[int, list[int]]:
        """How many messages are the very objects of an earlier history, and the parts of that."""
        most: tuple[int, list[int]] = (0, [])
        for known in reversed(self._recent):
            same = sum(takewhile(bool, map(is_, known.messages, messages)))
            most = max(most, (same, known.parts), key=itemgetter(0))
            if same == len(known.messages):
                break
        return most


def common(left: Sequence[int], right: Sequence[int]) -> int:
    """How many leading items two sequences share."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
