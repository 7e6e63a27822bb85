"""A block counter counts a block once, within its memory, from any number of threads."""

from __future__ import annotations

import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import pytest

from ctxkit.errors import ConfigError
from ctxkit.messages import Block
from ctxkit.tokens import BlockCounter, CountMemory, block_counter_for, counter_for
from ctxkit.tokens.blocks import ENTRY_BYTES
from ctxkit.tokens.structure import structure_for


class Letters:
    """Counts a token a letter, and remembers what it counted."""

    name = "letters"

    def __init__(self) -> None:
        self.counted: list[str] = []

    def count(self, text: str) -> int:
        self.counted.append(text)
        return len(text)


def block(text: str, *, native: Any = None, kind: Any = "user_text", images: int = 0) -> Block:
    digest = blake2b(f"{native} {images} {text}".encode(), digest_size=16).digest()
    return Block(kind=kind, text=text, digest=digest, where=(), native=native or text, images=images)


def test_a_block_costs_its_text_and_what_its_structure_puts_beside_it() -> None:
    structure = structure_for("claude-opus-4-6", "anthropic_messages")
    counter = BlockCounter(Letters(), structure)
    named = {
        "type": "tool_result",
        "content": [{"type": "text", "text": "abc"}, {"type": "image", "source": {}}],
    }
    result = block("abc", native=named, kind="tool_result", images=1)
    assert counter.count(result) == 3 + structure.beside(result) == 3 + 3 + 1_568
    assert counter.count_said(result) == 3


def test_a_text_of_more_than_a_million_characters_is_estimated_from_both_its_ends() -> None:
    letters = Letters()
    text = "a" * 1_000_000 + "b" * 500_000
    assert BlockCounter(letters).count(block(text)) == 1_500_000
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


def test_what_is_equal_but_of_another_kind_is_counted_for_itself() -> None:
    counter = BlockCounter(Letters(), structure_for("gpt-4o", "openai_responses"))
    said = block("abc")
    assert counter.count(said) == 3
    assert counter.count(replace(said, kind="tool_result")) == 7


def test_the_block_used_longest_ago_is_forgotten_first() -> None:
    letters = Letters()
    counter = BlockCounter(letters, memory=CountMemory(max_bytes=2 * ENTRY_BYTES))
    for text in ("a", "b", "a", "c", "a", "b"):
        counter.count(block(text))
    assert letters.counted == ["a", "b", "c", "b"]


def test_counters_that_share_a_memory_keep_counts_of_their_own() -> None:
    memory = CountMemory()
    first = BlockCounter(Letters(), structure_for("gpt-4o", None), memory=memory)
    second = BlockCounter(Letters(), structure_for("claude-opus-5", None), memory=memory)
    call = block("ls {}", kind="tool_call")
    assert first.count(call) == first.count(call) == 2 + 2 + 4
    assert second.count(call) == second.count(call) == 2 + 2 + 24
    assert first.name != second.name


class Plain:
    """Counts without remembering anything; its counts are objects of their own."""

    name = "plain"

    def count(self, text: str) -> int:
        return 1_000_000 + len(text)


@pytest.mark.parametrize("entries", [1_000, 1_400, 2_800])
def test_remembered_counts_take_no_more_memory_than_allowed(entries: int) -> None:
    counter = BlockCounter(Plain(), memory=CountMemory(max_bytes=entries * ENTRY_BYTES))
    tracemalloc.start()
    for number in range(2 * entries):
        counter.count(block(f"{number}", kind="tool_definition"))
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert entries * 100 < used <= entries * ENTRY_BYTES


def test_a_memory_without_room_for_one_count_is_refused() -> None:
    with pytest.raises(ConfigError) as raised:
        CountMemory(max_bytes=ENTRY_BYTES - 1)
    assert raised.value.option == "max_bytes"


def test_many_threads_may_share_a_counter() -> None:
    counter = BlockCounter(Letters(), memory=CountMemory(max_bytes=3 * ENTRY_BYTES))
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


def test_models_that_count_alike_share_a_counter_and_others_do_not() -> None:
    chat = block_counter_for("gpt-4.1", "openai_chat")
    assert block_counter_for("gpt-4o-2024-08-06", "openai_chat") is chat
    assert block_counter_for("gpt-4o", "openai_responses") is not chat
    assert block_counter_for("gpt-5", "openai_chat") is not chat
    assert counter_for("gpt-4o").name in chat.name
    assert block_counter_for(None).count(block("hello world")) == 2
