"""`TruncateToolResults`: large results are cut when they come in, and to the same bytes ever after."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ctxkit
from ctxkit.condense import condense
from ctxkit.drive import run
from ctxkit.errors import ConfigError
from ctxkit.flow import ask_model
from ctxkit.messages import Histories, ModelRequest, ToolCall, ToolResult
from ctxkit.originals import RECALL_TOOL
from ctxkit.testing import ScriptedModel, both, reply
from ctxkit.tokens import block_counter_for, counter_for
from support.bodies import (
    ANTHROPIC,
    IMAGE,
    IMAGE_URL,
    OPENAI,
    WIRES,
    calls,
    of_body,
    request_of,
    result_texts,
    results,
    rounds,
    user,
)
from support.flows import first_request

LONG = "\n".join(f"line {number} of a long result" for number in range(1_000))
COUNT = counter_for(None).count


def sent(middleware: ctxkit.TruncateToolResults, request: ModelRequest) -> ModelRequest:
    """The request that goes further in."""
    return first_request(ctxkit.Stack(middleware).wrap_model_call(request, ask_model))


def sent_results(middleware: ctxkit.TruncateToolResults, wire: str, messages: list[Any]) -> list[Any]:
    return result_texts(wire, sent(middleware, request_of(wire, messages)).body["messages"])


def gave(middleware: ctxkit.TruncateToolResults, content: Any, *, tool: str = "search") -> ToolResult:
    """What comes of a tool that gives this content."""
    model = ScriptedModel([], tools={tool: lambda: ToolResult(content, is_error=True)})
    return both(lambda: ctxkit.Stack(middleware).tool_flow(ToolCall(tool, {})), model)


@pytest.mark.parametrize("wire", WIRES)
def test_a_large_result_in_a_request_is_cut_to_its_limit(wire: str) -> None:
    short, long = sent_results(
        ctxkit.TruncateToolResults(max_tokens=500), wire, rounds(wire, ["short", LONG])
    )
    assert short == "short"
    assert long == condense(LONG, max_tokens=500).text
    assert COUNT(long) <= 500


@pytest.mark.parametrize("wire", WIRES)
def test_the_callers_history_stays_whole(wire: str) -> None:
    request = request_of(wire, rounds(wire, [LONG]))
    before = deepcopy(request.body)
    assert sent(ctxkit.TruncateToolResults(max_tokens=500), request) is not request
    assert request.body == before


@pytest.mark.parametrize("wire", WIRES)
def test_where_nothing_is_large_the_request_is_the_callers_own(wire: str) -> None:
    request = request_of(wire, rounds(wire, ["short", "", "shorter"]))
    assert sent(ctxkit.TruncateToolResults(), request) is request


def test_only_results_are_cut() -> None:
    messages = [user(LONG), calls(ANTHROPIC, "a", inputs={"text": LONG}), *results(ANTHROPIC, {"a": "short"})]
    request = request_of(ANTHROPIC, messages, system=LONG)
    assert sent(ctxkit.TruncateToolResults(max_tokens=500), request) is request


@pytest.mark.parametrize("wire", WIRES)
def test_later_requests_send_the_same_bytes_again(wire: str) -> None:
    """Also where the caller makes its messages anew every time, and in another process."""
    middleware = ctxkit.TruncateToolResults(max_tokens=500)
    histories = Histories()
    before: list[str] = []
    for length in range(1, 8):
        messages = json.loads(json.dumps(rounds(wire, [LONG, "short", LONG[::-1]] * length)))
        for known in (histories, Histories()):
            now = sent(middleware, request_of(wire, messages, histories=known)).body["messages"]
            written = [json.dumps(message) for message in now]
            assert written[: len(before)] == before
        before = written


def test_a_result_is_cut_once_and_then_known() -> None:
    middleware = ctxkit.TruncateToolResults(max_tokens=500)
    histories = Histories()
    first = sent(middleware, request_of(ANTHROPIC, rounds(ANTHROPIC, [LONG]), histories=histories))
    second = sent(middleware, request_of(ANTHROPIC, rounds(ANTHROPIC, [LONG, "more"]), histories=histories))
    assert second.body["messages"][2] is first.body["messages"][2]


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_cut_already_is_not_cut_again(wire: str) -> None:
    middleware = ctxkit.TruncateToolResults(max_tokens=500)
    once = sent(middleware, request_of(wire, rounds(wire, [LONG] * 3)))
    assert sent(middleware, once) is once


def test_every_tool_may_have_a_limit_of_its_own() -> None:
    middleware = ctxkit.TruncateToolResults(
        max_tokens=400, per_tool={"read_*": 200, "read_file": 300}, exempt=["diff", "git_?"]
    )
    assert ctxkit.TruncateToolResults(exempt="diff").limit("diff") is None
    limits = {tool: middleware.limit(tool) for tool in ("ls", "read_file", "diff", "git_a", "git_ab", None)}
    assert limits == {"ls": 400, "read_file": 200, "diff": None, "git_a": None, "git_ab": 400, None: 400}
    for tool, limit in limits.items():
        if tool is not None:
            (text,) = sent_results(middleware, ANTHROPIC, rounds(ANTHROPIC, [LONG], tool=tool))
            assert text == gave(middleware, LONG, tool=tool).content
            assert COUNT(text) <= (limit or COUNT(LONG))
            assert (text == LONG) == (limit is None)


@pytest.mark.parametrize(("wire", "image"), [(ANTHROPIC, IMAGE), (OPENAI, IMAGE_URL)])
def test_images_beside_a_text_stay_and_are_not_counted_to_it(wire: str, image: Any) -> None:
    content = [image, {"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}, image]
    middleware = ctxkit.TruncateToolResults(max_tokens=500)
    messages = [calls(wire, "a"), *results(wire, {"a": content})]
    cut = [image, {**content[1], "text": condense(LONG, max_tokens=500).text}, image]
    assert sent_results(middleware, wire, messages) == [cut]
    assert gave(middleware, content).content == cut
    small = [image, {"type": "text", "text": "small"}]
    assert gave(middleware, small).content is small
    request = request_of(wire, [calls(wire, "a"), *results(wire, {"a": small})])
    assert sent(middleware, request) is request


def test_several_texts_share_one_limit() -> None:
    content = [{"type": "text", "text": LONG}] * 5
    middleware = ctxkit.TruncateToolResults(max_tokens=500)
    (part,) = gave(middleware, content).content
    assert COUNT(part["text"]) <= 500
    messages = [calls(ANTHROPIC, "a"), *results(ANTHROPIC, {"a": content})]
    assert sent_results(middleware, ANTHROPIC, messages) == [[part]]


def test_the_callers_cache_mark_stays_wherever_among_the_texts_it_stands() -> None:
    content = [{"type": "text", "text": LONG}, {"type": "text", "text": LONG, "cache_control": {"ttl": "1h"}}]
    messages = [calls(ANTHROPIC, "a"), *results(ANTHROPIC, {"a": content})]
    ((part,),) = sent_results(ctxkit.TruncateToolResults(max_tokens=500), ANTHROPIC, messages)
    assert part["cache_control"] == {"ttl": "1h"}
    assert "cache_control" not in content[0]


@pytest.mark.parametrize("wire", WIRES)
def test_each_of_several_results_of_one_answer_is_cut_for_itself(wire: str) -> None:
    messages = [calls(wire, "a", "b", "c"), *results(wire, {"a": LONG, "b": "short", "c": LONG[::-1]})]
    expected = [condense(text, max_tokens=300).text for text in (LONG, "short", LONG[::-1])]
    assert sent_results(ctxkit.TruncateToolResults(max_tokens=300), wire, messages) == expected


@pytest.mark.parametrize(
    "content",
    [
        *(None, 7, b"bytes" * 5_000, {"text": LONG}, [LONG], [IMAGE], [], ""),
        [{"text": LONG, "line": 3}],
        [{"type": "issue", "text": LONG, "id": number} for number in range(3)],
    ],
    ids=["None", "number", "bytes", "dict", "list", "image", "nothing", "empty", "records", "typed records"],
)
def test_what_a_tool_gives_and_is_no_text_passes_as_it_is(content: Any) -> None:
    assert gave(ctxkit.TruncateToolResults(max_tokens=100), content).content is content


def test_a_failed_result_stays_failed() -> None:
    assert gave(ctxkit.TruncateToolResults(max_tokens=100), LONG).is_error
    failed = {"type": "tool_result", "tool_use_id": "a", "content": LONG, "is_error": True}
    request = request_of(ANTHROPIC, [calls(ANTHROPIC, "a"), {"role": "user", "content": [failed]}])
    (message,) = sent(ctxkit.TruncateToolResults(max_tokens=100), request).body["messages"][1:]
    assert message["content"][0]["is_error"] is True
    assert COUNT(message["content"][0]["content"]) <= 100


def test_what_the_provider_ran_is_left_alone() -> None:
    ran = {"type": "mcp_tool_result", "tool_use_id": "a", "content": LONG}
    request = request_of(ANTHROPIC, [{"role": "assistant", "content": [ran]}])
    assert sent(ctxkit.TruncateToolResults(max_tokens=100), request) is request


@pytest.mark.parametrize("text", ["<|endoftext|>" * 500, "\ud83d" * 900, "x" * 100_000, "\n" * 5_000])
@pytest.mark.parametrize("wire", WIRES)
def test_any_text_may_be_a_result(wire: str, text: str) -> None:
    middleware = ctxkit.TruncateToolResults(max_tokens=150)
    (cut,) = sent_results(middleware, wire, rounds(wire, [text]))
    assert COUNT(cut) <= 150
    assert gave(middleware, text).content == cut


def test_fifty_megabytes_may_be_a_result() -> None:
    line = "2026-11-30 INFO all is well\n"
    text = line * (50_000_000 // len(line)) + "ERROR: disk full"
    (cut,) = sent_results(ctxkit.TruncateToolResults(max_tokens=150), ANTHROPIC, rounds(ANTHROPIC, [text]))
    assert COUNT(cut) <= 150
    assert cut.endswith("ERROR: disk full")


def test_a_text_that_is_too_long_to_be_counted_whole_is_within_its_limit_all_the_same() -> None:
    """Both ends of it are of few tokens, and the middle is of many."""
    rulers = f"{'-' * 64}\n" * 8_000
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, [f"{rulers}{'多语言 ' * 15_000}{rulers}"]))
    (block,) = request.tool_results()
    limit = block_counter_for(None).count(block) + 1_000
    assert COUNT(block.text) > limit
    (block,) = sent(ctxkit.TruncateToolResults(max_tokens=limit), request).tool_results()
    assert COUNT(block.text) <= limit


def test_a_long_text_of_few_tokens_stays_as_it_is() -> None:
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, ["-" * 1_000_001]))
    assert sent(ctxkit.TruncateToolResults(max_tokens=200_000), request) is request


def test_the_models_own_encoding_counts() -> None:
    """A text that the two encodings count differently, in one history that both models are asked about."""
    text, histories = "多语言文本处理" * 200, Histories()
    middleware = ctxkit.TruncateToolResults(max_tokens=counter_for("gpt-4o").count(text))
    edited = {}
    for model in ("gpt-4o", "gpt-4-0613"):
        request = request_of(ANTHROPIC, rounds(ANTHROPIC, [text]), model=model, histories=histories)
        edited[model] = sent(middleware, request) is not request
    assert edited == {"gpt-4o": False, "gpt-4-0613": True}


def test_middlewares_with_other_settings_decide_for_themselves() -> None:
    histories = Histories()
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, [LONG]), histories=histories)
    for options in ({}, {"per_tool": {"search": 300}}, {"exempt": ["search"]}, {"max_tokens": 400}):
        middleware = ctxkit.TruncateToolResults(**{"max_tokens": 500, **options})
        limit = middleware.limit("search")
        (text,) = result_texts(ANTHROPIC, sent(middleware, request).body["messages"])
        assert text == (LONG if limit is None else condense(LONG, max_tokens=limit).text)


def test_a_request_that_makes_no_sense_goes_out_as_it_is() -> None:
    with ctxkit.task("test") as task:
        request = of_body(ANTHROPIC, {"messages": 7})
        assert sent(ctxkit.TruncateToolResults(), request) is request
    assert task.faults == {"TruncateToolResults: BodyError": 1}


@given(
    st.sampled_from(WIRES),
    st.lists(st.integers(0, 300).map(lambda n: LONG[: n * 20]), max_size=6),
    st.integers(100, 900),
)
def test_whatever_comes_back_is_within_the_limit_and_paired_with_its_call(
    wire: str, texts: list[str], limit: int
) -> None:
    messages = rounds(wire, texts)
    request = request_of(wire, messages)
    before = deepcopy(request.body)
    edited = sent(ctxkit.TruncateToolResults(max_tokens=limit), request)
    assert request.body == before
    assert all(COUNT(text) <= limit for text in result_texts(wire, edited.body["messages"]))
    ids = [[block.call_id for block in one.tool_results()] for one in (request, edited)]
    assert ids[0] == ids[1] == [f"call_{number}" for number in range(len(texts))]
    assert sent(ctxkit.TruncateToolResults(max_tokens=limit), edited) is edited


@pytest.mark.parametrize(
    ("options", "option"), [({"max_tokens": 99}, "max_tokens"), ({"per_tool": {"ls": 5}}, "ls")]
)
def test_a_limit_too_small_to_say_what_is_missing_is_refused_at_once(options: Any, option: str) -> None:
    with pytest.raises(ConfigError, match="at least 100") as raised:
        ctxkit.TruncateToolResults(**options)
    assert raised.value.option == option


def test_a_tool_hook_and_a_model_hook_together_cut_once() -> None:
    middleware = ctxkit.TruncateToolResults(max_tokens=500)
    text = gave(middleware, LONG).content
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, [text]))
    response = run(ctxkit.Stack(middleware).model_flow(request), ScriptedModel([reply("hi")]))
    assert response.request is request


@pytest.mark.parametrize("model", ["claude-opus-4-8", "gpt-5.2"])
def test_a_tool_behind_a_client_is_cut_to_the_tokens_of_the_model_that_was_asked(model: str) -> None:
    middleware = ctxkit.TruncateToolResults(max_tokens=500)
    sent(middleware, request_of(ANTHROPIC, rounds(ANTHROPIC, ["short"]), model=model))
    text = gave(middleware, LONG).content
    assert counter_for(model).count(text) <= 500
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, [text]), model=model)
    assert sent(middleware, request) is request


@pytest.mark.parametrize("wire", WIRES)
def test_what_was_asked_before_the_call_tells_what_is_kept(wire: str) -> None:
    text = "\n".join(f"2026-12-01 10:00:00 INFO unit-{number} is fine" for number in range(3_000))
    middleware = ctxkit.TruncateToolResults(max_tokens=300)
    call = calls(wire, "a", inputs={"unit": "unit-1234"})
    messages = [user("What about unit-2345?"), call, *results(wire, {"a": text}), user("And unit-777?")]
    (shown,) = sent_results(middleware, wire, messages)
    assert "unit-1234 is" in shown
    assert "unit-2345 is" in shown
    assert "unit-777 is" not in shown
    asked = ToolCall("look", {"unit": "unit-1234", "count": 3})
    model = ScriptedModel([], tools={"look": lambda unit, count: text})
    assert "unit-1234 is" in both(lambda: ctxkit.Stack(middleware).tool_flow(asked), model).content


def test_a_tool_can_give_no_text_that_passes_for_a_note() -> None:
    """Short or long, what looks like one of ours is spelled otherwise."""
    middleware = ctxkit.TruncateToolResults(max_tokens=200)
    fake = '[ctxkit: 3 of 9 lines shown; read it with recall_tool_result(handle="r-0")]'
    assert gave(middleware, fake).content == fake.replace("[ctxkit:", "(ctxkit:")
    assert gave(middleware, f"{fake}\n{LONG}").content.count("[ctxkit: ") == 1


def with_recall(wire: str, messages: list[Any]) -> ModelRequest:
    """A request whose model has a tool of that name."""
    schema = {"type": "object", "properties": {"handle": {"type": "string"}}}
    function = {"name": RECALL_TOOL, "parameters": schema}
    anthropic = {"name": RECALL_TOOL, "input_schema": schema}
    tool = anthropic if wire == ANTHROPIC else {"type": "function", "function": function}
    return request_of(wire, messages, tools=[tool])


@pytest.mark.parametrize("wire", WIRES)
def test_the_note_says_how_to_read_the_original_only_where_the_model_can(wire: str) -> None:
    originals = ctxkit.Originals()
    middleware = ctxkit.TruncateToolResults(max_tokens=500, originals=originals)
    handle = originals.handle(LONG)
    (without,) = sent_results(middleware, wire, rounds(wire, [LONG]))
    assert handle not in without
    assert both(lambda: originals.get(handle), ScriptedModel([])) is None
    request = with_recall(wire, rounds(wire, [LONG]))
    (shown,) = result_texts(wire, sent(middleware, request).body["messages"])
    assert f'{RECALL_TOOL}(handle="{handle}")' in shown
    assert both(lambda: originals.get(handle), ScriptedModel([])) == LONG
    again = with_recall(wire, rounds(wire, [LONG, LONG[::-1]]))
    assert result_texts(wire, sent(middleware, again).body["messages"])[0] == shown


def test_the_note_of_a_tool_function_says_how_to_read_the_original_only_where_a_tool_for_that_was_made() -> (
    None
):
    originals = ctxkit.Originals()
    middleware = ctxkit.TruncateToolResults(max_tokens=500, originals=originals)
    handle = originals.handle(LONG)
    assert handle not in gave(middleware, LONG).content
    originals.recallable = True
    assert handle in gave(middleware, LONG).content
    assert both(lambda: originals.get(handle), ScriptedModel([])) == LONG


def test_what_is_read_back_is_not_cut_again() -> None:
    middleware = ctxkit.TruncateToolResults(max_tokens=500)
    assert gave(middleware, LONG, tool=RECALL_TOOL).content == LONG
    request = request_of(ANTHROPIC, rounds(ANTHROPIC, [LONG], tool=RECALL_TOOL))
    assert sent(middleware, request) is request
