"""What a provider makes of a request that asks it to keep the history small, as far as that can be known.

Clearing is what its guide says. A compaction writes a summary that nobody can know: a filler of a stated
length stands for it from the next request on, and what it costs to write is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ctxkit.messages import Block, ModelRequest
from ctxkit.tokens import block_counter_for, counter_for, shape_of
from ctxkit.wire.provider_context import CLEAR, COMPACT, RESPONSES
from ctxkit.wire.usage_fields import known, mapping

CLEARED = "[cleared by the provider]"
SUMMARY_TOKENS = 300
# Nothing that a run could need.
FILLER = " word"


class ProviderEdits:
    """Edits the requests of one run as the provider would, one after the other."""

    def __init__(self) -> None:
        self._context = 0
        self._compacted = 0

    def enter(self, context: int) -> None:
        """Take the requests of a context; the client begins each of them anew."""
        if context != self._context:
            self._context, self._compacted = context, 0

    def read(self, request: ModelRequest) -> ModelRequest:
        """The request as the model reads it; the request itself where the provider is asked for nothing."""
        for edit in _asked(request):
            if edit.get("type") == CLEAR:
                request = _cleared(request, edit)
            else:
                request = self._summarised(request, edit)
        return request

    def _summarised(self, request: ModelRequest, edit: Mapping[str, Any]) -> ModelRequest:
        messages = list(request.wire.messages(request.body))
        if 0 < self._compacted < len(messages):
            summary = {"role": "assistant", "content": (FILLER * SUMMARY_TOKENS).strip()}
            request = request.with_messages([summary, *messages[self._compacted :]])
        trigger = known(edit.get("compact_threshold")) or _tokens(edit, "trigger")
        if trigger is not None and _size(request) > trigger:
            self._compacted = len(messages)
        return request


def _asked(request: ModelRequest) -> Iterator[Mapping[str, Any]]:
    """What the provider is asked to do, where it is known here."""
    asked = request.body.get("context_management")
    edits = asked if request.wire.name == RESPONSES else mapping(asked).get("edits")
    for edit in edits if isinstance(edits, list) else ():
        if mapping(edit).get("type") in (CLEAR, COMPACT, "compaction"):
            yield edit


def _cleared(request: ModelRequest, edit: Mapping[str, Any]) -> ModelRequest:
    trigger, least = _tokens(edit, "trigger"), _tokens(edit, "clear_at_least")
    if trigger is None or _size(request) <= trigger:
        return request
    kept = known(mapping(edit.get("keep")).get("value"))
    excluded = edit.get("exclude_tools")
    results = [block for block in request.tool_results() if block.tool not in (excluded or ())]
    old = results[: len(results) - (3 if kept is None else kept)]
    if least is not None and _saved(request, old) < least:
        return request
    return request.with_result_texts(dict.fromkeys(old, CLEARED))


def _saved(request: ModelRequest, blocks: Iterable[Block]) -> int:
    counter = block_counter_for(request.model, request.wire.name)
    stub = counter_for(request.model).count(CLEARED)
    return sum(max(0, counter.count(block) - stub) for block in blocks)


def _size(request: ModelRequest) -> int:
    return shape_of(request, block_counter_for(request.model, request.wire.name)).total


def _tokens(edit: Mapping[str, Any], key: str) -> int | None:
    return known(mapping(edit.get(key)).get("value"))
