"""`condense_html`: a page becomes its readable text."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ctxkit.condense.base import Budget
from ctxkit.condense.html import condense_html
from ctxkit.tokens import counter_for

COUNTER = counter_for(None)
OUTPUTS = Path(__file__).parents[3] / "shared" / "data" / "tool_outputs"
STYLE = f"<style>{'p { color: red } ' * 400}</style>"


def shown(markup: str, max_tokens: int = 1_000, *terms: str) -> list[str]:
    """The lines of a page's text, without the note; the markup gets a style that makes it too long."""
    made = condense_html(f"{markup}{STYLE}", Budget(max_tokens, COUNTER, frozenset(terms)))
    assert COUNTER.count(made.text) <= max_tokens
    assert made.hidden
    *lines, note = made.text.split("\n")
    assert note.startswith("[ctxkit: ")
    return lines


@pytest.mark.parametrize(
    ("markup", "lines"),
    [
        ("<title>Shop</title><h1>All <b>things</b></h1><h3>x</h3>", ["# Shop", "# All things", "### x"]),
        ("<p>One\n  two</p>three<br>four<div>five</div>", ["One two", "three", "four", "five"]),
        ("<ul><li>a<li>b<ul><li>c</ul></ul><li>d", ["- a", "- b", "  - c", "- d"]),
        ("<p>Disk &amp; tape &lt;1 &#233;</p>", ["Disk & tape <1 é"]),
        ("<p>See <a class=x href='/a?b=1&amp;c'>this</a>.</p>", ["See this (/a?b=1&c)."]),
        ('<p>No <a href="#top">place</a>, <a href="javascript:x()">a</a> <a>b</a></a>', ["No place, a b"]),
        ("<a href='/card'><img src=x></a>b", ["b"]),
        ('<img src="x.png" alt="A tree"><img data-alt="no" title=y>', ["[image: A tree]"]),
        (
            "<table><tr><th>id<th>name</tr><tr><td><p>1</p></td><td>Ann</td></tr></table>",
            ["id | name", "1 | Ann"],
        ),
        ("<a alt=x HREF=/y>z</a>", ["z (/y)"]),
        ("<p>Call <code>run()</code></p>", ["Call `run()`"]),
        ("<pre>\ndef f():\n    <b>return</b> 1\n</pre>", ["```", "def f():", "    return 1", "```"]),
        ("<ul><li><pre>x</pre></ul>", ["```", "x", "```"]),
        ("<pre><code>x</code></pre></pre>y", ["```", "x", "```", "y"]),
        ("a<!-- <p>no</p> -->b<script>if (a < b) { '<p>no' }</script>c", ["a b c"]),
        ("<p title='a > b' data-x=\"<p>\">text</p>", ["text"]),
        ("<?php echo ?><!doctype html>1 < 2 and <3", ["1 < 2 and <3"]),
        ("<p/>a<h2></h2><p>b</p>", ["a", "b"]),
        ("a<script>never closed <p>b</p>", ["a"]),
    ],
)
def test_a_page_is_read_as_markdown(markup: str, lines: list[str]) -> None:
    made = condense_html(f"{STYLE}{markup}", Budget(400, COUNTER)).text.split("\n")
    assert [line for line in made[:-1] if line] == lines


def test_a_page_without_any_text_is_shown_as_it_begins() -> None:
    page = f"<div id=root></div>{STYLE}"
    made = condense_html(page, Budget(200, COUNTER))
    assert page.startswith(made.text) and made.kept == "the beginning"


def page(sections: int = 30) -> str:
    """A page as they are, with navigation, a footer and a form."""
    links = "".join(f'<li><a href="/page-{number}">Page {number}</a></li>' for number in range(60))
    text = "".join(
        f"<h2>Part {number}</h2><p>{f'What part {number} says goes on and on. ' * 12}</p><p>More of it.</p>"
        for number in range(sections)
    )
    return f"<html><body><nav><ul>{links}</ul></nav><main>{text}</main><footer>Imprint</footer></body></html>"


def test_navigation_and_footers_are_the_first_to_go() -> None:
    made = shown(page())
    assert sum(line.startswith("- Page ") for line in made) <= 10
    assert [line for line in made if line.startswith("## ")] == [f"## Part {number}" for number in range(30)]


def test_where_everything_has_room_nothing_but_markup_is_hidden() -> None:
    made = condense_html(f"{page(2)}{STYLE}", Budget(2_000, COUNTER))
    assert "- Page 59 (/page-59)" in made.text and "Imprint" in made.text
    assert made.hidden == "its markup, scripts and styles"


def test_the_section_that_the_question_asks_about_is_shown() -> None:
    made = shown(page().replace("<h2>Part 17</h2>", "<h2>Refunds</h2>"), 1_000, "refunds")
    place = made.index("## Refunds")
    assert made[place + 1].startswith("What part 17 says")


@pytest.mark.skipif(not OUTPUTS.exists(), reason="the shared data are not here")
def test_of_a_recorded_page_all_of_its_content_is_shown() -> None:
    with gzip.open(OUTPUTS / "holmes-bdcbb7f1.html.gz", "rt") as file:
        made = condense_html(file.read(), Budget(500, COUNTER)).text
    assert "## Mitigation" in made
    assert "- Check pod logs via `kubectl -n $NAMESPACE logs $POD -c $CONTAINER`" in made
