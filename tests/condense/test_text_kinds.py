"""What holds for the kinds that are texts: code, diffs, pages, Markdown, prose, and what is no text."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.condense import Budget, Condensed, Condenser
from ctxkit.condense.base import NOTE
from ctxkit.condense.base64 import condense_base64
from ctxkit.condense.code import condense_code
from ctxkit.condense.diff import condense_diff
from ctxkit.condense.html import condense_html
from ctxkit.condense.markdown import condense_markdown
from ctxkit.condense.text import condense_text
from ctxkit.tokens import FunctionCounter, counter_for

COUNTER = counter_for(None)
KINDS: list[Condenser] = [
    condense_code,
    condense_diff,
    condense_html,
    condense_markdown,
    condense_text,
    condense_base64,
]
for_every_kind = pytest.mark.parametrize("condense", KINDS)
ODD_LINES = [
    "",
    "    ",
    "import os",
    "class Shop(Base):",
    "    def sell(self, item: str) -> None:",
    '        """Sell it."""',
    "        raise ValueError(item)  # TODO",
    "static int main(void)",
    "{",
    "}",
    "    12\tfunc (s *Shop) Sell(item string) error {",
    "    13→\treturn nil",
    "diff --git a/src/main.py b/src/main.py",
    "--- a/src/main.py",
    "+++ b/src/main.py",
    "@@ -1,3 +1,4 @@ def main():",
    "-    run()",
    "+    run_all()",
    "GIT binary patch",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "<!doctype html><html><head><title>Shop</title><style>p { color: red }</style></head>",
    "<body><nav><a href='/'>Home</a></nav><p>Disk &amp; tape</p><script>let a = '<p>';</script>",
    "<table><tr><th>id</th><th>name</th></tr><tr><td>1</td><td>Ann</td></tr></table>",
    "</div></p><b>unclosed <a href=x",
    "# Heading",
    "## Disk",
    "- an item",
    "```python",
    "```",
    "A sentence. Another one about disk and main.py.",
    "iVBORw0KGgoAAAANSUhEUgAA" * 40,
    "4d5a90000300000004000000ffff0000" * 20,
    "\x00\x01\ufffdbinary",
    "你好 🙂 \ud83d",
    "x" * 3_000,
]
TEXTS = st.lists(st.sampled_from(ODD_LINES) | st.text(st.characters(), max_size=40), max_size=60).map(
    "\n".join
)
BAITS = [
    *(
        "a" * 100,
        "a_",
        "A.",
        "(",
        "def f(",
        "f(a ",
        "[",
        "{\n",
        " {",
        " a\n",
        "\n",
        " \n",
        "1\t",
        "/",
        "*",
        "# ",
    ),
    *(
        "<",
        "<a ",
        "<!--",
        "<!",
        "</",
        "&",
        "&#",
        "<p>",
        "<div>\n",
        "<table>",
        "<td>a",
        "<a href=x>y</a>",
        "<script>",
        "='",
        "-->",
    ),
    *(
        "@@ ",
        "@@ -1 +1 @@\n",
        "+",
        "-",
        "diff --git a/x b/x\n",
        "commit 0\n",
        "`",
        "```\n",
        "|",
        "- ",
        "=",
        "é",
    ),
]


def budget(max_tokens: int, *terms: str) -> Budget:
    return Budget(max_tokens, COUNTER, frozenset(terms))


@for_every_kind
@given(text=TEXTS, times=st.integers(1, 8), limit=st.integers(1, 400))
@settings(max_examples=60, deadline=None)
def test_a_result_fits_comes_again_the_same_and_stays_as_it_is(
    condense: Condenser, text: str, times: int, limit: int
) -> None:
    long = text * times
    made = condense(long, budget(limit, "disk", "main.py"))
    assert COUNTER.count(made.text) <= limit
    assert condense(long, budget(limit, "main.py", "disk")) == made
    assert condense(made.text, budget(limit)).text == made.text
    assert made.lossless or NOTE in made.text or made.kept == "the beginning"


@for_every_kind
def test_a_text_that_fits_is_returned_as_it_is(condense: Condenser) -> None:
    text = "\n".join(ODD_LINES[:-2])
    assert condense(text, budget(COUNTER.count(text))).text is text


@for_every_kind
def test_where_no_note_has_room_a_beginning_stays(condense: Condenser) -> None:
    text = "\n".join(f"word {number} of many that differ" for number in range(900))
    made = condense(text, budget(20))
    assert text.startswith(made.text)
    assert 15 <= COUNTER.count(made.text) <= 20
    assert made.hidden


@for_every_kind
def test_the_note_tells_how_to_get_at_the_rest(condense: Condenser) -> None:
    text = "\n".join(f"word {number} of many that differ" for number in range(3_000))
    made = condense(text, Budget(300, COUNTER, how="call `recall` with the handle r1"))
    assert made.text.endswith("call `recall` with the handle r1]")
    assert made.kept in made.text and made.hidden in made.text


@for_every_kind
def test_a_slow_counter_is_asked_for_little(condense: Condenser) -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text.split())

    text = "\n".join(f"word {number} of a long text" for number in range(40_000))
    made = condense(text, Budget(2_000, FunctionCounter(count, name="words")))
    assert len(made.text.split()) <= 2_000
    assert sum(counted) < 0.2 * len(text)


@for_every_kind
@pytest.mark.parametrize("bait", BAITS)
def test_the_time_grows_with_the_text_and_not_faster(condense: Condenser, bait: str) -> None:
    """A quadratic step would take sixteen times as long for four times the text."""
    small, large = (bait * (chars // len(bait)) + "\n!" for chars in (20_000, 80_000))
    condense(small, budget(200))
    assert _seconds(condense, large) < 9 * _seconds(condense, small) + 0.02


def _seconds(condense: Callable[[str, Budget], Condensed], text: str) -> float:
    times: list[float] = []
    for _ in range(3):
        start = time.process_time()
        condense(text, budget(200))
        times.append(time.process_time() - start)
    return min(times)
