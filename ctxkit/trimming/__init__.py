"""What of an old history is cleared, and when: pure functions of the history, the prices and the settings."""

from ctxkit.trimming.candidates import Candidate
from ctxkit.trimming.fold import Fold, FoldKey, State
from ctxkit.trimming.schedule import Costs, Schedule
from ctxkit.trimming.settings import Settings

__all__ = ["Candidate", "Costs", "Fold", "FoldKey", "Schedule", "Settings", "State"]
