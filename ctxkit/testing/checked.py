"""Tells which middleware of a stack breaks a history. Looks at requests and changes nothing."""

from __future__ import annotations

from ctxkit.flow import Flow, Middleware, ModelNext
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.safety import broken_by_edit
from ctxkit.stack import Stack
from ctxkit.wire.native import path


def checked(stack: Middleware) -> Stack:
    """A stack with a look at every request behind each of its middlewares.

    ```python
    model = ScriptedModel([reply("Done.")])
    run(checked(Stack(MyMiddleware())).model_flow(request), model)
    ```

    Args:
        stack: The stack, or a single middleware.

    Returns:
        The stack; a call through it raises `AssertionError` as soon as a middleware made a request one that
        the provider refuses, and the message names the middleware, the rule and the place. What the
        caller's own request is refused for is not held against a middleware.
    """
    middlewares = Stack(stack).middlewares
    return Stack(*(one for middleware in middlewares for one in (middleware, _CheckRequest(middleware))))


class _CheckRequest(Middleware):
    """Stands right behind a middleware and looks at what that passes on."""

    raises = (AssertionError,)

    def __init__(self, behind: Middleware) -> None:
        self._behind = type(behind).__name__

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        for problem in broken_by_edit(request):
            raise AssertionError(
                f"{self._behind} broke the rule {problem.rule} at {path(problem.where)}: {problem.message}"
            )
        return call_next(request)
