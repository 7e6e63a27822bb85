"""A count is tiktoken's own, and there is no string that can't be counted."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import tiktoken
import tiktoken.model
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.errors import ConfigError
from ctxkit.tokens import FunctionCounter, TiktokenCounter, counter_for
from ctxkit.tokens._vocabulary import EncodingName, encoding
from ctxkit.tokens.encoding_counter import EncodingCounter
from ctxkit.tokens.protocol import ScaledCounter

NAMES: tuple[EncodingName, ...] = ("o200k_base", "cl100k_base")
ANY_TEXT = st.lists(
    st.characters(exclude_categories=())
    | st.sampled_from(["\ud83d", "\ude00", "\U0001f600", " ", "\n", "/", "<|endoftext|>", "中"])
).map("".join)

every_encoding = pytest.mark.parametrize("counter", [TiktokenCounter(name) for name in NAMES], ids=NAMES)


@pytest.fixture(autouse=True, scope="module")
def _encodings_are_loaded() -> None:
    for name in NAMES:
        encoding(name)


def reference_ids(counter: EncodingCounter, text: str) -> list[int]:
    return encoding(counter.name).encode(text, disallowed_special=())


@every_encoding
@given(text=st.text())
def test_a_count_is_the_number_of_ids_that_tiktoken_gives(counter: TiktokenCounter, text: str) -> None:
    assert counter.count(text) == len(reference_ids(counter, text))


@every_encoding
@given(text=ANY_TEXT)
def test_any_string_is_counted_and_always_the_same(counter: TiktokenCounter, text: str) -> None:
    assert counter.count(text) == TiktokenCounter(counter.name).count(text)


@every_encoding
@given(text=ANY_TEXT)
def test_the_tokens_are_as_many_as_counted_and_make_up_the_text(counter: TiktokenCounter, text: str) -> None:
    tokens = counter.tokens(text)
    readable = "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    assert len(tokens) == counter.count(text)
    assert b"".join(tokens).decode() == readable


@every_encoding
def test_the_name_of_a_control_token_is_counted_as_plain_text(counter: TiktokenCounter) -> None:
    tokens = counter.tokens("<|endoftext|>")
    assert len(tokens) > 1
    assert b"".join(tokens) == b"<|endoftext|>"


@every_encoding
def test_a_lone_surrogate_is_counted_as_a_replacement_character(counter: TiktokenCounter) -> None:
    assert counter.count("cut \ud83d here") == counter.count("cut \ufffd here")


@every_encoding
@pytest.mark.parametrize("joined", ["{\n//", "}\n\n\n\n", "x\n \n y", "a\nb"])
def test_a_long_text_is_counted_in_pieces_without_changing_the_count(
    counter: TiktokenCounter, joined: str
) -> None:
    """The 200,000th character, where a piece would be full, is the first newline of `joined`."""
    text = "a line\n" * 28_571 + " " + joined + "the rest\n" * 30_000
    assert text[199_999] == "\n"
    assert counter.count(text) == len(reference_ids(counter, text))


@every_encoding
def test_a_long_line_is_counted_in_pieces_without_changing_the_count(counter: TiktokenCounter) -> None:
    text = json.dumps([{"id": number, "name": f"item's {number}²"} for number in range(15_000)])
    assert "\n" not in text
    assert len(text) > 500_000
    assert counter.count(text) == len(reference_ids(counter, text))


@every_encoding
@pytest.mark.parametrize("ending", ["", "x"])
def test_a_million_spaces_in_a_row_are_counted(counter: TiktokenCounter, ending: str) -> None:
    """`tiktoken` 0.14 raises on 1,000,055 and more whitespace characters in a row."""
    assert counter.count(" " * 1_000_100 + ending) == pytest.approx(1_000_100 / 128, rel=0.01)


@every_encoding
@given(
    character=st.sampled_from(" \t\n\r\0-=#_a0é中😀\u3000\ud83d") | st.characters(),
    length=st.integers(min_value=8_191, max_value=20_000),
    around=st.tuples(*2 * [st.text(max_size=3) | st.sampled_from(["x", " ", "\n", "x\n", "'s", "/", "a"])]),
)
@settings(max_examples=60)
def test_a_long_run_of_one_character_is_counted_right_to_the_token(
    counter: TiktokenCounter, character: str, length: int, around: tuple[str, str]
) -> None:
    text = character * length
    text = f"{around[0]}{text}{around[1]}{text}"
    readable = text.replace("\ud83d", "\ufffd")
    assert counter.count(text) == len(reference_ids(counter, readable))


class Asked:
    """An engine that notes how much it is given."""

    chars = 0

    def count(self, text: str) -> int:
        self.chars += len(text)
        return len(text)

    def tokens(self, text: str) -> list[bytes]:
        raise NotImplementedError


@pytest.mark.parametrize("character", [" ", "\n", "a", "\0", "中", "\ud83d"])
def test_little_of_a_long_run_is_tokenized(character: str) -> None:
    engine = Asked()
    counter = EncodingCounter("o200k_base", engine=lambda name: engine)
    text = f"before {character * 3_000_000} after {character * 1_000_000}."
    assert counter.count(text) == len(text)
    assert engine.chars < 10_000


def test_many_threads_count_at_once_and_each_gets_the_right_counts() -> None:
    counter = counter_for("gpt-4o")
    texts = [f"line {number}: {'é' * (number % 7)} {number**3}\n" * 40 for number in range(64)]
    expected = [len(encoding("o200k_base").encode(text)) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        for counts in pool.map(lambda _: list(map(counter.count, texts)), range(8)):
            assert counts == expected


class PanicException(BaseException):
    """Named and derived as what tiktoken's Rust code raises when it panics."""


