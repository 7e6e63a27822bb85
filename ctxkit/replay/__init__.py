"""Recorded runs once more through a stack: what it would have saved, and what would have been lost."""

from ctxkit.replay.edge import RecordedSideCalls, SideCalls, StandIn
from ctxkit.replay.evidence import Dependency
from ctxkit.replay.replay import replay, replay_run
from ctxkit.replay.report import ReplayedRun, ReplayReport

__all__ = [
    "Dependency",
    "RecordedSideCalls",
    "ReplayReport",
    "ReplayedRun",
    "SideCalls",
    "StandIn",
    "replay",
    "replay_run",
]
