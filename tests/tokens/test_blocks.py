"""A block counter counts a block once, within its memory, from any number of threads."""

from __future__ import annotations

import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b

import pytest

from ctxkit.errors import ConfigError
from ctxkit.messages import Block
from ctxkit.tokens import IMAGE_TOKENS, BlockCounter, block_counter_for
from ctxkit.tokens.blocks import ENTRY_BYTES


class Letters:
    """Counts a token a letter, and remembers what it counted."""

    name = "letters"

    def __init__(self) -> None:
        self.counted: list[str] = []

    def count(self, text: str) -> int:
        self.counted.append(text)
        return len(text)


def block(text: str, *, images: int = 0) -> Block:
    digest = blake2b(f"{images} {text}".encode(), digest_size=16).digest()
    return Block(kind="user_text", text=text, digest=digest, where=(), native=text, images=images)


def test_a_block_costs_its_text_and_a_constant_for_every_image() -> None:
    counter = BlockCounter(Letters())
    assert counter.count(block("abc")) == 3
    assert counter.count(block("abc", images=2)) == 3 + 2 * IMAGE_TOKENS
    assert counter.count(block("", images=1)) == IMAGE_TOKENS


def test_a_text_of_more_than_a_million_characters_is_estimated_from_both_its_ends() -> None:
    letters = Letters()
    text = "a" * 1_000_000 + "b" * 500_000
    assert BlockCounter(letters).count(block(text, images=1)) == 1_500_000 + IMAGE_TOKENS
    assert letters.counted == ["a" * 500_000, "b" * 500_000]


def test_a_text_of_a_million_characters_is_counted_whole() -> None:
    letters = Letters()
    text = "a" * 500_000 + "b" * 500_000
    assert BlockCounter(letters).count(block(text)) == 1_000_000
    assert letters.counted == [text]


def test_equal_blocks_are_counted_once() -> None:
    letters = Letters()
    counter = BlockCounter(letters)
    assert [counter.count(block("abc")) for _ in range(3)] == [3, 3, 3]
    assert counter.count(block("")) == counter.count(block("")) == 0
    assert letters.counted == ["abc", ""]


def test_the_block_used_longest_ago_is_forgotten_first() -> None:
    letters = Letters()
    counter = BlockCounter(letters, max_bytes=2 * ENTRY_BYTES)
    for text in ("a", "b", "a", "c", "a", "b"):
        counter.count(block(text))
    assert letters.counted == ["a", "b", "c", "b"]


class Plain:
    """Counts without remembering anything; its counts are objects of their own."""

    name = "plain"

    def count(self, text: str) -> int:
        return 1_000_000 + len(text)


@pytest.mark.parametrize("entries", [1_000, 1_400, 2_800])
def test_remembered_counts_take_no_more_memory_than_allowed(entries: int) -> None:
    counter = BlockCounter(Plain(), max_bytes=entries * ENTRY_BYTES)
    tracemalloc.start()
    for number in range(2 * entries):
        counter.count(block(f"{number}"))
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert entries * 100 < used <= entries * ENTRY_BYTES


def test_a_counter_without_room_for_one_count_is_refused() -> None:
    with pytest.raises(ConfigError) as raised:
        BlockCounter(Letters(), max_bytes=ENTRY_BYTES - 1)
    assert raised.value.option == "max_bytes"


def test_many_threads_may_share_a_counter() -> None:
    counter = BlockCounter(Letters(), max_bytes=3 * ENTRY_BYTES)
    blocks = [block("x" * size) for size in range(1, 9)]

    def total(_: int) -> int:
        return sum(counter.count(one) for _ in range(200) for one in blocks)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(total, range(8))) == {200 * 36}
    finally:
        sys.setswitchinterval(interval)


def test_models_of_one_encoding_share_a_counter_and_others_do_not() -> None:
    assert block_counter_for("claude-opus-5") is block_counter_for(None)
    assert block_counter_for("gpt-4").name == "cl100k_base"
    assert block_counter_for(None).name == "o200k_base"
    assert block_counter_for(None).count(block("hello world")) == 2
