"""The usage that scripted answers report, and the prompt cache behind it."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.messages import ModelRequest
from ctxkit.testing import PromptCache, ScriptedModel, native, reply
from ctxkit.usage import Usage
from ctxkit.wire import wire_named

MARK = {"cache_control": {"type": "ephemeral"}}
TOOL = {"name": "search", "description": "Finds things.", "input_schema": {"type": "object"}}
LONG = "cats and dogs " * 600


def said(text: str, *, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text, **more}]}


def request(*messages: Any, model: str = "m", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": list(messages), **more}


def claude(cache: PromptCache, body: dict[str, Any]) -> Usage:
    return cache.take(body, wire="anthropic_messages")


def test_without_a_mark_nothing_is_cached_on_anthropics_wire() -> None:
    cache = PromptCache()
    body = request(said("Any cats?"), tools=[TOOL], system="Be kind.")
    for _ in range(2):
        usage = claude(cache, body)
        assert (usage.cache_read_tokens, usage.cache_write_tokens) == (0, 0)
        assert usage.input_tokens == cache.count(body, wire="anthropic_messages") > 0


def test_what_one_request_wrote_the_next_one_reads() -> None:
    """Anthropic: writes happen only at breakpoints, and the prompt up to there must be identical."""
    cache = PromptCache()
    first = claude(cache, request(said("Any cats?", **MARK), tools=[TOOL]))
    second = claude(cache, request(said("Any cats?"), said("No.", role="assistant", **MARK), tools=[TOOL]))
    assert first.cache_write_tokens == first.input_tokens
    assert second.cache_read_tokens == first.input_tokens
    assert second.cache_write_tokens == (second.input_tokens or 0) - second.cache_read_tokens > 0


def test_behind_the_last_mark_nothing_is_written() -> None:
    cache = PromptCache()
    body = request(said("Any cats?"), system=[{"type": "text", "text": "Be kind.", **MARK}])
    first, second = claude(cache, body), claude(cache, body)
    assert 0 < first.cache_write_tokens < (first.input_tokens or 0)
    assert second.cache_read_tokens == first.cache_write_tokens
    assert second.cache_write_tokens == 0


def test_a_mark_at_the_top_level_stands_for_the_end() -> None:
    cache = PromptCache()
    first = claude(cache, request(said("Any cats?"), **MARK))
    assert first.cache_write_tokens == first.input_tokens


def test_a_mark_inside_a_tool_result_counts() -> None:
    result = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "12", **MARK}]}
    usage = claude(PromptCache(), request({"role": "user", "content": [result]}))
    assert usage.cache_write_tokens == usage.input_tokens


def test_an_edit_reads_back_to_the_last_beginning_that_was_kept() -> None:
    cache = PromptCache()
    system = [{"type": "text", "text": "Be kind.", **MARK}]
    written = claude(cache, request(said("Any cats?"), said("No.", role="assistant", **MARK), system=system))
    edited = claude(cache, request(said("Any dogs?"), said("No.", role="assistant", **MARK), system=system))
    assert 0 < edited.cache_read_tokens < written.cache_write_tokens
    assert edited.cache_read_tokens + edited.cache_write_tokens == edited.input_tokens


def test_a_text_and_the_block_it_stands_for_are_the_same_prompt() -> None:
    cache = PromptCache()
    claude(cache, request(said("Any cats?"), system="Be kind.", **MARK))
    body = request({"role": "user", "content": "Any cats?"}, system=[{"type": "text", "text": "Be kind."}])
    again = claude(cache, {**body, **MARK})
    assert again.cache_read_tokens == again.input_tokens


@pytest.mark.parametrize("changed", [{"model": "other"}, {"tools": [TOOL]}, {"system": "Be rude."}])
def test_another_model_or_head_reads_nothing(changed: dict[str, Any]) -> None:
    cache = PromptCache(rule="always")
    claude(cache, request(said("Any cats?"), system="Be kind."))
    assert claude(cache, {**request(said("Any cats?"), system="Be kind."), **changed}).cache_read_tokens == 0


def test_always_keeps_every_beginning_without_a_mark() -> None:
    cache = PromptCache(rule="always")
    first = claude(cache, request(said("Any cats?"), said("No.", role="assistant")))
    second = claude(cache, request(said("Any cats?"), said("Yes.", role="assistant")))
    assert first.cache_write_tokens == first.input_tokens
    assert 0 < second.cache_read_tokens < (first.input_tokens or 0)


@pytest.mark.parametrize("wire", ["anthropic_messages", "openai_chat"])
def test_a_cache_that_is_switched_off_keeps_nothing(wire: str) -> None:
    cache = PromptCache(rule=False)
    for _ in range(2):
        usage = cache.take(request(said(LONG, **MARK)), wire=wire)
        assert (usage.cache_read_tokens, usage.cache_write_tokens) == (0, 0)
        assert (usage.input_tokens or 0) > 1_024


def test_openai_caches_long_prompts_in_steps_of_128_without_being_asked() -> None:
    """OpenAI, up to GPT-5.4: caching starts at 1,024 tokens and grows in increments of 128."""
    cache = PromptCache()
    first = cache.take(request(said(LONG)), wire="openai_chat")
    second = cache.take(request(said(LONG), said("No.", role="assistant")), wire="openai_chat")
    assert first.cache_read_tokens == 0
    assert second.cache_read_tokens == (first.input_tokens or 0) // 128 * 128 > 1_024
    assert second.cache_write_tokens == 0


def test_openai_caches_no_short_prompt() -> None:
    cache = PromptCache()
    for _ in range(2):
        assert cache.take(request(said("Any cats?")), wire="openai_chat").cache_read_tokens == 0


def test_a_message_without_content_is_a_part_of_the_prompt() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    without = PromptCache().count(request(said("Any cats?")), wire="openai_chat")
    assistant = {"role": "assistant", "content": None, "tool_calls": [call]}
    assert PromptCache().count(request(said("Any cats?"), assistant), wire="openai_chat") > without + 5


@pytest.mark.parametrize("wire", ["anthropic_messages", "openai_chat"])
@pytest.mark.parametrize(
    "usage",
    [
        Usage(100, 20),
        Usage(100, 20, cache_read_tokens=60, reasoning_tokens=5),
        Usage(100, 20, cache_read_tokens=60, cache_write_tokens=40),
    ],
)
def test_usage_that_a_script_reports_is_read_back_as_it_was(wire: str, usage: Usage) -> None:
    model = ScriptedModel([reply("None.", usage=usage)])
    read = model.model(ModelRequest(wire_named(wire), request(said("Any cats?")))).usage
    assert read is not None
    assert {**_buckets(read), "service_tier": None} == _buckets(usage)


def test_what_only_anthropic_reports_is_read_back_as_it_was() -> None:
    usage = Usage(
        100,
        20,
        cache_write_tokens=70,
        cache_write_1h_tokens=30,
        web_search_requests=2,
        service_tier="priority",
    )
    model = ScriptedModel([reply("None.", usage=usage)])
    asked = ModelRequest(wire_named("anthropic_messages"), request(said("Any cats?")))
    assert model.model(asked).usage == usage


@pytest.mark.parametrize("wire", ["anthropic_messages", "openai_chat"])
def test_computed_usage_counts_the_answer_and_its_thinking(wire: str) -> None:
    asked = ModelRequest(wire_named(wire), request(said("Any cats?")))
    model = ScriptedModel([reply("No."), reply("No.", thinking="Cats? Well."), reply()])
    plain, thoughtful, silent = (model.model(asked).usage for _ in range(3))
    assert plain is not None and thoughtful is not None and silent is not None
    assert thoughtful.reasoning_tokens > 0
    assert thoughtful.output_tokens == (plain.output_tokens or 0) + thoughtful.reasoning_tokens
    assert silent.output_tokens == 0


def test_a_native_body_without_usage_is_sent_through_the_same_cache() -> None:
    asked = ModelRequest(wire_named("anthropic_messages"), request(said("Any cats?", **MARK)))
    model = ScriptedModel([reply("No."), native({"content": [{"type": "text", "text": "No."}]})])
    written, read = (model.model(asked).usage for _ in range(2))
    assert written is not None and read is not None
    assert read.cache_read_tokens == written.cache_write_tokens > 0


def _buckets(usage: Usage) -> dict[str, Any]:
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
    return {name: getattr(usage, name) for name in (*names, "service_tier")}
