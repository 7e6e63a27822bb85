"""A request costs what its provider makes of it, as documented or as measured on recorded requests."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from ctxkit.messages import Block, Prompt
from ctxkit.tokens import BlockCounter, block_counter_for, shape_of
from ctxkit.tokens.media import Medium
from ctxkit.tokens.structure import FRAME, TOOLS, Structure, structure_for
from ctxkit.wire import READERS, wire_named

TRUTH = Path(__file__).parents[3] / "shared" / "data" / "usage_truth"

ANTHROPIC, CHAT, RESPONSES = "anthropic_messages", "openai_chat", "openai_responses"
GEMINI, BEDROCK = "gemini", "bedrock_converse"
SONNET = "claude-sonnet-4-5"
TOOL = {"name": "ls", "description": "", "input_schema": {"type": "object"}}
FUNCTION = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}


class Words:
    """Counts a token a word."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


def shaped(wire: str, body: dict[str, Any], *, model: str | None) -> dict[Any, int]:
    prompt = Prompt(READERS[wire], body)
    return dict(shape_of(prompt, BlockCounter(Words(), structure_for(model, wire))).by_key)


def claude(*messages: Any, model: str = SONNET, **body: Any) -> dict[Any, int]:
    return shaped(ANTHROPIC, {"messages": list(messages), **body}, model=model)


def chat(*messages: Any, model: str = "gpt-4o", **body: Any) -> dict[Any, int]:
    return shaped(CHAT, {"messages": list(messages), **body}, model=model)


def user(content: Any = "hello there") -> dict[str, Any]:
    return {"role": "user", "content": content}


def block(kind: Any, text: str, native: Any, **more: Any) -> Block:
    return Block(kind=kind, text=text, digest=b"", where=(), native=native, **more)


def png(width: int, height: int) -> str:
    header = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", width, height)
    return base64.b64encode(header).decode()


def test_a_message_to_claude_has_seven_tokens_around_it_and_each_further_one_three() -> None:
    assert sum(claude(user()).values()) == 2 + 7
    assert sum(claude(user(), user(), user()).values()) == 6 + 13
    assert sum(claude(user(), model="claude-opus-5").values()) == 2 + 6


@pytest.mark.parametrize(
    ("model", "thinking", "tokens"),
    [
        (SONNET, {"type": "enabled"}, 29),
        (SONNET, {"type": "adaptive"}, 17),
        (SONNET, {"type": "disabled"}, 0),
        ("claude-opus-4-8", {"type": "adaptive"}, 0),
        (SONNET, None, 0),
    ],
)
def test_thinking_is_announced_to_older_models(model: str, thinking: Any, tokens: int) -> None:
    assert claude(user(), model=model, thinking=thinking)[FRAME] == 4 + tokens


@pytest.mark.parametrize(
    ("model", "auto", "forced"),
    [
        ("claude-opus-5", 286, 406),
        ("claude-sonnet-5-5", 354, 474),
        ("claude-opus-4-8", 290, 410),
        ("claude-opus-4-7", 675, 804),
        ("anthropic/claude-opus-4.6", 497, 589),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 496, 588),
        ("claude-4.5-haiku-20251001", 496, 588),
        ("claude-opus-4-1-20250805", 313, 315),
        ("claude-sonnet-4@20250514", 313, 315),
        ("claude-3-5-sonnet-20240620", 294, 261),
        ("claude-3-5-haiku-latest", 264, 355),
        ("claude-3-opus-20240229", 530, 281),
        ("claude-next", 354, 474),
    ],
)
def test_tools_bring_a_system_prompt_of_the_model_and_the_choice(model: str, auto: int, forced: int) -> None:
    assert claude(user(), tools=[TOOL], model=model)[TOOLS] == auto
    assert claude(user(), tools=[TOOL], tool_choice={"type": "none"}, model=model)[TOOLS] == auto
    assert claude(user(), tools=[TOOL], tool_choice={"type": "any"}, model=model)[TOOLS] == forced
    named = {"type": "tool", "name": "ls"}
    assert claude(user(), tools=[TOOL], tool_choice=named, model=model)[TOOLS] == forced + 3


def test_a_system_prompt_beside_tools_costs_one_token_more() -> None:
    assert claude(user(), tools=[TOOL], system="Be kind.")[TOOLS] == 497


@pytest.mark.parametrize(
    ("kind", "tokens"), [("bash_20250124", 251), ("text_editor_20250728", 706), ("computer_20250124", 741)]
)
def test_a_tool_of_anthropics_own_costs_what_is_documented(kind: str, tokens: int) -> None:
    assert claude(user(), tools=[{"type": kind, "name": "own"}])["tool_definition", "own"] == tokens


