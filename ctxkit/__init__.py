"""Composable middlewares that wrap tool-use loops: they count, cut, cache and bill what a model is sent.

```python
client = ctxkit.wrap(anthropic.Anthropic(), ctxkit.balanced())
with ctxkit.task("fix-bug") as task:
    ...  # the loop as it was
print(task.report())
```
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctxkit.counting import count
    from ctxkit.errors import (
        AttachError,
        BodyError,
        ConfigError,
        CtxkitError,
        FlowError,
        ModelCallFailed,
        SpendLimitReached,
        StreamAborted,
        StreamError,
        TranscriptError,
        UnknownToolError,
    )
    from ctxkit.flow import Flow, Middleware, ModelNext, Perform, ToolNext, compute, done, perform
    from ctxkit.integrations.wrap import wrap
    from ctxkit.keeping import Ledger
    from ctxkit.ledger import Attempt, Decision, EditDecision
    from ctxkit.messages import Block, ModelRequest, ModelResponse, ToolCall, ToolResult
    from ctxkit.middleware.cache_tool_results import CacheToolResults
    from ctxkit.middleware.dedupe_tool_results import DedupeToolResults
    from ctxkit.middleware.fit_window import FitWindow
    from ctxkit.middleware.limit_spend import LimitSpend
    from ctxkit.middleware.place_cache_breakpoints import PlaceCacheBreakpoints
    from ctxkit.middleware.recall_tool_results import RecallToolResults
    from ctxkit.middleware.record_transcript import RecordTranscript
    from ctxkit.middleware.repair_history import RepairHistory
    from ctxkit.middleware.slim_tool_definitions import SlimToolDefinitions
    from ctxkit.middleware.summarize_history import SummarizeHistory
    from ctxkit.middleware.summarize_tool_results import SummarizeToolResults
    from ctxkit.middleware.token_meter import TokenMeter
    from ctxkit.middleware.trim_history import TrimHistory
    from ctxkit.middleware.truncate_tool_results import TruncateToolResults
    from ctxkit.middleware.use_provider_context import UseProviderContext
    from ctxkit.originals import Originals
    from ctxkit.policy import Policy
    from ctxkit.presets import balanced, lossless, observe
    from ctxkit.replay.sweep import sweep
    from ctxkit.reports import Report
    from ctxkit.stack import Stack
    from ctxkit.tasks import Task, current_task, task
    from ctxkit.tokens.calibration_file import keep_calibration
    from ctxkit.tokens.estimate import TokenCount
    from ctxkit.transcripts import Transcript, load
    from ctxkit.usage import Charge, Usage
    from ctxkit.validity import Problem, Repaired, repair, validate

__version__ = "0.1.0"

# Where each public name lives. It is loaded when it is first used, so that a program pays for what it uses.
_HOMES = {
    "AttachError": "ctxkit.errors",
    "Attempt": "ctxkit.ledger",
    "Block": "ctxkit.messages",
    "BodyError": "ctxkit.errors",
    "CacheToolResults": "ctxkit.middleware.cache_tool_results",
    "Charge": "ctxkit.usage",
    "ConfigError": "ctxkit.errors",
    "CtxkitError": "ctxkit.errors",
    "Decision": "ctxkit.ledger",
    "DedupeToolResults": "ctxkit.middleware.dedupe_tool_results",
    "EditDecision": "ctxkit.ledger",
    "FitWindow": "ctxkit.middleware.fit_window",
    "Flow": "ctxkit.flow",
    "FlowError": "ctxkit.errors",
    "Ledger": "ctxkit.keeping",
    "LimitSpend": "ctxkit.middleware.limit_spend",
    "Middleware": "ctxkit.flow",
    "ModelCallFailed": "ctxkit.errors",
    "ModelNext": "ctxkit.flow",
    "ModelRequest": "ctxkit.messages",
    "ModelResponse": "ctxkit.messages",
    "Originals": "ctxkit.originals",
    "Perform": "ctxkit.flow",
    "PlaceCacheBreakpoints": "ctxkit.middleware.place_cache_breakpoints",
    "Policy": "ctxkit.policy",
    "Problem": "ctxkit.validity",
    "RecallToolResults": "ctxkit.middleware.recall_tool_results",
    "RecordTranscript": "ctxkit.middleware.record_transcript",
    "RepairHistory": "ctxkit.middleware.repair_history",
    "Repaired": "ctxkit.validity",
    "Report": "ctxkit.reports",
    "SlimToolDefinitions": "ctxkit.middleware.slim_tool_definitions",
    "SpendLimitReached": "ctxkit.errors",
    "Stack": "ctxkit.stack",
    "StreamAborted": "ctxkit.errors",
    "StreamError": "ctxkit.errors",
    "SummarizeHistory": "ctxkit.middleware.summarize_history",
    "SummarizeToolResults": "ctxkit.middleware.summarize_tool_results",
    "Task": "ctxkit.tasks",
    "TokenCount": "ctxkit.tokens.estimate",
    "TokenMeter": "ctxkit.middleware.token_meter",
    "ToolCall": "ctxkit.messages",
    "ToolNext": "ctxkit.flow",
    "ToolResult": "ctxkit.messages",
    "Transcript": "ctxkit.transcripts",
    "TranscriptError": "ctxkit.errors",
    "TrimHistory": "ctxkit.middleware.trim_history",
    "TruncateToolResults": "ctxkit.middleware.truncate_tool_results",
    "UnknownToolError": "ctxkit.errors",
    "Usage": "ctxkit.usage",
    "UseProviderContext": "ctxkit.middleware.use_provider_context",
    "balanced": "ctxkit.presets",
    "compute": "ctxkit.flow",
    "count": "ctxkit.counting",
    "current_task": "ctxkit.tasks",
    "done": "ctxkit.flow",
    "keep_calibration": "ctxkit.tokens.calibration_file",
    "load": "ctxkit.transcripts",
    "lossless": "ctxkit.presets",
    "observe": "ctxkit.presets",
    "perform": "ctxkit.flow",
    "repair": "ctxkit.validity",
    "sweep": "ctxkit.replay.sweep",
    "task": "ctxkit.tasks",
    "validate": "ctxkit.validity",
    "wrap": "ctxkit.integrations.wrap",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return value
    if name.startswith("_") or find_spec(f"ctxkit.{name}") is None:
        raise AttributeError(f"module 'ctxkit' has no attribute {name!r}")
    return import_module(f"ctxkit.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "AttachError",
    "Attempt",
    "Block",
    "BodyError",
    "CacheToolResults",
    "Charge",
    "ConfigError",
    "CtxkitError",
    "Decision",
    "DedupeToolResults",
    "EditDecision",
    "FitWindow",
    "Flow",
    "FlowError",
    "Ledger",
    "LimitSpend",
    "Middleware",
    "ModelCallFailed",
    "ModelNext",
    "ModelRequest",
    "ModelResponse",
    "Originals",
    "Perform",
    "PlaceCacheBreakpoints",
    "Policy",
    "Problem",
    "RecallToolResults",
    "RecordTranscript",
    "RepairHistory",
    "Repaired",
    "Report",
    "SlimToolDefinitions",
    "SpendLimitReached",
    "Stack",
    "StreamAborted",
    "StreamError",
    "SummarizeHistory",
    "SummarizeToolResults",
    "Task",
    "TokenCount",
    "TokenMeter",
    "ToolCall",
    "ToolNext",
    "ToolResult",
    "Transcript",
    "TranscriptError",
    "TrimHistory",
    "TruncateToolResults",
    "UnknownToolError",
    "Usage",
    "UseProviderContext",
    "balanced",
    "compute",
    "count",
    "current_task",
    "done",
    "keep_calibration",
    "load",
    "lossless",
    "observe",
    "perform",
    "repair",
    "sweep",
    "task",
    "validate",
    "wrap",
]
