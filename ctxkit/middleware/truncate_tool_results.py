"""`TruncateToolResults`: keeps what matters of a large tool result."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from ctxkit.condense import MIN_TOKENS, truncate
from ctxkit.edits import edited
from ctxkit.errors import ConfigError
from ctxkit.flow import Flow, Middleware, ModelNext, ToolNext, compute
from ctxkit.messages import Block, ModelRequest, ModelResponse, ToolCall, ToolResult, Turn
from ctxkit.tokens import BlockCounter, Counter, block_counter_for, counter_for
from ctxkit.tokens.blocks import COUNTED_CHARS
from ctxkit.tokens.shape import uncounted_chars
from ctxkit.wire.native import text_parts, with_text

# The cuts of a history, the last turn's first.
_Cuts = tuple["_Cuts | None", Mapping[Block, str]]


class TruncateToolResults(Middleware):
    """Keeps the start, the end and the lines that look like errors of every large tool result.

    Around a tool it cuts the text before the loop sees it. Around a model it cuts the results in the
    request and leaves the caller's history whole: a result is cut when it is first sent and to the same
    bytes ever after, so the prompt cache is never disturbed. What is no text passes as it is.

    Args:
        max_tokens: The most that a result may have, in tokens of the model's encoding.
        per_tool: Other limits by tool name; `*` and `?` match as in file names.
        exempt: Tools whose results are never cut; patterns as in `per_tool`.

    Raises:
        ConfigError: A limit is below 100 tokens, too few to say what was left out.
    """

    def __init__(
        self,
        *,
        max_tokens: int = 4_000,
        per_tool: Mapping[str, int] | None = None,
        exempt: Collection[str] = (),
    ) -> None:
        self.max_tokens = max_tokens
        self.per_tool = dict(per_tool or {})
        self.exempt = (exempt,) if isinstance(exempt, str) else tuple(exempt)
        for option, limit in {"max_tokens": max_tokens, **self.per_tool}.items():
            if limit < MIN_TOKENS:
                raise ConfigError(f"{option} must be at least {MIN_TOKENS}, it is {limit}", option=option)
        self._key = (type(self).__name__, max_tokens, tuple(self.per_tool.items()), self.exempt)

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Cut the results in the request."""
        counter = block_counter_for(request.model, request.wire.name)
        key = (*self._key, counter.name)
        chars = uncounted_chars(request, counter)
        state = yield from compute(lambda: self._cuts(request, key, counter), size=chars)
        texts: dict[Block, str] = {}
        while state is not None:
            state, cut = state
            texts.update(cut)
        reason = "it was longer than its limit when it came in"
        return (yield from call_next(edited(request, texts, by=type(self).__name__, reason=reason)))

    def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Flow[ToolResult]:
        """Cut the result of the tool."""
        result = yield from call_next(call)
        limit = self.limit(call.name)
        if limit is None:
            return result
        content = result.content
        cut = yield from compute(
            lambda: _cut_content(content, limit, counter_for(None)), size=_chars(content)
        )
        return replace(result, content=cut)

    def limit(self, tool: str | None) -> int | None:
        """The limit for a tool; `None` where it is exempt."""
        name = tool or ""
        if any(fnmatchcase(name, pattern) for pattern in self.exempt):
            return None
        matching = (limit for pattern, limit in self.per_tool.items() if fnmatchcase(name, pattern))
        return next(matching, self.max_tokens)

    def _cuts(self, request: ModelRequest, key: Hashable, counter: BlockCounter) -> _Cuts | None:
        return request.fold(
            key, lambda head: None, lambda before, turn: self._step(before, turn, counter, request.model)
        )

    def _step(
        self, before: _Cuts | None, turn: Turn, counter: BlockCounter, model: str | None
    ) -> _Cuts | None:
        cut = self._cut_turn(turn, counter, model)
        return (before, cut) if cut else before

    def _cut_turn(self, turn: Turn, counter: BlockCounter, model: str | None) -> dict[Block, str]:
        """The results of a turn that are cut, and what stands for them."""
        cut = {}
        for block in turn.blocks:
            limit = self.limit(block.tool) if block.kind == "tool_result" and block.client else None
            if limit is None:
                continue
            # A longer text is only estimated.
            if len(block.text) > COUNTED_CHARS or counter.count_said(block) > limit:
                text = truncate(block.text, max_tokens=limit, counter=counter_for(model))
                if text != block.text:
                    cut[block] = text
        return cut


def _cut_content(content: Any, limit: int, counter: Counter) -> Any:
    """A tool's return value, cut where it is a text or a list of content parts with texts in it."""
    if isinstance(content, str):
        return truncate(content, max_tokens=limit, counter=counter)
    if isinstance(content, list) and all(map(_is_part, content)):
        text = text_parts(content)
        cut = truncate(text, max_tokens=limit, counter=counter)
        return content if cut == text else with_text(content, cut)
    return content


def _chars(content: Any) -> int:
    """How much text a tool's return value has that may be cut."""
    if isinstance(content, str):
        return len(content)
    return len(text_parts(content)) if isinstance(content, list) else 0


def _is_part(value: Any) -> bool:
    """Whether it is a content part, and no record of the tool's own that has a text, too."""
    if not isinstance(value, Mapping) or "type" not in value:
        return False
    return "text" not in value or str(value["type"]).endswith("text")