def test_a_tool_of_which_nothing_is_known_costs_its_json() -> None:
    tool = {"type": "web_search_20250305", "name": "web_search"}
    assert claude(user(), tools=[tool])["tool_definition", "web_search"] == 1 + 6


def test_newer_models_are_told_of_tools_that_are_loaded_later() -> None:
    deferred = {**TOOL, "defer_loading": True}
    assert claude(user(), tools=[TOOL, deferred], model="claude-opus-5")[TOOLS] == 286 + 94
    assert claude(user(), tools=[TOOL, deferred])[TOOLS] == 496


def call(**arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "a", "name": "ls", "input": arguments}


def test_a_call_costs_a_frame_for_itself_and_for_each_argument() -> None:
    def cost(*calls: Any) -> int:
        return claude({"role": "assistant", "content": list(calls)})["tool_call", "ls"]

    assert cost(call()) == 3 + 2 + 35
    assert cost(call(path="a b", depth=2)) == 3 + 2 + 35 + 3 + 2 + 2 * 17
    assert cost(call(), call()) == 3 + 2 * (2 + 35) + 20


def test_a_call_whose_arguments_are_no_object_costs_its_text() -> None:
    structure = structure_for(SONNET, CHAT)
    odd = block("tool_call", "ls one two", {"function": {"name": "ls", "arguments": "one two"}})
    assert structure.tokens(odd, Words().count) == 2 + 2 + 35 + 17


def test_a_failed_call_says_so_in_a_few_tokens() -> None:
    def cost(**more: Any) -> int:
        result = {"type": "tool_result", "tool_use_id": "a", "content": "no such file", **more}
        return claude(user([result]))["tool_result", None]

    assert cost() == 3 + 3
    assert cost(is_error=True) == 3 + 3 + 5


@pytest.mark.parametrize(
    ("model", "drops"),
    [("claude-3-7-sonnet", True), (SONNET, True), ("claude-opus-4-5", False), ("claude-opus-5", False)],
)
def test_thinking_of_earlier_turns_stays_with_newer_models_only(model: str, drops: bool) -> None:
    assert structure_for(model, ANTHROPIC).drops_thinking is drops


@pytest.mark.parametrize(
    ("size", "standard", "high"),
    [
        ((200, 200), 64, 64),
        ((1_000, 1_000), 1_296, 1_296),
        ((1_920, 1_080), 1_560, 2_691),
        (None, 1_568, 4_784),
    ],
)
def test_an_image_for_claude_costs_a_token_for_28_pixels_squared(size: Any, standard: int, high: int) -> None:
    """The check values of Anthropic's page on vision, and three tokens for the frame that was measured."""
    assert structure_for(SONNET, ANTHROPIC).image(size, "") == standard + 3
    assert structure_for("claude-opus-4-7", ANTHROPIC).image(size, "") == high + 3


def test_bedrock_says_the_same_in_other_keys() -> None:
    tool = {"toolSpec": {"name": "ls", "inputSchema": {"json": {"type": "object"}}}}
    body = {
        "messages": [user([{"text": "hello there"}])],
        "toolConfig": {"tools": [tool], "toolChoice": {"tool": {"name": "ls"}}},
        "additionalModelRequestFields": {"thinking": {"type": "enabled"}},
    }
    thinking, named = {"type": "enabled"}, {"type": "tool", "name": "ls"}
    assert shaped(BEDROCK, body, model=SONNET) == claude(
        user(), tools=[TOOL], tool_choice=named, thinking=thinking
    )
    body["toolConfig"] = {"tools": [tool], "toolChoice": {"any": {}}}
    assert shaped(BEDROCK, body, model=SONNET)[TOOLS] == 588


def test_a_message_to_openai_has_four_tokens_around_it() -> None:
    assert sum(chat(user()).values()) == 2 + 4 + 3
    assert sum(chat(user(), model="gpt-5").values()) == sum(chat(user(), model="o3").values()) == 2 + 4 + 2
    assert sum(chat({**user(), "name": "Ann"}).values()) == 2 + 4 + 3 + 1 + 1


