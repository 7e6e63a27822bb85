"""`RecordTranscript`: writes every attempt to a file that `ctxkit.load` reads back."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any
from uuid import uuid4

from ctxkit.errors import ModelCallFailed, StreamAborted
from ctxkit.flow import Flow, Middleware, ModelNext, ToolNext, perform
from ctxkit.ledger import Outcome, outcome_of
from ctxkit.messages import ModelRequest, ModelResponse, ToolCall, ToolResult
from ctxkit.tasks import current_task, note_fault
from ctxkit.transcripts.recording import Body, Recording


class RecordTranscript(Middleware):
    """Writes every attempt to a file of JSON lines: what was asked, what came back, and what it used.

    Put it innermost: it then records each request as it is sent and as the caller made it, side calls of
    other middlewares included. It writes no header and no key. A fault of the disk or of `redact` costs the
    line and never the call; it is logged once a task.

    Args:
        path: The file, in a folder that exists. Attempts are added to what it holds; threads and processes
            may share it. With the ending `.gz` it is compressed.
        redact: Gives the text that is written instead of one in a request or an answer.
        content: `False` leaves out all that is sent and said, and keeps usage, outcomes and times.
        clock: Gives the time in seconds since the epoch.

    Raises:
        ConfigError: The folder does not exist, or the ending asks for a compression that is not offered.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        redact: Callable[[str], str] | None = None,
        content: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._recording = Recording(path, redact=redact)
        self._content = content
        self._clock = clock

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Record the attempt, however it ends."""
        started = self._clock()
        try:
            response = yield from call_next(request)
        except Exception as error:
            attempt = self._attempt(_sent(error) or request, started, error=error)
            yield from perform(lambda: self._add(**attempt))
            raise
        except BaseException as signal:
            partial = signal.partial if isinstance(signal, StreamAborted) else None
            # A flow that is being left may ask for nothing more.
            self._add(**self._attempt(request, started, response=partial, error=signal))
            raise
        if not response.local:
            attempt = self._attempt(response.request, started, response=response)
            yield from perform(lambda: self._add(**attempt))
        return response

    def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Flow[ToolResult]:
        """Record how long the tool took; what it gave is recorded with the request that sends it."""
        started = self._clock()
        try:
            result = yield from call_next(call)
        except Exception as error:
            run = self._tool_run(call, started, is_error=True, error=type(error).__name__)
            yield from perform(lambda: self._add(run))
            raise
        run = self._tool_run(call, started, is_error=result.is_error, from_cache=result.from_cache)
        yield from perform(lambda: self._add(run))
        return result

    def _attempt(
        self,
        request: ModelRequest,
        started: float,
        *,
        response: ModelResponse | None = None,
        error: BaseException | None = None,
    ) -> dict[str, Any]:
        """The line of an attempt, as `Recording.add` takes it."""
        fields = {
            **self._line("attempt", started),
            "id": uuid4().hex,
            "purpose": request.purpose,
            "wire": request.wire.name,
            "provider": request.provider,
            "url_model": request.url_model,
            "stream": request.stream,
            "retry": request.retry,
            "outcome": _outcome(response, error),
            "status": error.status if isinstance(error, ModelCallFailed) else response and response.status,
            "error": None if error is None else type(error).__name__,
            "model": request.model if response is None else response.model,
            "complete": response is not None and response.complete,
            "stop_reason": response and response.stop_reason,
            "usage": response and response.usage and asdict(response.usage),
        }
        if not self._content:
            return {"fields": fields}
        return {"fields": fields, "bodies": _bodies(request), "answer": response and response.body}

    def _tool_run(self, call: ToolCall, started: float, **ended: Any) -> dict[str, Any]:
        return {**self._line("tool", started), "tool": call.name, "call_id": call.call_id, **ended}

    def _line(self, kind: str, started: float) -> dict[str, Any]:
        """What every line says: where it belongs, and when."""
        task = current_task()
        return {
            "kind": kind,
            "run": task.memory(self, lambda: uuid4().hex[:16]),
            "task": task.path,
            "started": started,
            "seconds": max(0.0, self._clock() - started),
        }

    def _add(self, fields: Mapping[str, Any], **content: Any) -> None:
        try:
            self._recording.add(fields, **content)
        except Exception as error:
            note_fault(f"RecordTranscript: {type(error).__name__}", error, so="an attempt is not recorded")


def _outcome(response: ModelResponse | None, error: BaseException | None) -> Outcome:
    if error is not None and not isinstance(error, StreamAborted):
        return outcome_of(error)
    return "billed" if response is not None and response.complete else "unknown"


def _sent(error: Exception) -> ModelRequest | None:
    """The request that a provider refused, where the error has it."""
    sent = error.request if isinstance(error, ModelCallFailed) else None
    return sent if isinstance(sent, ModelRequest) else None


def _bodies(request: ModelRequest) -> dict[str, Body]:
    """The caller's body, and the one that was sent where it is another."""
    key = request.wire.messages_key
    made = request if request.origin is None else request.origin
    bodies = {"request": Body(made.body, key)}
    return bodies if made is request else {**bodies, "sent": Body(request.body, key)}
