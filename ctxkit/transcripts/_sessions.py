"""Where coding agents keep their session files on this machine."""

from __future__ import annotations

import os
from pathlib import Path


def find_session_files() -> list[Path]:
    """The session files of Claude Code and Codex, which `load` reads.

    `CLAUDE_CONFIG_DIR` and `CODEX_HOME` are honoured, as those clients do.
    """
    claude = _home("CLAUDE_CONFIG_DIR", ".claude") / "projects"
    codex = _home("CODEX_HOME", ".codex") / "sessions"
    return sorted([*claude.rglob("*.jsonl"), *codex.rglob("rollout-*.jsonl")])


def _home(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / default)
