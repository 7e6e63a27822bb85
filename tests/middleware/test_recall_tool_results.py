"""`RecallToolResults` around a client: it adds its tool, answers it, and remembers what nobody else saw."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Any

import pytest

import ctxkit
from ctxkit.drive import run, run_async
from ctxkit.flow import Flow, perform
from ctxkit.messages import Histories, ModelRequest, ModelResponse
from ctxkit.middleware.recall_tool_results import NO_HANDLE, NOT_RUN, REPEATED, UNKNOWN, RecallToolResults
from ctxkit.originals import RECALL_TOOL, Originals
from ctxkit.stores import MemoryStore, SqliteStore
from ctxkit.testing import checked
from support.bodies import ALL_WIRES, ANTHROPIC, GEMINI, OPENAI, RESPONSES
from support.recalling import TOOLS, Caller, Model, answer, read_texts, reading, searching

LONG = "\n".join(f"line {number} of a long result" for number in range(2_000))
NOBODY = Model()


def kept(originals: Originals, text: str = LONG) -> str:
    """The handle of a text that is kept."""
    return run(originals.keep(text), NOBODY)


def through(recall: ctxkit.Middleware, request: ModelRequest, model: Model) -> ModelResponse:
    """The answer that the caller gets."""
    return run(checked(recall).model_flow(request), model)


def names(request: ModelRequest) -> list[str | None]:
    """The tools that a request offers."""
    return [block.tool for block in request.tools]


def called(response: ModelResponse) -> list[str]:
    """The tools that an answer calls."""
    return [call.name for call in response.tool_calls]


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_the_tool_stands_behind_all_others_and_is_the_same_every_time(wire: str) -> None:
    model, caller = Model(*[answer(wire, "Done.")] * 2), Caller(wire)
    recall = RecallToolResults(Originals())
    caller.take(through(recall, caller.request(), model), LONG)
    caller.ask("And now?")
    through(RecallToolResults(Originals()), caller.request(), model)
    first, second = model.requests
    assert names(first) == ["search", RECALL_TOOL]
    assert first.body["tools"] == second.body["tools"]
    assert recall.originals.recallable


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_the_model_reads_and_the_caller_gets_the_answer_after_it(wire: str) -> None:
    originals = Originals()
    handle = kept(originals)
    caller = Caller(wire)
    model = Model(
        answer(wire, "", [reading(1, handle, first_line=7, last_line=8)]), answer(wire, "Line 6 it is.")
    )
    response = through(RecallToolResults(originals), caller.request(), model)
    assert response.text == "Line 6 it is."
    assert read_texts(model.messages[1], wire) == [
        "[ctxkit: lines 7 to 8 of 2000]\nline 6 of a long result\nline 7 of a long result"
    ]


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_awaiting_gives_the_same_as_blocking(wire: str) -> None:
    originals = Originals()
    handle = kept(originals, LONG * 5)

    class Awaiting(Model):
        async def model(self, request: ModelRequest) -> ModelResponse:  # type: ignore[override]
            return Model.model(self, request)

    answers = [answer(wire, "", [reading(1, handle, search="line 99")]), answer(wire, "Done.")]
    blocking, awaiting = Model(*answers), Awaiting(*answers)
    stack = ctxkit.Stack(RecallToolResults(originals))
    run(stack.model_flow(Caller(wire).request()), blocking)
    asyncio.run(run_async(stack.model_flow(Caller(wire).request()), awaiting))  # type: ignore[arg-type]
    assert blocking.messages == awaiting.messages


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_a_read_is_booked_under_its_own_purpose_and_never_streamed(wire: str, task: ctxkit.Task) -> None:
    model = Model(answer(wire, "", [reading(1, "r-0")]), answer(wire, "Done."))
    stack = ctxkit.Stack(RecallToolResults(Originals()), ctxkit.TokenMeter())
    run(stack.model_flow(Caller(wire, stream=True).request()), model)
    assert [attempt.purpose for attempt in task.attempts] == ["main", "recall"]
    assert [request.stream for request in model.requests] == [True, False]


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_later_requests_have_the_read_where_it_was_to_the_same_byte(wire: str) -> None:
    originals = Originals()
    caller, histories = Caller(wire), Histories()
    recall = RecallToolResults(originals)
    model = Model(
        answer(wire, "", [reading(1, kept(originals))], thinking="a"),
        answer(wire, "", [searching(1)], thinking="b"),
        answer(wire, "Found."),
        answer(wire, "Again."),
    )
    caller.take(through(recall, caller.request(histories), model), "result")
    caller.take(through(recall, caller.request(histories), model), "result")
    caller.ask("And now?")
    through(recall, caller.request(histories), model)
    for before, after in zip(model.messages, model.messages[1:], strict=False):
        assert after[: len(before)] == before
    assert len(read_texts(model.messages[-1], wire)) == 1
    assert RECALL_TOOL not in repr(caller.messages)


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_what_was_read_survives_a_restart_with_a_durable_store(wire: str, tmp_path: Any) -> None:
    caller = Caller(wire)
    model = Model(
        answer(wire, "", [reading(1, "r-0")]),
        answer(wire, "Found.", [searching(1)]),
        answer(wire, "Done."),
    )
    for text in ("result", "result"):
        recall = RecallToolResults(Originals(SqliteStore(tmp_path / "kept")))
        caller.take(through(recall, caller.request(), model), text)
    assert model.messages[2][: len(model.messages[1])] == model.messages[1]


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_where_it_was_forgotten_the_callers_history_is_sent_and_valid(wire: str) -> None:
    caller = Caller(wire)
    model = Model(
        answer(wire, "", [reading(1, "r-0")]), answer(wire, "", [searching(1)]), answer(wire, "Done.")
    )
    caller.take(through(RecallToolResults(Originals()), caller.request(), model), "result")
    through(RecallToolResults(Originals()), caller.request(), model)
    assert model.messages[2] == caller.messages


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_a_call_beside_a_read_is_put_off_and_the_caller_sees_it_when_it_comes_again(wire: str) -> None:
    originals = Originals()
    caller = Caller(wire)
    recall = RecallToolResults(originals)
    model = Model(
        answer(wire, "Both.", [searching(1), reading(1, kept(originals), last_line=1), searching(2)]),
        answer(wire, "", [searching(3)]),
        answer(wire, "Done."),
    )
    response = through(recall, caller.request(), model)
    assert called(response) == ["search"]
    assert repr(model.messages[1]).count(NOT_RUN) == 2
    caller.take(response, "result")
    assert called(through(recall, caller.request(), model)) == []
    assert model.messages[2][: len(model.messages[1])] == model.messages[1]


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_the_callers_request_is_left_as_it_was(wire: str) -> None:
    request = Caller(wire).request()
    before = deepcopy(request.body)
    through(
        RecallToolResults(Originals()),
        request,
        Model(answer(wire, "", [reading(1, "r-0")]), answer(wire, "Done.")),
    )
    assert request.body == before


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_a_request_without_tools_is_sent_as_it_is(wire: str) -> None:
    model = Model(answer(wire, "Done."))
    request = Caller(wire, tools=[]).request()
    through(RecallToolResults(Originals()), request, model)
    assert model.requests[0] is request


@pytest.mark.parametrize(
    ("wire", "head"),
    [
        (OPENAI, {"n": 2}),
        (GEMINI, {"generationConfig": {"candidateCount": 2}}),
        (GEMINI, {"tools": [{"googleSearch": {}}]}),
    ],
)
def test_where_it_could_not_answer_it_offers_nothing(wire: str, head: dict[str, Any]) -> None:
    model, recall = Model(answer(wire, "Done.")), RecallToolResults(Originals())
    request = Caller(wire, **head).request()
    through(recall, request, model)
    assert model.requests[0] is request
    assert not recall.originals.recallable


def test_of_geminis_tools_the_last_that_declares_functions_gets_it() -> None:
    tools = [*TOOLS[GEMINI], {"googleSearch": {}}]
    model = Model(answer(GEMINI, "Done."))
    through(RecallToolResults(Originals()), Caller(GEMINI, tools=tools).request(), model)
    assert names(model.requests[0]) == ["search", RECALL_TOOL, "googleSearch"]


def test_a_model_that_names_no_handle_is_told_so() -> None:
    model = Model(
        answer(OPENAI, "", [("r1", RECALL_TOOL, {}), ("r2", RECALL_TOOL, {"handle": 5})]),
        answer(OPENAI, "Done."),
    )
    through(RecallToolResults(Originals()), Caller(OPENAI).request(), model)
    assert read_texts(model.messages[1], OPENAI) == [NO_HANDLE] * 2


def test_a_handle_that_is_unknown_or_of_another_namespace_is_said_to_be_unknown() -> None:
    store = MemoryStore()
    theirs = kept(Originals(store, namespace="them"))
    model = Model(
        answer(OPENAI, "", [reading(1, theirs), reading(2, "r-0000000000000000")]), answer(OPENAI, "Done.")
    )
    through(RecallToolResults(Originals(store, namespace="me")), Caller(OPENAI).request(), model)
    assert read_texts(model.messages[1], OPENAI) == [UNKNOWN] * 2


def test_a_handle_whose_time_is_over_is_said_to_be_so() -> None:
    now = [0.0]
    originals = Originals(MemoryStore(clock=lambda: now[0]), ttl_seconds=60)
    handle = kept(originals)
    now[0] = 61
    model = Model(answer(OPENAI, "", [reading(1, handle)]), answer(OPENAI, "Done."))
    through(RecallToolResults(originals), Caller(OPENAI).request(), model)
    assert read_texts(model.messages[1], OPENAI) == [UNKNOWN]


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_what_the_callers_history_has_whole_is_read_from_there(wire: str) -> None:
    originals = Originals()
    recall, caller = RecallToolResults(originals), Caller(wire)
    whole = f"{LONG} of s1"
    model = Model(
        answer(wire, "", [searching(1)]),
        answer(wire, "", [reading(1, originals.handle(whole), first_line=2_000)]),
        answer(wire, "Done."),
    )
    caller.take(through(recall, caller.request(), model), LONG)
    through(recall, caller.request(), model)
    assert read_texts(model.messages[2], wire) == [
        "[ctxkit: lines 2000 to 2000 of 2000]\nline 1999 of a long result of s1"
    ]


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_the_same_part_is_read_no_more_than_a_few_times(wire: str) -> None:
    originals = Originals()
    recall, caller = RecallToolResults(originals, max_repeats=2), Caller(wire)
    handle = kept(originals)
    model = Model(
        answer(wire, "", [reading(1, handle, last_line=1), reading(2, handle, last_line=2)]),
        answer(wire, "", [searching(1)]),
        answer(wire, "", [reading(3, handle, last_line=1)]),
        answer(wire, "", [reading(4, handle, last_line=1), reading(5, handle, last_line=2)]),
        answer(wire, "Done."),
    )
    caller.take(through(recall, caller.request(), model), "result")
    through(recall, caller.request(), model)
    given = read_texts(model.messages[-1], wire)
    assert [text == REPEATED for text in given] == [False, False, False, True, False]


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_a_model_that_reads_on_and_on_is_asked_to_answer(wire: str) -> None:
    answers = [answer(wire, "", [reading(number, f"r-{number}")]) for number in range(3)]
    model = Model(*answers, answer(wire, "Enough."))
    response = through(RecallToolResults(Originals(), max_rounds=3), Caller(wire).request(), model)
    assert response.text == "Enough."
    assert "Nothing more can be read now" in repr(model.messages[3])
    assert "Nothing more can be read now" not in repr(model.messages[2])


def test_an_error_of_a_read_reaches_the_caller_as_it_is(task: ctxkit.Task) -> None:
    model = Model(answer(OPENAI, "", [reading(1, "r-0")]), OSError("lost"), OSError("lost again"))
    with pytest.raises(OSError, match="lost again"):
        through(RecallToolResults(Originals()), Caller(OPENAI).request(), model)
    assert task.faults == {}


def test_a_read_that_failed_once_is_asked_once_more() -> None:
    model = Model(answer(OPENAI, "", [reading(1, "r-0")]), OSError("lost"), answer(OPENAI, "Done."))
    response = through(RecallToolResults(Originals()), Caller(OPENAI).request(), model)
    assert response.text == "Done."
    assert [request.purpose for request in model.requests] == ["main", "recall", "main"]


def test_a_spend_limit_that_a_read_would_pass_is_raised(task: ctxkit.Task) -> None:
    model = Model(answer(OPENAI, "", [reading(1, "r-0")]))
    stack = ctxkit.Stack(RecallToolResults(Originals()), ctxkit.LimitSpend(max_requests=1))
    with pytest.raises(ctxkit.SpendLimitReached):
        run(stack.model_flow(Caller(OPENAI).request()), model)
    assert task.faults == {}


class AwayStore(MemoryStore):
    """A store that gives nothing and takes nothing."""

    def get(self, key: str) -> Flow[Any]:
        return perform(self._fail)

    def put(self, key: str, value: Any, *, ttl_seconds: float | None = None, token: str = "") -> Flow[bool]:
        return perform(self._fail)

    def _fail(self) -> Any:
        raise ConnectionError("the store is away")


def test_a_store_that_fails_costs_the_read_and_not_the_answer(task: ctxkit.Task) -> None:
    recall, caller = RecallToolResults(Originals(AwayStore())), Caller(OPENAI)
    model = Model(
        answer(OPENAI, "", [reading(1, "r-0")]), answer(OPENAI, "", [searching(1)]), answer(OPENAI, "Done.")
    )
    caller.take(through(recall, caller.request(), model), "result")
    assert through(recall, caller.request(), model).text == "Done."
    assert read_texts(model.messages[1], OPENAI) == [UNKNOWN]
    assert task.faults == {"RecallToolResults: ConnectionError": 3}


class SpoiltStore(MemoryStore):
    """A store in which something else was written over what was kept."""

    def put(self, key: str, value: Any, *, ttl_seconds: float | None = None, token: str = "") -> Flow[bool]:
        return super().put(key, b"{spoilt")


def test_what_was_spoilt_in_the_store_is_left_out(task: ctxkit.Task) -> None:
    recall, caller = RecallToolResults(Originals(SpoiltStore())), Caller(OPENAI)
    model = Model(
        answer(OPENAI, "", [reading(1, "r-0")]), answer(OPENAI, "", [searching(1)]), answer(OPENAI, "Done.")
    )
    caller.take(through(recall, caller.request(), model), "result")
    through(recall, caller.request(), model)
    assert model.messages[2] == caller.messages
    assert names(model.requests[2]) == ["search", RECALL_TOOL]
    assert task.faults == {"RecallToolResults: BodyError": 1}


def test_an_answer_that_says_nothing_is_passed_on() -> None:
    model = Model(answer(ANTHROPIC, "", [reading(1, "r-0")]), answer(ANTHROPIC, ""))
    response = through(RecallToolResults(Originals()), Caller(ANTHROPIC).request(), model)
    assert response.body["content"] == []


@pytest.mark.parametrize(("store", "expected"), [(False, ["function_call"]), (None, ["reasoning"])])
def test_reasoning_that_nobody_stored_is_not_sent_back(store: Any, expected: list[str]) -> None:
    """OpenAI: with `store: false`, reasoning without its encrypted content can't be found again."""
    read = answer(RESPONSES, "", [reading(1, "r-0")], thinking="hm")
    del read["output"][0]["encrypted_content"]
    model = Model(read, answer(RESPONSES, "Done."))
    through(RecallToolResults(Originals()), Caller(RESPONSES, store=store).request(), model)
    assert [item["type"] for item in model.messages[1][1:2]] == expected


@pytest.mark.parametrize(("option", "value"), [("max_tokens", 99), ("max_repeats", 0), ("max_rounds", 0)])
def test_a_setting_out_of_range_is_refused(option: str, value: int) -> None:
    with pytest.raises(ctxkit.ConfigError, match=f"{option} must be at least"):
        RecallToolResults(Originals(), **{option: value})
