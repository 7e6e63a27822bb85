"""Stores asked directly, in either colour."""

from __future__ import annotations

import asyncio
from typing import Any

from ctxkit.drive import run, run_async
from ctxkit.testing import ScriptedModel


class Asked:
    """A store whose methods give their outcome: blocking, or on an event loop."""

    def __init__(self, store: Any, runner: asyncio.Runner | None) -> None:
        self.store = store
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        def ask(*given: Any, **options: Any) -> Any:
            flow, edge = getattr(self.store, name)(*given, **options), ScriptedModel([])
            if self._runner is None:
                return run(flow, edge)
            return self._runner.run(run_async(flow, edge.awaiting))

        return ask

    def close(self) -> None:
        """Let go of files and connections."""
        if self._runner is not None and hasattr(self.store, "aclose"):
            self._runner.run(self.store.aclose())
        if hasattr(self.store, "close"):
            self.store.close()
