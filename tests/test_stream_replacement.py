"""Who may replace a streamed answer: a middleware that holds it back, and nobody once it went out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ctxkit.errors import StreamAborted, StreamError
from ctxkit.flow import Flow, ask_model
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.testing import ScriptedModel, reply
from support.streams import END, Runner, Streamed, Watching, asking, said

WHOLE = ("Hel", "lo", END)
Hook = Callable[[ModelRequest], Flow[ModelResponse]]


def replacing(request: ModelRequest) -> Flow[ModelResponse]:
    """Says something else than the model."""
    yield from ask_model(request)
    return said(request, "other")


def asking_twice(request: ModelRequest) -> Flow[ModelResponse]:
    """Gives the second of two answers."""
    yield from ask_model(request)
    return (yield from ask_model(request))


@pytest.mark.parametrize("hook", [replacing, asking_twice])
def test_an_answer_that_went_out_is_not_replaced(runner: Runner, hook: Hook) -> None:
    streamed = Streamed(runner, hook(asking()), [WHOLE, WHOLE]).start()
    assert [streamed.next() for _ in WHOLE] == list(WHOLE)
    with pytest.raises(StreamError, match="buffers_stream = True"):
        streamed.rest()
    assert len(streamed.asked) == 1


def test_the_hook_that_asked_again_is_told_and_may_keep_what_went_out(runner: Runner) -> None:
    def hook(request: ModelRequest) -> Flow[ModelResponse]:
        first = yield from ask_model(request)
        try:
            return (yield from ask_model(request))
        except StreamError:
            return first

    assert Streamed(runner, hook(asking()), [WHOLE]).start().rest() == list(WHOLE)


def test_an_answer_that_is_held_back_may_be_replaced(runner: Runner) -> None:
    streamed = Streamed(runner, replacing(asking()), [WHOLE], buffered=True).start()
    assert streamed.opened[0].given == list(WHOLE)
    assert streamed.rest() == ["replayed other", END]


def test_an_answer_that_is_held_back_may_be_asked_for_again(runner: Runner) -> None:
    streamed = Streamed(runner, asking_twice(asking()), [WHOLE, ("Bye", END)], buffered=True).start()
    assert streamed.rest() == ["Bye", END]


def test_an_answer_that_was_held_back_and_kept_goes_out_as_it_came(runner: Runner) -> None:
    hook = Watching()
    streamed = Streamed(runner, hook(asking()), [WHOLE], buffered=True).start()
    assert streamed.opened[0].closed == 1
    assert streamed.rest() == list(WHOLE)
    streamed.close()
    (response,) = hook.outcomes
    assert response.text == "Hello"


def test_a_side_call_may_look_at_an_answer_that_is_held_back(runner: Runner) -> None:
    def hook(request: ModelRequest) -> Flow[ModelResponse]:
        response = yield from ask_model(request)
        verdict = yield from ask_model(request.side_call("check"))
        return response if verdict.text == "fine" else said(request, "withheld")

    model = ScriptedModel([reply("fine")])
    assert Streamed(runner, hook(asking()), [WHOLE], model=model, buffered=True).start().rest() == list(WHOLE)


@pytest.mark.parametrize("arrived", [(), ("Hel",)])
def test_an_answer_that_broke_off_while_it_was_held_back_goes_out_as_far_as_it_came(
    runner: Runner, arrived: tuple[str, ...]
) -> None:
    hook = Watching()
    streamed = Streamed(runner, hook(asking()), [arrived], buffered=True).start()
    assert streamed.rest() == list(arrived)
    (aborted,) = hook.outcomes
    assert isinstance(aborted, StreamAborted)
    assert (aborted.partial.text if aborted.partial else "") == "".join(arrived)


def test_a_connection_that_breaks_while_an_answer_is_held_back_arrives_at_the_hook(runner: Runner) -> None:
    hook = Watching()
    streamed = Streamed(runner, hook(asking()), [("Hel", ConnectionError("reset"))], buffered=True)
    with pytest.raises(ConnectionError, match="reset"):
        streamed.start()
    assert isinstance(hook.outcomes[0], ConnectionError)
    assert streamed.opened[0].closed == 1


def test_a_hook_may_try_again_where_an_answer_broke_off_while_it_was_held_back(runner: Runner) -> None:
    def hook(request: ModelRequest) -> Flow[ModelResponse]:
        try:
            return (yield from ask_model(request))
        except StreamAborted:
            return (yield from ask_model(request))

    streamed = Streamed(runner, hook(asking()), [("Hel",), WHOLE], buffered=True).start()
    assert streamed.rest() == list(WHOLE)


def test_hanging_up_on_an_answer_that_was_held_back_changes_nothing_for_the_flow(runner: Runner) -> None:
    hook = Watching()
    streamed = Streamed(runner, hook(asking()), [WHOLE], buffered=True).start()
    streamed.close()
    assert streamed.rest() == []
    assert [response.text for response in hook.outcomes] == ["Hello"]
