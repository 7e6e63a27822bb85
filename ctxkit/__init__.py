"""Composable middlewares that wrap tool-use loops: they count, cut, cache and bill what a model is sent.

```python
client = ctxkit.wrap(anthropic.Anthropic(), ctxkit.balanced())
with ctxkit.task("fix-bug") as task:
    ...  # the loop as it was
print(task.report())
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
from ctxkit.ledger import Attempt, Decision
from ctxkit.messages import Block, ModelRequest, ModelResponse, ToolCall, ToolResult
from ctxkit.middleware import (
    CacheToolResults,
    LimitSpend,
    RepairHistory,
    TokenMeter,
    TrimHistory,
    TruncateToolResults,
)
from ctxkit.presets import balanced, observe
from ctxkit.reports import Report
from ctxkit.stack import Stack
from ctxkit.tasks import Task, current_task, task
from ctxkit.usage import Charge, Usage

if TYPE_CHECKING:
    from ctxkit.transcripts import Transcript, load
    from ctxkit.validity import Problem, Repaired, repair, validate

__version__ = "0.1.0"

# Loaded when first used, so that wrapping a loop does not pay for reading recorded runs or judging bodies.
_LATER = {
    "Problem": "ctxkit.validity",
    "Repaired": "ctxkit.validity",
    "Transcript": "ctxkit.transcripts",
    "load": "ctxkit.transcripts",
    "repair": "ctxkit.validity",
    "validate": "ctxkit.validity",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'ctxkit' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


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
    "Flow",
    "FlowError",
    "LimitSpend",
    "Middleware",
    "ModelCallFailed",
    "ModelNext",
    "ModelRequest",
    "ModelResponse",
    "Perform",
    "Problem",
    "RepairHistory",
    "Repaired",
    "Report",
    "SpendLimitReached",
    "Stack",
    "StreamAborted",
    "StreamError",
    "Task",
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
    "balanced",
    "compute",
    "current_task",
    "done",
    "load",
    "observe",
    "perform",
    "repair",
    "task",
    "validate",
    "wrap",
]
