"""Everything ctxkit raises by itself.

What a model's provider, a transport or a tool raises passes through as it is and is never wrapped.

```
Exception
└── CtxkitError
    ├── AttachError        (TypeError)     this middleware or client can't be attached there
    ├── BodyError          (ValueError)    a body is not what its wire says; `.where`
    ├── ConfigError        (ValueError)    a setting is out of range; `.option`
    ├── FlowError          (TypeError)     a middleware's hook is written wrongly
    ├── ModelCallFailed    (RuntimeError)  the provider answered with an error; `.status`, `.body`
    ├── SpendLimitReached  (RuntimeError)  a task would pass its limit; `.spent`, `.limit`, `.unit`
    ├── StreamError        (RuntimeError)  an answer that already went out was replaced
    ├── TranscriptError    (ValueError)    a recorded run can't be read; `.path`, `.line`, `.reason`
    └── UnknownToolError   (LookupError)   the model called a tool nobody offers; `.tool`
BaseException
└── StreamAborted          a signal, no error: the caller hung up; `.partial`
```
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any


class CtxkitError(Exception):
    """The root of every error that ctxkit raises by itself."""


class AttachError(CtxkitError, TypeError):
    """A middleware or a client can't be attached there; the message names the way that works."""


class BodyError(CtxkitError, ValueError):
    """A body is not what its wire says.

    Attributes:
        where: The path into the body, such as `("messages", 3, "content")`.
    """

    def __init__(self, message: str, *, where: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.where = where


class ConfigError(CtxkitError, ValueError):
    """A setting is out of range.

    Attributes:
        option: The name of the argument.
    """

    def __init__(self, message: str, *, option: str) -> None:
        super().__init__(message)
        self.option = option


class FlowError(CtxkitError, TypeError):
    """A middleware's hook is written wrongly, most often without `yield from`."""


class ModelCallFailed(CtxkitError, RuntimeError):
    """The provider answered with an error status.

    It arrives at the `yield from call_next(request)` of a middleware; the caller of a wrapped client
    never sees it, but the SDK's own error for that status.

    Attributes:
        status: The HTTP status.
        body: The parsed JSON body, or `None` where it is not JSON.
        native: The integration's own response object, handed back to the caller as it came.
        request: The `ModelRequest` that was sent.
    """

    def __init__(self, status: int, body: Any, *, native: Any = None, request: Any = None) -> None:
        super().__init__(f"the provider answered {status}")
        self.status = status
        self.body = body
        self.native = native
        self.request = request


class SpendLimitReached(CtxkitError, RuntimeError):
    """A task's next request would pass its limit; the request was not sent.

    Attributes:
        spent: What the task has used so far, in `unit`.
        limit: The limit, in `unit`.
        unit: `requests`, `tokens` or `usd`.
        task: The task's name.
    """

    def __init__(self, *, spent: int | Decimal, limit: int | Decimal, unit: str, task: str) -> None:
        super().__init__(
            f"task {task!r} has used {spent} of {limit} {unit}; the next request was not sent. "
            f"Raise LimitSpend's limit, or end the task."
        )
        self.spent = spent
        self.limit = limit
        self.unit = unit
        self.task = task


class StreamError(CtxkitError, RuntimeError):
    """An answer that already went out to the caller was replaced by a middleware."""


class TranscriptError(CtxkitError, ValueError):
    """A recorded run, or a part of one, can't be read.

    Attributes:
        path: The file.
        line: The line in it, from 1; `None` where the whole file is meant.
        reason: What is wrong, in one sentence.
    """

    def __init__(self, *, path: str, line: int | None, reason: str) -> None:
        super().__init__(f"{path}{'' if line is None else f':{line}'}: {reason}")
        self.path = path
        self.line = line
        self.reason = reason


class UnknownToolError(CtxkitError, LookupError):
    """The model called a tool that nobody offers.

    Attributes:
        tool: The name it used.
    """

    def __init__(self, tool: str, *, known: list[str]) -> None:
        super().__init__(f"unknown tool {tool!r}; known tools: {', '.join(sorted(known)) or 'none'}")
        self.tool = tool


class StreamAborted(BaseException):
    """The caller hung up on a stream, or the provider did: thrown into the flow so that it is booked.

    Attributes:
        partial: The `ModelResponse` built from what arrived, or `None` where nothing did.
    """

    def __init__(self, partial: Any = None) -> None:
        super().__init__("the stream ended before its last event")
        self.partial = partial
