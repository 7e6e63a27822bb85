"""What every worker does: it reads a task from standard input, times a counter on it, and answers.

A worker runs in the environment of its peer, so nothing here needs more than the standard library.
The task is `{"counter", "messages", "lengths"}`: how many of the messages are sent, turn by turn.
The answer is `{"versions", "seconds", "tokens"}`: the CPU time of each of these turns, and the last count.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout, suppress
from importlib import metadata
from typing import Any

Message = dict[str, Any]


class Counter:
    """Counts the requests of one loop, as a user of its library would.

    Args:
        messages: The messages of the whole loop.
    """

    def __init__(self, messages: list[Message]) -> None:
        self.messages = messages

    def request(self, length: int) -> Any:
        """What a user has at hand when so many messages are sent; the time it takes is not counted."""
        return self.messages[:length]

    def count(self, request: Any) -> int:
        """The tokens of that request."""
        raise NotImplementedError


def work(counters: Mapping[str, type[Counter]], *, packages: Iterable[str]) -> None:
    """Do the task on standard input.

    Args:
        counters: The classes that a task may name.
        packages: The distributions whose versions the answer gives, where they are installed.
    """
    task = json.load(sys.stdin)
    with redirect_stdout(sys.stderr):
        counter = counters[task["counter"]](task["messages"])
        counter.count(counter.request(1))  # loads the tokenizer
        seconds, tokens = [], 0
        for length in task["lengths"]:
            request = counter.request(length)
            started = time.process_time()
            tokens = counter.count(request)
            seconds.append(time.process_time() - started)
    json.dump({"versions": _versions(packages), "seconds": seconds, "tokens": tokens}, sys.stdout)


def _versions(packages: Iterable[str]) -> dict[str, str]:
    versions = {}
    for package in packages:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions
