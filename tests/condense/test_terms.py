"""`terms`: what a question asks about."""

from __future__ import annotations

import pytest

from ctxkit.condense.terms import MOST_TERMS, terms


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Why does parse_config fail?", {"parse_config", "fail"}),
        ("Look at src/app/main.py:42, please.", {"src/app/main.py:42"}),
        ("the user and their order", {"user", "order"}),
        ("Réponse für 你好吗", {"réponse", "für", "你好吗"}),
        ("a b c", set()),
        ("", set()),
        (None, set()),
    ],
)
def test_paths_and_identifiers_stay_whole_and_common_words_go(
    question: str | None, expected: set[str]
) -> None:
    assert terms(question) == expected


def test_only_the_first_terms_of_a_long_question_count() -> None:
    found = terms(" ".join(f"term{number}" for number in range(100_000)))
    assert found == {f"term{number}" for number in range(MOST_TERMS)}
