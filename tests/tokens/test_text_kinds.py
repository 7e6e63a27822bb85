"""The kinds of content are told from a text's characters, and lead to the ratios that were measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.tokens.text_kinds import RATIOS, claude_ratio, kinds

KINDS = {
    "english": "The model is asked again and again, and it reads the whole history in each request. ",
    "latin": "El modelo lee toda la historia de la conversación en cada petición que se le envía. ",
    "code": "def f(x: int) -> None:\n    for i in range(x):\n        self.call(i)  # step\n",
    "json": json.dumps({"name": "Ada", "tags": ["a", "b"], "role": "author", "ok": True}),
    "markup": "<div class='row'><p>some words here</p><a href='/x'>a link</a></div>\n",
    "numbers": "12:30:05 1756100880 0.024006 17 1.5e9\n",
    "terminal": "\x1b[32mok\x1b[0m 3 passed in a second\n",
    "minified": "function(a,b){return(a+b)*c[d];e.f(g)}",
    "base64": "TWFuIGlzIGRpc3Rpbmd1aXNoZWQsIG5vdCBvbmx5IGJ5IGhpcyByZWFzb24",
    "whitespace": "      \n      \n",
    "chinese": "今天天气很好我们去公园玩",
    "japanese": "日本語のテキストとカタカナ",
    "korean": "한국어문장입니다",
    "cyrillic": "приветкакдела",
    "arabic": "مرحبابالعالم",
    "devanagari": "नमस्तेदुनिया",
    "other_script": "สวัสดีชาวโลก",
}
everything = pytest.mark.parametrize("kind", KINDS)


def test_every_kind_has_a_ratio_and_an_example() -> None:
    assert list(RATIOS) == list(KINDS)


@everything
@pytest.mark.parametrize("times", [1, 40, 3_000])
def test_a_text_of_one_kind_is_told_at_any_length(kind: str, times: int) -> None:
    shares = kinds(KINDS[kind] * times)
    assert max(shares, key=shares.__getitem__) == kind
    assert claude_ratio(KINDS[kind] * times, "v3") == pytest.approx(RATIOS[kind]["v3"], rel=0.05)


def test_a_text_of_two_scripts_has_a_ratio_between_theirs() -> None:
    text = KINDS["english"] * 3 + KINDS["devanagari"] * 3
    assert set(kinds(text)) == {"english", "devanagari"}
    assert 1.2 < claude_ratio(text, "v3") < 2.3


@given(st.text())
def test_the_shares_of_any_text_add_up(text: str) -> None:
    assert sum(kinds(text).values()) == pytest.approx(1)


@pytest.mark.parametrize(("vocabulary", "most"), [("v3", 0.05), ("v4.7", 0.05)])
def test_the_estimate_of_long_plain_texts_is_near_what_anthropic_counted(
    vocabulary: str, most: float
) -> None:
    """Ratios of recorded answers of `count_tokens` for English prose and 22 languages of code, see RATIOS."""
    measured = {"v3": (1.07, 1.17), "v4.7": (1.56, 1.45)}[vocabulary]
    source = Path(__file__).read_text() + Path(kinds.__code__.co_filename).read_text()
    for text, ratio in zip((KINDS["english"] * 50, source), measured, strict=True):
        assert claude_ratio(text, vocabulary) == pytest.approx(ratio, rel=most)  # type: ignore[arg-type]
