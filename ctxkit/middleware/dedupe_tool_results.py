"""`DedupeToolResults`: says a large result once, and points to it where it comes again."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ctxkit.condense.base import NOTE, plain
from ctxkit.edits import edited
from ctxkit.errors import ConfigError
from ctxkit.flow import Flow, Middleware, ModelNext, compute
from ctxkit.messages import Block, ModelRequest, ModelResponse, Turn
from ctxkit.tokens import BlockCounter, block_counter_for, counter_for
from ctxkit.tokens.shape import new_chars
from ctxkit.wire.native import call_of

SHOWN_ARGUMENTS = 120
NO_ARGUMENTS = ("", "{}")


@dataclass(frozen=True, slots=True)
class _First:
    """A result that is shown whole: the number of its call, from 1, and the call."""

    number: int
    call: Block | None


_Said = tuple[str, bool]
_Layers = tuple[Mapping[_Said, _First], ...]


@dataclass(frozen=True, slots=True)
class _State:
    """After a turn: how many results there are, those shown whole, and the chain of references."""

    results: int = 0
    whole: _Layers = ()
    references: _References | None = None


@dataclass(frozen=True, slots=True)
class _References:
    before: _References | None
    texts: Mapping[Block, str]


class DedupeToolResults(Middleware):
    """Replaces a result that is identical to an earlier one in the request by a short reference to it.

    Nothing is lost: the earlier result is whole in the same request. Where it is not any more, as another
    middleware or the caller cleared or shortened it, the later one is shown in full again. A reference is a
    pure function of the history, so a later request sends the same bytes.

    It must see the request as it goes out: in a stack it stands behind what clears or shortens results.

    Args:
        min_tokens: Only results of more tokens than this are replaced, and only where it makes them shorter.
        exempt: Tools whose results are always shown; `*` and `?` match as in file names.

    Raises:
        ConfigError: `min_tokens` is below zero.
    """

    def __init__(self, *, min_tokens: int = 100, exempt: Collection[str] = ()) -> None:
        if min_tokens < 0:
            raise ConfigError(f"min_tokens must not be below zero, it is {min_tokens}", option="min_tokens")
        self.min_tokens = min_tokens
        self.exempt = (exempt,) if isinstance(exempt, str) else tuple(exempt)

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Point to earlier results in the request."""
        counter = block_counter_for(request.model, request.wire.name)
        key = (type(self).__name__, self.min_tokens, self.exempt, counter.name)
        references = yield from compute(
            lambda: self._references(request, key, counter), size=new_chars(request, key)
        )
        texts: dict[Block, str] = {}
        while references is not None:
            texts.update(references.texts)
            references = references.before
        reason = "an earlier result is the same, and is shown whole"
        return (yield from call_next(edited(request, texts, by=type(self).__name__, reason=reason)))

    def _references(self, request: ModelRequest, key: Hashable, counter: BlockCounter) -> _References | None:
        def step(before: _State, turn: Turn) -> _State:
            return self._step(before, turn, counter, request.model)

        return request.fold(key, lambda head: _State(), step).references

    def _step(self, before: _State, turn: Turn, counter: BlockCounter, model: str | None) -> _State:
        new: dict[_Said, _First] = {}
        texts: dict[Block, str] = {}
        number = before.results
        for block in turn.blocks:
            if block.kind != "tool_result":
                continue
            number += 1
            if not self._may_be_replaced(block):
                continue
            said = (block.text, block.is_error)
            first = new.get(said) or _find(before.whole, said)
            if first is None:
                new[said] = _First(number, call_of(turn.parent, block.call_id, turn.blocks))
                continue
            reference = _reference(first)
            least = max(self.min_tokens, counter_for(model).count(reference))
            if counter.count_said(block) > least:
                texts[block] = reference
        whole = _with(before.whole, new) if new else before.whole
        references = _References(before.references, texts) if texts else before.references
        return _State(number, whole, references)

    def _may_be_replaced(self, block: Block) -> bool:
        if not block.client or block.images or not block.text:
            return False
        return not any(fnmatchcase(block.tool or "", pattern) for pattern in self.exempt)


def _find(layers: _Layers, said: _Said) -> _First | None:
    return next((layer[said] for layer in layers if said in layer), None)


def _with(layers: _Layers, new: Mapping[_Said, _First]) -> _Layers:
    """The layers with one more. Small ones are merged, so that there are few, and none is ever changed."""
    while layers and len(layers[-1]) <= len(new):
        new = {**layers[-1], **new}
        layers = layers[:-1]
    return (*layers, new)


def _reference(first: _First) -> str:
    tool = (first.call.tool if first.call else None) or "a tool"
    arguments = plain(first.call.text.removeprefix(tool).strip()) if first.call else ""
    if len(arguments) > SHOWN_ARGUMENTS:
        arguments = f"{arguments[:SHOWN_ARGUMENTS]}..."
    said = tool if arguments in NO_ARGUMENTS else f"{tool} {arguments}"
    return (
        f"{NOTE}the same as the result of tool call {first.number} of this conversation, {said}, "
        f"which is shown above in full]"
    )
