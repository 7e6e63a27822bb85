"""Stacks: the order of middlewares, what may stand in one, and hooks that are written wrongly."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.errors import AttachError, FlowError, SpendLimitReached
from ctxkit.flow import Flow, Middleware, ModelNext, ToolNext, ask_model
from ctxkit.messages import ModelRequest, ModelResponse, ToolCall, ToolResult
from ctxkit.middleware.limit_spend import LimitSpend
from ctxkit.middleware.token_meter import TokenMeter
from ctxkit.stack import Stack
from ctxkit.testing import ScriptedModel, both, reply
from support.bodies import ANTHROPIC, request_of, user


def asked() -> ModelRequest:
    return request_of(ANTHROPIC, [user("hi")])


class Named(Middleware):
    """Writes down when it is entered and left."""

    def __init__(self, name: str, heard: list[str]) -> None:
        self.name = name
        self.heard = heard

    def __repr__(self) -> str:
        return self.name

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        self.heard.append(f"{self.name} in")
        response = yield from call_next(request)
        self.heard.append(f"{self.name} out")
        return response

    def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Flow[ToolResult]:
        self.heard.append(f"{self.name} tool")
        return call_next(call)


def test_the_first_middleware_is_the_outermost() -> None:
    heard: list[str] = []
    stack = Stack(Named("a", heard), Named("b", heard))
    flow = stack.model_flow(asked())
    step = next(flow)
    assert heard == ["a in", "b in"]
    with pytest.raises(StopIteration):
        flow.send(ScriptedModel([reply("hi")]).model(step))
    assert heard == ["a in", "b in", "b out", "a out"]
    next(stack.tool_flow(ToolCall("ls", {})))
    assert heard[4:] == ["a tool", "b tool"]


def test_a_stack_among_middlewares_is_taken_apart() -> None:
    one, two, three = (Named(name, []) for name in "abc")
    stack = Stack(one, Stack(two, Stack(three)))
    assert stack.middlewares == (one, two, three)
    assert repr(stack) == "Stack(a, b, c)"


def test_a_stack_is_a_middleware_that_can_wrap_any_flow() -> None:
    heard: list[str] = []
    request = asked()
    flow = Stack(Named("a", heard)).wrap_model_call(request, ask_model)
    assert next(flow) is request
    assert heard == ["a in"]


def test_an_empty_stack_changes_nothing() -> None:
    request = asked()
    assert next(Stack().model_flow(request)) is request


def test_a_stack_declares_what_its_middlewares_declare() -> None:
    class Holding(Middleware):
        buffers_stream = True

    assert Stack(TokenMeter(), LimitSpend(max_requests=1)).raises == (SpendLimitReached,)
    assert Stack(TokenMeter(), Holding()).buffers_stream
    assert not Stack(TokenMeter()).buffers_stream


def test_a_hook_may_be_set_on_one_middleware_alone() -> None:
    special = Middleware()
    special.wrap_model_call = lambda request, call_next: call_next(request.edit(model="other"))  # type: ignore[method-assign]
    step = next(Stack(special).model_flow(asked()))
    assert isinstance(step, ModelRequest)
    assert step.model == "other"


@pytest.mark.parametrize("wrong", [TokenMeter, "TokenMeter", None, lambda request, call_next: None])
def test_only_middlewares_may_stand_in_a_stack(wrong: Any) -> None:
    with pytest.raises(AttachError, match=r"such as Stack\(TokenMeter\(\)\)"):
        Stack(wrong)


class UsesTheFlow(Middleware):
    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Any:
        response = call_next(request)
        return response.usage  # type: ignore[attr-defined]
        yield


class AnswersBesides(Middleware):
    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Any:
        call_next(request)
        return ModelResponse(request.wire, {}, request)
        yield


class ReturnsTheFlow(Middleware):
    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Any:
        if request.model == "nobody's":
            yield from call_next(request.side_call("other"))
        return call_next(request)


class YieldsTheFlow(Middleware):
    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Any:
        response = yield call_next(request)
        return response


class ReturnsNothing(Middleware):
    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Any:
        request.edit(model="other")


class ForgetsToReturn(Middleware):
    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Any:
        yield from call_next(request)


class ReturnsText(Middleware):
    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Any:
        return "42"


class ReturnsAnotherFlow(Middleware):
    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Any:
        yield from call_next(request)
        return self._more(request)

    def _more(self, request: ModelRequest) -> Any:
        yield request


WRONG_HOOKS = [
    (
        UsesTheFlow,
        r"called call_next\(\) but never ran it: write `response = yield from call_next\(request\)`",
    ),
    (
        AnswersBesides,
        r"called call_next\(\) but never ran it: write `response = yield from call_next\(request\)`",
    ),
    (
        ReturnsTheFlow,
        r"called call_next\(\) but never ran it: write `response = yield from call_next\(request\)`",
    ),
    (YieldsTheFlow, r"write `yield from call_next\(...\)`, not `yield call_next\(...\)`"),
    (ReturnsNothing, r"ReturnsNothing returned NoneType instead of a flow: .* `return call_next\(request\)`"),
    (ForgetsToReturn, r"gave back a NoneType, not a ModelResponse: end the hook with `return response`"),
    (ReturnsText, r"ReturnsText returned str instead of a flow: .* `return ctxkit.done\(response\)`"),
    (ReturnsAnotherFlow, r"gave back a generator, not a ModelResponse: .* `return \(yield from ...\)`"),
]


@pytest.mark.parametrize(("hook", "fix"), WRONG_HOOKS)
@pytest.mark.parametrize("inner", [(), (TokenMeter(),)], ids=["alone", "with a meter"])
def test_a_hook_that_is_written_wrongly_is_refused_with_the_fix(
    hook: type[Middleware], fix: str, inner: tuple[Middleware, ...]
) -> None:
    with pytest.raises(FlowError, match=fix):
        both(lambda: Stack(hook(), *inner).model_flow(asked()), ScriptedModel([reply("hi")]))


def test_a_tool_hook_must_give_a_result_and_not_what_the_tool_gave() -> None:
    class Unwraps(Middleware):
        def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Any:
            result = yield from call_next(call)
            return result.content

    with pytest.raises(FlowError, match="gave back a str, not a ToolResult"):
        both(
            lambda: Stack(Unwraps()).tool_flow(ToolCall("ls", {})),
            ScriptedModel([], tools={"ls": lambda: "x"}),
        )


def test_a_wrong_hook_further_in_is_no_fault_of_the_ones_around_it() -> None:
    heard: list[str] = []
    with pytest.raises(FlowError, match="ForgetsToReturn"):
        both(
            lambda: Stack(Named("a", heard), ForgetsToReturn()).model_flow(asked()),
            ScriptedModel([reply("hi")]),
        )


def test_a_stack_that_wraps_no_tool_calls_decorates_no_tool() -> None:
    def look() -> str:
        return "seen"

    with pytest.raises(AttachError, match=r"TokenMeter wraps model calls.*ctxkit\.wrap"):
        Stack(TokenMeter()).tool(look)
    assert Stack().tool(look)() == "seen"
