"""Writes JSON as TOON, which loses nothing.

The task is `{"texts": [...]}`, the answer `{"texts", "seconds"}`.
What is no JSON, or can't be written so, comes back as it was.
"""

from __future__ import annotations

import json
import sys
import time

import toons


def written(text: str) -> str:
    """A JSON text as TOON."""
    try:
        return str(toons.dumps(json.loads(text)))
    except ValueError:
        return text


if __name__ == "__main__":
    task = json.load(sys.stdin)
    made, seconds = [], []
    for content in task["texts"]:
        started = time.process_time()
        made.append(written(content))
        seconds.append(time.process_time() - started)
    json.dump({"texts": made, "seconds": seconds}, sys.stdout)
