"""Claude's tokens are ctok's: exact for a text of usual length, by samples for a longer one."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import get_args

import pytest

from ctxkit.tokens import FunctionCounter
from ctxkit.tokens._probes import PROBES, TOKENIZERS
from ctxkit.tokens.ctok_counter import EXACT_CHARS, FAMILIES, CtokCounter
from ctxkit.tokens.encodings import ClaudeFamily, tokenization_of

TRUTH = Path(__file__).parents[3] / "shared" / "data" / "usage_truth" / "anthropic_messages.jsonl.gz"
FRAMES = {"3.0": 7, "4.7": 11, "4.8": 6}


class Fake:
    """Stands for `ctok.token_count`: a token a character, two where it is an `x`, and the frame."""

    def __init__(self) -> None:
        self.chars = 0

    def __call__(self, text: str, version: str) -> int:
        text.encode()
        self.chars += len(text)
        return len(text) + text.count("x") + FRAMES[version]


def counter_of(fake: Fake, family: ClaudeFamily = "v3") -> CtokCounter:
    return CtokCounter(
        family, token_count=fake, base=FunctionCounter(lambda text: len(text) // 2, name="halves")
    )


@pytest.mark.parametrize("family", get_args(ClaudeFamily))
def test_a_text_is_counted_without_the_frame_of_a_message(family: ClaudeFamily) -> None:
    counter = counter_of(Fake(), family)
    assert counter.name == f"ctok-{family}"
    assert counter.exact
    assert counter.count("six xs") == 8
    assert counter.count("") == 0
    assert counter.count("\ud83d") == 1


def test_a_text_up_to_the_limit_is_counted_whole() -> None:
    fake = Fake()
    assert counter_of(fake).count("x" * EXACT_CHARS) == 2 * EXACT_CHARS
    assert fake.chars == EXACT_CHARS


def test_a_longer_text_is_counted_from_samples_that_are_spread_over_it() -> None:
    fake = Fake()
    text = "y" * 50_000 + "x" * 50_000
    assert counter_of(fake).count(text) == pytest.approx(150_000, rel=0.02)
    assert fake.chars < 5_000


@pytest.mark.parametrize("family", get_args(ClaudeFamily))
def test_the_installed_ctok_gives_the_recorded_counts(family: ClaudeFamily) -> None:
    ctok = pytest.importorskip("ctok")
    counter = CtokCounter(family, token_count=ctok.token_count, base=FunctionCounter(len, name="none"))
    column = TOKENIZERS.index(family)
    assert {text: counter.count(text) for text in PROBES} == {
        text: counts[column] for text, counts in PROBES.items()
    }


@pytest.mark.skipif(not TRUTH.exists(), reason="the shared data is not there")
def test_the_counts_of_the_installed_ctok_are_what_anthropic_billed_for_single_messages() -> None:
    """Records of one user message, no tools and no system prompt: `usage` is the text and the frame."""
    ctok = pytest.importorskip("ctok")
    differences = []
    with gzip.open(TRUTH, "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            request = record["request"]
            text = request["messages"][0]["content"] if len(request["messages"]) == 1 else None
            plain = isinstance(text, str) and not (request.keys() & {"tools", "system", "thinking"})
            tokenization = tokenization_of(record["model"])
            if not (record["countable"] and plain and tokenization.claude and tokenization.own):
                continue
            family = FAMILIES[tokenization.claude]
            counter = CtokCounter(
                tokenization.claude, token_count=ctok.token_count, base=FunctionCounter(len, name="none")
            )
            differences.append(record["input_tokens_total"] - family.frame - counter.count(text))
    assert len(differences) > 20
    assert not any(differences)