@pytest.mark.parametrize(
    ("model", "alone", "beside_system", "responses"),
    [
        ("gpt-4o", 16, 13, 10),
        ("gpt-4.1-mini", 16, 13, 10),
        ("o4-mini", 16, 16, 13),
        ("gpt-5-mini", 98, 98, 16),
    ],
)
def test_tools_for_openai_stand_in_a_frame(
    model: str, alone: int, beside_system: int, responses: int
) -> None:
    assert chat(user(), tools=[FUNCTION], model=model)[TOOLS] == alone
    system = {"role": "system", "content": "Be kind."}
    assert chat(system, user(), tools=[FUNCTION], model=model)[TOOLS] == beside_system
    body = {"input": "hello", "tools": [{"type": "function", "name": "ls"}]}
    assert shaped(RESPONSES, body, model=model)[TOOLS] == responses


def test_a_tool_that_is_demanded_is_named_to_older_models() -> None:
    named = {"type": "function", "function": {"name": "ls"}}
    assert chat(user(), tools=[FUNCTION], tool_choice=named)[TOOLS] == 16 + 6 + 1
    assert chat(user(), tools=[FUNCTION], tool_choice="required")[TOOLS] == 16
    assert chat(user(), tools=[FUNCTION], tool_choice=named, model="gpt-5")[TOOLS] == 98


def test_a_definition_for_openai_costs_its_typescript() -> None:
    assert (
        chat(user(), tools=[FUNCTION])["tool_definition", "ls"]
        == len(["type", "ls", "=", "()", "=>", "any;"]) - 1
    )
    custom = {"type": "custom", "custom": {"name": "sql"}}
    assert chat(user(), tools=[custom])["tool_definition", "sql"] == 1 - 1


def test_calls_and_results_have_frames_and_calls_beside_each_other_one_more() -> None:
    asked = {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    answered = {"role": "tool", "tool_call_id": "a", "content": "one two"}
    one = chat({"role": "assistant", "tool_calls": [asked]}, answered)
    assert one["tool_call", "ls"] == 4 + 2 + 4
    assert one["tool_result", "ls"] == 4 + 2 + 4
    assert (
        chat({"role": "assistant", "tool_calls": [asked, asked]})["tool_call", "ls"] == 4 + 2 * (2 + 4) + 12
    )


def test_instructions_are_a_message_and_reasoning_is_none() -> None:
    body = {
        "instructions": "Be kind.",
        "input": [{"type": "reasoning", "summary": [{"text": "Hm.", "type": "summary_text"}]}],
    }
    found = shaped(RESPONSES, body, model="gpt-5")
    assert found == {FRAME: 2 + 4 + 2, ("thinking", None): 1}


def test_tools_that_are_added_later_stand_in_a_frame_of_their_own() -> None:
    tools = [{"type": "function", "name": "ls"}, {"type": "web_search"}]
    added = {"type": "additional_tools", "role": "developer", "tools": tools}
    found = shaped(RESPONSES, {"input": [added]}, model="gpt-5.4")
    assert found["tool_definition", None] == 4 + 98 + len(["type", "ls", "=", "()", "=>", "any;"]) + 1


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("gpt-4o-2024-08-06", 765),
        ("gpt-4o-mini", 2_833 + 4 * 5_667),
        ("gpt-5", 70 + 4 * 140),
        ("gpt-5.1", 70 + 4 * 140),
        ("o3", 75 + 4 * 150),
        ("computer-use-preview", 65 + 4 * 129),
        ("gpt-4.1-mini", 1_659),
        ("gpt-4.1-nano", 2_519),
        ("o4-mini", 1_761),
        ("gpt-5-mini", 1_229),
        ("gpt-5-nano", 1_536),
        ("gpt-5.4-mini", 1_659),
        ("gpt-5.5", 1_229),
        ("gpt-6-astra", 1_229),
    ],
)
def test_an_image_for_openai_costs_what_its_model_makes_of_it(model: str, tokens: int) -> None:
    assert structure_for(model, CHAT).image((1_024, 1_024), "auto") == tokens


def gemini(model: str, native: Any, *, kind: Any, text: str) -> int:
    return structure_for(model, GEMINI).tokens(block(kind, text, native), Words().count)


def test_gemini_has_no_frames_around_messages() -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "hello there"}]}]}
    assert shaped(GEMINI, body, model="gemini-3-pro") == {("user_text", None): 2}


def test_tools_weigh_less_with_the_first_geminis_and_through_routers() -> None:
    text = "word " * 100
    assert gemini("gemini-2.0-flash", {}, kind="tool_definition", text=text) == 45
    assert gemini("gemini-2.5-pro", {}, kind="tool_definition", text=text) == 100
    assert (
        structure_for("google/gemini-2.5-pro", CHAT).tokens(block("tool_definition", text, {}), Words().count)
        == 28
    )


