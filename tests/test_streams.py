"""The streaming drivers: events pass as they arrive, and the flow learns how the answer ended."""

from __future__ import annotations

import pytest

from ctxkit.errors import ModelCallFailed, StreamAborted
from ctxkit.flow import Flow, ask_model, done
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.testing import ScriptedModel, reply
from support.streams import END, Runner, Streamed, Watching, asking, said

WHOLE = ("Hel", "lo", END)


def test_events_pass_one_by_one_as_they_arrive(runner: Runner) -> None:
    streamed = Streamed(runner, ask_model(asking()), [WHOLE]).start()
    for position, event in enumerate(WHOLE):
        assert streamed.next() == event
        assert len(streamed.opened[0].given) == position + 1
    assert streamed.rest() == []


def test_the_flow_gets_the_answer_that_the_events_built(runner: Runner) -> None:
    hook = Watching()
    streamed = Streamed(runner, hook(asking()), [WHOLE]).start()
    assert streamed.next() == "Hel"
    assert hook.outcomes == []
    assert streamed.rest() == ["lo", END]
    (response,) = hook.outcomes
    assert (response.text, response.complete) == ("Hello", True)


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_a_caller_who_hangs_up_tells_the_flow_what_arrived(runner: Runner, taken: int) -> None:
    hook = Watching()
    streamed = Streamed(runner, hook(asking()), [WHOLE]).start()
    assert [streamed.next() for _ in range(taken)] == list(WHOLE[:taken])
    streamed.close()
    (aborted,) = hook.outcomes
    assert isinstance(aborted, StreamAborted)
    assert (aborted.partial and aborted.partial.text) == ("".join(WHOLE[:taken]) or None)
    assert not (aborted.partial and aborted.partial.complete)
    assert streamed.opened[0].closed > 0


def test_a_caller_who_hangs_up_after_the_last_event_has_a_whole_answer(runner: Runner) -> None:
    """SDKs stop reading at the event that ends an answer, before the stream itself ends."""
    hook = Watching()
    streamed = Streamed(runner, hook(asking()), [WHOLE]).start()
    assert [streamed.next() for _ in WHOLE] == list(WHOLE)
    streamed.close()
    (response,) = hook.outcomes
    assert response.complete


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_hanging_up_twice_is_hanging_up_once(runner: Runner, taken: int) -> None:
    hook = Watching()
    streamed = Streamed(runner, hook(asking()), [WHOLE]).start()
    for _ in range(taken):
        streamed.next()
    streamed.close()
    streamed.close()
    assert streamed.rest() == []
    assert len(hook.outcomes) == 1


@pytest.mark.parametrize("arrived", [(), ("Hel",), ("Hel", "lo")])
def test_a_connection_that_breaks_tells_the_flow_and_the_caller(
    runner: Runner, arrived: tuple[str, ...]
) -> None:
    hook = Watching()
    streamed = Streamed(runner, hook(asking()), [(*arrived, ConnectionError("reset"))]).start()
    assert [streamed.next() for _ in arrived] == list(arrived)
    with pytest.raises(ConnectionError, match="reset"):
        streamed.next()
    (aborted,) = hook.outcomes
    assert isinstance(aborted, StreamAborted)
    assert (aborted.partial.text if aborted.partial else "") == "".join(arrived)


def test_a_stream_that_ends_without_its_last_event_is_aborted_for_the_flow(runner: Runner) -> None:
    hook = Watching()
    assert Streamed(runner, hook(asking()), [("Hel",)]).start().rest() == ["Hel"]
    assert isinstance(hook.outcomes[0], StreamAborted)


def test_a_hook_may_take_an_abort_for_the_end(runner: Runner) -> None:
    def hook(request: ModelRequest) -> Flow[ModelResponse]:
        try:
            return (yield from ask_model(request))
        except StreamAborted as aborted:
            return aborted.partial

    streamed = Streamed(runner, hook(asking()), [WHOLE]).start()
    streamed.next()
    streamed.close()
    assert len(streamed.asked) == 1


def test_a_hook_that_asks_again_after_an_abort_sends_nothing(runner: Runner) -> None:
    again: list[BaseException] = []

    def hook(request: ModelRequest) -> Flow[ModelResponse]:
        try:
            return (yield from ask_model(request))
        except StreamAborted:
            try:
                return (yield from ask_model(request))
            except BaseException as error:
                again.append(error)
                raise

    streamed = Streamed(runner, hook(asking()), [WHOLE, WHOLE]).start()
    streamed.next()
    streamed.close()
    assert len(streamed.asked) == 1
    assert "already gone out" in str(again[0])


def test_an_answer_made_by_a_middleware_is_replayed_as_events(runner: Runner) -> None:
    request = asking()
    streamed = Streamed(runner, done(said(request, "from memory")), []).start()
    assert streamed.rest() == ["replayed from memory", END]
    streamed.close()
    assert streamed.asked == []


def test_an_error_before_the_first_event_arrives_at_the_hook_and_then_at_the_caller(runner: Runner) -> None:
    hook = Watching()
    failed = ModelCallFailed(529, None)
    with pytest.raises(ModelCallFailed):
        Streamed(runner, hook(asking()), [failed]).start()
    assert hook.outcomes == [failed]


def test_a_hook_may_try_again_before_the_first_event(runner: Runner) -> None:
    def hook(request: ModelRequest) -> Flow[ModelResponse]:
        try:
            return (yield from ask_model(request))
        except ModelCallFailed:
            return (yield from ask_model(request.edit(model="other")))

    streamed = Streamed(runner, hook(asking()), [ModelCallFailed(529, None), WHOLE]).start()
    assert streamed.rest() == list(WHOLE)
    assert [request.model for request in streamed.asked] == ["m", "other"]


def test_side_calls_before_and_after_the_answer_are_not_seen_by_the_caller(runner: Runner) -> None:
    heard: list[str] = []

    def hook(request: ModelRequest) -> Flow[ModelResponse]:
        heard.append((yield from ask_model(request.side_call("before"))).text)
        response = yield from ask_model(request)
        heard.append((yield from ask_model(request.side_call("after"))).text)
        return response

    model = ScriptedModel([reply("one"), reply("two")])
    streamed = Streamed(runner, hook(asking()), [WHOLE], model=model).start()
    assert streamed.rest() == list(WHOLE)
    assert heard == ["one", "two"]
    assert [call.stream for call in model.calls if isinstance(call, ModelRequest)] == [False, False]


def test_a_side_call_that_fails_after_the_answer_arrives_at_the_hook(runner: Runner) -> None:
    def hook(request: ModelRequest) -> Flow[ModelResponse]:
        response = yield from ask_model(request)
        with pytest.raises(AssertionError, match="run out"):
            yield from ask_model(request.side_call("after"))
        return response

    assert Streamed(runner, hook(asking()), [WHOLE]).start().rest() == list(WHOLE)


def test_what_a_hook_raises_after_the_answer_reaches_the_caller_behind_the_last_event(runner: Runner) -> None:
    def hook(request: ModelRequest) -> Flow[ModelResponse]:
        yield from ask_model(request)
        raise LookupError("on purpose")

    streamed = Streamed(runner, hook(asking()), [WHOLE]).start()
    assert [streamed.next() for _ in WHOLE] == list(WHOLE)
    with pytest.raises(LookupError, match="on purpose"):
        streamed.rest()
