"""`UseProviderContext`: has the provider keep a long history small in its own way."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, get_args

from ctxkit.errors import ConfigError, ModelCallFailed
from ctxkit.flow import Flow, Middleware, ModelNext
from ctxkit.ledger import Decision
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.tasks import current_task, note_fault
from ctxkit.wire.native import text
from ctxkit.wire.provider_context import LEAST_COMPACTED_TOKENS, clearing, compacting, effects

Way = Literal["compact", "clear"]
KEY = "context_management"


class UseProviderContext(Middleware):
    """Has the provider keep a long history small in its own way, where it has one.

    `compact` has it write a summary that stands for what came before, on Anthropic's wire and on that of
    OpenAI's Responses API. `clear` has it leave out the results of old tool calls, on Anthropic's wire only.
    Either is done while the provider reads the request, so the caller's history stays as it is and thinking
    that is bound to it stays valid. The caller's loop has only to send back all that an answer holds.

    Requests that say already how the provider should manage their context pass as they are, and so do those
    of other wires and side calls. Where the provider refuses, the request is sent once more without, and its
    model is not asked again in that task. What the provider says it did is in `task.decisions`; what that
    costs stands in the usage.

    Anthropic needs a beta header, which only the client can send: `compact-2026-01-12` for `compact`,
    `context-management-2025-06-27` for `clear`. Without it every task begins with a refused request, which
    costs nothing but its time.

    Source: the guides to compaction and context editing of both providers, second hand, read on 2026-11-30.

    Args:
        way: `compact` or `clear`.
        start_tokens: It is done where a prompt has more than this.
        keep_tool_uses: With `clear`, so many of the last calls keep their results.
        min_batch_tokens: With `clear`, nothing goes unless at least this much can.
        exempt: With `clear`, the names of tools whose results stay.

    Raises:
        ConfigError: There is no such `way`, or a number is out of range.
    """

    def __init__(
        self,
        *,
        way: Way = "compact",
        start_tokens: int = 150_000,
        keep_tool_uses: int = 3,
        min_batch_tokens: int | None = None,
        exempt: Collection[str] = (),
    ) -> None:
        if way not in get_args(Way):
            raise ConfigError(f"way must be one of {get_args(Way)}, it is {way!r}", option="way")
        least = {
            "start_tokens": (start_tokens, LEAST_COMPACTED_TOKENS if way == "compact" else 0),
            "keep_tool_uses": (keep_tool_uses, 0),
            "min_batch_tokens": (min_batch_tokens or 0, 0),
        }
        for option, (value, lowest) in least.items():
            if value < lowest:
                raise ConfigError(f"{option} must not be below {lowest:,}, it is {value:,}", option=option)
        self.way = way
        self.start_tokens = start_tokens
        self.keep_tool_uses = keep_tool_uses
        self.min_batch_tokens = min_batch_tokens
        self.exempt = (exempt,) if isinstance(exempt, str) else tuple(exempt)

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Ask the provider to do it."""
        asked = self._asked(request.wire.name)
        may_be_asked = request.purpose == "main" and request.editable and KEY not in request.body
        if asked is None or not may_be_asked or request.model in self._refused():
            return call_next(request)
        return self._ask(request.edit(**{KEY: asked}), request, call_next)

    def _ask(self, made: ModelRequest, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        by = type(self).__name__
        try:
            response = yield from call_next(made)
        except ModelCallFailed as error:
            if error.status != 400 or KEY not in text(error.body):
                raise
            note_fault(f"{by}: the provider refused {KEY}", error, so="the request goes out without it")
            self._refused().add(request.model)
            return (yield from call_next(request))
        for effect in effects(response.body):
            current_task().decide(Decision(by, "replaced", "history", (), None, None, effect))
        return response

    def _refused(self) -> set[str | None]:
        """The models that are not asked again in the running task."""
        return current_task().memory(self, set)

    def _asked(self, wire: str) -> Any:
        if self.way == "compact":
            return compacting(wire, start_tokens=self.start_tokens)
        return clearing(
            wire,
            start_tokens=self.start_tokens,
            keep_tool_uses=self.keep_tool_uses,
            min_batch_tokens=self.min_batch_tokens,
            exempt=self.exempt,
        )
