"""`condense_text`: prose keeps its start, its end, and what the question asks about."""

from __future__ import annotations

from ctxkit.condense.base import Budget
from ctxkit.condense.text import condense_text
from ctxkit.tokens import counter_for

COUNTER = counter_for(None)


def prose(**special: str) -> str:
    """Sentences in one paragraph, with one of its own at some places: `sentence_7="..."`."""
    sentences = [f"Here the story goes on for the {number}th time." for number in range(900)]
    for place, text in special.items():
        sentences[int(place.removeprefix("sentence_"))] = text
    return " ".join(sentences)


def shown(text: str, max_tokens: int = 400, *terms: str) -> str:
    made = condense_text(text, Budget(max_tokens, COUNTER, frozenset(terms)))
    assert COUNTER.count(made.text) <= max_tokens
    return made.text


def test_the_start_and_the_end_are_shown() -> None:
    made = shown(prose())
    assert made.startswith("Here the story goes on for the 0th time.")
    assert "for the 899th time.\n[ctxkit: " in made


def test_the_sentence_that_the_question_asks_about_is_shown_with_those_around_it() -> None:
    made = shown(prose(sentence_444="The Captain turned pale."), 400, "captain")
    assert "the 443th time.\nThe Captain turned pale.\nHere the story goes on for the 445th time." in made


def test_what_looks_like_an_error_is_shown() -> None:
    assert "The pump failed." in shown(prose(sentence_444="The pump failed."))
    assert "Warning: hot." in shown(prose(sentence_444="Warning: hot."))


def test_headings_are_shown() -> None:
    text = prose().replace(" ", "\n").replace("444th", "\n## Part two\n")
    assert "\n## Part two\n" in shown(text)


def test_a_paragraph_becomes_its_sentences_and_loses_nothing() -> None:
    text = f"short\n{prose()}\n短い。{'長い文。' * 200}"
    made = condense_text(text, Budget(COUNTER.count(text) - 1, COUNTER))
    assert not made.lossless
    spaced = f"{'Yes!   ' * 300}End."
    once = condense_text(spaced, Budget(COUNTER.count(spaced) - 200, COUNTER))
    assert once.lossless and once.text.split() == spaced.split()
