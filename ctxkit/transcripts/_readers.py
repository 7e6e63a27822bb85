"""The formats that are known here; imported with the first file, so that `import ctxkit` stays fast."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from ctxkit.transcripts import (
    atif,
    bodies,
    cassettes,
    claude_code,
    claude_stream,
    codex,
    corpus,
    ctxkit_format,
    har,
    inspect_log,
    openai_finetuning,
    otel_spans,
    pairs,
    pi,
)
from ctxkit.transcripts._files import Source
from ctxkit.transcripts.base import Transcript


class Reader(Protocol):
    """What each format's module offers."""

    def detect(self, record: Mapping[str, Any], /) -> bool:
        """Whether a record can only stand in a file of this format."""
        ...

    def read(self, source: Source, /) -> Iterator[Transcript]:
        """The transcripts of a file, as far as they can be read."""
        ...


READERS: tuple[Reader, ...] = (
    ctxkit_format,
    corpus,
    codex,
    claude_code,
    claude_stream,
    pi,
    atif,
    inspect_log,
    otel_spans,
    har,
    cassettes,
    pairs,
    openai_finetuning,
    bodies,
)


def reader_of(record: Mapping[str, Any]) -> Reader | None:
    """The reader of the format that a record shows, `None` where it shows none."""
    return next((reader for reader in READERS if reader.detect(record)), None)
