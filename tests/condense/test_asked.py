"""What a result is the answer to: the same for a result in every later request."""

from __future__ import annotations

from ctxkit.condense.asked import SAID_CHARS, asked_before
from support.bodies import ANTHROPIC, calls, request_of, results, user


def test_a_result_is_asked_for_by_the_call_the_words_with_it_and_the_users_last_words() -> None:
    call = calls(ANTHROPIC, "a", "b", inputs={"path": "x.py"})
    call["content"] = [{"type": "text", "text": "I look for the parser."}, *call["content"]]
    messages = [
        user("First."),
        user("Why does it fail?"),
        call,
        *results(ANTHROPIC, {"a": "one", "b": "two"}),
        user("Then?"),
        calls(ANTHROPIC, "c", inputs={"path": "y.py"}),
        *results(ANTHROPIC, {"c": "three"}),
        user("What is said later does not count."),
    ]
    found = [(block.text, query) for block, query in asked_before(request_of(ANTHROPIC, messages).turns)]
    assert [text for text, _ in found] == ["one", "two", "three"]
    for _, query in found[:2]:
        assert query.startswith("I look for the parser.\nsearch")
        assert query.endswith("Why does it fail?")
        assert query.count("x.py") == 1
    assert found[2][1].endswith("Then?")
    assert "y.py" in found[2][1]
    assert "parser" not in found[2][1]


def test_a_result_without_a_question_is_asked_for_by_nothing() -> None:
    turns = request_of(ANTHROPIC, results(ANTHROPIC, {"a": "one"})).turns
    assert [query for _, query in asked_before(turns)] == [""]


def test_of_long_words_only_the_first_count() -> None:
    messages = [user("x" * 10_000), calls(ANTHROPIC, "a"), *results(ANTHROPIC, {"a": "one"})]
    ((_, query),) = asked_before(request_of(ANTHROPIC, messages).turns)
    assert query.count("x") == SAID_CHARS
