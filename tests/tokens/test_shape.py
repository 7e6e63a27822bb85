"""The shape of a request adds up, is worked out once a turn, and can be cut anywhere."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.messages import Block, Histories, ModelRequest
from ctxkit.tokens import IMAGE_TOKENS, BlockCounter, Shape, prefix, shape_of, turn_tokens
from ctxkit.wire import wire_named

Key = tuple[str, str | None]

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aWNvbg=="}}
READ_FILE = {"name": "read_file", "input_schema": {"type": "object"}}


class Letters:
    """Counts a token a letter."""

    def __init__(self, name: str = "letters") -> None:
        self.name = name

    def count(self, text: str) -> int:
        return len(text)


class Recording(BlockCounter):
    """Remembers the texts of the blocks that it was asked about."""

    def __init__(self, name: str = "letters") -> None:
        super().__init__(Letters(name))
        self.asked: list[str] = []

    def count(self, block: Block) -> int:
        self.asked.append(block.text)
        return super().count(block)


def user(*content: Any) -> dict[str, Any]:
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    return {"role": "user", "content": parts}


def tool_use(text: str, tool: str, call_id: str) -> dict[str, Any]:
    call = {"type": "tool_use", "id": call_id, "name": tool, "input": {}}
    return {"role": "assistant", "content": [{"type": "text", "text": text}, call]}


def tool_result(text: str, call_id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": text}


def request_of(messages: list[Any], *, histories: Histories | None = None, **body: Any) -> ModelRequest:
    wire = wire_named("anthropic_messages")
    return ModelRequest(wire, {"messages": messages, **body}, histories=histories or Histories())


def blockwise(request: ModelRequest) -> list[tuple[Key, int]]:
    """The blocks of a request as keys and tokens, spelled out."""
    parts: list[tuple[Key, int]] = [
        ((block.kind, block.tool), len(block.text)) for block in request.head.blocks
    ]
    for turn in request.turns:
        for place, block in enumerate(turn.blocks):
            size = len(block.text) + IMAGE_TOKENS * block.images + (4 if place == 0 else 0)
            parts.append(((block.kind, block.tool), size))
    return parts


MESSAGES = st.lists(
    st.one_of(
        st.lists(st.text(max_size=20) | st.just(IMAGE), max_size=4).map(lambda parts: user(*parts)),
        st.builds(tool_use, st.text(max_size=20), st.sampled_from(["ls", "grep"]), st.sampled_from("ab")),
        st.builds(tool_result, st.text(max_size=40), st.sampled_from("ab")).map(user),
    ),
    max_size=8,
)
HEADS = st.fixed_dictionaries({}, optional={"system": st.text(max_size=20), "tools": st.just([READ_FILE])})


def test_a_shape_has_the_tokens_of_every_kind_and_tool() -> None:
    request = request_of(
        [user("12345", IMAGE), tool_use("123", "read_file", "a"), user(tool_result("1234567", "a"))],
        system="12",
        tools=[READ_FILE],
    )
    definition, call = (
        len(block.text) for block in request.blocks() if block.kind in ("tool_definition", "tool_call")
    )
    shape = shape_of(request, BlockCounter(Letters()))
    assert shape == Shape(
        total=definition + 2 + 9 + IMAGE_TOKENS + 7 + call + 11,
        by_key={
            ("tool_definition", "read_file"): definition,
            ("system", None): 2,
            ("user_text", None): 5 + 4,
            ("image", None): IMAGE_TOKENS,
            ("assistant_text", None): 3 + 4,
            ("tool_call", "read_file"): call,
            ("tool_result", "read_file"): 7 + 4,
        },
    )


@pytest.mark.parametrize("messages", [[], [user()], [user(), user()]])
def test_a_turn_without_blocks_costs_nothing(messages: list[Any]) -> None:
    request = request_of(messages)
    assert shape_of(request, BlockCounter(Letters())) == Shape(0, {})
    assert prefix(request, BlockCounter(Letters()), 10) == {}


@given(messages=MESSAGES, head=HEADS)
def test_the_keys_of_a_shape_add_up_to_its_total(messages: list[Any], head: dict[str, Any]) -> None:
    request = request_of(messages, **head)
    shape = shape_of(request, BlockCounter(Letters()))
    assert shape.total == sum(shape.by_key.values()) == sum(size for _, size in blockwise(request))


@given(messages=MESSAGES, head=HEADS)
def test_the_tokens_of_the_turns_add_up_to_the_total(messages: list[Any], head: dict[str, Any]) -> None:
    request, counter = request_of(messages, **head), BlockCounter(Letters())
    turns = (request.head, *request.turns)
    assert sum(turn_tokens(turn, counter) for turn in turns) == shape_of(request, counter).total


def test_a_longer_request_asks_only_about_its_new_turns() -> None:
    histories, counter = Histories(), Recording()
    messages = [user("one"), user("two")]
    shape_of(request_of(messages, histories=histories, system="first"), counter)
    assert counter.asked == ["first", "one", "two"]
    counter.asked.clear()
    longer = shape_of(request_of([*messages, user("three")], histories=histories, system="first"), counter)
    assert counter.asked == ["three"]
    assert longer.total == len("firstonetwothree") + 3 * 4


def test_a_longer_request_leaves_the_shape_of_a_shorter_one_as_it_was() -> None:
    histories, counter = Histories(), BlockCounter(Letters())
    shorter = request_of([user("one")], histories=histories)
    before = shape_of(shorter, counter)
    shape_of(request_of([user("one"), user("two")], histories=histories), counter)
    assert shape_of(shorter, counter) == before == Shape(7, {("user_text", None): 7})


def test_counters_of_different_names_keep_shapes_of_their_own() -> None:
    request = request_of([user("one")])
    first, second = Recording("first"), Recording("second")
    assert shape_of(request, first) == shape_of(request, second)
    assert first.asked == second.asked == ["one"]


def test_a_prefix_asks_only_about_the_turn_that_it_ends_in() -> None:
    request, counter = request_of([user("one"), user("two"), user("three")]), Recording()
    shape_of(request, counter)
    counter.asked.clear()
    assert prefix(request, counter, 8) == {("user_text", None): 8}
    assert counter.asked == ["two"]


def test_a_block_that_a_prefix_ends_in_is_counted_in_part() -> None:
    request = request_of([user("12345678"), tool_use("12", "ls", "a")], system="1234")
    counter = BlockCounter(Letters())
    assert prefix(request, counter, 2) == {("system", None): 2}
    assert prefix(request, counter, 4 + 12) == {("system", None): 4, ("user_text", None): 12}
    assert prefix(request, counter, 4 + 12 + 6 + 0.5) == {
        ("system", None): 4,
        ("user_text", None): 12,
        ("assistant_text", None): 6,
        ("tool_call", "ls"): 0.5,
    }


@pytest.mark.parametrize("tokens", [0, 0.0, -1])
def test_a_prefix_of_no_tokens_is_empty(tokens: float) -> None:
    assert sum(prefix(request_of([user("one")]), BlockCounter(Letters()), tokens).values()) == 0


@given(messages=MESSAGES, head=HEADS, share=st.floats(min_value=0, max_value=1.5))
def test_a_prefix_holds_the_first_blocks_in_their_order(
    messages: list[Any], head: dict[str, Any], share: float
) -> None:
    request = request_of(messages, **head)
    parts = blockwise(request)
    ends = list(accumulate((size for _, size in parts), initial=0))
    tokens = share * ends[-1]
    expected: dict[Key, float] = {}
    for (key, size), begin in zip(parts, ends, strict=False):
        expected[key] = expected.get(key, 0) + min(size, max(0.0, tokens - begin))
    found = prefix(request, BlockCounter(Letters()), tokens)
    assert sum(found.values()) == pytest.approx(min(tokens, ends[-1]))
    assert {key: size for key, size in found.items() if size} == pytest.approx(
        {key: size for key, size in expected.items() if size}
    )
