"""What is booked: attempts to call a model, and what they add up to."""

from ctxkit.ledger.attempts import Attempt, Outcome, outcome_of
from ctxkit.ledger.attribution import UNRECORDED, attribute
from ctxkit.ledger.decisions import Decision
from ctxkit.ledger.totals import NO_TOOL, Line, Totals, usd

__all__ = [
    "NO_TOOL",
    "UNRECORDED",
    "Attempt",
    "Decision",
    "Line",
    "Outcome",
    "Totals",
    "attribute",
    "outcome_of",
    "usd",
]
