"""Flows stepped by hand."""

from __future__ import annotations

from ctxkit.flow import Flow, Perform
from ctxkit.messages import ModelRequest, ModelResponse


def first_request(flow: Flow[ModelResponse]) -> ModelRequest:
    """The first request that a flow sends, other work done on the way."""
    step = next(flow)
    while isinstance(step, Perform):
        step = flow.send(step.blocking())
    assert isinstance(step, ModelRequest)
    return step
