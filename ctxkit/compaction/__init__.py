"""What stands for the old part of a history: where it is cut, what is said, and whether that pays.

Pure functions of the history, the prices and the settings; who asks the model is `SummarizeHistory`.
"""

from ctxkit.compaction.asking import summary_call, summary_in
from ctxkit.compaction.compaction import Compaction, compacted, first_block
from ctxkit.compaction.facts import exact_facts
from ctxkit.compaction.places import Places, is_models
from ctxkit.compaction.proposals import Proposal, proposal, size
from ctxkit.compaction.weighing import output_multiple, weigh_summary
from ctxkit.compaction.words import INSTRUCTIONS, instruction, summary_text

__all__ = [
    "INSTRUCTIONS",
    "Compaction",
    "Places",
    "Proposal",
    "compacted",
    "exact_facts",
    "first_block",
    "instruction",
    "is_models",
    "output_multiple",
    "proposal",
    "size",
    "summary_call",
    "summary_in",
    "summary_text",
    "weigh_summary",
]
