"""A progress bar on standard error, where that is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def progress_bar(label: str, *, total_bytes: int) -> Iterator[Callable[[int], None]]:
    """Show how much of the input is read, for as long as the block runs; nothing stays behind.

    Args:
        label: What is being done.
        total_bytes: How large the input is.

    Returns:
        A function to call with the number of bytes read so far.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(label, total=total_bytes)
        yield lambda done: progress.update(task, completed=done)
