"""What a list of tool definitions costs in every request that carries it. Reads no file, prints nothing."""

from ctxkit.tool_costs.bloat import Bloat, Duplicate
from ctxkit.tool_costs.costs import TASK_REQUESTS, Dollars, ToolCost, ToolsReport, tool_costs
from ctxkit.tool_costs.forms import ToolDefinition, read_tools
from ctxkit.tool_costs.unused import UnusedTool, unused_tools

__all__ = [
    "TASK_REQUESTS",
    "Bloat",
    "Dollars",
    "Duplicate",
    "ToolCost",
    "ToolDefinition",
    "ToolsReport",
    "UnusedTool",
    "read_tools",
    "tool_costs",
    "unused_tools",
]
