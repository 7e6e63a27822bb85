"""One file, or standard input, that a command reads as a whole."""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from ctxkit.errors import BodyError
from ctxkit.wire.native import loads

STANDARD_INPUT = "-"
GZIP_MAGIC = b"\x1f\x8b"


def read_input(source: str) -> bytes:
    """What stands in a file, also a compressed one, or `-` for standard input.

    Raises:
        TyperException: It can't be read.
    """
    try:
        data = sys.stdin.buffer.read() if source == STANDARD_INPUT else Path(source).read_bytes()
        return gzip.decompress(data) if data.startswith(GZIP_MAGIC) else data
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise typer.TyperException(f"{source}: can't be read: {reason}") from None


def read_json(source: str) -> Any:
    """The JSON that stands in a file, or `-` for standard input.

    Raises:
        TyperException: It can't be read, or is no JSON; the message says where.
    """
    data = read_input(source)
    try:
        return loads(data)
    except BodyError as error:
        raise typer.TyperException(f"{source}{_line(data)}: {error}") from None


def _line(data: bytes) -> str:
    """The line at which something stops to be JSON, as places are written; nothing where that is unclear."""
    try:
        json.loads(data)
    except json.JSONDecodeError as error:
        return f":{error.lineno}"
    except (ValueError, RecursionError):
        pass
    return ""


@contextmanager
def as_file(source: str, data: bytes) -> Iterator[Path]:
    """A path at which the data can be read: the source itself, or a copy of standard input for a while."""
    if source != STANDARD_INPUT:
        yield Path(source)
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, "input")
        path.write_bytes(data)
        yield path
