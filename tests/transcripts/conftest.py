"""What the tests of the readers share: writing small files, and finding the shared data."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxkit.transcripts import Skipped, Transcript, load

SHARED_DATA = Path(__file__).parents[3] / "shared" / "data"
Read = Callable[..., tuple[list[Transcript], list[Skipped]]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write records (or bytes, as they are) as lines of one file, and load it."""

    def write_and_read(*lines: Any, name: str = "log.jsonl") -> tuple[list[Transcript], list[Skipped]]:
        raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
        (tmp_path / name).write_bytes(b"\n".join(raw))
        skipped: list[Skipped] = []
        return list(load(tmp_path / name, on_skip=skipped.append)), skipped

    return write_and_read


@pytest.fixture
def shared_data() -> Path:
    """The folder of shared recordings, which not every machine has."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the shared data is not here")
    return SHARED_DATA


@pytest.fixture
def raw_lines() -> Callable[[Path], Iterator[Any]]:
    """Every JSON value of a compressed file of lines, read without ctxkit; what is no JSON is left out."""

    def values(path: Path) -> Iterator[Any]:
        with gzip.open(path) as lines:
            for line in lines:
                try:
                    yield json.loads(line)
                except ValueError:
                    continue

    return values
