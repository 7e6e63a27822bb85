"""The shape of a request adds up, is worked out once a turn, and can be cut anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.messages import Block, Histories, ModelRequest, Turn
from ctxkit.tokens import BlockCounter, Shape, pieces, prefix, shape_of, turn_tokens
from ctxkit.tokens.structure import FRAME, TOOLS, Structure, structure_for
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


class Framed(Structure):
    """Messages of four tokens, requests of five, an image of seven, and a setting of three."""

    name = "framed"

    def __init__(self, *, drops_thinking: bool = False) -> None:
        self.drops_thinking = drops_thinking

    def medium(self, medium: Any) -> int:
        return 7

    def head(self, head: Turn) -> Iterator[tuple[Key, int]]:
        yield FRAME, 5

    def request(self, body: Any, numbers: Any, count: Any) -> Iterator[tuple[Key, int]]:
        yield FRAME, 3 if body.get("thinking") else 0
        yield TOOLS, 2 * numbers.get("tool_definition", 0)


class Recording(BlockCounter):
    """Remembers the texts of the blocks that it was asked about."""

    def __init__(self, name: str = "letters") -> None:
        super().__init__(Letters(name), Structure())
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
    """What a request is made of, as keys and tokens, spelled out for `Framed`."""
    parts: list[tuple[Key, int]] = [(FRAME, 5 + (3 if request.body.get("thinking") else 0))]
    if request.tools:
        parts.append((TOOLS, 2 * len(request.tools)))
    parts += [((block.kind, block.tool), len(block.text)) for block in request.head.blocks]
    for turn in request.turns:
        for place, block in enumerate(turn.blocks):
            size = len(block.text) + 7 * block.images + (4 if place == 0 else 0)
            parts.append(((block.kind, block.tool), size))
    return parts


def framed(*, drops_thinking: bool = False) -> BlockCounter:
    return BlockCounter(Letters(), Framed(drops_thinking=drops_thinking))


MESSAGES = st.lists(
    st.one_of(
        st.lists(st.text(max_size=20) | st.just(IMAGE), max_size=4).map(lambda parts: user(*parts)),
        st.builds(tool_use, st.text(max_size=20), st.sampled_from(["ls", "grep"]), st.sampled_from("ab")),
        st.builds(tool_result, st.text(max_size=40), st.sampled_from("ab")).map(user),
    ),
    max_size=8,
)
HEADS = st.fixed_dictionaries(
    {},
    optional={
        "system": st.text(max_size=20),
        "tools": st.just([READ_FILE]),
        "thinking": st.just({"type": "enabled"}),
    },
)


def test_a_shape_has_the_tokens_of_every_kind_and_tool() -> None:
    request = request_of(
        [user("12345", IMAGE), tool_use("123", "read_file", "a"), user(tool_result("1234567", "a"))],
        system="12",
        tools=[READ_FILE],
    )
    definition, call = (
        len(block.text) for block in request.blocks() if block.kind in ("tool_definition", "tool_call")
    )
    shape = shape_of(request, framed())
    assert shape == Shape(
        total=5 + 2 + definition + 2 + 9 + 7 + 7 + call + 11,
        by_key={
            FRAME: 5 + 2,
            TOOLS: 2,
            ("tool_definition", "read_file"): definition,
            ("user_text", None): 5 + 4,
            ("image", None): 7,
            ("assistant_text", None): 3 + 4,
            ("tool_call", "read_file"): call,
            ("tool_result", "read_file"): 7 + 4,
        },
        numbers={
            "tool_definition": 1,
            "system": 1,
            "turn": 3,
            "user_text": 1,
            "image": 1,
            "assistant_text": 1,
            "tool_call": 1,
            "tool_result": 1,
        },
    )


@pytest.mark.parametrize("messages", [[], [user()], [user(), user()]])
def test_a_turn_without_blocks_costs_nothing(messages: list[Any]) -> None:
    request = request_of(messages)
    shape = shape_of(request, framed())
    assert (shape.total, shape.by_key) == (5, {FRAME: 5})
    assert prefix(request, framed(), 10) == {FRAME: 5}


@given(messages=MESSAGES, head=HEADS)
def test_the_keys_of_a_shape_add_up_to_its_total(messages: list[Any], head: dict[str, Any]) -> None:
    request = request_of(messages, **head)
    shape = shape_of(request, framed())
    assert shape.total == sum(shape.by_key.values()) == sum(size for _, size in blockwise(request))


@given(messages=MESSAGES, head=HEADS)
def test_the_tokens_of_the_turns_add_up_to_the_total(messages: list[Any], head: dict[str, Any]) -> None:
    request, counter = request_of(messages, **head), framed()
    turns = (request.head, *request.turns)
    settings = 2 * len(request.tools) + (3 if "thinking" in head else 0)
    assert sum(turn_tokens(turn, counter) for turn in turns) + settings == shape_of(request, counter).total


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
    histories, counter = Histories(), BlockCounter(Letters(), Structure())
    shorter = request_of([user("one")], histories=histories)
    before = shape_of(shorter, counter)
    shape_of(request_of([user("one"), user("two")], histories=histories), counter)
    assert shape_of(shorter, counter) == before
    assert before == Shape(7, {("user_text", None): 7}, {"turn": 1, "user_text": 1})


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
    counter = BlockCounter(Letters(), Structure())
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
    assert sum(prefix(request_of([user("one")]), framed(), tokens).values()) == 0


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
    found = prefix(request, framed(), tokens)
    assert sum(found.values()) == pytest.approx(min(tokens, ends[-1]))
    assert {key: size for key, size in found.items() if size} == pytest.approx(
        {key: size for key, size in expected.items() if size}
    )


THOUGHT = {"type": "thinking", "thinking": "12345678", "signature": "s"}


def thoughtful(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": text}]}


def test_thinking_is_left_out_once_the_user_speaks_again() -> None:
    histories, counter = Histories(), framed(drops_thinking=True)
    messages = [user("one"), thoughtful("two")]
    running = [*messages, user(tool_result("three", "a"))]
    over = [*running, thoughtful("four"), user("five"), thoughtful("six")]
    for sent, kept in ((messages, 8), (running, 8), (over[:-1], 0), (over, 8)):
        shape = shape_of(request_of(sent, histories=histories), counter)
        assert shape.by_key["thinking", None] == kept
        assert shape.total == sum(shape.by_key.values())
    assert shape_of(request_of(over), framed()).by_key["thinking", None] == 24


@given(
    messages=st.lists(
        st.sampled_from([user("one"), thoughtful("two"), user(tool_result("three", "a")), user(IMAGE)]),
        max_size=9,
    ),
    head=HEADS,
    drops=st.booleans(),
    share=st.floats(min_value=0, max_value=1),
)
def test_prefixes_grow_to_the_whole_shape(
    messages: list[Any], head: dict[str, Any], drops: bool, share: float
) -> None:
    request, counter = request_of(messages, **head), framed(drops_thinking=drops)
    shape = shape_of(request, counter)
    whole = prefix(request, counter, shape.total)
    assert {key: size for key, size in whole.items() if size} == {k: v for k, v in shape.by_key.items() if v}
    part = prefix(request, counter, share * shape.total)
    assert sum(part.values()) == pytest.approx(share * shape.total)
    assert all(0 <= size <= whole[key] + 1e-6 for key, size in part.items())


SEARCH = {"name": "search", "description": "Finds tools.", "input_schema": {"type": "object"}}
LATER = {
    "name": "later",
    "description": "Rarely needed.",
    "input_schema": {"type": "object"},
    "defer_loading": True,
}
REFERENCE = {"type": "tool_reference", "tool_name": "later"}


@pytest.mark.parametrize(
    "loading",
    [
        {"type": "tool_result", "tool_use_id": "a", "content": [REFERENCE]},
        {
            "type": "tool_search_tool_result",
            "tool_use_id": "a",
            "content": {"type": "tool_search_tool_search_result", "tool_references": [REFERENCE]},
        },
        {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "later"}},
    ],
)
def test_a_tool_that_is_loaded_later_costs_nothing_before(loading: dict[str, Any]) -> None:
    counter = BlockCounter(Letters(), structure_for("claude-sonnet-4-5", "anthropic_messages"))
    messages = [user("one"), tool_use("", "search", "a")]
    before = shape_of(request_of(messages, tools=[SEARCH, LATER]), counter)
    assert before.by_key["tool_definition", "later"] == 0
    request = request_of([*messages, user(loading)], tools=[SEARCH, LATER])
    loaded = shape_of(request, counter).by_key["tool_definition", "later"]
    bare = {key: value for key, value in LATER.items() if key != "defer_loading"}
    (definition,) = request_of([], tools=[bare]).tools
    assert loaded == counter.count(definition) > 0
    assert [
        key for block, key, _ in pieces(request.turns[-1], counter) if block is request.turns[-1].blocks[0]
    ][1:] == [("tool_definition", "later")]


@pytest.mark.parametrize(
    "content", ["later", [{"type": "text", "text": "later"}], [{**REFERENCE, "tool_name": "x"}], [7]]
)
def test_a_result_that_refers_to_no_deferred_tool_loads_nothing(content: Any) -> None:
    counter = BlockCounter(Letters(), structure_for("claude-sonnet-4-5", "anthropic_messages"))
    result = {"type": "mcp_tool_result", "tool_use_id": "a", "content": content}
    request = request_of([tool_use("", "search", "a"), user(result)], tools=[SEARCH, LATER])
    assert shape_of(request, counter).by_key["tool_definition", "later"] == 0