def test_a_signed_call_costs_its_thought_with_the_third_gemini() -> None:
    signed = {"functionCall": {"name": "ls"}, "thoughtSignature": "x" * 470}
    assert gemini("gemini-3-flash", signed, kind="tool_call", text="ls") == 1 + 22 + 100
    assert gemini("gemini-2.5-flash", signed, kind="tool_call", text="ls") == 1 + 22
    assert gemini("gemini-3-flash", {"functionCall": {}}, kind="tool_call", text="ls") == 1 + 22


def test_images_for_gemini_cost_a_constant_or_tiles() -> None:
    assert structure_for("gemini-2.5-flash", GEMINI).image((1_000, 500), "") == 2 * 258
    assert structure_for("gemini-2.5-flash", GEMINI).image(None, "") == 258
    assert structure_for("gemini-3-flash", GEMINI).image((1_000, 500), "") == 1_120


def document(data: bytes, media_type: str) -> Medium:
    return Medium("document", base64.b64encode(data).decode(), media_type)


def test_a_document_costs_its_pages_or_its_text() -> None:
    pages = document(b"%PDF <</Type /Page>> <</Type /Page>>", "application/pdf")
    packed = document(b"%PDF", "application/pdf")
    for model, wire, page in ((SONNET, ANTHROPIC, 2_250), ("gpt-5", CHAT, 760), ("gemini-3", GEMINI, 560)):
        structure = structure_for(model, wire)
        assert (structure.medium(pages), structure.medium(packed)) == (2 * page, page)
        assert (
            structure.medium(Medium("document"))
            == structure.medium(Medium("document", "", "text/plain"))
            == page
        )
        assert structure.medium(document(b"eight by", "text/plain")) == 3


def test_sound_costs_by_its_length_and_film_a_constant() -> None:
    structure = structure_for("gemini-3", GEMINI)
    assert structure.medium(Medium("audio", "A" * 64_000)) == 96
    assert structure.medium(Medium("audio")) == 320
    assert structure.medium(Medium("video")) == 2_630


def test_a_model_of_which_nothing_is_known_is_told_by_a_wire_that_only_one_family_has() -> None:
    assert structure_for("m", ANTHROPIC).name == structure_for(None, ANTHROPIC).name
    assert structure_for("m", ANTHROPIC).name.startswith("claude-5")
    assert structure_for(None, GEMINI).name == "gemini-3"
    assert structure_for("gpt-4o", ANTHROPIC).name.startswith("gpt-4")
    for wire in (CHAT, RESPONSES, BEDROCK, None):
        assert type(structure_for("llama-4", wire)) is Structure
    assert structure_for("llama-4", CHAT).image((640, 480), "") == 360
    assert (
        sum(shaped(CHAT, {"messages": [user()], "tools": [FUNCTION]}, model="llama-4").values()) == 2 + 4 + 1
    )


def test_a_definition_that_is_nested_too_deeply_to_be_written_costs_its_json() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(400):
        schema = {"type": "object", "properties": {"a": schema}}
    native = {"type": "function", "name": "deep", "parameters": schema}
    deep = block("tool_definition", "as JSON", native)
    assert structure_for("gpt-4o", CHAT).tokens(deep, Words().count) == 2 - 1


def recorded(name: str) -> Iterator[tuple[str, Prompt, int]]:
    path = TRUTH / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip("the shared data is not there")
    with gzip.open(path, "rt") as lines:
        for line in lines:
            record = json.loads(line)
            total = record["input_tokens_total"]
            if record["countable"] and (total or 0) >= 500:
                wire = wire_named(ANTHROPIC if record["api"] == "messages" else f"openai_{record['api']}")
                yield record.get("response_model") or record["model"], Prompt(wire, record["request"]), total


@pytest.mark.parametrize(
    ("name", "error", "limit"),
    [
        ("openai_chat", 0.005, 0.03),
        ("reconstructed_agent_requests", 0.005, 0.03),
        ("anthropic_messages", 0.03, 0.12),
    ],
)
def test_what_recorded_requests_were_billed_is_foreseen(name: str, error: float, limit: float) -> None:
    """Claude's own tokens may only be estimated here."""
    errors = sorted(
        abs(shape_of(prompt, block_counter_for(model, prompt.wire.name)).total - total) / total
        for model, prompt, total in recorded(name)
        if "gpt" in model or ("claude" in model and name == "anthropic_messages")
    )
    assert median(errors) <= error
    assert errors[int(0.95 * len(errors))] <= limit
