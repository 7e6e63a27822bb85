"""`TruncateToolResults`: keeps what matters of a large tool result."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from ctxkit.condense import CALL_AGAIN, MIN_TOKENS, condense
from ctxkit.condense.asked import SAID_CHARS, Asked
from ctxkit.condense.base import plain
from ctxkit.edits import edited
from ctxkit.errors import ConfigError
from ctxkit.flow import Flow, Middleware, ModelNext, ToolNext, compute
from ctxkit.messages import Block, ModelRequest, ModelResponse, ToolCall, ToolResult, Turn
from ctxkit.originals import RECALL_TOOL, Originals
from ctxkit.tokens import BlockCounter, Counter, block_counter_for, counter_for
from ctxkit.tokens.blocks import COUNTED_CHARS
from ctxkit.tokens.shape import new_chars
from ctxkit.wire.native import text_parts, with_text


@dataclass(slots=True)
class _Cuts:
    """The results of a turn that are cut and what stands for them, after those of the turns before it."""

    before: _Cuts | None
    texts: Mapping[Block, str]
    kept: bool = False

    def newest_first(self) -> Iterator[_Cuts]:
        """These and those before them."""
        cuts: _Cuts | None = self
        while cuts is not None:
            yield cuts
            cuts = cuts.before


_State = tuple[_Cuts | None, Asked]


class TruncateToolResults(Middleware):
    """Makes every large tool result short, by what kind of content it is, and keeps what matters of it.

    Around a tool it cuts the text before the loop sees it. Around a model it cuts the results in the
    request and leaves the caller's history whole: a result is cut when it is first sent and to the same
    bytes ever after, so the prompt cache is never disturbed. What the model said with the call, the call's
    arguments and the user's last words before it tell what to keep first. What is no text passes as it is.

    Args:
        max_tokens: The most that a result may have, in tokens of the model's encoding.
        per_tool: Other limits by tool name; `*` and `?` match as in file names.
        exempt: Tools whose results are never cut; patterns as in `per_tool`.
        originals: Where the whole results are kept, for the model to read on. The notes tell it how where a
            tool for that stands in the request (`RecallToolResults`), and else to call the tool again.

    Raises:
        ConfigError: A limit is below 100 tokens, too few to say what was left out.
    """

    def __init__(
        self,
        *,
        max_tokens: int = 4_000,
        per_tool: Mapping[str, int] | None = None,
        exempt: Collection[str] = (),
        originals: Originals | None = None,
    ) -> None:
        self.max_tokens = max_tokens
        self.per_tool = dict(per_tool or {})
        self.exempt = (exempt,) if isinstance(exempt, str) else tuple(exempt)
        self.originals = originals
        for option, limit in {"max_tokens": max_tokens, **self.per_tool}.items():
            if limit < MIN_TOKENS:
                raise ConfigError(f"{option} must be at least {MIN_TOKENS}, it is {limit}", option=option)
        # A tool is told no model: its results go to the one that was asked last.
        self._model: str | None = None
        self._key = (type(self).__name__, max_tokens, tuple(self.per_tool.items()), self.exempt)

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Cut the results in the request."""
        self._model = request.model
        counter = block_counter_for(request.model, request.wire.name)
        originals = self.originals if self.originals and self.originals.readable_in(request) else None
        key = (*self._key, counter.name, originals)
        cuts = yield from compute(
            lambda: self._cuts(request, key, counter, originals), size=new_chars(request, key)
        )
        texts: dict[Block, str] = {}
        for cut in cuts.newest_first() if cuts else ():
            texts.update(cut.texts)
            if originals and not cut.kept:
                for block in cut.texts:
                    yield from originals.keep(block.text)
                cut.kept = True
        reason = "it was longer than its limit when it came in"
        return (yield from call_next(edited(request, texts, by=type(self).__name__, reason=reason)))

    def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Flow[ToolResult]:
        """Cut the result of the tool."""
        result = yield from call_next(call)
        limit, content = self.limit(call.name), result.content
        text = None if limit is None else _text(content)
        if limit is None or text is None:
            return result
        originals = self.originals if self.originals and self.originals.recallable else None
        words = [value[:SAID_CHARS] for value in call.input.values() if isinstance(value, str)]
        query, counter = "\n".join(words), counter_for(self._model)
        short = yield from compute(lambda: _shortened(text, limit, query, counter, originals), size=len(text))
        if short == text:
            short = plain(text)
        elif originals:
            yield from originals.keep(text)
        return result if short == text else replace(result, content=with_text(content, short))

    def limit(self, tool: str | None) -> int | None:
        """The limit for a tool; `None` where it is exempt."""
        name = tool or ""
        if name == RECALL_TOOL or any(fnmatchcase(name, pattern) for pattern in self.exempt):
            return None
        matching = (limit for pattern, limit in self.per_tool.items() if fnmatchcase(name, pattern))
        return next(matching, self.max_tokens)

    def _cuts(
        self, request: ModelRequest, key: Hashable, counter: BlockCounter, originals: Originals | None
    ) -> _Cuts | None:
        def step(before: _State, turn: Turn) -> _State:
            cuts, asked = before
            texts = self._cut_turn(turn, asked, counter, request.model, originals)
            return (_Cuts(cuts, texts) if texts else cuts), asked.after(turn)

        start: _State = (None, Asked())
        return request.fold(key, lambda head: start, step)[0]

    def _cut_turn(
        self,
        turn: Turn,
        asked: Asked,
        counter: BlockCounter,
        model: str | None,
        originals: Originals | None,
    ) -> dict[Block, str]:
        """The results of a turn that are cut, and what stands for them."""
        cut = {}
        for block in turn.blocks:
            limit = self.limit(block.tool) if block.kind == "tool_result" and block.client else None
            if limit is None:
                continue
            # A longer text is only estimated.
            if len(block.text) > COUNTED_CHARS or counter.count_said(block) > limit:
                query = asked.query(block.call_id)
                text = _shortened(block.text, limit, query, counter_for(model), originals)
                if text != block.text:
                    cut[block] = text
        return cut


def _shortened(text: str, limit: int, query: str, counter: Counter, originals: Originals | None) -> str:
    """What stands for a text that may be too long."""
    how = originals.how(originals.handle(text)) if originals else CALL_AGAIN
    return condense(text, max_tokens=limit, query=query, counter=counter, how=how).text


def _text(content: Any) -> str | None:
    """The text of a tool's return value: of a string, or of content parts; `None` where it is neither."""
    if isinstance(content, str):
        return content
    return text_parts(content) if isinstance(content, list) and all(map(_is_part, content)) else None


def _is_part(value: Any) -> bool:
    """Whether it is a content part, and no record of the tool's own that has a text, too."""
    if not isinstance(value, Mapping) or "type" not in value:
        return False
    return "text" not in value or str(value["type"]).endswith("text")
