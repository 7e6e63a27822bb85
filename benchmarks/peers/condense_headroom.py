"""Condenses texts with headroom's specialists: the compressor that it has for a kind, at its defaults.

The task is `{"texts": [[kind, text, query], ...]}`; the answer `{"texts", "seconds", "versions"}`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import metadata

from headroom.transforms.diff_compressor import DiffCompressor
from headroom.transforms.log_compressor import LogCompressor
from headroom.transforms.search_compressor import SearchCompressor
from headroom.transforms.smart_crusher import SmartCrusher
from headroom.transforms.text_crusher import TextCrusher

Compress = Callable[[str, str], str]


def compressors() -> dict[str, Compress]:
    """The specialist of each kind; prose and code have the same."""
    search, log, crusher = SearchCompressor(), LogCompressor(), SmartCrusher()
    text, diff = TextCrusher(), DiffCompressor()
    lines: Compress = lambda content, query: str(log.compress(content, query).compressed)  # noqa: E731
    rows: Compress = lambda content, query: str(crusher.crush(content, query).compressed)  # noqa: E731
    prose: Compress = lambda content, query: str(text.compress(content, query).compressed)  # noqa: E731
    return {
        "search_hits": lambda content, query: str(search.compress(content, query).compressed),
        "diff": lambda content, query: str(diff.compress(content, query).compressed),
        **dict.fromkeys(("log", "test_output", "traceback", "listing"), lines),
        **dict.fromkeys(("json", "json_rows", "ndjson"), rows),
        **dict.fromkeys(("code", "markdown", "text"), prose),
    }


if __name__ == "__main__":
    task = json.load(sys.stdin)
    made, seconds = [], []
    with redirect_stdout(sys.stderr):
        known = compressors()
        for kind, content, query in task["texts"]:
            started = time.process_time()
            made.append(known[kind](content, query) if kind in known else content)
            seconds.append(time.process_time() - started)
    json.dump(
        {"texts": made, "seconds": seconds, "versions": {"headroom-ai": metadata.version("headroom-ai")}},
        sys.stdout,
    )