@pytest.mark.parametrize("error", [PanicException, ValueError])
def test_a_text_that_tiktoken_gives_up_on_counts_a_token_for_every_three_bytes(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_up(*_: object, **__: object) -> list[int]:
        raise error

    monkeypatch.setattr(tiktoken.Encoding, "encode", give_up)
    counter = TiktokenCounter()
    assert counter.count("") == 0
    assert counter.count("naïve!") == 3
    assert counter.tokens("naïve!") == [b"na\xc3", b"\xafve", b"!"]


def test_a_keyboard_interrupt_while_counting_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> list[int]:
        raise KeyboardInterrupt

    monkeypatch.setattr(tiktoken.Encoding, "encode", interrupt)
    with pytest.raises(KeyboardInterrupt):
        TiktokenCounter().count("text")


def test_an_unknown_encoding_is_refused_when_the_counter_is_made() -> None:
    with pytest.raises(ConfigError, match="known encodings: o200k_base, cl100k_base") as raised:
        TiktokenCounter("p50k_base")  # type: ignore[arg-type]
    assert raised.value.option == "encoding"


def test_a_counter_is_made_of_any_function() -> None:
    counter = FunctionCounter(len, name="letters", exact=True)
    assert (counter.name, counter.exact, counter.count("four")) == ("letters", True, 4)
    assert not FunctionCounter(len, name="letters").exact


def test_a_count_in_another_models_tokens_is_scaled_and_rounded_up() -> None:
    counter = ScaledCounter(FunctionCounter(len, name="letters"), lambda text: 1.08, name="scaled")
    assert (counter.name, counter.exact) == ("scaled", False)
    assert [counter.count("x" * length) for length in (0, 1, 100)] == [0, 2, 108]


def test_openais_chat_models_get_the_encoding_that_tiktoken_gives_them() -> None:
    """A tripwire: the rules are taken from `tiktoken.model`."""
    table = {**tiktoken.model.MODEL_PREFIX_TO_ENCODING, **tiktoken.model.MODEL_TO_ENCODING}
    chat = {
        model: name.replace("o200k_harmony", "o200k_base")
        for model, name in table.items()
        if model.startswith(("gpt-", "ft:gpt-", "chatgpt-", "o1", "o3", "o4")) and model != "gpt-2"
    }
    assert len(chat) > 15
    assert {model: counter_for(model).name for model in chat} == chat
    assert all(counter_for(model).exact for model in chat)
