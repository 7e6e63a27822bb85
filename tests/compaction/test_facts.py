"""What is drawn from an old history without a model: exactly as it stood there, and within its limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.compaction import exact_facts
from ctxkit.tokens import counter_for
from support.bodies import ANTHROPIC, calls, request_of, results, user
from support.valid_histories import VALID_HISTORIES, History

COUNTER = counter_for(None)


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def facts(*messages: Any, summary: str = "", max_tokens: int = 1_000) -> str:
    request = request_of(ANTHROPIC, messages)
    return exact_facts(
        request.turns, request.wire.call_input, summary=summary, counter=COUNTER, max_tokens=max_tokens
    )


def todos(*entries: tuple[str, str], key: str = "content", **more: Any) -> Any:
    listed = [{key: label, "status": status} for label, status in entries]
    return calls(ANTHROPIC, "t", tool="write_todos", inputs={"todos": listed, **more})


def lines(text: str, heading: str) -> Sequence[str]:
    """The lines under a heading."""
    section = text.split(f"{heading}:\n")[1].splitlines() if f"{heading}:\n" in text else []
    ends = next((place for place, line in enumerate(section) if not line.startswith("- ")), len(section))
    return [line.removeprefix("- ") for line in section[:ends]]


def test_a_history_of_small_talk_has_no_facts() -> None:
    assert facts(said("Hello there.")) == ""


def test_boxes_that_are_not_ticked_later_are_still_to_be_done() -> None:
    made = facts(said("- [ ] fix it\n* [ ] test it\n1. [ ] ship it"), said("- [x] fix it\n- [X] nothing"))
    assert lines(made, "Still to be done") == ["test it", "ship it"]


def test_lines_that_speak_of_what_is_open_are_still_to_be_done() -> None:
    made = facts(said("All is well.\nTODO: the parser\nThe lexer is still missing."))
    assert lines(made, "Still to be done") == ["TODO: the parser", "The lexer is still missing."]


@pytest.mark.parametrize("key", ["content", "title", "description"])
def test_of_lists_of_to_dos_in_calls_the_last_one_counts(key: str) -> None:
    made = facts(
        todos(("old", "pending"), key=key),
        todos(("done", "completed"), ("next", "in_progress"), ("last", "pending"), key=key, other=[1]),
        calls(ANTHROPIC, "s", inputs={"paths": ["a"], "rows": [{"status": ""}], "none": []}),
    )
    assert lines(made, "Still to be done") == ["next", "last"]


def test_a_to_do_without_words_is_left_out() -> None:
    assert facts(calls(ANTHROPIC, "t", inputs={"todos": [{"status": "pending"}]})) == ""


def test_what_the_user_said_stands_word_for_word_and_long_texts_give_what_they_decide() -> None:
    long = "Some text.\n" * 40 + "You must not touch main.py.\n"
    made = facts(user("Use  tabs,\nplease."), user("Use tabs, please."), user(long))
    assert lines(made, "The user said") == ["Use tabs, please."]
    assert lines(made, "Decided") == ["You must not touch main.py."]


def test_lines_in_which_the_model_decides_are_kept_once_and_without_boxes() -> None:
    made = facts(said("I decided to use orjson.\nHm.\n- [ ] never do that"), said("I decided to use orjson."))
    assert lines(made, "Decided") == ["I decided to use orjson."]


def test_what_the_model_named_most_often_comes_first_and_what_the_summary_has_is_left_out() -> None:
    made = facts(
        said("See src/app.py and job_17."),
        calls(ANTHROPIC, "a", inputs={"path": "src/app.py", "limit": 5000}),
        summary="The job_17 ran.",
    )
    (named,) = (line for line in made.splitlines() if line.startswith("Named: "))
    assert named.removeprefix("Named: ").split(", ")[0] == "src/app.py"
    assert "5000" in named
    assert "job_17" not in named


def test_what_error_lines_of_results_hold_is_named_too() -> None:
    found = "all well\nERROR in src/deep.py:17: job 8f3a2b1c failed"
    made = facts(calls(ANTHROPIC, "a"), *results(ANTHROPIC, {"a": found}))
    assert made == "Named: src/deep.py:17, 8f3a2b1c"


def test_where_there_is_little_room_the_last_lines_stay() -> None:
    boxes = "\n".join(f"- [ ] step number {number} of many" for number in range(50))
    made = facts(said(boxes), max_tokens=200)
    kept = lines(made, "Still to be done")
    assert 0 < len(kept) < 50
    assert kept[-1] == "step number 49 of many"
    assert facts(said(boxes), max_tokens=0) == ""


@pytest.mark.parametrize("wire", VALID_HISTORIES)
@given(data=st.data(), max_tokens=st.sampled_from([0, 30, 100, 400]))
def test_facts_keep_within_their_limit_and_are_the_same_every_time(
    data: st.DataObject, wire: str, max_tokens: int
) -> None:
    history: History = data.draw(VALID_HISTORIES[wire])
    made = []
    for _ in range(2):
        request = history.request(history.ends[-1])
        made.append(
            exact_facts(
                request.turns,
                request.wire.call_input,
                summary="A fox.",
                counter=COUNTER,
                max_tokens=max_tokens,
            )
        )
    assert made[0] == made[1]
    assert COUNTER.count(made[0]) <= max_tokens
