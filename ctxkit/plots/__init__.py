"""Reports, replays and break-evens as static pictures for notebooks; needs the extra `plots`.

Each function takes ctxkit's own objects and gives back a matplotlib `Figure`. Nothing is shown or saved here.
"""

from ctxkit.plots.context import context_timeline
from ctxkit.plots.costs import cost_flame
from ctxkit.plots.made_up import made_up_run
from ctxkit.plots.paying import break_even
from ctxkit.plots.replays import pareto, sensitivity, spending

__all__ = ["break_even", "context_timeline", "cost_flame", "made_up_run", "pareto", "sensitivity", "spending"]
