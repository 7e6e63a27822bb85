"""Runs a worker in the environment of its peer: JSON in, JSON out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[1]
ENVIRONMENTS = BENCHMARKS.parent / ".peers"


def ask(worker: str, task: Any, *, peer: str | None = None, vocabularies: Path | None = None) -> Any:
    """What a worker answers to a task.

    Args:
        worker: A module of this folder.
        task: Anything that JSON holds.
        peer: The environment it runs in; by default this very one.
        vocabularies: Where it finds the files that tiktoken would download.
    """
    python = sys.executable if peer is None else str(ENVIRONMENTS / peer / "bin" / "python")
    if not Path(python).exists():
        sys.exit(f"there is no environment for {peer}: run `make peers`")
    offline = {} if vocabularies is None else {"TIKTOKEN_CACHE_DIR": str(vocabularies)}
    done = subprocess.run(
        [python, "-m", f"peers.{worker}"],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        cwd=BENCHMARKS,
        env={**os.environ, "DO_NOT_TRACK": "1", **offline},
    )
    if done.returncode:
        sys.exit(f"{worker} failed:\n{done.stderr}")
    return json.loads(done.stdout)
