"""A progress bar on standard error, where that is a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn


class Advance(Protocol):
    """Moves a bar."""

    def __call__(self, done_bytes: int, label: str) -> None:
        """Show that so much of the input is read, and a word about it."""
        ...


@contextmanager
def progress_bar(*, total_bytes: int) -> Iterator[Advance]:
    """Show how much of the input is read, for as long as the block runs; nothing of it stays behind.

    Args:
        total_bytes: How large the input is.

    Returns:
        What moves the bar.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("reading", total=total_bytes)

        def advance(done_bytes: int, label: str) -> None:
            progress.update(task, completed=done_bytes, description=label)

        yield advance
