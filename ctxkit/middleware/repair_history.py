"""`RepairHistory`: makes an invalid history valid before it is sent."""

from __future__ import annotations

import logging
from collections.abc import Hashable

from ctxkit.flow import Flow, Middleware, ModelNext
from ctxkit.ledger import Decision
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.tasks import current_task
from ctxkit.wire.native import path

_log = logging.getLogger("ctxkit")


class RepairHistory(Middleware):
    """Makes an invalid history valid by the smallest edits before it is sent.

    What is done is a pure function of the request, so the same history becomes the same bytes every time. A
    valid request passes as it is, and only what is new in it is looked at. Every edit is in `task.decisions`;
    it is also logged at the level `INFO`, and what can't be mended as a warning, once a task each.
    """

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Mend the request."""
        from ctxkit.validity import mend

        mended, edits, unresolved = mend(request)
        by = type(self).__name__
        for edit in edits:
            current_task().decide(Decision(by, "repaired", edit.rule, edit.where, None, None, edit.what))
            self._say(logging.INFO, "mended %s at %s: %s", edit.rule, path(edit.where), edit.what)
        for problem in unresolved:
            place = path(problem.where)
            self._say(logging.WARNING, "can't mend %s at %s: %s", problem.rule, place, problem.reason)
        return call_next(mended)

    def _say(self, level: int, message: str, *about: str) -> None:
        said: set[Hashable] = current_task().memory(self, set)
        if (message, about) not in said:
            said.add((message, about))
            _log.log(level, f"RepairHistory {message}", *about)
