"""What is booked: attempts to call a model, and what they add up to."""

from ctxkit.ledger.attempts import Attempt, Outcome, miss_reason_of, outcome_of
from ctxkit.ledger.attribution import UNRECORDED, attribute
from ctxkit.ledger.block_costs import BlockCost, block_costs
from ctxkit.ledger.compare import Before, closest, compare, placed, standing_of
from ctxkit.ledger.decisions import Decision, EditDecision
from ctxkit.ledger.reuse import Reuse
from ctxkit.ledger.sent import Change, Placed, Sent
from ctxkit.ledger.totals import NO_TOOL, Line, Totals, usd

__all__ = [
    "NO_TOOL",
    "UNRECORDED",
    "Attempt",
    "Before",
    "BlockCost",
    "Change",
    "Decision",
    "EditDecision",
    "Line",
    "Outcome",
    "Placed",
    "Reuse",
    "Sent",
    "Totals",
    "attribute",
    "block_costs",
    "closest",
    "compare",
    "miss_reason_of",
    "outcome_of",
    "placed",
    "standing_of",
    "usd",
]
