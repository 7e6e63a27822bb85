"""The best counter that is installed and right is chosen, and nothing is loaded before it is needed."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ctxkit.tokens import TiktokenCounter, counter_for
from ctxkit.tokens._probes import PROBES, TOKENIZERS
from ctxkit.tokens._vocabulary import encoding
from ctxkit.tokens.counters import Counters
from ctxkit.tokens.ctok_counter import FAMILIES
from ctxkit.tokens.encoding_counter import EncodingCounter
from ctxkit.tokens.tiktoken_engine import TiktokenEngine

REPOSITORY = Path(__file__).parents[2]
MODELS = [
    "gpt-4",
    "gpt-4o",
    "gpt-6",
    "gemini-3-pro",
    "claude-opus-4-5",
    "claude-opus-4-7",
    "claude-opus-5",
    None,
]


def importing(**modules: Any) -> Callable[[str], Any]:
    """An import of these modules alone; an exception among them is raised."""

    def import_module(name: str) -> Any:
        module = modules.get(name, ImportError(name))
        if isinstance(module, Exception):
            raise module
        return module

    return import_module


class Tokenizer:
    """Stands for toktok's: tiktoken behind toktok's names, with `more` tokens for every text."""

    def __init__(self, name: str, more: int = 0) -> None:
        self.name = name
        self.more = more
        self.encode_ordinary = encoding(name).encode_ordinary  # type: ignore[arg-type]
        self.decode_single_token_bytes = encoding(name).decode_single_token_bytes  # type: ignore[arg-type]

    def count(self, text: str) -> int:
        return len(self.encode_ordinary(text)) + self.more


def toktok(more: int = 0) -> Any:
    return SimpleNamespace(_encoding=lambda name: Tokenizer(name, more))


def ctok(more: int = 0) -> Any:
    """Stands for ctok: knows the probes alone."""
    columns = {family.version: (TOKENIZERS.index(name), family.frame) for name, family in FAMILIES.items()}

    def token_count(text: str, version: str) -> int:
        column, frame = columns[version]
        known = {key.replace("\ud83d", "\ufffd"): counts for key, counts in PROBES.items()}
        return known[text][column] + frame + more

    return SimpleNamespace(token_count=token_count)


def test_the_recorded_counts_are_the_references() -> None:
    for name in ("o200k_base", "cl100k_base"):
        counter, column = TiktokenCounter(name), TOKENIZERS.index(name)
        assert {text: counter.count(text) for text in PROBES} == {
            text: counts[column] for text, counts in PROBES.items()
        }


def test_a_package_that_is_not_installed_is_done_without_and_not_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    counters = Counters(import_module=importing())
    counter = counters.for_model("gpt-4o")
    assert isinstance(counter, EncodingCounter)
    assert isinstance(counter.engine, TiktokenEngine)
    assert counters.for_model("claude-opus-4-5").name == "claude-v3"
    assert (
        counters.for_model("claude-opus-4-7").name
        == counters.for_model("claude-opus-5").name
        == "claude-v4.7"
    )
    assert not caplog.records


def test_a_toktok_that_agrees_is_used() -> None:
    counters = Counters(import_module=importing(toktok=toktok()))
    for model in ("gpt-4o", "gpt-4"):
        counter = counters.for_model(model)
        assert isinstance(counter, EncodingCounter)
        assert not isinstance(counter.engine, TiktokenEngine)
        assert counter.count("hello world") == 2
        assert counter.tokens("hello world") == [b"hello", b" world"]


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (toktok(more=1), "is 4 tokens of o200k_base, not 3"),
        (SimpleNamespace(), "AttributeError"),
        (OSError("damaged"), "damaged"),
    ],
)
def test_a_toktok_that_fails_its_test_is_left_out_with_one_warning(
    module: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    counters = Counters(import_module=importing(toktok=module))
    assert [counters.for_model(model).count("hello world") for model in ("gpt-4o", "gpt-4", "gpt-6")] == [
        2,
        2,
        2,
    ]
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "toktok is left out" in record.getMessage()
    assert reason in record.getMessage()


def test_a_ctok_that_agrees_counts_for_claude_models_and_no_others() -> None:
    counters = Counters(import_module=importing(ctok=ctok()))
    assert [counters.for_model(model).name for model in MODELS] == [
        *("cl100k_base", "o200k_base", "o200k_base", "o200k_base"),
        *("ctok-v3", "ctok-v4.7", "ctok-v4.8", "o200k_base"),
    ]
    assert counters.for_model("claude-opus-4-5").count("hello, world") == 3


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (ctok(more=1), "is 4 tokens of v3, not 3"),
        (SimpleNamespace(), "AttributeError"),
        (OSError("damaged"), "damaged"),
    ],
)
def test_a_ctok_that_fails_its_test_is_left_out_with_one_warning(
    module: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    counters = Counters(import_module=importing(ctok=module))
    assert counters.for_model("claude-opus-4-5").name == "claude-v3"
    assert counters.for_model("claude-opus-4-1").name == "claude-v3"
    assert counters.for_model("claude-opus-5").name == "claude-v4.7"
    (record,) = caplog.records
    assert "ctok is left out" in record.getMessage()
    assert reason in record.getMessage()


def test_only_a_models_own_tokenizer_is_exact() -> None:
    counters = Counters(import_module=importing(ctok=ctok()))
    assert [counters.for_model(model).exact for model in MODELS] == [
        *(True, True, False, False),
        *(True, True, True, False),
    ]
    assert not counters.for_model("claude-opus-5-5").exact
    assert not counter_for("claude-opus-4-5", reference=True).exact


def test_a_claude_estimate_goes_by_the_kind_of_text() -> None:
    base, claude = counter_for("gpt-4o"), counter_for("claude-opus-4-5", reference=True)
    ratios = {
        text: claude.count(text * 50) / base.count(text * 50) for text in ("नमस्ते दुनिया ", "the cat is here ")
    }
    assert list(ratios.values()) == pytest.approx([2.4, 1.09], rel=0.05)


@pytest.mark.parametrize("model", MODELS)
def test_a_model_always_gets_the_same_counter(model: str | None) -> None:
    assert counter_for(model) is counter_for(model)
    assert counter_for(model, reference=True) is counter_for(model, reference=True)


def test_the_installed_toktok_counts_and_cuts_as_the_reference_does() -> None:
    pytest.importorskip("toktok")
    for model in ("gpt-4o", "gpt-4"):
        fast, slow = counter_for(model), counter_for(model, reference=True)
        assert isinstance(fast, EncodingCounter)
        assert isinstance(slow, EncodingCounter)
        assert not isinstance(fast.engine, TiktokenEngine)
        for text in PROBES:
            assert fast.tokens(text) == slow.tokens(text)


def test_neither_toktok_nor_ctok_is_loaded_before_something_is_counted() -> None:
    program = """
import sys, ctxkit
assert not {"toktok", "ctok", "tiktoken"} & set(sys.modules)
ctxkit.tokens.counter_for("gpt-4o")
assert not {"toktok", "ctok", "tiktoken"} & set(sys.modules)
print(ctxkit.tokens.counter_for("gpt-4o").count("hello world"))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "2"), done.stderr
