"""What middlewares decided about blocks, so that a user can see why something is missing, or still there."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from ctxkit.messages import Where
from ctxkit.money.break_even import Weighed

Action = Literal["replaced", "dropped", "left", "repaired"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about one block, once.

    Attributes:
        by: The middleware.
        action: Whether its text was replaced, the block was dropped or left as it is, or an invalid place in
            the history was repaired.
        kind: The block's kind; for a repair, the rule that was broken.
        where: The path to it in the body.
        tool: The tool's name, where it belongs to one.
        call_id: What ties a result to its call.
        reason: Why, in one sentence.
    """

    by: str
    action: Action
    kind: str
    where: Where
    tool: str | None
    call_id: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EditDecision(Weighed):
    """What was decided about one edit of the history by what it costs and saves, taken or not.

    Attributes:
        by: The middleware.
    """

    by: str

    @classmethod
    def of(cls, weighed: Weighed, *, by: str) -> EditDecision:
        """The decision of a middleware that weighed an edit."""
        return cls(by=by, **{one.name: getattr(weighed, one.name) for one in fields(Weighed)})
