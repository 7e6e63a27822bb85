"""`condense_markdown`: the headings stay, and the sections that the question asks about."""

from __future__ import annotations

import pytest

from ctxkit.condense.base import Budget
from ctxkit.condense.markdown import condense_markdown
from ctxkit.tokens import counter_for

COUNTER = counter_for(None)


def document(sections: int = 40) -> str:
    """A document whose sections have text, code and a list."""
    return "# Manual\n\n" + "\n".join(
        f"## Part {number}\n\nThis is about part {number}.\n\n```python\n# a comment of part {number}\n"
        + "".join(f"call_{number}({line})\n" for line in range(12))
        + f"```\n\n- first of {number}\n- second of {number}\n"
        for number in range(sections)
    )


def shown(text: str, max_tokens: int = 800, *terms: str) -> list[str]:
    """The lines of the condensed text."""
    made = condense_markdown(text, Budget(max_tokens, COUNTER, frozenset(terms)))
    assert COUNTER.count(made.text) <= max_tokens
    return made.text.split("\n")


def test_all_headings_stay_as_long_as_there_is_room() -> None:
    made = shown(document(), 1_200)
    assert made[0] == "# Manual"
    assert [line for line in made if line.startswith("## ")] == [f"## Part {number}" for number in range(40)]


def test_headings_of_a_higher_level_come_first() -> None:
    text = "".join(f"### Deep {number}\nText about {number} goes here.\n" for number in range(900))
    made = shown(text.replace("### Deep 451", "# High"), 400)
    assert "# High" in made


def test_the_section_that_the_question_asks_about_is_whole() -> None:
    text = document().replace("## Part 23", "## Refunds")
    start = text.index("## Refunds")
    section = [line for line in text[start : text.index("## Part 24")].split("\n") if line]
    made = [line for line in shown(text, 1_000, "refunds") if line]
    place = made.index("## Refunds")
    assert made[place : place + len(section)] == section


def test_a_line_that_the_question_asks_about_is_shown_below_its_heading() -> None:
    text = document().replace("- first of 33", "- the needle")
    made = shown(text, 800, "needle")
    place = made.index("- the needle")
    assert [line for line in made[:place] if line.startswith("## ")][-1] == "## Part 33"


@pytest.mark.parametrize("terms", [(), ("call_17",), ("comment",)])
@pytest.mark.parametrize("max_tokens", [400, 700, 1_500])
def test_code_that_is_shown_is_enclosed(max_tokens: int, terms: tuple[str, ...]) -> None:
    is_open = False
    for line in shown(document(), max_tokens, *terms):
        if line.startswith("```"):
            assert is_open == (line == "```")
            is_open = not is_open
        assert is_open or not line.startswith("call_")
    assert not is_open


def test_a_comment_in_code_is_no_heading_and_a_fence_in_a_longer_one_does_not_end_it() -> None:
    words = "a line of code " * 9
    code = f"````md\n```\n{words}\n# no heading\n{words}\n```\n````\n"
    text = "".join(f"# Part {number}\n{code}" for number in range(20))
    made = shown(text, 500)
    assert sum(line.startswith("# Part") for line in made) == 20
    assert sum(line == "# no heading" for line in made) < 5


def test_each_of_several_documents_stays_named() -> None:
    words = "Words go here.\n" * 30
    text = "".join(f"Title: Report {number}\nURL: https://a.b/{number}\n{words}" for number in range(8))
    made = shown(text, 500)
    assert [line for line in made if line.startswith("Title: ")] == [
        f"Title: Report {number}" for number in range(8)
    ]


def test_a_line_that_names_something_comes_before_others() -> None:
    lines = [f"This line says nothing much{'!' * (number % 7)}" for number in range(900)]
    lines[500] = "See docs/setup.md"
    assert "See docs/setup.md" in shown("\n".join(["# Manual", *lines]), 300)
