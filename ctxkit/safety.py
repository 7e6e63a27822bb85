"""The last look at a request before it is sent: no edit may make it one that the provider refuses.

Looks at edited requests only. What a caller's own request is refused for is the caller's to see.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctxkit.errors import BodyError, ModelCallFailed
from ctxkit.flow import Flow, ModelNext, ask_model
from ctxkit.messages import ModelRequest, ModelResponse, Turn
from ctxkit.tasks import note_fault
from ctxkit.wire.native import text

if TYPE_CHECKING:
    from ctxkit.validity import Problem

AS_CALLER_MADE_IT = "the request goes out as the caller made it"
# What providers say about a history, as opposed to a model's name, a limit or a schema.
_HISTORY = re.compile(
    r"tool_use|tool_result|tool_call|function.?call|signature|thinking|reasoning|cache_control"
    r"|must be non-empty|must end with a user",
    re.IGNORECASE,
)
_REFUSED = "safety.refused"


def ask_safely(request: ModelRequest) -> Flow[ModelResponse]:
    """Ask the driver, innermost: for the caller's own request where an edit broke it.

    It stands inside every guard, so a fault of the look itself is caught here.
    """
    try:
        broken = broken_by_edit(request)
    except Exception as error:
        note_fault(f"the look at an edit: {type(error).__name__}", error, so=AS_CALLER_MADE_IT)
        return ask_model(request.as_it_is())
    if broken:
        note_fault(f"an edit broke the rule {broken[0].rule}", so=AS_CALLER_MADE_IT)
        request = request.as_it_is()
    return ask_model(request)


def broken_by_edit(request: ModelRequest) -> tuple[Problem, ...]:
    """What a provider would refuse an edited request for, and not the caller's own."""
    if request.origin is None:
        return ()
    # Imported with the first edit: most of what it holds is never needed in a run that only measures.
    from ctxkit.validity import Problem, problems_of

    try:
        before = {problem.rule for problem in problems_of(request.origin)}
        return tuple(problem for problem in problems_of(request) if problem.rule not in before)
    except BodyError as error:
        return (Problem("readable_body", error.where, str(error)),)


def with_second_chance(request: ModelRequest, call: ModelNext) -> Flow[ModelResponse]:
    """Make a call; where the provider refuses the history that an edit made, make it again without edits.

    From then on that history is left as it is.
    """
    if _was_refused(request):
        request = request.as_it_is()
    try:
        return (yield from call(request))
    except ModelCallFailed as error:
        if not _refuses_edit(error):
            raise
        note_fault("the provider refused an edited history", error, so=AS_CALLER_MADE_IT)
    request.turns[-1].memo[_REFUSED] = True
    return (yield from call(request.as_it_is()))


def _refuses_edit(error: ModelCallFailed) -> bool:
    sent = error.request
    edited = isinstance(sent, ModelRequest) and sent.origin is not None
    return edited and error.status == 400 and _HISTORY.search(text(error.body)) is not None


def _was_refused(request: ModelRequest) -> bool:
    def step(before: bool, turn: Turn) -> bool:
        return before or (turn.parent is not None and _REFUSED in turn.parent.memo)

    try:
        return request.fold(_REFUSED + ".before", lambda head: False, step)
    except Exception:
        # A history that can't be looked at was never edited; the middlewares say what is wrong with it.
        return False
