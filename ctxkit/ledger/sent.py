"""What an attempt sent, told by what it has in common with the attempt before it, so that it stays small.

Types only: a prompt is compared with the one before it in `compare`, and what each block cost over all the
requests that it was sent in is worked out in `block_costs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Cause = Literal["caller", "middleware", "tool_order", "result_order", "model", "unknown"]


@dataclass(frozen=True, slots=True)
class Placed:
    """One block of a prompt or an answer. Its text is not kept.

    Attributes:
        kind: What it is.
        tool: The tool's name, for a definition, a call or a result.
        call_id: What ties a result to its call.
        digest: Stands for its native bytes, in hexadecimal.
        tokens: Its size as counted here, with what its message costs besides its blocks.
    """

    kind: str
    tool: str | None
    call_id: str | None
    digest: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Change:
    """The first place where a prompt no longer begins like the one before it.

    Attributes:
        block: What stood there before; `None` where only the model changed.
        by: Who changed it: the caller, a middleware, the tools or parallel results standing in another
            order, or another model that does not share the cache.
        middleware: Which middleware, where it was one and its decision is known.
        where: The path to the place in the body, such as `messages.4.content.0`.
        reason: Why, in one sentence.
    """

    block: Placed | None
    by: Cause
    middleware: str | None
    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class Sent:
    """What an attempt sent.

    Attributes:
        after: The attempt that it is compared with, in the same task and for the same purpose: the last one
            that may have been billed, or of several loops side by side the last of its own loop; `None` for
            the first.
        kept: How many blocks, from the beginning, are the same as in that attempt. A cache mark that was set
            or taken off makes no other block.
        kept_tokens: Their size, as counted here.
        added: The blocks that follow, in order; for the first attempt all of them.
        tokens: The size of the whole prompt, as counted here: its blocks, and what is none of them and stands
            in front of all, such as what a provider says about tools.
        carried_tokens: How many of them, from the beginning, stood in the history already before the model
            last answered, its answer included.
        change: What no longer stands where it stood; `None` where that prompt as a whole begins this one.
    """

    after: str | None
    kept: int
    kept_tokens: int
    added: tuple[Placed, ...]
    tokens: int
    carried_tokens: int = 0
    change: Change | None = None
