"""What one request's bill is split over: the blocks it sent and the blocks it got."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ctxkit.ledger.compare import standing_of
from ctxkit.messages import Block, Prompt
from ctxkit.money import Share, split
from ctxkit.tokens import BlockCounter, prefix, shape_of
from ctxkit.usage import Charge, Usage

Key = tuple[str, str | None]
UNRECORDED: Key = ("unrecorded", None)


def attribute(
    prompt: Prompt,
    answer: Iterable[Block],
    usage: Usage,
    charge: Charge | None,
    *,
    counter: BlockCounter,
    unrecorded_tokens: float = 0,
) -> tuple[Share, ...]:
    """Split a request's tokens and dollars over what it was made of; the shares add up exactly.

    What stood in the history before the model last answered, its answer included, is carried, and so is what
    a log leaves out once there is an answer; without any answer in the history all of it is new.

    Args:
        prompt: As it was sent.
        answer: The blocks that came back; results of the provider's own tools are no output.
        usage: What the answer reported.
        charge: What it cost; `None` gives shares without a cost.
        counter: Counts blocks; only the relations between its counts matter.
        unrecorded_tokens: What stood in front of all that the request shows, as the counter would count it:
            the tools and the system prompt that a log leaves out.
    """
    output: dict[Key, float] = {}
    for block in answer:
        if block.kind == "tool_result":
            continue
        key = (block.kind, block.tool)
        output[key] = output.get(key, 0) + counter.count(block)

    def leading(tokens: float) -> Mapping[Key, float]:
        if not unrecorded_tokens:
            return prefix(prompt, counter, tokens)
        shown = prefix(prompt, counter, max(0.0, tokens - unrecorded_tokens))
        return {UNRECORDED: min(tokens, unrecorded_tokens), **shown}

    size = shape_of(prompt, counter).total
    carried = standing_of(prompt, counter).carried_tokens(size)
    return split(
        usage=usage,
        charge=charge,
        total=size + unrecorded_tokens,
        prefix=leading,
        output=output,
        carried=carried + unrecorded_tokens if carried else 0,
    )
