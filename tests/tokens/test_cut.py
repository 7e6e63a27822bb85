"""A cut keeps its budget, its side of the text, whole characters, and is as long as it can be."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.tokens import Counter, FunctionCounter, TiktokenCounter, counter_for, head, tail
from ctxkit.tokens._vocabulary import EncodingName, encoding

Cut = Callable[[str, int, Counter], str]

NAMES: tuple[EncodingName, ...] = ("o200k_base", "cl100k_base")
COUNTER = TiktokenCounter()
ANY_TEXT = st.lists(
    st.characters(exclude_categories=())
    | st.sampled_from(
        ["\ud83d", "\ude00", "\U0001f9d1\U0001f3fd", "  ", "\n \n", "12345", "It'll", "<|endoftext|>"]
    )
).map("".join)

every_encoding = pytest.mark.parametrize("counter", [TiktokenCounter(name) for name in NAMES], ids=NAMES)
both_ends = pytest.mark.parametrize("cut", [head, tail])


@pytest.fixture(autouse=True, scope="module")
def _encodings_are_loaded() -> None:
    for name in NAMES:
        encoding(name)


class Recording:
    """Counts as `COUNTER` does, plus a frame around every text, and remembers how long they were."""

    name = "recording"

    def __init__(self, *, frame: int = 0) -> None:
        self.frame = frame
        self.asked: list[int] = []

    def count(self, text: str) -> int:
        return self.frame + len(self.tokens(text))

    def tokens(self, text: str) -> list[bytes]:
        self.asked.append(len(text))
        return COUNTER.tokens(text)


@every_encoding
@given(text=ANY_TEXT, max_tokens=st.integers(min_value=-1, max_value=40))
def test_a_head_is_a_prefix_within_its_budget_that_no_character_could_be_added_to(
    counter: TiktokenCounter, text: str, max_tokens: int
) -> None:
    kept = head(text, max_tokens, counter)
    assert text.startswith(kept)
    assert counter.count(kept) <= max(0, max_tokens)
    assert kept == text or counter.count(text[: len(kept) + 1]) > max_tokens


@every_encoding
@given(text=ANY_TEXT, max_tokens=st.integers(min_value=-1, max_value=40))
def test_a_tail_is_a_suffix_within_its_budget_that_no_character_could_be_added_to(
    counter: TiktokenCounter, text: str, max_tokens: int
) -> None:
    kept = tail(text, max_tokens, counter)
    assert text.endswith(kept)
    assert counter.count(kept) <= max(0, max_tokens)
    assert kept == text or counter.count(text[len(text) - len(kept) - 1 :]) > max_tokens


@both_ends
@pytest.mark.parametrize("max_tokens", [0, -1, -1_000])
def test_nothing_fits_into_no_tokens(cut: Cut, max_tokens: int) -> None:
    assert cut("some text", max_tokens, COUNTER) == ""


@both_ends
def test_a_text_that_fits_is_given_back_whole(cut: Cut) -> None:
    text = "def f():\n    return '\U0001f9d1\ud83d'\n"
    assert cut(text, COUNTER.count(text), COUNTER) == text


def test_a_cut_between_words_keeps_the_words_at_its_end() -> None:
    text = "one two three four five six seven eight nine ten eleven twelve"
    assert head(text, 3, COUNTER) == "one two three"
    assert tail(text, 3, COUNTER) == " ten eleven twelve"


@both_ends
def test_a_character_of_several_tokens_is_kept_whole_or_not_at_all(cut: Cut) -> None:
    rune = "\U00016a5c"
    size = COUNTER.count(rune)
    assert size > 2
    assert cut(rune * 5, size - 1, COUNTER) == ""
    assert cut(rune * 5, 3 * size - 1, COUNTER) == rune * 2


@both_ends
@pytest.mark.parametrize(
    "text",
    ["every line of this log is the same\n" * 100_000, " " * 3_000_000, "\ud83d" * 500_000],
    ids=["lines", "spaces", "surrogates"],
)
def test_a_cut_reads_only_as_much_of_a_long_text_as_it_needs(cut: Cut, text: str) -> None:
    counter = Recording()
    kept = cut(text, 100, counter)
    assert COUNTER.count(kept) == 100
    assert max(counter.asked) < 40_000
    assert len(counter.asked) < 15


@every_encoding
def test_a_head_holds_at_least_the_first_tokens_of_the_whole_text(counter: TiktokenCounter) -> None:
    text = "Deployment\tsucceeded; observability: counterrevolutionaries internationalised " * 20
    tokens = counter.tokens(text)
    for max_tokens in range(1, len(tokens)):
        assert len(head(text, max_tokens, counter)) >= len(b"".join(tokens[:max_tokens]))


class Sparing(Recording):
    """Counts five characters as one, though each is a token by itself."""

    def count(self, text: str) -> int:
        self.asked.append(len(text))
        return (len(text) + 4) // 5

    def tokens(self, text: str) -> list[bytes]:
        return [character.encode() for character in text]


@both_ends
def test_a_cut_grows_where_its_tokens_count_less_together(cut: Cut) -> None:
    counter = Sparing()
    assert cut("x" * 10_000, 200, counter) == "x" * 1_000
    assert len(counter.asked) < 25


@both_ends
def test_what_a_counter_adds_to_every_text_is_taken_off_the_budget(cut: Cut) -> None:
    text = "one two three four five six " * 50
    counter = Recording(frame=30)
    assert cut(text, 230, counter) == cut(text, 200, COUNTER)
    assert len(counter.asked) < 10


@both_ends
def test_nothing_is_left_where_a_counter_adds_more_than_the_budget(cut: Cut) -> None:
    assert cut("one two three four five six", 2, Recording(frame=3)) == ""


WORDS = st.sampled_from(
    [
        "the ",
        "def f(x):\n    ",
        '{"a": 1}, ',
        "你好，世界。",
        "안녕 ",
        "Привет ",
        "مرحبا ",
        "नमस्ते ",
        "😀",
        "\ud83d",
    ]
    + ["\n\n", "    ", "x9", "it's ", "A1b2C3", "/* */", "\t1\t", "²5", "e\u0301 ", "://"]
)
MIXED = st.lists(WORDS | st.text(max_size=3), min_size=60, max_size=200).map("".join)
slowly = settings(max_examples=40)


@every_encoding
@both_ends
@given(text=MIXED, max_tokens=st.integers(min_value=40, max_value=400))
@slowly
def test_a_cut_of_mixed_scripts_is_within_its_budget_and_no_character_could_be_added(
    counter: TiktokenCounter, cut: Cut, text: str, max_tokens: int
) -> None:
    kept = cut(text, max_tokens, counter)
    longer = text[: len(kept) + 1] if cut is head else text[max(0, len(text) - len(kept) - 1) :]
    assert kept == (text[: len(kept)] if cut is head else text[len(text) - len(kept) :])
    assert counter.count(kept) <= max_tokens
    assert kept == text or counter.count(longer) > max_tokens


@both_ends
@given(text=MIXED, max_tokens=st.integers(min_value=40, max_value=400))
@slowly
def test_the_installed_engine_cuts_where_the_reference_cuts(cut: Cut, text: str, max_tokens: int) -> None:
    assert cut(text, max_tokens, counter_for("gpt-4o")) == cut(text, max_tokens, COUNTER)


class Counting:
    """Only counts, as `COUNTER` does, and notes how long the texts were."""

    def __init__(self) -> None:
        self.name = "counting"
        self.asked: list[int] = []

    def count(self, text: str) -> int:
        self.asked.append(len(text))
        return COUNTER.count(text)


@both_ends
@given(text=MIXED, max_tokens=st.integers(min_value=-1, max_value=400))
@slowly
def test_a_counter_that_only_counts_is_asked_a_few_times_and_its_budget_kept(
    cut: Cut, text: str, max_tokens: int
) -> None:
    counter = Counting()
    kept = cut(text, max_tokens, counter)
    assert (text.startswith if cut is head else text.endswith)(kept)
    assert COUNTER.count(kept) <= max(0, max_tokens)
    assert len(counter.asked) <= 12


@both_ends
def test_a_counter_that_only_counts_leaves_at_most_a_sixty_fourth_of_plain_text_unused(cut: Cut) -> None:
    counter = Counting()
    text = "".join(
        f"{number}: the quick brown fox jumps over {number * 7} lazy dogs\n" for number in range(9_000)
    )
    kept = cut(text, 2_000, counter)
    assert 2_000 - 2_000 / 64 <= COUNTER.count(kept) <= 2_000
    assert len(counter.asked) <= 5
    assert max(counter.asked) < 40_000


@both_ends
@pytest.mark.parametrize("text", ["", "x", "one two three " * 500, " " * 100_000])
def test_a_counter_that_only_counts_keeps_a_text_that_fits_whole(cut: Cut, text: str) -> None:
    assert cut(text, max(1, COUNTER.count(text)), Counting()) == text


@both_ends
def test_a_counter_that_only_counts_finds_the_very_character_where_that_takes_few_looks(cut: Cut) -> None:
    assert len(cut("x" * 500, 37, FunctionCounter(len, name="letters"))) == 37


@both_ends
def test_a_text_that_gets_denser_is_cut_with_few_looks(cut: Cut) -> None:
    counter = FunctionCounter(lambda text: len(text) ** 2, name="squares")
    assert 900 <= len(cut("x" * 100_000, 1_000_000, counter)) <= 1_000


@both_ends
def test_a_cut_of_a_dense_text_takes_no_more_than_it_needs(cut: Cut) -> None:
    text = " ".join(f"{number:x}Zq#" for number in range(100_000))
    kept = cut(text, 2_000, COUNTER)
    assert COUNTER.count(kept) == 2_000


@both_ends
def test_a_counter_that_jumps_is_asked_twelve_times_and_what_fits_is_kept(cut: Cut) -> None:
    asked = []

    def jumping(text: str) -> int:
        asked.append(len(text))
        return 0 if len(text) <= 777 else 1_000_000

    kept = cut("x" * 90_000, 300, FunctionCounter(jumping, name="jumping"))
    assert 300 < len(kept) <= 777
    assert len(asked) == 12
