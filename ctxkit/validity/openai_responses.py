"""What OpenAI's Responses API refuses.

The provider's words are second hand, and all rules were held against recorded requests that were answered.
That an item lost the reasoning in front of it can't be told from a request: only the provider knows which
had one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ctxkit.messages import Block, ModelRequest, Turn
from ctxkit.validity.problems import Finding, Message, Rules, index_of
from ctxkit.validity.seen import Seen, is_seen, with_ids

PROMPTING_ROLES = frozenset({"user", "system", "developer"})


def continues(turn: Turn) -> bool:
    """Never: each item stands for itself."""
    return False


def reasoning_has_its_item(left: Message, right: Message) -> Iterator[Finding]:
    """Reasoning is followed by what the model wrote next: a message, a call, or more reasoning.

    Reasoning without an id, as a client that stores nothing sends it, is not judged.

    Source: continuedev/continue#8933, openai/openai-node#1567; read on 2026-11-30.
    """
    for turn in left:
        name = turn.native.get("id")
        if turn.role == "reasoning" and name and (not right or is_a_prompt(right[0])):
            yield Finding(
                turn.blocks[0].where,
                f"Item '{name}' of type 'reasoning' was provided without its required following item.",
            )


def is_a_prompt(turn: Turn) -> bool:
    """Whether an item is the user's, the system's, or the result of a call."""
    return turn.role in PROMPTING_ROLES or turn.role.endswith("_output")


def call_has_its_output(request: ModelRequest) -> Iterator[Finding]:
    """Every call that the client has to answer is answered somewhere behind it.

    Source: the error text in public bug reports; read on 2026-11-30.
    """
    for call in _pairs(request).waiting:
        kind = call.native["type"].replace("_", " ")
        yield Finding(call.where, f"No tool output found for {kind} {call.call_id}.")


def output_has_its_call(request: ModelRequest) -> Iterator[Finding]:
    """Every output answers a call of the input.

    Where the provider keeps a part of the history (`previous_response_id`, a conversation, an item that is
    only referred to) or compacted it, the call may be one that the input does not show.

    Source: langchain-ai/langchain#34282, n8n-io/n8n#33431; read on 2026-11-30.
    """
    unexpected = _pairs(request).unexpected
    if not unexpected or request.wire.has_server_state(request.body):
        return
    if request.fold(_is_compacted, lambda head: False, _is_compacted):
        return
    for output in unexpected:
        kind = output.native["type"].replace("_", " ")
        yield Finding(output.where, f"No tool call found for {kind} with call_id {output.call_id}.")


def _is_compacted(before: bool, turn: Turn) -> bool:
    return before or turn.role == "compaction"


@dataclass(frozen=True, slots=True)
class Pairs:
    """The calls that wait for their output, and the outputs that answer none."""

    called: Seen = ()
    waiting: tuple[Block, ...] = ()
    unexpected: tuple[Block, ...] = ()

    def step(self, turn: Turn) -> Pairs:
        """The state after one more item."""
        state = self
        for block in turn.blocks:
            if not block.client or block.call_id is None:
                continue
            if block.kind == "tool_call":
                called = with_ids(state.called, [block.call_id])
                state = replace(state, called=called, waiting=(*state.waiting, block))
            elif is_seen(state.called, block.call_id):
                waiting = tuple(call for call in state.waiting if call.call_id != block.call_id)
                state = replace(state, waiting=waiting)
            else:
                state = replace(state, unexpected=(*state.unexpected, block))
        return state


def _pairs(request: ModelRequest) -> Pairs:
    return request.fold(Pairs, lambda head: Pairs(), Pairs.step)


def item_ids_are_unique(request: ModelRequest) -> Iterator[Finding]:
    """No item stands in the input twice; Grok takes such requests, as recorded ones show.

    Source: vercel/ai#13307; read on 2026-11-30.
    """
    if (request.model or "").startswith("grok"):
        return
    for turn in request.fold(Ids, lambda head: Ids(), Ids.step).repeated:
        name = turn.native["id"]
        said = f"Duplicate item found with id {name}. Remove duplicate items from your input and try again."
        yield Finding(("input", index_of(turn)), said)


@dataclass(frozen=True, slots=True)
class Ids:
    """The ids of all items up to one, and the items whose id was there before."""

    seen: Seen = ()
    repeated: tuple[Turn, ...] = ()

    def step(self, turn: Turn) -> Ids:
        """The state after one more item."""
        name = turn.native.get("id")
        if not isinstance(name, str):
            return self
        if is_seen(self.seen, name):
            return replace(self, repeated=(*self.repeated, turn))
        return replace(self, seen=with_ids(self.seen, [name]))


def conversation_is_named_once(request: ModelRequest) -> Iterator[Finding]:
    """A request goes on from an answer or in a conversation, not both.

    Source: the types of the `openai` SDK 3.57.0, and the error text in public code; read on 2026-11-30.
    """
    if request.body.get("previous_response_id") and request.body.get("conversation"):
        yield Finding(
            ("conversation",),
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only "
            "providing one of these parameters.",
        )


RULES = Rules(
    continues=continues,
    exchanges=(reasoning_has_its_item,),
    requests=(call_has_its_output, output_has_its_call, item_ids_are_unique, conversation_is_named_once),
)
